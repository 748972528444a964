"""The counts of a text's tokens (or n-grams), and what two texts' counts have in common."""
from libc.stdlib cimport free

from ngram_sets cimport begin_tally, count_of, jaccard, tally_ids, tally_t
from primitives cimport int64_t, reserve, token_t


cdef struct counts_t:
    tally_t tally
    token_t* distinct      # ids in order of first appearance
    int64_t distinct_capacity
    int64_t n_distinct
    int64_t total          # with repeats


cdef inline int count_ids(counts_t* counts, const token_t* ids, int64_t n_ids,
                          int64_t n_known) noexcept nogil:
    """Count a text's ids, all below ``n_known``; 0, or -1 without memory."""
    if begin_tally(&counts.tally, n_known):
        return -1
    if reserve(<void**> &counts.distinct, &counts.distinct_capacity, n_ids + 1, sizeof(token_t)):
        return -1
    counts.n_distinct = tally_ids(&counts.tally, ids, n_ids, counts.distinct)
    counts.total = n_ids
    return 0


cdef inline void close_counts(counts_t* counts) noexcept nogil:
    free(counts.tally.cells)
    free(counts.distinct)


cdef inline double distinct_jaccard(const counts_t* left, const counts_t* right) noexcept nogil:
    """Jaccard overlap of the distinct ids of two texts."""
    cdef int64_t shared = 0
    cdef Py_ssize_t i
    for i in range(right.n_distinct):
        shared += left.tally.cells[right.distinct[i]] > left.tally.stamp
    return jaccard(left.n_distinct, right.n_distinct, shared)


cdef inline double token_f1(const counts_t* reference, const counts_t* answer) noexcept nogil:
    """Harmonic mean of token precision and recall, tokens counted with repeats (SQuAD)."""
    cdef int64_t common = 0, i
    cdef double precision, recall
    cdef token_t id
    for i in range(reference.n_distinct):
        id = reference.distinct[i]
        common += min(count_of(&reference.tally, id), count_of(&answer.tally, id))
    if common == 0:
        return 0.0
    precision = <double> common / <double> answer.total
    recall = <double> common / <double> reference.total
    return 2.0 * precision * recall / (precision + recall)
