"""Tokens -> dense ids, in order of first appearance.

Cutting and numbering alternate in small chunks, so that what is known of a chunk's tokens stays in
the first cache and a text of any size needs no array of their places.
"""
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

from primitives cimport (
    folded_product, hash_t, int64_t, next_seed, reserve, span_t, token_t, uint8_t,
    uint32_t, uint64_t,
)
from token_stream cimport begin_text, cut_chunk, cutter_t, lowered_t

cdef extern from "token_keys.h" nogil:
    ctypedef struct token_key_t:
        uint64_t head
        uint64_t tail
    token_key_t short_key(const uint8_t* token, int64_t minus_size) noexcept
    token_key_t key_of_token(const uint8_t* token, int64_t size, hash_t seed) noexcept
    int key_digits(token_key_t key) noexcept
    uint64_t head_of(const char* letters, int size) noexcept
    bint is_same_key(token_key_t key, token_key_t other) noexcept
    int64_t number_at_sight(
        uint32_t* slots, uint64_t slot_mask, const uint64_t* seeds, uint32_t first_serial,
        token_key_t* keys, int64_t* places, int64_t* n_tokens, const uint8_t* lowered,
        int64_t base, const int64_t* edges, int64_t i, int64_t n_edges, token_t* ids) noexcept

cdef extern from *:
    """
    /* What the serials of a row begin with, at most: then tables are zeroed, after a billion tokens
       and where fallbacks are tested after few. */
    #ifdef RAG_EVAL_PLAIN_C
    #define LAST_SERIAL 0xfff
    #else
    #define LAST_SERIAL 0x3fffffff
    #endif
    """
    enum:
        LAST_SERIAL

cdef enum:
    MAX_IDS = 0x3FFFFFFF   # tokens or n-grams that one row may hold
    MAX_PROBE = 128        # a longer run means keys chosen to collide: a new seed is taken


cdef struct vocabulary_t:
    # A slot holds the serial of a token: its id, counted on from row to row. A slot of an older row
    # is free. Keys and places lie densely by id, with room for one more than there are.
    uint32_t* slots
    int64_t n_slots            # in use, a power of two; half of them are filled at most
    int64_t n_allocated        # at least ``n_slots``
    uint32_t first_serial      # of this row: id 0; at least 1, so that zeroed slots are free
    hash_t seed                # of this table; moves on when a probe runs too long
    hash_t second_seed
    token_key_t* keys
    int64_t keys_capacity
    span_t* places             # in the lowered bytes
    int64_t places_capacity
    int64_t n_tokens


cdef inline int64_t table_size(int64_t n_bytes) noexcept nogil:
    """Slots to begin with for so much text: a power of two; tables double when they are too few.

    A long text repeats its words: a table in proportion to it would be far too large, and every
    look-up a miss of the second cache.
    """
    cdef int64_t n_slots = 64
    while n_slots < 2 * n_bytes and n_slots < 65536:
        n_slots *= 2
    return n_slots


cdef inline void seed_vocabulary(vocabulary_t* vocabulary, hash_t seed) noexcept nogil:
    vocabulary.seed = seed
    vocabulary.second_seed = next_seed(seed)


cdef inline int lay_out_slots(vocabulary_t* vocabulary, int64_t n_slots) noexcept nogil:
    """Set out ``n_slots`` (a power of two) free slots; 0, or -1 without memory.

    The table has the size of its row: after a giant row, small ones still use slots that lie close
    together.
    """
    cdef int64_t next_serial = vocabulary.first_serial + vocabulary.n_tokens
    cdef uint32_t* slots
    if reserve(<void**> &vocabulary.keys, &vocabulary.keys_capacity, n_slots // 2 + 1,
               sizeof(token_key_t)):
        return -1
    if reserve(<void**> &vocabulary.places, &vocabulary.places_capacity, n_slots // 2 + 1,
               sizeof(span_t)):
        return -1
    if n_slots > vocabulary.n_allocated:
        slots = <uint32_t*> calloc(<size_t> n_slots, sizeof(uint32_t))
        if slots == NULL:
            return -1
        free(vocabulary.slots)
        vocabulary.slots = slots
        vocabulary.n_allocated = n_slots
        next_serial = 1
    elif next_serial > LAST_SERIAL:
        memset(vocabulary.slots, 0, <size_t> vocabulary.n_allocated * sizeof(uint32_t))
        next_serial = 1
    vocabulary.first_serial = <uint32_t> next_serial
    vocabulary.n_slots = n_slots
    return 0


