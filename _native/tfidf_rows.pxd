"""TF-IDF cosine of two rows of counts, the two rows being the whole corpus.

Smooth idf, ln((N + 1) / (df + 1)) + 1, as in scikit-learn's TfidfTransformer: with N = 2 it is 1
for a term of both texts and ln(3/2) + 1 for a term of one. Sums run in the order the ids are given
in, which is the order of first appearance in each text.
"""
from libc.math cimport sqrt

from ngram_sets cimport count_of, tallied_count
from primitives cimport int64_t
from token_counts cimport counts_t

cdef extern from *:
    """
    static const double UNSHARED_IDF = 1.4054651081081644;
    """
    const double UNSHARED_IDF

cdef enum:
    N_SQUARES = 8


cdef inline double pair_cosine(const counts_t* left, const counts_t* right) noexcept nogil:
    """Cosine of two counted texts; 0 when either has no tokens."""
    cdef double n_left = <double> left.total, n_right = <double> right.total
    cdef double dot = 0.0, left_squares = 0.0, right_squares = 0.0, weight
    cdef double squares[2 * N_SQUARES]   # by count; from N_SQUARES on of terms of both texts
    cdef int64_t here, there, n_shared = 0
    cdef Py_ssize_t i
    # Most counts are small: their squares are computed once, by the same operations.
    for here in range(1, N_SQUARES):
        weight = <double> here / n_right
        squares[N_SQUARES + here] = weight * weight
        squares[here] = (weight * UNSHARED_IDF) * (weight * UNSHARED_IDF)
    for i in range(right.n_distinct):
        here = tallied_count(&right.tally, right.distinct[i])
        there = left.tally.cells[right.distinct[i]] > left.tally.stamp
        n_shared += there
        if here < N_SQUARES:
            right_squares += squares[N_SQUARES * there + here]
            continue
        weight = <double> here / n_right
        if not there:
            weight *= UNSHARED_IDF
        right_squares += weight * weight
    if n_shared == 0:
        # One text may be held against many others: it is not read where there is nothing to find.
        return 0.0
    for i in range(left.n_distinct):
        here = tallied_count(&left.tally, left.distinct[i])
        there = count_of(&right.tally, left.distinct[i])
        weight = <double> here / n_left
        if there:
            dot += weight * (<double> there / n_right)
        else:
            weight *= UNSHARED_IDF
        left_squares += weight * weight
    return dot / (sqrt(left_squares) * sqrt(right_squares))
