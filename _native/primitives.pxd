"""Types and leaf functions of every kernel: flat memory, no Python object."""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc

ctypedef int64_t offset_t   # position in a column (Arrow large_utf8 / large_list)
ctypedef int32_t token_t    # id of a token or an n-gram, dense from 0 within one vocabulary
ctypedef uint64_t hash_t    # mixed key of a token or an n-gram

cdef extern from "portable.h" nogil:
    uint64_t folded_product(uint64_t left, uint64_t right) noexcept
    uint64_t load_8_bytes(const uint8_t* bytes) noexcept


cdef struct span_t:
    int64_t begin   # half-open, in bytes
    int64_t end


cdef inline int reserve(void** memory, int64_t* capacity, int64_t wanted,
                        size_t item_bytes) noexcept nogil:
    """Room for ``wanted`` items, doubling; 0, or -1 when the memory is not to be had."""
    cdef int64_t grown
    cdef void* moved
    if wanted <= capacity[0]:
        return 0
    grown = capacity[0] * 2
    if grown < wanted:
        grown = wanted
    if grown < 64:
        grown = 64
    moved = realloc(memory[0], <size_t> grown * item_bytes)
    if moved == NULL:
        return -1
    memory[0] = moved
    capacity[0] = grown
    return 0


cdef inline hash_t next_seed(hash_t seed) noexcept nogil:
    """The seed after ``seed``: one step of splitmix64 (Steele, Lea, Flood 2014, figure 17)."""
    cdef hash_t mixed = seed + <hash_t> 0x9E3779B97F4A7C15
    mixed = (mixed ^ (mixed >> 30)) * <hash_t> 0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <hash_t> 0x94D049BB133111EB
    return mixed ^ (mixed >> 31)


cdef struct text_t:
    const uint8_t* bytes   # UTF-8
    int64_t size


cdef struct texts_t:
    const uint8_t* bytes
    const offset_t* offsets


cdef inline text_t text_at(const texts_t* column, int64_t index) noexcept nogil:
    cdef text_t text
    text.size = column.offsets[index + 1] - column.offsets[index]
    text.bytes = column.bytes + column.offsets[index] if text.size else NULL
    return text
