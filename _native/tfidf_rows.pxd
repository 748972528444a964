"""TF-IDF cosine of two rows of counts, the two rows being the whole corpus.

Smooth idf, ln((N + 1) / (df + 1)) + 1, as in scikit-learn's TfidfTransformer: with N = 2 it is 1
for a term of both texts and ln(3/2) + 1 for a term of one. Sums run in the order the ids are given
in, which is the order of first appearance in each text.
"""
from libc.math cimport sqrt

from ngram_sets cimport count_of, tally_t
from primitives cimport int64_t, token_t

cdef extern from *:
    """
    static const double UNSHARED_IDF = 1.4054651081081644;
    """
    const double UNSHARED_IDF


cdef inline double pair_cosine(
    const tally_t* left, const token_t* left_ids, Py_ssize_t n_left, int64_t left_total,
    const tally_t* right, const token_t* right_ids, Py_ssize_t n_right, int64_t right_total,
) noexcept nogil:
    """Cosine of two tallied texts from their distinct ids; 0 when either has no tokens.

    ``total`` counts a text's tokens with repeats.
    """
    cdef double n_left_tokens = <double> left_total, n_right_tokens = <double> right_total
    cdef double dot = 0.0, left_squares = 0.0, right_squares = 0.0, weight
    cdef int64_t here, there
    cdef Py_ssize_t i
    for i in range(n_left):
        here = count_of(left, left_ids[i])
        there = count_of(right, left_ids[i])
        weight = <double> here / n_left_tokens
        if there:
            dot += weight * (<double> there / n_right_tokens)
        else:
            weight *= UNSHARED_IDF
        left_squares += weight * weight
    for i in range(n_right):
        here = count_of(right, right_ids[i])
        weight = <double> here / n_right_tokens
        if not count_of(left, right_ids[i]):
            weight *= UNSHARED_IDF
        right_squares += weight * weight
    if left_squares == 0.0 or right_squares == 0.0:
        return 0.0
    return dot / (sqrt(left_squares) * sqrt(right_squares))
