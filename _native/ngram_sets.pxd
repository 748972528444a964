"""Sets of n-grams: exact ids, counts within one text, Jaccard overlap.

An n-gram is numbered by the pair of ids of two shorter ones, of equal length, that cover it, so
equal ids mean equal n-grams and no hash can forge a match. n-grams of different lengths may have
the same id: only those of one length are ever compared.
"""
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from primitives cimport (
    folded_product, hash_t, int64_t, next_seed, reserve, token_t, uint32_t, uint64_t,
)
from vocabulary cimport LAST_SERIAL, MAX_IDS, MAX_PROBE


# ------------------------------------------------------------------------------ numbering n-grams

cdef struct gram_slot_t:
    uint64_t pair      # prefix << 32 | token
    token_t serial     # the id counted on from row to row; a slot of an older row is free


cdef struct grams_t:
    gram_slot_t* slots
    int64_t n_slots
    int64_t n_allocated
    int64_t n_grams
    token_t first_serial       # of this row: id 0; at least 1, so that zeroed slots are free
    hash_t seed


cdef inline int clear_grams(grams_t* grams, int64_t n_slots) noexcept nogil:
    """Forget all n-grams and set out ``n_slots`` (a power of two) free slots; 0, or -1."""
    cdef gram_slot_t* slots
    if n_slots > grams.n_allocated:
        slots = <gram_slot_t*> calloc(<size_t> n_slots, sizeof(gram_slot_t))
        if slots == NULL:
            return -1
        free(grams.slots)
        grams.slots = slots
        grams.n_allocated = n_slots
        grams.first_serial = 1
    elif grams.first_serial + grams.n_grams > LAST_SERIAL:
        memset(grams.slots, 0, <size_t> grams.n_allocated * sizeof(gram_slot_t))
        grams.first_serial = 1
    else:
        grams.first_serial += <token_t> grams.n_grams
    grams.n_slots = n_slots
    grams.n_grams = 0
    return 0


cdef inline uint64_t gram_pair(uint64_t prefix, token_t token) noexcept nogil:
    return prefix << 32 | <uint64_t> <uint32_t> token


cdef inline int64_t gram_slot(const grams_t* grams, uint64_t pair) noexcept nogil:
    return <int64_t> (folded_product(pair ^ grams.seed, <uint64_t> 0xA0761D6478BD642F)
                      & <uint64_t> (grams.n_slots - 1))


cdef inline int relay_grams(grams_t* grams, int64_t n_slots) noexcept nogil:
    """Lay all n-grams out over ``n_slots`` under the next seed; 0, or -1 without memory."""
    cdef gram_slot_t* old = grams.slots
    cdef int64_t n_old = grams.n_slots, i, slot
    cdef gram_slot_t* slots = <gram_slot_t*> calloc(<size_t> n_slots, sizeof(gram_slot_t))
    if slots == NULL:
        return -1
    grams.slots = slots
    grams.n_slots = grams.n_allocated = n_slots
    grams.seed = next_seed(grams.seed)
    for i in range(n_old):
        if old[i].serial >= grams.first_serial:
            slot = gram_slot(grams, old[i].pair)
            while slots[slot].serial:
                slot = (slot + 1) & (n_slots - 1)
            slots[slot] = old[i]
    free(old)
    return 0


cdef inline int64_t number_gram(grams_t* grams, uint64_t pair) noexcept nogil:
    """Id of the n-gram, new ones in order of first appearance; -1 without memory."""
    cdef int64_t slot = gram_slot(grams, pair), probes = 0, id
    cdef gram_slot_t* found = &grams.slots[slot]
    while found.serial >= grams.first_serial:
        if found.pair == pair:
            return found.serial - grams.first_serial
        slot = (slot + 1) & (grams.n_slots - 1)
        probes += 1
        found = &grams.slots[slot]
    id = grams.n_grams
    if id > MAX_IDS:
        return -1
    found.pair = pair
    found.serial = grams.first_serial + <token_t> id
    grams.n_grams = id + 1
    if (2 * (id + 1) > grams.n_slots or probes > MAX_PROBE) and relay_grams(
            grams, 2 * grams.n_slots):
        return -1
    return id


