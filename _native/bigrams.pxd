"""One context's bigrams: how many are distinct, and which of them a probe has.

Most need no table: a bigram with a token that occurs once in the context occurs once itself, and
one with a token that no probe has is in no probe.
"""
from libc.stdlib cimport free
from libc.string cimport memset

from ngram_sets cimport begin_tally, find_gram, gram_slot_t, gram_slot, grams_t, tally_t
from pair_sets cimport close_pairs, count_pairs, pair_set_t
from primitives cimport hash_t, int64_t, load_8_bytes, reserve, token_t, uint8_t, uint64_t

cdef extern from "portable.h" nogil:
    int count_trailing_zeros(uint64_t word) noexcept

cdef enum:
    # Flags of a token of the context.
    REPEATS = 1                # it occurs more than once
    PROBED = 2                 # a probe may have it
    FLAGS_MARGIN = 72          # so many are looked at past the last token


cdef struct pairs_t:
    uint64_t* items
    int64_t capacity
    int64_t size


cdef struct bigrams_t:
    uint8_t* flags             # of the tokens of the context at hand
    int64_t flags_capacity
    pairs_t repeated           # both tokens occur more than once
    pairs_t probed             # a probe may have both tokens
    pair_set_t distinct
    token_t* known             # ids of those that a probe has, each once
    int64_t known_capacity


cdef inline void seed_bigrams(bigrams_t* bigrams, hash_t seed) noexcept nogil:
    bigrams.distinct.seed = seed


cdef inline void close_bigrams(bigrams_t* bigrams) noexcept nogil:
    free(bigrams.flags)
    free(bigrams.repeated.items)
    free(bigrams.probed.items)
    close_pairs(&bigrams.distinct)
    free(bigrams.known)


cdef inline int flag_tokens(bigrams_t* bigrams, const token_t* tokens, int64_t n_tokens,
                            const tally_t* counts, token_t n_probe_tokens) noexcept nogil:
    """REPEATS and PROBED of each token; 0, or -1 without memory."""
    cdef const uint64_t* cells = counts.cells
    cdef uint64_t once = counts.stamp + 1
    cdef uint8_t* flags
    cdef int64_t i
    if reserve(<void**> &bigrams.flags, &bigrams.flags_capacity, n_tokens + FLAGS_MARGIN, 1):
        return -1
    flags = bigrams.flags
    for i in range(n_tokens):
        flags[i] = REPEATS * (cells[tokens[i]] > once) | PROBED * (tokens[i] < n_probe_tokens)
    memset(flags + n_tokens, 0, FLAGS_MARGIN)
    return 0


cdef inline uint64_t lowest_bits(uint64_t bytes_) noexcept nogil:
    """The lowest bit of each of eight bytes, side by side."""
    return (bytes_ & <uint64_t> 0x0101010101010101) * <uint64_t> 0x0102040810204080 >> 56


cdef inline int add_marked(pairs_t* pairs, const token_t* tokens, uint64_t marks) noexcept nogil:
    """Add the bigrams that begin at the set bits; 0, or -1 without memory."""
    cdef uint64_t adjacent
    if reserve(<void**> &pairs.items, &pairs.capacity, pairs.size + 64, sizeof(uint64_t)):
        return -1
    while marks:
        adjacent = load_8_bytes(<const uint8_t*> (tokens + count_trailing_zeros(marks)))
        pairs.items[pairs.size] = adjacent << 32 | adjacent >> 32
        pairs.size += 1
        marks &= marks - 1
    return 0


cdef inline int sift_bigrams(bigrams_t* bigrams, const token_t* tokens,
                             int64_t n_tokens) noexcept nogil:
    """List those of two repeated tokens and those of two probed ones; 0, or -1 without memory."""
    cdef uint64_t both, probed, repeated
    cdef int64_t first
    cdef int i
    bigrams.repeated.size = bigrams.probed.size = 0
    for first in range(0, n_tokens, 64):
        probed = repeated = 0
        for i in range(0, 64, 8):
            both = load_8_bytes(bigrams.flags + first + i) & load_8_bytes(
                bigrams.flags + first + i + 1)
            repeated |= lowest_bits(both) << i
            probed |= lowest_bits(both >> 1) << i
        if add_marked(&bigrams.repeated, tokens + first, repeated) or add_marked(
                &bigrams.probed, tokens + first, probed):
            return -1
    return 0


cdef inline int64_t find_known(bigrams_t* bigrams, const grams_t* grams,
                               tally_t* tally) noexcept nogil:
    """Set out the ids of the probed bigrams that are numbered, each once; how many, or -1."""
    cdef int64_t n_ids = grams.n_grams, n_probed = bigrams.probed.size, n_known = 0, n_others = 0
    cdef int64_t i, id
    cdef uint64_t* pairs = bigrams.probed.items
    cdef uint64_t stamp, pair
    cdef uint64_t* cells
    cdef token_t* known
    cdef const gram_slot_t* found
    cdef bint is_used, is_hit
    # No bigram has the id ``n_ids``: it stands for all that are not numbered.
    if begin_tally(tally, n_ids + 1):
        return -1
    if reserve(<void**> &bigrams.known, &bigrams.known_capacity, n_probed + 1, sizeof(token_t)):
        return -1
    cells, stamp, known = tally.cells, tally.stamp, bigrams.known
    cells[n_ids] = stamp
    for i in range(n_probed):
        # No branch: whether a probe has the bigram cannot be guessed.
        pair = pairs[i]
        found = &grams.slots[gram_slot(grams, pair)]
        is_used = found.serial >= grams.first_serial
        is_hit = is_used & (found.pair == pair)
        id = found.serial - grams.first_serial if is_hit else n_ids
        known[n_known] = <token_t> id
        n_known += cells[id] < stamp
        cells[id] = stamp
        # Not in its home slot, if it is numbered at all. The list is written over itself.
        pairs[n_others] = pair
        n_others += is_used & (found.pair != pair)
    for i in range(n_others):
        id = find_gram(grams, pairs[i])
        if id >= 0 and cells[id] < stamp:
            known[n_known] = <token_t> id
            n_known += 1
            cells[id] = stamp
    return n_known


cdef inline int64_t count_bigrams(bigrams_t* bigrams, int64_t n_tokens) noexcept nogil:
    """How many bigrams of so many tokens are distinct; -1 without memory."""
    cdef int64_t n_repeated = bigrams.repeated.size, n_distinct
    if n_repeated < 2:
        return n_tokens - 1
    n_distinct = count_pairs(&bigrams.distinct, bigrams.repeated.items, n_repeated)
    return n_distinct if n_distinct < 0 else n_tokens - 1 - n_repeated + n_distinct
