"""Rankings: scores to places, and ids joined with judgements to measures, row by row.

A row is one query. Its ranking and its judgements are ids end to end; an id that comes a second
time, in either, is passed over.
"""
from libc.stdlib cimport calloc, free, malloc, qsort

from natural_log cimport natural_log
from primitives cimport (
    folded_product, hash_t, int32_t, int64_t, offset_t, uint8_t, uint64_t,
)
from ranking_measures cimport (
    average_precision, bpref, expected_reciprocal_rank, ndcg, rank_biased_precision, ranking_t,
    reciprocal_rank, relevant_until, rules_t,
)

# In the order of ``rag_eval.metrics.measure_names.KINDS``.
cdef enum:
    PRECISION = 0
    RECALL = 1
    SUCCESS = 2
    RECIPROCAL_RANK = 3
    AVERAGE_PRECISION = 4
    NDCG = 5
    R_PRECISION = 6
    BPREF = 7
    EXPECTED_RECIPROCAL_RANK = 8
    RANK_BIASED_PRECISION = 9

cdef enum:
    UNJUDGED = -1
    COUNTED_GRADES = 256   # grades below are sorted by counting


cdef struct slot_t:
    int64_t id
    int32_t grade
    # Twice the number of the row that holds the slot, from 1, and 1 more where its ranking has
    # had the id: a table need not be cleared between rows.
    int32_t mark


cdef struct scratch_t:
    slot_t* slots
    int64_t* places
    double* logs
    int32_t* grades
    int32_t* ideal
    int32_t* sorted_ideal


cdef struct row_t:
    const int64_t* ids        # of the ranking
    int64_t n_ids
    const int64_t* judged     # ids
    const int32_t* grades
    int64_t n_judged


cdef inline int64_t table_size(int64_t n_entries) noexcept nogil:
    """The least power of two that leaves half of the slots empty."""
    cdef int64_t n_slots = 16
    while n_slots < 2 * n_entries:
        n_slots *= 2
    return n_slots


cdef inline slot_t* slot_of(slot_t* slots, uint64_t mask, hash_t seed, int64_t id,
                            int32_t mark) noexcept nogil:
    """The slot that holds an id, or the free one where it would be."""
    cdef uint64_t place = folded_product(<uint64_t> id ^ seed, <uint64_t> 0x9E3779B97F4A7C15)
    cdef slot_t* slot = &slots[place & mask]
    while (slot.mark | 1) == (mark | 1) and slot.id != id:
        place += 1
        slot = &slots[place & mask]
    return slot


cdef int higher_first(const void* left, const void* right) noexcept nogil:
    cdef int32_t a = (<const int32_t*> left)[0], b = (<const int32_t*> right)[0]
    return (b > a) - (b < a)


cdef void sort_grades(int32_t* grades, int64_t n_grades, int32_t* out) noexcept nogil:
    """Fill ``out`` with the grades, all above 0, highest first; ``grades`` is not kept."""
    cdef int64_t counts[COUNTED_GRADES]
    cdef int64_t i, n_out = 0
    cdef int32_t grade, highest = 0
    for i in range(n_grades):
        highest = max(highest, grades[i])
    if highest >= COUNTED_GRADES:
        qsort(grades, <size_t> n_grades, sizeof(int32_t), higher_first)
        for i in range(n_grades):
            out[i] = grades[i]
        return
    for grade in range(highest + 1):
        counts[grade] = 0
    for i in range(n_grades):
        counts[grades[i]] += 1
    for grade in range(highest, 0, -1):
        while counts[grade]:
            out[n_out] = grade
            n_out += 1
            counts[grade] -= 1


