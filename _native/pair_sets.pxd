"""How many of a text's pairs of ids are distinct: a set that lasts for one text."""
from libc.stdlib cimport free
from libc.string cimport memset

from primitives cimport folded_product, hash_t, int64_t, next_seed, reserve, uint64_t
from vocabulary cimport MAX_PROBE

cdef extern from *:
    """
    #define NO_PAIR UINT64_MAX /* a free slot: no id has 32 bits */
    """
    const uint64_t NO_PAIR


cdef struct pair_set_t:
    uint64_t* slots
    int64_t capacity
    int64_t n_slots            # in use, a power of two; a quarter of them are filled at most
    hash_t seed                # moves on when a probe runs too long
    uint64_t* others           # pairs that are not the one in their home slot
    int64_t others_capacity


cdef inline void close_pairs(pair_set_t* pairs) noexcept nogil:
    free(pairs.slots)
    free(pairs.others)


cdef inline int64_t pair_slot(uint64_t pair, hash_t seed, uint64_t slot_mask) noexcept nogil:
    return <int64_t> (
        folded_product(pair ^ seed, <uint64_t> 0xA0761D6478BD642F) & slot_mask)


cdef inline int64_t place_at_home(pair_set_t* pairs, const uint64_t* given, int64_t n_given,
                                  int64_t* n_others) noexcept nogil:
    """Place the pairs whose home slot is free and list the others; how many were placed.

    No branch: whether a pair is new is a thing that a processor cannot guess.
    """
    cdef uint64_t slot_mask = <uint64_t> (pairs.n_slots - 1), pair, found
    cdef hash_t seed = pairs.seed
    cdef uint64_t* slots = pairs.slots
    cdef uint64_t* others = pairs.others
    cdef int64_t n_listed = 0, n_placed = 0, i, slot
    cdef uint64_t is_free
    for i in range(n_given):
        pair = given[i]
        slot = pair_slot(pair, seed, slot_mask)
        found = slots[slot]
        is_free = found == NO_PAIR
        # All bits of a free slot are set.
        found = found & pair | found & (is_free - 1)
        slots[slot] = found
        n_placed += is_free
        # Written always and kept where the slot is another's.
        others[n_listed] = pair
        n_listed += found != pair
    n_others[0] = n_listed
    return n_placed


cdef inline int64_t place_others(pair_set_t* pairs, int64_t n_others) noexcept nogil:
    """Place the others past their home slots; how many were new, or -1 after too long a run."""
    cdef int64_t n_placed = 0, i, slot, probes
    cdef uint64_t slot_mask = <uint64_t> (pairs.n_slots - 1), pair
    for i in range(n_others):
        pair = pairs.others[i]
        slot = pair_slot(pair, pairs.seed, slot_mask)
        probes = 0
        while pairs.slots[slot] != NO_PAIR and pairs.slots[slot] != pair:
            slot = (slot + 1) & <int64_t> slot_mask
            probes += 1
        if probes > MAX_PROBE:
            return -1
        n_placed += pairs.slots[slot] == NO_PAIR
        pairs.slots[slot] = pair
    return n_placed


cdef inline int64_t count_pairs(pair_set_t* pairs, const uint64_t* given,
                                int64_t n_given) noexcept nogil:
    """How many of the pairs are distinct; -1 without memory."""
    cdef int64_t at_home, elsewhere = -1, n_others = 0
    pairs.n_slots = 64
    while pairs.n_slots < 4 * n_given:
        pairs.n_slots *= 2
    if reserve(<void**> &pairs.others, &pairs.others_capacity, n_given + 1, sizeof(uint64_t)):
        return -1
    while True:
        if reserve(<void**> &pairs.slots, &pairs.capacity, pairs.n_slots, sizeof(uint64_t)):
            return -1
        memset(pairs.slots, 0xFF, <size_t> pairs.n_slots * sizeof(uint64_t))
        at_home = place_at_home(pairs, given, n_given, &n_others)
        elsewhere = place_others(pairs, n_others)
        if elsewhere >= 0:
            return at_home + elsewhere
        pairs.seed = next_seed(pairs.seed)
        pairs.n_slots *= 2
