"""UTF-8 text -> tokens: lower-cased bytes, spans over them, dense ids in a vocabulary.

Cutting and numbering alternate in small chunks, so that the spans of a chunk stay in the first cache
and a text of any size needs no array of its spans.
"""
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from primitives cimport (
    folded_product, hash_t, int64_t, load_8_bytes, next_seed, reserve, token_t, uint8_t,
    uint32_t, uint64_t,
)

cdef extern from "byte_blocks.h" nogil:
    int BLOCK_BYTES
    ctypedef int (*block_cutter_t)(
        const uint8_t*, uint8_t*, int64_t, uint64_t*, int64_t*) noexcept nogil
    block_cutter_t best_block_cutter() noexcept
    int cut_block_portable(const uint8_t*, uint8_t*, int64_t, uint64_t*, int64_t*) noexcept

cdef extern from "unicode_tables.h" nogil:
    uint8_t CODE_POINT_SEPARATOR
    uint8_t CODE_POINT_SPACE
    uint8_t CODE_POINT_CASED
    uint8_t CODE_POINT_CASE_IGNORABLE
    uint8_t CODE_POINT_LOWERS
    uint8_t code_point_flags(uint32_t code_point) noexcept
    uint32_t code_point_lower(uint32_t code_point) noexcept

cdef enum:
    CHUNK_BYTES = 512      # text cut before its tokens are numbered
    # At most one token per two bytes of a chunk, one left open before it, and the bytes of a code
    # point that crosses its end.
    CHUNK_TOKENS = 272
    CHUNK_EDGES = 624      # two per token, and what a block may write past its own
    LOWERED_MARGIN = 80    # a whole block may be stored past the end, and words loaded past it
    MAX_IDS = 0x3FFFFFFF   # tokens or n-grams that one row may hold
    MAX_PROBE = 128        # a longer run means keys chosen to collide: the table moves to a new seed


# ---------------------------------------------------------------------------------- code points

cdef inline uint32_t decode_code_point(const uint8_t* text, int64_t size, int64_t at,
                                       int* width) noexcept nogil:
    """Code point at byte ``at``; lone surrogates decode as themselves.

    A broken sequence, which checked columns never hold, counts as one byte of U+FFFD.
    """
    cdef uint32_t lead = text[at]
    cdef int64_t left = size - at
    width[0] = 1
    if lead < 0x80:
        return lead
    if lead >= 0xC2 and lead < 0xE0 and left >= 2:
        width[0] = 2
        return (lead & 0x1F) << 6 | (text[at + 1] & 0x3F)
    if lead >= 0xE0 and lead < 0xF0 and left >= 3:
        width[0] = 3
        return (lead & 0x0F) << 12 | <uint32_t> (text[at + 1] & 0x3F) << 6 | (text[at + 2] & 0x3F)
    if lead >= 0xF0 and lead < 0xF5 and left >= 4:
        width[0] = 4
        lead = ((lead & 0x07) << 18 | <uint32_t> (text[at + 1] & 0x3F) << 12
                | <uint32_t> (text[at + 2] & 0x3F) << 6 | (text[at + 3] & 0x3F))
        return lead if lead < 0x110000 else 0xFFFD
    return 0xFFFD


cdef inline int encode_code_point(uint32_t code_point, uint8_t* out) noexcept nogil:
    """Write ``code_point`` as UTF-8 and return its width in bytes."""
    if code_point < 0x80:
        out[0] = <uint8_t> code_point
        return 1
    if code_point < 0x800:
        out[0] = <uint8_t> (0xC0 | code_point >> 6)
        out[1] = <uint8_t> (0x80 | (code_point & 0x3F))
        return 2
    if code_point < 0x10000:
        out[0] = <uint8_t> (0xE0 | code_point >> 12)
        out[1] = <uint8_t> (0x80 | ((code_point >> 6) & 0x3F))
        out[2] = <uint8_t> (0x80 | (code_point & 0x3F))
        return 3
    out[0] = <uint8_t> (0xF0 | code_point >> 18)
    out[1] = <uint8_t> (0x80 | ((code_point >> 12) & 0x3F))
    out[2] = <uint8_t> (0x80 | ((code_point >> 6) & 0x3F))
    out[3] = <uint8_t> (0x80 | (code_point & 0x3F))
    return 4