cdef ranking_t joined(const row_t* row, scratch_t* scratch, int32_t level, int32_t mark,
                      hash_t seed, bint sort_ideal) noexcept nogil:
    """Places and grades of the judged documents of a row."""
    cdef ranking_t ranking
    cdef uint64_t mask = <uint64_t> (table_size(row.n_ids + row.n_judged) - 1)
    cdef int64_t i, place = 0
    cdef int32_t grade
    cdef slot_t* slot
    ranking.places, ranking.grades = scratch.places, scratch.grades
    ranking.n_found = ranking.n_ideal = ranking.n_relevant = ranking.n_nonrelevant = 0
    for i in range(row.n_judged):
        slot = slot_of(scratch.slots, mask, seed, row.judged[i], mark)
        if (slot.mark | 1) == (mark | 1):
            continue
        grade = row.grades[i]
        slot.id, slot.grade, slot.mark = row.judged[i], grade, mark
        ranking.n_relevant += grade >= level
        ranking.n_nonrelevant += 0 <= grade < level
        if grade > 0:
            scratch.ideal[ranking.n_ideal] = grade
            ranking.n_ideal += 1
    for i in range(row.n_ids):
        slot = slot_of(scratch.slots, mask, seed, row.ids[i], mark)
        if slot.mark == mark | 1:
            continue
        if slot.mark != mark:
            slot.id, slot.grade = row.ids[i], UNJUDGED
        slot.mark = mark | 1
        if slot.grade >= 0:
            scratch.places[ranking.n_found] = place
            scratch.grades[ranking.n_found] = slot.grade
            ranking.n_found += 1
        place += 1
    ranking.ideal = scratch.sorted_ideal
    if sort_ideal:
        sort_grades(scratch.ideal, ranking.n_ideal, scratch.sorted_ideal)
    return ranking


cdef double measured(const ranking_t* ranking, const rules_t* rules, int32_t kind,
                     int64_t cutoff) noexcept nogil:
    cdef double n_relevant = <double> ranking.n_relevant
    if kind == PRECISION:
        return <double> relevant_until(ranking, rules, cutoff) / <double> cutoff
    if kind == RECALL:
        return relevant_until(ranking, rules, cutoff) / n_relevant if n_relevant else 0.0
    if kind == SUCCESS:
        return 1.0 if relevant_until(ranking, rules, cutoff) else 0.0
    if kind == RECIPROCAL_RANK:
        return reciprocal_rank(ranking, rules, cutoff)
    if kind == AVERAGE_PRECISION:
        return average_precision(ranking, rules, cutoff)
    if kind == NDCG:
        return ndcg(ranking, rules, cutoff)
    if kind == R_PRECISION:
        return (relevant_until(ranking, rules, ranking.n_relevant) / n_relevant if n_relevant
                else 0.0)
    if kind == BPREF:
        return bpref(ranking, rules)
    if kind == EXPECTED_RECIPROCAL_RANK:
        return expected_reciprocal_rank(ranking, rules, cutoff)
    return rank_biased_precision(ranking, rules, cutoff)


cdef int open_scratch(void** memory, scratch_t* scratch, int64_t widest) noexcept nogil:
    """Room for a row of ``widest`` ids, judged and ranked; 0, or -1 without memory."""
    cdef size_t n = <size_t> widest
    cdef size_t n_slots = <size_t> table_size(widest)
    memory[0] = calloc(
        n_slots * sizeof(slot_t) + n * (sizeof(int64_t) + sizeof(double) + 3 * sizeof(int32_t)), 1)
    if memory[0] == NULL:
        return -1
    scratch.slots = <slot_t*> memory[0]
    scratch.places = <int64_t*> (scratch.slots + n_slots)
    scratch.logs = <double*> (scratch.places + n)
    scratch.grades = <int32_t*> (scratch.logs + n)
    scratch.ideal = scratch.grades + n
    scratch.sorted_ideal = scratch.ideal + n
    return 0