cdef inline int clear_vocabulary(vocabulary_t* vocabulary, int64_t n_slots) noexcept nogil:
    """Forget all tokens and set out ``n_slots`` free slots; 0, or -1 without memory."""
    if lay_out_slots(vocabulary, n_slots):
        return -1
    vocabulary.n_tokens = 0
    return 0


cdef inline void close_vocabulary(vocabulary_t* vocabulary) noexcept nogil:
    free(vocabulary.slots)
    free(vocabulary.keys)
    free(vocabulary.places)


cdef inline int64_t home_slot(token_key_t key, hash_t seed, hash_t second_seed,
                              uint64_t slot_mask) noexcept nogil:
    return <int64_t> (folded_product(key.head ^ seed, key.tail ^ second_seed) & slot_mask)


cdef inline int64_t id_at(const vocabulary_t* vocabulary, int64_t slot) noexcept nogil:
    """Id of the token that a slot holds; of a free one far above all ids."""
    return <uint32_t> (vocabulary.slots[slot] - vocabulary.first_serial)


cdef inline void fill_slot(vocabulary_t* vocabulary, int64_t slot, int64_t id) noexcept nogil:
    vocabulary.slots[slot] = vocabulary.first_serial + <uint32_t> id


cdef inline int rebuild_vocabulary(vocabulary_t* vocabulary, const lowered_t* lowered,
                                   int64_t n_slots) noexcept nogil:
    """Lay all tokens out over ``n_slots`` under the next seed; 0, or -1 without memory."""
    cdef int64_t id, slot, probes = 0
    cdef span_t place
    while True:
        if lay_out_slots(vocabulary, n_slots):
            return -1
        seed_vocabulary(vocabulary, vocabulary.second_seed)
        for id in range(vocabulary.n_tokens):
            place = vocabulary.places[id]
            vocabulary.keys[id] = key_of_token(lowered.bytes + place.begin, place.end - place.begin,
                                               vocabulary.seed)
            slot = home_slot(vocabulary.keys[id], vocabulary.seed, vocabulary.second_seed,
                             <uint64_t> (n_slots - 1))
            probes = 0
            while id_at(vocabulary, slot) <= MAX_IDS:
                slot = (slot + 1) & (n_slots - 1)
                probes += 1
            if probes > MAX_PROBE:
                break
            fill_slot(vocabulary, slot, id)
        if probes <= MAX_PROBE:
            return 0
        n_slots *= 2


cdef inline bint is_token(const vocabulary_t* vocabulary, const lowered_t* lowered, int64_t id,
                          token_key_t key, span_t place) noexcept nogil:
    """The two tokens have the same bytes, not just keys that are alike."""
    cdef int64_t size = place.end - place.begin
    cdef span_t known
    if not is_same_key(vocabulary.keys[id], key):
        return False
    known = vocabulary.places[id]
    return size <= 16 or (known.end - known.begin == size and memcmp(
        lowered.bytes + known.begin, lowered.bytes + place.begin, <size_t> size) == 0)


cdef inline int64_t number_bytes(vocabulary_t* vocabulary, const lowered_t* lowered,
                                 int64_t begin, int64_t size) noexcept nogil:
    """Id of the token of some of the lowered bytes, a new one if need be; -1 without memory."""
    cdef span_t place = span_t(begin, begin + size)
    cdef token_key_t key = key_of_token(lowered.bytes + begin, size, vocabulary.seed)
    cdef int64_t slot = home_slot(key, vocabulary.seed, vocabulary.second_seed,
                                  <uint64_t> (vocabulary.n_slots - 1))
    cdef int64_t probes = 0, id = id_at(vocabulary, slot)
    while id <= MAX_IDS:
        if is_token(vocabulary, lowered, id, key, place):
            return id
        slot = (slot + 1) & (vocabulary.n_slots - 1)
        probes += 1
        id = id_at(vocabulary, slot)
    id = vocabulary.n_tokens
    if id > MAX_IDS:
        return -1
    vocabulary.keys[id] = key
    vocabulary.places[id] = place
    vocabulary.n_tokens = id + 1
    fill_slot(vocabulary, slot, id)
    # Growth comes first: reseeding a table that is half full would leave no room for the next key.
    if 2 * (id + 1) > vocabulary.n_slots:
        if rebuild_vocabulary(vocabulary, lowered, 2 * vocabulary.n_slots):
            return -1
    elif probes > MAX_PROBE:
        if rebuild_vocabulary(vocabulary, lowered, vocabulary.n_slots):
            return -1
    return id


