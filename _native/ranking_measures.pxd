"""Measures of one ranking, from the places and grades of its judged documents.

Places count from 0. All agree with trec_eval where it has them; logarithms are natural, for their
base cancels out.
"""
from libc.math cimport ldexp
from primitives cimport int32_t, int64_t

cdef struct ranking_t:
    const int64_t* places    # of the judged documents that were found, ascending
    const int32_t* grades    # theirs, 0 or above
    int64_t n_found
    const int32_t* ideal     # all grades above 0, highest first
    int64_t n_ideal
    int64_t n_relevant       # judged relevant, found or not
    int64_t n_nonrelevant    # judged, and not relevant


cdef struct rules_t:
    int32_t level            # from this grade on a document is relevant
    int32_t max_grade        # of ERR
    double persistence       # of RBP
    bint exponential         # gain of nDCG: 2**grade - 1 in place of the grade
    const double* logs       # of place + 2


cdef inline int64_t relevant_until(const ranking_t* ranking, const rules_t* rules,
                                   int64_t cutoff) noexcept nogil:
    """How many relevant documents are on places below the cutoff."""
    cdef int64_t i, n_found = 0
    for i in range(ranking.n_found):
        if ranking.places[i] >= cutoff:
            break
        n_found += ranking.grades[i] >= rules.level
    return n_found


cdef inline double reciprocal_rank(const ranking_t* ranking, const rules_t* rules,
                                   int64_t cutoff) noexcept nogil:
    cdef int64_t i
    for i in range(ranking.n_found):
        if ranking.places[i] >= cutoff:
            break
        if ranking.grades[i] >= rules.level:
            return 1.0 / <double> (ranking.places[i] + 1)
    return 0.0


cdef inline double average_precision(const ranking_t* ranking, const rules_t* rules,
                                     int64_t cutoff) noexcept nogil:
    cdef int64_t i, n_found = 0
    cdef double total = 0.0
    if ranking.n_relevant == 0:
        return 0.0
    for i in range(ranking.n_found):
        if ranking.places[i] >= cutoff:
            break
        if ranking.grades[i] >= rules.level:
            n_found += 1
            total += <double> n_found / <double> (ranking.places[i] + 1)
    return total / <double> ranking.n_relevant


cdef inline double gain(int32_t grade, bint exponential) noexcept nogil:
    return ldexp(1.0, grade) - 1.0 if exponential else <double> grade


cdef inline double ndcg(const ranking_t* ranking, const rules_t* rules,
                        int64_t cutoff) noexcept nogil:
    """Järvelin and Kekäläinen 2002, with the discount of Burges et al. 2005, as in trec_eval."""
    cdef int64_t i
    cdef double total = 0.0, ideal = 0.0
    for i in range(ranking.n_found):
        if ranking.places[i] >= cutoff:
            break
        if ranking.grades[i] > 0:
            total += gain(ranking.grades[i], rules.exponential) / rules.logs[ranking.places[i]]
    if total == 0.0:
        return 0.0
    for i in range(min(cutoff, ranking.n_ideal)):
        ideal += gain(ranking.ideal[i], rules.exponential) / rules.logs[i]
    return total / ideal


cdef inline double bpref(const ranking_t* ranking, const rules_t* rules) noexcept nogil:
    """Buckley and Voorhees 2004, as trec_eval has it since version 8."""
    cdef int64_t i, n_before = 0, n_compared = min(ranking.n_relevant, ranking.n_nonrelevant)
    cdef double total = 0.0
    if ranking.n_relevant == 0:
        return 0.0
    for i in range(ranking.n_found):
        if ranking.grades[i] < rules.level:
            n_before += 1
        elif n_before == 0:
            total += 1.0
        else:
            total += 1.0 - <double> min(n_before, ranking.n_relevant) / <double> n_compared
    return total / <double> ranking.n_relevant


cdef inline double expected_reciprocal_rank(const ranking_t* ranking, const rules_t* rules,
                                            int64_t cutoff) noexcept nogil:
    """Chapelle et al. 2009, equations 4 and 5."""
    cdef int64_t i
    cdef double total = 0.0, reaches = 1.0, satisfied
    for i in range(ranking.n_found):
        if ranking.places[i] >= cutoff:
            break
        if ranking.grades[i] > 0:
            satisfied = ldexp(ldexp(1.0, ranking.grades[i]) - 1.0, -rules.max_grade)
            total += reaches * satisfied / <double> (ranking.places[i] + 1)
            reaches *= 1.0 - satisfied
    return total


cdef inline double rank_biased_precision(const ranking_t* ranking, const rules_t* rules,
                                         int64_t cutoff) noexcept nogil:
    """Moffat and Zobel 2008, equation 3; relevant or not, without the residual."""
    cdef int64_t i, place = 0
    cdef double total = 0.0, weight = 1.0 - rules.persistence
    for i in range(ranking.n_found):
        if ranking.places[i] >= cutoff:
            break
        if ranking.grades[i] < rules.level:
            continue
        # Step by step, for pow() differs between machines. What is below adds nothing, and
        # numbers without their full precision are slow.
        while place < ranking.places[i] and weight > 1e-300:
            weight *= rules.persistence
            place += 1
        if weight <= 1e-300:
            break
        total += weight
    return total
