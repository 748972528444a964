"""Columns of scores: sums without rounding, and verdicts on rows.

A double is an integer times a power of two. Integers are added up per exponent, in pieces of 32
bits that cannot overflow, and Python's integers put the pieces together: the sum is the same
whatever the order, the blocks or the machines it was gathered over (a small superaccumulator,
after Neal 2015).
"""
from libc.math cimport NAN, frexp, isnan
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from outcomes cimport MISSING_FIELD, REFUSED

cdef extern from "portable.h" nogil:
    uint64_t multiply_wide(uint64_t left, uint64_t right, uint64_t* upper) noexcept

cdef enum:
    # Exponents of the least bit: -1074 (subnormal) to 971, moved up so that none is negative.
    LOWEST = 1074
    N_EXPONENTS = 2048

# What scores of a column are compared with, and what a row needs besides metrics that pass: in the
# order of rag_eval.kernels.verdicts.
cdef enum:
    UNLIMITED, AT_LEAST, AT_MOST

cdef enum:
    NEVER, COMPOSITE, LIMITED_SCORE, ANY_SCORE, NOTHING


def add_column(const double[:] values, int64_t[:, ::1] sums, int64_t[:, ::1] squares):
    """Add the values that are not NaN to the pieces.

    Returns how many there were, and the first and one past the last exponent they touched.

    ``sums`` has shape (2048, 2), ``squares`` (2048, 4): per exponent of the least bit, 32-bit
    pieces from low to high. At most 2**31 values may be added before the pieces are emptied.
    """
    cdef Py_ssize_t i, n_values = 0
    cdef int exponent, first = N_EXPONENTS, end = 0
    cdef int64_t sign
    cdef uint64_t mantissa, lower, upper = 0
    cdef double value
    with nogil:
        for i in range(values.shape[0]):
            value = values[i]
            if isnan(value):
                continue
            n_values += 1
            if value == 0.0:
                continue
            sign = -1 if value < 0 else 1
            mantissa = <uint64_t> (frexp(value * sign, &exponent) * 9007199254740992.0)
            # value = sign * mantissa * 2**(exponent - 53); a subnormal's low bits are zero.
            exponent += LOWEST - 53
            if exponent < 0:
                mantissa >>= -exponent
                exponent = 0
            first = min(first, exponent)
            end = max(end, exponent + 1)
            sums[exponent, 0] += sign * <int64_t> <uint32_t> mantissa
            sums[exponent, 1] += sign * <int64_t> (mantissa >> 32)
            lower = multiply_wide(mantissa, mantissa, &upper)
            squares[exponent, 0] += <int64_t> <uint32_t> lower
            squares[exponent, 1] += <int64_t> (lower >> 32)
            squares[exponent, 2] += <int64_t> <uint32_t> upper
            squares[exponent, 3] += <int64_t> (upper >> 32)
    return n_values, min(first, end), end


def give_verdicts(
    const double[:, :] scores, const uint8_t[:, :] null_reasons, const double[::1] limits,
    const uint8_t[::1] kinds, const uint8_t[::1] reads_truth, const int64_t[::1] composed,
    const double[::1] weights, int need, double composite_limit, double[::1] composite,
    uint8_t[:, ::1] metric_passed, uint8_t[::1] passed,
):
    """Fill in the verdicts on R rows of M columns; ``kernels/verdicts.py`` says what is what.

    Without ``null_reasons`` no answer is a refusal.
    """
    cdef Py_ssize_t row, column, i
    cdef bint all_passed, has_limited, has_any, is_excused, has_refused, reached
    cdef double score, weight, total, weight_sum
    cdef uint8_t reason
    with nogil:
        for row in range(scores.shape[0]):
            all_passed = is_excused = True
            has_limited = has_any = has_refused = False
            for column in range(scores.shape[1]):
                score = scores[row, column]
                if isnan(score):
                    metric_passed[row, column] = False
                elif kinds[column] == UNLIMITED:
                    metric_passed[row, column] = True
                    has_any = True
                else:
                    metric_passed[row, column] = (score >= limits[column]
                                                  if kinds[column] == AT_LEAST
                                                  else score <= limits[column])
                    if not metric_passed[row, column]:
                        all_passed = False
                    has_any = has_limited = True
                if kinds[column] != UNLIMITED and null_reasons is not None:
                    reason = null_reasons[row, column]
                    if reason == REFUSED:
                        has_refused = True
                    elif reason != MISSING_FIELD or not reads_truth[column]:
                        is_excused = False
            # One after the other, metric by metric: the bits of a plain loop.
            total, weight_sum = -0.0, -0.0
            for i in range(composed.shape[0]):
                score = scores[row, composed[i]]
                weight = weights[i]
                if isnan(score):
                    score = weight = 0.0
                total += score * weight
                weight_sum += weight
            composite[row] = total / weight_sum if weight_sum > 0 else NAN
            if need == COMPOSITE:
                reached = composite[row] >= composite_limit
            elif need == LIMITED_SCORE:
                # What could fail is null because the answer claims nothing; a ground truth that is
                # not there takes nothing from it.
                reached = has_limited or (has_refused and is_excused)
            elif need == ANY_SCORE:
                reached = has_any
            else:
                reached = need == NOTHING
            passed[row] = all_passed and reached
