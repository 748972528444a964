"""Texts as units of UTF-16."""
from libc.stdint cimport uint16_t

from primitives cimport int64_t

cdef enum:
    N_ASCII = 128


cdef struct units_t:
    const uint16_t* items
    int64_t size
    bint is_ascii


cdef inline units_t units_of(const uint16_t* items, int64_t size) noexcept nogil:
    cdef uint16_t seen = 0
    cdef int64_t at
    for at in range(size):
        seen |= items[at]
    return units_t(items, size, seen < N_ASCII)
