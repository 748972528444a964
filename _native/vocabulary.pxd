"""Tokens -> dense ids, in order of first appearance.

Cutting and numbering alternate in small chunks, so that what is known of a chunk's tokens stays in
the first cache and a text of any size needs no array of their places.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memset

from primitives cimport (
    folded_product, hash_t, int64_t, load_8_bytes, next_seed, reserve, token_t, uint8_t,
    uint32_t, uint64_t,
)
from token_stream cimport CHUNK_TOKENS, begin_text, cut_chunk, cutter_t, lowered_t

cdef extern from *:
    """
    /* Masks of the lowest 0 to 8 bytes: a load where shifting takes five instructions. */
    static const uint64_t low_bytes[9] = {
        0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
        0xffffffffffffffff,
    };
    """
    const uint64_t low_bytes[9]

cdef enum:
    MAX_IDS = 0x3FFFFFFF   # tokens or n-grams that one row may hold
    MAX_PROBE = 128        # a longer run means keys chosen to collide: a new seed is taken
    NO_TOKEN = -1          # a free slot


cdef struct ends_t:
    uint64_t head      # first eight bytes, zero-padded
    uint64_t tail      # last eight bytes of a longer token; a digest of one past sixteen bytes


cdef struct token_key_t:
    ends_t ends
    int64_t begin      # in the lowered bytes
    int64_t size       # in bytes; negative for a token past sixteen, whose key is not all of it


cdef struct vocabulary_t:
    # A slot holds the id of a token, or NO_TOKEN. Keys lie densely by id.
    token_t* slots
    int64_t n_slots            # in use, a power of two; half of them are filled at most
    int64_t n_allocated        # at least ``n_slots``
    hash_t seed                # of this table; moves on when a probe runs too long
    hash_t second_seed
    token_key_t* keys          # by id, from the second key allocated on
    token_key_t* allocated     # the first has no size, so that no token equals it: of free slots
    int64_t capacity
    int64_t n_tokens


cdef inline int64_t table_size(int64_t n_bytes) noexcept nogil:
    """Slots to begin with for so much text: a power of two; tables double when they are too few.

    A long text repeats its words: a table in proportion to it would be far too large, and every
    look-up a miss of the second cache.
    """
    cdef int64_t n_slots = 64
    while n_slots < n_bytes and n_slots < 65536:
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
    cdef token_t* slots
    if reserve(<void**> &vocabulary.allocated, &vocabulary.capacity, n_slots // 2 + 2,
               sizeof(token_key_t)):
        return -1
    vocabulary.allocated[0].size = 0
    vocabulary.keys = vocabulary.allocated + 1
    if n_slots > vocabulary.n_allocated:
        slots = <token_t*> malloc(<size_t> n_slots * sizeof(token_t))
        if slots == NULL:
            return -1
        free(vocabulary.slots)
        vocabulary.slots = slots
        vocabulary.n_allocated = n_slots
    memset(vocabulary.slots, 0xFF, <size_t> n_slots * sizeof(token_t))
    vocabulary.n_slots = n_slots
    return 0


cdef inline int clear_vocabulary(vocabulary_t* vocabulary, int64_t n_slots) noexcept nogil:
    """Forget all tokens and set out ``n_slots`` free slots; 0, or -1 without memory."""
    vocabulary.n_tokens = 0
    return lay_out_slots(vocabulary, n_slots)


cdef inline void close_vocabulary(vocabulary_t* vocabulary) noexcept nogil:
    free(vocabulary.slots)
    free(vocabulary.allocated)


cdef inline uint64_t digest_token(const uint8_t* token, int64_t size, hash_t seed) noexcept nogil:
    """Digest of the bytes of a token past sixteen, but for its first eight."""
    cdef uint64_t digest = seed
    cdef int64_t at
    for at in range(8, size - 8, 8):
        digest = folded_product(digest ^ load_8_bytes(token + at),
                                <uint64_t> 0xD6E8FEB86659FD93)
    return folded_product(load_8_bytes(token + size - 8) ^ digest,
                          <uint64_t> 0xA0761D6478BD642F)


cdef inline ends_t ends_of(const uint8_t* token, int64_t size) noexcept nogil:
    """The first and the last eight bytes of a token.

    Eight bytes past the token are readable (LOWERED_MARGIN), so a short one is loaded whole and
    masked instead of copied byte by byte; no branch depends on the length.
    """
    cdef int64_t width = size if size < 8 else 8
    cdef uint64_t mask = low_bytes[width]
    cdef ends_t ends
    ends.head = load_8_bytes(token) & mask
    ends.tail = load_8_bytes(token + size - width) & mask
    return ends


cdef inline void make_key(const uint8_t* lowered, int64_t begin, int64_t size, hash_t seed,
                          token_key_t* key) noexcept nogil:
    """Set out what tells one token from another: all of it up to sixteen bytes, else a digest."""
    cdef const uint8_t* token = lowered + begin
    key.ends = ends_of(token, size)
    key.begin = begin
    key.size = size
    if size > 16:
        key.ends.tail = digest_token(token, size, seed)
        key.size = -size


cdef inline int64_t home_slot(ends_t ends, int64_t size, hash_t seed, hash_t second_seed,
                              uint64_t slot_mask) noexcept nogil:
    return <int64_t> (folded_product(
        ends.head ^ seed, (ends.tail ^ second_seed) + <uint64_t> size) & slot_mask)


cdef inline int rebuild_vocabulary(vocabulary_t* vocabulary, const lowered_t* lowered,
                                   int64_t n_slots) noexcept nogil:
    """Lay all tokens out over ``n_slots`` under the next seed; 0, or -1 without memory."""
    cdef int64_t id, slot, probes = 0
    cdef token_key_t* key
    while True:
        if lay_out_slots(vocabulary, n_slots):
            return -1
        seed_vocabulary(vocabulary, vocabulary.second_seed)
        for id in range(vocabulary.n_tokens):
            key = &vocabulary.keys[id]
            make_key(lowered.bytes, key.begin, key.size if key.size > 0 else -key.size,
                     vocabulary.seed, key)
            slot = home_slot(key.ends, key.size, vocabulary.seed, vocabulary.second_seed,
                             <uint64_t> (n_slots - 1))
            probes = 0
            while vocabulary.slots[slot] != NO_TOKEN:
                slot = (slot + 1) & (n_slots - 1)
                probes += 1
            if probes > MAX_PROBE:
                break
            vocabulary.slots[slot] = <token_t> id
        if probes <= MAX_PROBE:
            return 0
        n_slots *= 2


cdef struct chunk_t:
    # Of the tokens that are not the one in their home slot.
    uint64_t heads[CHUNK_TOKENS]
    uint64_t tails[CHUNK_TOKENS]
    int64_t homes[CHUNK_TOKENS]
    int64_t others[CHUNK_TOKENS]    # which they are


cdef inline Py_ssize_t match_homes(const vocabulary_t* vocabulary, const uint8_t* text,
                                   const int64_t* edges, Py_ssize_t n_tokens, chunk_t* chunk,
                                   token_t* ids) noexcept nogil:
    """Ids of the tokens that stand in the slots that they would like to stand in.

    Returns how many of the ``others`` there are, every token past sixteen bytes among them.
    """
    # In locals: the compiler cannot know that no store of the loop changes them.
    cdef uint64_t slot_mask = <uint64_t> (vocabulary.n_slots - 1)
    cdef hash_t seed = vocabulary.seed, second_seed = vocabulary.second_seed
    cdef const token_t* slots = vocabulary.slots
    cdef const token_key_t* keys = vocabulary.keys
    cdef const token_key_t* known
    cdef int64_t begin, size, home
    cdef ends_t ends
    cdef token_t id
    cdef Py_ssize_t n_others = 0, i
    for i in range(n_tokens):
        begin = edges[2 * i]
        size = edges[2 * i + 1] - begin
        ends = ends_of(text + begin, size)
        home = home_slot(ends, size, seed, second_seed, slot_mask)
        id = slots[home]
        known = &keys[id]
        ids[i] = id
        # Written always and kept where the token is another.
        chunk.heads[n_others] = ends.head
        chunk.tails[n_others] = ends.tail
        chunk.homes[n_others] = home
        chunk.others[n_others] = i
        n_others += ((known.ends.head ^ ends.head) | (known.ends.tail ^ ends.tail)
                     | <uint64_t> (known.size ^ size)) != 0
    return n_others


cdef inline bint is_token(const lowered_t* lowered, const token_key_t* known,
                          const token_key_t* key) noexcept nogil:
    """The two keys are of the same bytes, not just alike."""
    return known.ends.head == key.ends.head and (
        known.ends.tail == key.ends.tail) and known.size == key.size and (
        key.size > 0 or memcmp(lowered.bytes + known.begin, lowered.bytes + key.begin,
                               <size_t> -key.size) == 0)


cdef inline int64_t number_token(vocabulary_t* vocabulary, const lowered_t* lowered,
                                 const token_key_t* key, int64_t slot) noexcept nogil:
    """Id of one token, a new one if need be, probing from its home slot; -1 without memory."""
    cdef int64_t probes = 0, id
    while vocabulary.slots[slot] != NO_TOKEN:
        id = vocabulary.slots[slot]
        if is_token(lowered, &vocabulary.keys[id], key):
            return id
        slot = (slot + 1) & (vocabulary.n_slots - 1)
        probes += 1
    id = vocabulary.n_tokens
    if id > MAX_IDS:
        return -1
    vocabulary.keys[id] = key[0]
    vocabulary.n_tokens = id + 1
    vocabulary.slots[slot] = <token_t> id
    # Growth comes first: reseeding a table that is half full would leave no room for the next key.
    if 2 * (id + 1) > vocabulary.n_slots:
        if rebuild_vocabulary(vocabulary, lowered, 2 * vocabulary.n_slots):
            return -1
    elif probes > MAX_PROBE:
        if rebuild_vocabulary(vocabulary, lowered, vocabulary.n_slots):
            return -1
    return id


cdef inline int64_t number_bytes(vocabulary_t* vocabulary, const lowered_t* lowered,
                                 int64_t begin, int64_t size) noexcept nogil:
    """Id of the token of some of the lowered bytes; -1 without memory."""
    cdef token_key_t key
    make_key(lowered.bytes, begin, size, vocabulary.seed, &key)
    return number_token(vocabulary, lowered, &key, home_slot(
        key.ends, key.size, vocabulary.seed, vocabulary.second_seed,
        <uint64_t> (vocabulary.n_slots - 1)))


cdef inline int make_room(vocabulary_t* vocabulary, const lowered_t* lowered,
                          int64_t n_tokens) noexcept nogil:
    """Let the table hold so many tokens; 0, or -1 without memory."""
    cdef int64_t n_slots = vocabulary.n_slots
    if n_tokens > MAX_IDS:
        return -1
    while 2 * n_tokens > n_slots:
        n_slots *= 2
    return rebuild_vocabulary(vocabulary, lowered, n_slots) if n_slots > vocabulary.n_slots else 0


cdef inline Py_ssize_t add_new(vocabulary_t* vocabulary, const chunk_t* chunk, int64_t base,
                               const int64_t* edges, Py_ssize_t i, Py_ssize_t n_others,
                               token_t* ids) noexcept nogil:
    """Number the others from ``i`` on that are new at sight: their home slot is free.

    Returns the first that is not.
    """
    cdef token_t* slots = vocabulary.slots
    cdef token_key_t* keys = vocabulary.keys
    cdef int64_t id = vocabulary.n_tokens, other, begin, size, home
    while i < n_others:
        other = chunk.others[i]
        home = chunk.homes[i]
        begin = edges[2 * other]
        size = edges[2 * other + 1] - begin
        if size > 16 or slots[home] != NO_TOKEN:
            break
        keys[id].ends.head = chunk.heads[i]
        keys[id].ends.tail = chunk.tails[i]
        keys[id].begin = base + begin
        keys[id].size = size
        ids[other] = slots[home] = <token_t> id
        id += 1
        i += 1
    vocabulary.n_tokens = id
    return i


cdef inline int number_tokens(vocabulary_t* vocabulary, const lowered_t* lowered, int64_t base,
                              const int64_t* edges, Py_ssize_t n_tokens,
                              token_t* ids) noexcept nogil:
    """Ids of a chunk's tokens, new ones in order of first appearance; 0, or -1 without memory.

    ``edges`` are counted from ``base`` on in the lowered bytes.
    Two loops, so that no branch depends on whether a token is known, which a processor cannot
    guess: the tokens found at home, then the others, of which nearly all are new.
    """
    cdef chunk_t chunk
    cdef Py_ssize_t n_others, i = 0
    cdef int64_t id, other
    cdef hash_t seed
    if make_room(vocabulary, lowered, vocabulary.n_tokens + n_tokens):
        return -1
    n_others = match_homes(vocabulary, lowered.bytes + base, edges, n_tokens, &chunk, ids)
    seed = vocabulary.seed
    while True:
        # Another seed means that the table was laid out anew under way.
        if vocabulary.seed == seed:
            i = add_new(vocabulary, &chunk, base, edges, i, n_others, ids)
        if i == n_others:
            return 0
        other = chunk.others[i]
        id = number_bytes(vocabulary, lowered, base + edges[2 * other],
                          edges[2 * other + 1] - edges[2 * other])
        if id < 0:
            return -1
        ids[other] = <token_t> id
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