cdef inline int64_t number_gram_at_sight(grams_t* grams, uint64_t pair) noexcept nogil:
    """``number_gram`` where as many n-grams are new as are known: no branch on which."""
    cdef gram_slot_t* found = &grams.slots[gram_slot(grams, pair)]
    # Of a slot that is free, far above all ids.
    cdef uint64_t id = <uint64_t> (<int64_t> found.serial - grams.first_serial)
    cdef uint64_t fresh = id >> 63
    if not (found.pair == pair) | fresh or 2 * (grams.n_grams + 1) > grams.n_slots:
        return number_gram(grams, pair)
    id = min(id, <uint64_t> grams.n_grams)
    found.pair = pair
    found.serial = grams.first_serial + <token_t> id
    grams.n_grams += <int64_t> fresh
    return <int64_t> id


cdef inline int64_t find_gram(const grams_t* grams, uint64_t pair) noexcept nogil:
    """Id of the n-gram, or -1 when it has none."""
    cdef int64_t slot = gram_slot(grams, pair)
    cdef const gram_slot_t* found = &grams.slots[slot]
    while found.serial >= grams.first_serial:
        if found.pair == pair:
            return found.serial - grams.first_serial
        slot = (slot + 1) & (grams.n_slots - 1)
        found = &grams.slots[slot]
    return -1


cdef inline int join_grams(grams_t* grams, const token_t* halves, int64_t distance,
                           int64_t n_windows, token_t* joined) noexcept nogil:
    """Number windows by the one they begin with and the one ``distance`` on that they end with.

    ``joined`` may be ``halves``. 0, or -1 without memory.
    """
    cdef int64_t i, id
    for i in range(n_windows):
        id = number_gram(
            grams, gram_pair(<uint64_t> <uint32_t> halves[i], halves[i + distance]))
        if id < 0:
            return -1
        joined[i] = <token_t> id
    return 0


# --------------------------------------------------------------------------- counts within a text

cdef struct tally_t:
    uint64_t* cells    # stamp << 32 | count: a cell of an older stamp counts zero
    int64_t capacity
    uint64_t stamp


cdef inline int widen_tally(tally_t* tally, int64_t n_ids) noexcept nogil:
    """Make room for ids below ``n_ids`` and keep the counts; 0, or -1 without memory."""
    cdef int64_t before = tally.capacity
    if reserve(<void**> &tally.cells, &tally.capacity, n_ids, sizeof(uint64_t)):
        return -1
    if tally.capacity > before:
        memset(tally.cells + before, 0, <size_t> (tally.capacity - before) * sizeof(uint64_t))
    return 0


cdef inline int begin_tally(tally_t* tally, int64_t n_ids) noexcept nogil:
    """Set all counts to zero and make room for ids below ``n_ids``; 0, or -1 without memory."""
    if widen_tally(tally, n_ids):
        return -1
    tally.stamp += <uint64_t> 1 << 32
    return 0


cdef inline Py_ssize_t tally_ids(tally_t* tally, const token_t* ids, Py_ssize_t n_ids,
                                 token_t* distinct) noexcept nogil:
    """Count ids and write the distinct ones in order of first appearance; how many there are."""
    cdef uint64_t stamp = tally.stamp, cell
    cdef uint64_t* cells = tally.cells
    cdef Py_ssize_t n_distinct = 0, n_fours = n_ids - n_ids % 4, i, k
    # Written always and kept when fresh: no branch for the processor to guess wrong. By fours: a
    # loop of so little takes longer than what it does.
    for i in range(0, n_fours, 4):
        for k in range(4):
            cell = cells[ids[i + k]]
            distinct[n_distinct] = ids[i + k]
            n_distinct += cell < stamp
            cells[ids[i + k]] = max(cell, stamp) + 1
    for i in range(n_fours, n_ids):
        cell = cells[ids[i]]
        distinct[n_distinct] = ids[i]
        n_distinct += cell < stamp
        cells[ids[i]] = max(cell, stamp) + 1
    return n_distinct


cdef inline int64_t tallied_count(const tally_t* tally, token_t id) noexcept nogil:
    """Count of an id that the text is known to have."""
    return <int64_t> (tally.cells[id] - tally.stamp)


cdef inline int64_t count_of(const tally_t* tally, token_t id) noexcept nogil:
    cdef uint64_t cell = tally.cells[id]
    return <int64_t> (cell - tally.stamp) if cell > tally.stamp else 0


# ------------------------------------------------------------------------------------------ overlap

cdef inline double jaccard(int64_t n_left, int64_t n_right, int64_t n_shared) noexcept nogil:
    """Shared share of two sets: 1 when both are empty, 0 when just one is."""
    if n_left == 0 or n_right == 0:
        return 1.0 if n_left == n_right else 0.0
    return <double> n_shared / <double> (n_left + n_right - n_shared)