def score_rankings(
    const int64_t[::1] ids, const offset_t[::1] id_offsets,
    const int64_t[::1] judged, const int32_t[::1] grades, const offset_t[::1] judged_offsets,
    const int32_t[::1] kinds, const int64_t[::1] cutoffs,
    int32_t level, bint exponential, int32_t max_grade, double persistence,
    uint64_t seed, Py_ssize_t begin, Py_ssize_t end,
    double[:, ::1] scores, int64_t[::1] n_relevant,
):
    """Fill rows ``begin`` to ``end`` of the scores and of how many relevant documents there are.

    A column of scores is a kind of measure with a cutoff; at most 2**29 rows in a call. Scores
    without a relevant document are 0.
    """
    cdef ranking_t ranking
    cdef rules_t rules
    cdef row_t row
    cdef scratch_t scratch
    cdef void* memory = NULL
    cdef Py_ssize_t number, measure
    cdef int64_t i, widest = 1
    cdef bint has_ndcg = False
    cdef int failed
    rules.level, rules.exponential = level, exponential
    rules.max_grade, rules.persistence = max_grade, persistence
    with nogil:
        for number in range(begin, end):
            widest = max(widest, id_offsets[number + 1] - id_offsets[number]
                         + judged_offsets[number + 1] - judged_offsets[number])
        failed = open_scratch(&memory, &scratch, widest)
    if failed:
        raise MemoryError
    rules.logs = scratch.logs
    try:
        with nogil:
            for measure in range(kinds.shape[0]):
                has_ndcg = has_ndcg or kinds[measure] == NDCG
            if has_ndcg:
                for i in range(widest):
                    scratch.logs[i] = natural_log(<double> (i + 2))
            for number in range(begin, end):
                row.n_ids = id_offsets[number + 1] - id_offsets[number]
                row.ids = &ids[id_offsets[number]] if row.n_ids else NULL
                row.n_judged = judged_offsets[number + 1] - judged_offsets[number]
                row.judged = &judged[judged_offsets[number]] if row.n_judged else NULL
                row.grades = &grades[judged_offsets[number]] if row.n_judged else NULL
                ranking = joined(&row, &scratch, level, <int32_t> (2 * (number - begin + 1)), seed,
                                 has_ndcg)
                n_relevant[number] = ranking.n_relevant
                for measure in range(kinds.shape[0]):
                    scores[number, measure] = measured(&ranking, &rules, kinds[measure],
                                                       cutoffs[measure])
    finally:
        free(memory)


# ------------------------------------------------------------------------------ scores -> places

cdef struct scored_t:
    double score
    int64_t place


cdef int better_first(const void* left, const void* right) noexcept nogil:
    cdef const scored_t* a = <const scored_t*> left
    cdef const scored_t* b = <const scored_t*> right
    if a.score != b.score:
        return -1 if a.score > b.score else 1
    return (a.place > b.place) - (a.place < b.place)


def order_rows(
    const double[::1] scores, const offset_t[::1] offsets,
    Py_ssize_t begin, Py_ssize_t end, int64_t[::1] order, uint8_t[::1] tied,
):
    """Fill ``order`` with the places of the scores of each row, highest first.

    ``tied`` is 1 where the next in order is of the same row and score. No score may be NaN.
    """
    cdef scored_t* items = NULL
    cdef Py_ssize_t row
    cdef int64_t i, first, n_items, widest = 1
    with nogil:
        for row in range(begin, end):
            widest = max(widest, offsets[row + 1] - offsets[row])
        items = <scored_t*> malloc(<size_t> widest * sizeof(scored_t))
    if items == NULL:
        raise MemoryError
    try:
        with nogil:
            for row in range(begin, end):
                first = offsets[row]
                n_items = offsets[row + 1] - first
                for i in range(n_items):
                    items[i].score, items[i].place = scores[first + i], first + i
                qsort(items, <size_t> n_items, sizeof(scored_t), better_first)
                for i in range(n_items):
                    order[first + i] = items[i].place
                    tied[first + i] = i + 1 < n_items and items[i].score == items[i + 1].score
    finally:
        free(items)
