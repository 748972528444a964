"""Sums of doubles and of their squares without rounding.

A double is an integer times a power of two. Integers are added up per exponent, in pieces of 32
bits that cannot overflow, and Python's integers put the pieces together: the sum is the same
whatever the order, the blocks or the machines it was gathered over (a small superaccumulator,
after Neal 2015).
"""
from libc.math cimport frexp, isnan
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from "portable.h" nogil:
    uint64_t multiply_wide(uint64_t left, uint64_t right, uint64_t* upper) noexcept

cdef enum:
    # Exponents of the least bit: -1074 (subnormal) to 971, moved up so that none is negative.
    LOWEST = 1074
    N_EXPONENTS = 2048


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