cdef inline int make_room(vocabulary_t* vocabulary, const lowered_t* lowered,
                          int64_t n_tokens) noexcept nogil:
    """Let the table hold so many tokens; 0, or -1 without memory."""
    cdef int64_t n_slots = vocabulary.n_slots
    if n_tokens > MAX_IDS:
        return -1
    while 2 * n_tokens > n_slots:
        n_slots *= 2
    return rebuild_vocabulary(vocabulary, lowered, n_slots) if n_slots > vocabulary.n_slots else 0


cdef inline int64_t number_short(vocabulary_t* vocabulary, const lowered_t* lowered, int64_t begin,
                                 int64_t size) noexcept nogil:
    """``number_bytes`` of up to sixteen bytes, after ``make_room``; -1 without memory.

    Whether the token is new is no branch, as below.
    """
    cdef int64_t n_known = vocabulary.n_tokens, known, id
    cdef token_key_t key = short_key(lowered.bytes + begin, -size)
    cdef int64_t slot = home_slot(key, vocabulary.seed, vocabulary.second_seed,
                                  <uint64_t> (vocabulary.n_slots - 1))
    vocabulary.keys[n_known] = key
    vocabulary.places[n_known] = span_t(begin, begin + size)
    known = id_at(vocabulary, slot)
    id = min(known, n_known)
    if not is_same_key(vocabulary.keys[id], key):
        return number_bytes(vocabulary, lowered, begin, size)
    vocabulary.n_tokens = n_known + (known >> 31)
    fill_slot(vocabulary, slot, id)
    return id


cdef inline int number_tokens(vocabulary_t* vocabulary, const lowered_t* lowered, int64_t base,
                              const int64_t* edges, Py_ssize_t n_tokens,
                              token_t* ids) noexcept nogil:
    """Ids of a chunk's tokens, new ones in order of first appearance; 0, or -1 without memory.

    ``edges`` are counted from ``base`` on in the lowered bytes.
    """
    cdef Py_ssize_t i = 0
    cdef int64_t id
    if make_room(vocabulary, lowered, vocabulary.n_tokens + n_tokens):
        return -1
    while True:
        i = number_at_sight(
            vocabulary.slots, <uint64_t> (vocabulary.n_slots - 1), &vocabulary.seed,
            vocabulary.first_serial, vocabulary.keys, <int64_t*> vocabulary.places,
            &vocabulary.n_tokens, lowered.bytes, base, edges, i, n_tokens, ids)
        if i == n_tokens:
            return 0
        id = number_bytes(vocabulary, lowered, base + edges[2 * i],
                          edges[2 * i + 1] - edges[2 * i])
        if id < 0:
            return -1
        ids[i] = <token_t> id
        i += 1


cdef struct token_ids_t:
    token_t* ids
    int64_t capacity
    int64_t size


cdef inline int append_tokens(cutter_t* cutter, lowered_t* lowered, vocabulary_t* vocabulary,
                              token_ids_t* tokens, const uint8_t* text,
                              int64_t size) noexcept nogil:
    """Append the ids of a text's tokens to ``tokens``; 0, or -1 without memory."""
    cdef Py_ssize_t n_tokens
    if begin_text(cutter, lowered, text, size):
        return -1
    while cutter.at < size:
        n_tokens = cut_chunk(cutter, lowered)
        if reserve(<void**> &tokens.ids, &tokens.capacity, tokens.size + n_tokens,
                   sizeof(token_t)):
            return -1
        if number_tokens(vocabulary, lowered, 0, cutter.edges, n_tokens, tokens.ids + tokens.size):
            return -1
        tokens.size += n_tokens
    return 0