cdef inline bint cased_before(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """A cased letter precedes byte ``at``, case-ignorable code points between them skipped."""
    cdef int width
    cdef uint8_t flags
    while at > 0:
        at -= 1
        while at > 0 and (text[at] & 0xC0) == 0x80:
            at -= 1
        flags = code_point_flags(decode_code_point(text, size, at, &width))
        if not flags & CODE_POINT_CASE_IGNORABLE:
            return flags & CODE_POINT_CASED
    return False


cdef inline bint cased_after(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """A cased letter follows at or after byte ``at``, case-ignorable code points skipped."""
    cdef int width
    cdef uint8_t flags
    while at < size:
        flags = code_point_flags(decode_code_point(text, size, at, &width))
        if not flags & CODE_POINT_CASE_IGNORABLE:
            return flags & CODE_POINT_CASED
        at += width
    return False


cdef inline int write_lower(const uint8_t* text, int64_t size, int64_t at, int width,
                            uint32_t code_point, uint8_t* out) noexcept nogil:
    """Write the full lower-case mapping of one code point and return its width in bytes.

    Only U+0130 maps to two code points, and only U+03A3 looks around itself: it ends a word when
    a cased letter stands before it and none after (Unicode 17, section 3.13, Final_Sigma).
    """
    if code_point == 0x130:
        out[0] = 0x69
        return 1 + encode_code_point(0x307, out + 1)
    if code_point == 0x3A3:
        if cased_before(text, size, at) and not cased_after(text, size, at + width):
            return encode_code_point(0x3C2, out)
        return encode_code_point(0x3C3, out)
    return encode_code_point(code_point_lower(code_point), out)


# -------------------------------------------------------------------------------------- cutting

cdef struct lowered_t:
    uint8_t* bytes     # lower-cased text of everything cut so far, separators included
    int64_t capacity
    int64_t size


cdef struct cutter_t:
    const uint8_t* text
    int64_t size
    int64_t at             # next byte to cut
    uint64_t inside        # the byte before ``at`` belongs to a token
    block_cutter_t cut_block
    int64_t n_edges        # written so far for the chunk at hand
    int64_t edges[CHUNK_EDGES]  # places in the lowered bytes: a token's begin, its end, in turn


cdef inline int begin_text(cutter_t* cutter, lowered_t* lowered, const uint8_t* text,
                           int64_t size) noexcept nogil:
    """Aim the cutter at a text and make room for its lowered bytes; 0, or -1 without memory.

    Lower-casing turns two bytes into three at most (U+0130, U+023A, U+023E).
    """
    cutter.text = text
    cutter.size = size
    cutter.at = 0
    cutter.inside = 0
    cutter.n_edges = 0
    return reserve(<void**> &lowered.bytes, &lowered.capacity,
                   lowered.size + size + size // 2 + LOWERED_MARGIN, 1)


cdef inline void add_edge(cutter_t* cutter, int64_t place) noexcept nogil:
    cutter.edges[cutter.n_edges] = place
    cutter.n_edges += 1
    cutter.inside ^= 1


cdef inline void cut_code_points(cutter_t* cutter, lowered_t* lowered,
                                 int64_t until) noexcept nogil:
    """Cut code point by code point until byte ``until`` is reached."""
    cdef const uint8_t* text = cutter.text
    cdef uint8_t* out = lowered.bytes + lowered.size
    cdef int64_t at = cutter.at
    cdef uint32_t code_point
    cdef uint8_t flags
    cdef int width, i
    while at < until:
        code_point = decode_code_point(text, cutter.size, at, &width)
        flags = code_point_flags(code_point)
        if (flags & CODE_POINT_SEPARATOR != 0) == cutter.inside:
            add_edge(cutter, out - lowered.bytes)
        if flags & CODE_POINT_LOWERS:
            out += write_lower(text, cutter.size, at, width, code_point, out)
        else:
            for i in range(width):
                out[i] = text[at + i]
            out += width
        at += width
    cutter.at = at
    lowered.size = out - lowered.bytes


cdef inline Py_ssize_t cut_chunk(cutter_t* cutter, lowered_t* lowered) noexcept nogil:
    """Cut the next chunk of the text; the number of tokens that ended in it, by their edges.

    Blocks of ASCII are lower-cased and classified 64 bytes at a time, others code point by
    code point. The end of the text closes a token that is still open.
    """
    cdef int64_t stop = min(cutter.size, cutter.at + CHUNK_BYTES), left
    cdef int n_edges
    cdef uint8_t padded[64]
    cdef const uint8_t* block
    # A token left open by the chunk before: its begin is that chunk's last edge.
    cutter.edges[0] = cutter.edges[cutter.n_edges - cutter.inside]
    cutter.n_edges = cutter.inside
    while cutter.at < stop:
        left = cutter.size - cutter.at
        block = cutter.text + cutter.at
        if left < BLOCK_BYTES:
            memset(padded, 0x20, sizeof(padded))
            memcpy(padded, block, <size_t> left)
            block = padded
        else:
            left = BLOCK_BYTES
        n_edges = cutter.cut_block(block, lowered.bytes + lowered.size, lowered.size,
                                   &cutter.inside, cutter.edges + cutter.n_edges)
        if n_edges >= 0:
            cutter.n_edges += n_edges
            cutter.at += left
            lowered.size += left
        else:
            cut_code_points(cutter, lowered, cutter.at + left)
    if cutter.at == cutter.size and cutter.inside:
        add_edge(cutter, lowered.size)
    return cutter.n_edges // 2


# ------------------------------------------------------------------------------------ numbering

cdef struct token_key_t:
    uint64_t head      # first eight bytes, zero-padded
    uint64_t tail      # last eight bytes of a longer token; a digest of one past sixteen bytes
    int64_t begin      # in the lowered bytes
    int64_t size       # in bytes


cdef struct vocabulary_t:
    # A slot holds the id of a token, counted on from row to row: a number below ``first_serial``
    # was left by an older row, and the slot is free. Keys lie densely by id.
    token_t* slots
    int64_t n_slots            # in use, a power of two; half of them are filled at most
    int64_t n_allocated        # at least ``n_slots``
    token_t first_serial       # of id 0; at least 1, so that zeroed slots are free
    hash_t seed                # of this table; moves on when a probe runs too long
    hash_t second_seed
    token_key_t* keys
    int64_t capacity           # of ``keys``, at least half of ``n_slots``
    int64_t n_tokens


cdef inline void seed_vocabulary(vocabulary_t* vocabulary, hash_t seed) noexcept nogil:
    vocabulary.seed = seed
    vocabulary.second_seed = next_seed(seed)


cdef inline int clear_vocabulary(vocabulary_t* vocabulary, int64_t n_slots) noexcept nogil:
    """Forget all tokens and set out ``n_slots`` (a power of two) free slots; 0, or -1.

    Serial numbers move on instead of the slots being zeroed. The table has the size of its row:
    after a giant row, small ones still use slots that lie close together.
    """
    cdef token_t* slots
    if reserve(<void**> &vocabulary.keys, &vocabulary.capacity, n_slots // 2 + 1,
               sizeof(token_key_t)):
        return -1
    if n_slots > vocabulary.n_allocated:
        slots = <token_t*> calloc(<size_t> n_slots, sizeof(token_t))
        if slots == NULL:
            return -1
        free(vocabulary.slots)
        vocabulary.slots = slots
        vocabulary.n_allocated = n_slots
        vocabulary.first_serial = 1
    elif vocabulary.first_serial + vocabulary.n_tokens > MAX_IDS:
        memset(vocabulary.slots, 0, <size_t> vocabulary.n_allocated * sizeof(token_t))
        vocabulary.first_serial = 1
    else:
        vocabulary.first_serial += <token_t> vocabulary.n_tokens
    vocabulary.n_slots = n_slots
    vocabulary.n_tokens = 0
    return 0


cdef inline void close_vocabulary(vocabulary_t* vocabulary) noexcept nogil:
    free(vocabulary.slots)
    free(vocabulary.keys)


cdef inline void make_key(const uint8_t* lowered, int64_t begin, int64_t size, hash_t seed,
                          token_key_t* key) noexcept nogil:
    """Set out what tells one token from another: all of it up to sixteen bytes, else a digest.

    Eight bytes past the token are readable (LOWERED_MARGIN), so a short one is loaded whole and
    masked instead of copied byte by byte; no branch depends on a length below seventeen.
    """
    cdef const uint8_t* token = lowered + begin
    cdef int64_t width = size if size < 8 else 8, at
    cdef uint64_t mask = ~(<uint64_t> 0) >> (64 - 8 * width), digest
    key.begin = begin
    key.size = size
    key.head = load_8_bytes(token) & mask
    key.tail = load_8_bytes(token + size - width) & mask
    if size > 16:
        digest = seed
        for at in range(8, size - 8, 8):
            digest = folded_product(digest ^ load_8_bytes(token + at),
                                    <uint64_t> 0xD6E8FEB86659FD93)
        key.tail = folded_product(key.tail ^ digest, <uint64_t> 0xA0761D6478BD642F)


cdef inline int64_t home_slot(const vocabulary_t* vocabulary,
                              const token_key_t* key) noexcept nogil:
    return <int64_t> (folded_product(
        key.head ^ vocabulary.seed, (key.tail ^ vocabulary.second_seed) + <uint64_t> key.size)
        & <hash_t> (vocabulary.n_slots - 1))


cdef inline int rebuild_vocabulary(vocabulary_t* vocabulary, const lowered_t* lowered,
                                   int64_t n_slots) noexcept nogil:
    """Lay all tokens out over ``n_slots`` under the next seed; 0, or -1 without memory."""
    cdef int64_t n_tokens = vocabulary.n_tokens, id, slot, probes = 0
    cdef token_key_t* key
    while True:
        if clear_vocabulary(vocabulary, n_slots):
            return -1
        # Slots of an earlier try have to look free to this row's own serial numbers.
        memset(vocabulary.slots, 0, <size_t> n_slots * sizeof(token_t))
        seed_vocabulary(vocabulary, vocabulary.second_seed)
        for id in range(n_tokens):
            key = &vocabulary.keys[id]
            make_key(lowered.bytes, key.begin, key.size, vocabulary.seed, key)
            slot = home_slot(vocabulary, key)
            probes = 0
            while vocabulary.slots[slot]:
                slot = (slot + 1) & (n_slots - 1)
                probes += 1
            if probes > MAX_PROBE:
                break
            vocabulary.slots[slot] = vocabulary.first_serial + <token_t> id
        if probes <= MAX_PROBE:
            vocabulary.n_tokens = n_tokens
            return 0
        n_slots *= 2


cdef struct chunk_t:
    token_key_t keys[CHUNK_TOKENS]
    int64_t homes[CHUNK_TOKENS]
    Py_ssize_t others[CHUNK_TOKENS]    # tokens that are not the one in their home slot


cdef inline void key_tokens(const vocabulary_t* vocabulary, const lowered_t* lowered,
                            const int64_t* edges, Py_ssize_t begin, Py_ssize_t end,
                            chunk_t* chunk) noexcept nogil:
    """Keys and home slots of tokens ``[begin, end)`` of a chunk."""
    cdef Py_ssize_t i
    for i in range(begin, end):
        make_key(lowered.bytes, edges[2 * i], edges[2 * i + 1] - edges[2 * i], vocabulary.seed,
                 &chunk.keys[i])
        chunk.homes[i] = home_slot(vocabulary, &chunk.keys[i])


cdef inline Py_ssize_t match_homes(const vocabulary_t* vocabulary, chunk_t* chunk,
                                   Py_ssize_t n_tokens, token_t* ids) noexcept nogil:
    """Ids of the tokens that stand in their home slot; how many of the ``others`` there are."""
    cdef Py_ssize_t n_others = 0, i
    cdef const token_key_t* key
    cdef const token_key_t* known
    cdef token_t id
    for i in range(n_tokens):
        key = &chunk.keys[i]
        id = vocabulary.slots[chunk.homes[i]] - vocabulary.first_serial
        # Of a free slot, any key will do: its id is below 0.
        known = &vocabulary.keys[id if id > 0 else 0]
        ids[i] = id
        chunk.others[n_others] = i
        n_others += ((known.head ^ key.head) | (known.tail ^ key.tail)
                     | <uint64_t> (known.size ^ key.size)
                     | <uint64_t> (id < 0) | <uint64_t> (key.size > 16)) != 0
    return n_others


cdef inline bint is_token(const lowered_t* lowered, const token_key_t* known,
                          const token_key_t* key) noexcept nogil:
    """The two keys are of the same bytes, not just alike."""
    return known.head == key.head and known.tail == key.tail and known.size == key.size and (
        key.size <= 16 or memcmp(lowered.bytes + known.begin, lowered.bytes + key.begin,
                                 <size_t> key.size) == 0)


cdef inline int64_t number_token(vocabulary_t* vocabulary, const lowered_t* lowered,
                                 const token_key_t* key, int64_t slot) noexcept nogil:
    """Id of one token, a new one if need be, probing from its home slot; -1 without memory."""
    cdef int64_t probes = 0, id
    while vocabulary.slots[slot] >= vocabulary.first_serial:
        id = vocabulary.slots[slot] - vocabulary.first_serial
        if is_token(lowered, &vocabulary.keys[id], key):
            return id
        slot = (slot + 1) & (vocabulary.n_slots - 1)
        probes += 1
    id = vocabulary.n_tokens
    if id > MAX_IDS:
        return -1
    vocabulary.keys[id] = key[0]
    vocabulary.slots[slot] = vocabulary.first_serial + <token_t> id
    vocabulary.n_tokens = id + 1
    if probes > MAX_PROBE:
        if rebuild_vocabulary(vocabulary, lowered, vocabulary.n_slots):
            return -1
    elif 2 * (id + 1) > vocabulary.n_slots:
        if rebuild_vocabulary(vocabulary, lowered, 4 * vocabulary.n_slots):
            return -1
    return id


cdef inline int number_tokens(vocabulary_t* vocabulary, const lowered_t* lowered,
                              const int64_t* edges, Py_ssize_t n_tokens,
                              token_t* ids) noexcept nogil:
    """Ids of a chunk's tokens, new ones in order of first appearance; 0, or -1 without memory.

    Three loops, so that no branch depends on whether a token is known, which a processor cannot
    guess: keys, then the tokens found at home, then the others, of which nearly all are new.
    """
    cdef chunk_t chunk
    cdef Py_ssize_t n_others, i, other
    cdef int64_t id
    cdef hash_t seed = vocabulary.seed
    key_tokens(vocabulary, lowered, edges, 0, n_tokens, &chunk)
    n_others = match_homes(vocabulary, &chunk, n_tokens, ids)
    for i in range(n_others):
        other = chunk.others[i]
        id = number_token(vocabulary, lowered, &chunk.keys[other], chunk.homes[other])
        if id < 0:
            return -1
        ids[other] = <token_t> id
        if vocabulary.seed != seed:
            # The table was laid out anew.
            seed = vocabulary.seed
            key_tokens(vocabulary, lowered, edges, other + 1, n_tokens, &chunk)
    return 0


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
        if number_tokens(vocabulary, lowered, cutter.edges, n_tokens, tokens.ids + tokens.size):
            return -1
        tokens.size += n_tokens
    return 0
