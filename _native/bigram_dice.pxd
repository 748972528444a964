"""The Dice coefficient of the bigrams of two texts."""
from libc.stdint cimport uint16_t
from libc.string cimport memcmp, memset

from code_points cimport CODE_POINT_SPACE, code_point_flags
from primitives cimport folded_product, hash_t, int64_t, reserve, uint32_t, uint64_t
from text_units cimport units_t

cdef enum:
    ASCII_BIGRAMS = 16384   # two times seven bits


cdef struct counted_t:
    uint32_t bigram
    uint32_t count   # of those not yet matched; 0 is no entry


cdef struct unspaced_t:
    uint16_t* items
    int64_t capacity


cdef struct dice_t:
    unspaced_t left_memory
    unspaced_t right_memory
    units_t left             # without white space
    units_t right
    uint32_t* ascii_counts   # by bigram, all 0 between rows
    counted_t* slots
    int64_t slots_capacity
    hash_t seed


cdef inline bint is_space(uint16_t unit) noexcept nogil:
    # No space is between U+00A0 and U+1680, where most letters are that are not ASCII.
    if unit <= 0x20:
        return unit == 0x20 or <uint16_t> (unit - 9) < 5
    return unit == 0xA0 or (
        unit >= 0x1680 and code_point_flags(unit) & CODE_POINT_SPACE != 0)


cdef inline int drop_spaces(unspaced_t* memory, units_t* units) noexcept nogil:
    """Leave all white space out, in memory of its own; 0, or -1 without any."""
    cdef int64_t at, n = 0
    if reserve(<void**> &memory.items, &memory.capacity, units.size, sizeof(uint16_t)):
        return -1
    for at in range(units.size):
        memory.items[n] = units.items[at]
        n += not is_space(units.items[at])
    units.items = memory.items
    units.size = n
    return 0


cdef inline bint same_units(const units_t* left, const units_t* right) noexcept nogil:
    if left.size != right.size:
        return False
    # Texts without units may have no memory to compare.
    return left.size == 0 or memcmp(
        left.items, right.items, <size_t> left.size * sizeof(uint16_t)) == 0


cdef inline uint32_t bigram_at(const uint16_t* units, int64_t at) noexcept nogil:
    return <uint32_t> units[at] << 16 | units[at + 1]


cdef inline int64_t shared_ascii(dice_t* work) noexcept nogil:
    """Bigrams that both texts have, with repeats; ASCII alone."""
    cdef uint32_t* counts = work.ascii_counts
    cdef const uint16_t* left = work.left.items
    cdef const uint16_t* right = work.right.items
    cdef int64_t i, shared = 0
    cdef uint32_t* count
    for i in range(work.left.size - 1):
        counts[left[i] << 7 | left[i + 1]] += 1
    for i in range(work.right.size - 1):
        count = &counts[right[i] << 7 | right[i + 1]]
        shared += count[0] != 0
        count[0] -= count[0] != 0
    for i in range(work.left.size - 1):
        counts[left[i] << 7 | left[i + 1]] = 0
    return shared


cdef inline counted_t* slot_of(dice_t* work, uint64_t mask, uint32_t bigram) noexcept nogil:
    """The slot of a bigram, or the free one where it belongs."""
    cdef uint64_t place = folded_product(
        bigram ^ work.seed, <uint64_t> 0x9E3779B97F4A7C15) & mask
    while work.slots[place].count and work.slots[place].bigram != bigram:
        place = (place + 1) & mask
    return &work.slots[place]


cdef inline int64_t shared_any(dice_t* work) noexcept nogil:
    """Bigrams that both texts have, with repeats; -1 without memory."""
    cdef int64_t n_slots = 64, i, shared = 0
    cdef counted_t* slot
    cdef uint32_t bigram
    while n_slots < 2 * work.left.size:
        n_slots *= 2
    if reserve(<void**> &work.slots, &work.slots_capacity, n_slots, sizeof(counted_t)):
        return -1
    memset(work.slots, 0, <size_t> n_slots * sizeof(counted_t))
    # A count is one more than what is left to match, so that a spent entry is still an entry.
    for i in range(work.left.size - 1):
        bigram = bigram_at(work.left.items, i)
        slot = slot_of(work, n_slots - 1, bigram)
        slot.bigram = bigram
        slot.count += 1 + (slot.count == 0)
    for i in range(work.right.size - 1):
        slot = slot_of(work, n_slots - 1, bigram_at(work.right.items, i))
        shared += slot.count > 1
        slot.count -= slot.count > 1
    return shared


cdef inline double dice(dice_t* work) noexcept nogil:
    """2 x shared bigrams / all of them; -1 without memory."""
    cdef int64_t shared
    if (drop_spaces(&work.left_memory, &work.left)
            or drop_spaces(&work.right_memory, &work.right)):
        return -1.0
    if same_units(&work.left, &work.right):
        return 1.0
    if work.left.size < 2 or work.right.size < 2:
        return 0.0
    if work.left.is_ascii and work.right.is_ascii:
        shared = shared_ascii(work)
    else:
        shared = shared_any(work)
    if shared < 0:
        return -1.0
    return <double> (2 * shared) / <double> (work.left.size + work.right.size - 2)
