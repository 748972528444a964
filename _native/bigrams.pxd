"""One context's bigrams: how many are distinct, and which of them a probe has.

Most need no table: a bigram with a token that occurs once in the context occurs once itself, and
one with a token that no probe has is in no probe.
"""
from libc.stdlib cimport free

from ngram_sets cimport begin_tally, find_gram, gram_slot_t, gram_slot, grams_t, tally_t
from pair_sets cimport close_pairs, count_pairs, pair_set_t
from primitives cimport hash_t, int64_t, load_8_bytes, reserve, token_t, uint8_t, uint64_t

cdef extern from "portable.h" nogil:
    int count_trailing_zeros(uint64_t word) noexcept

cdef enum:
    WORD_BITS = 64


cdef struct pairs_t:
    uint64_t* items
    int64_t capacity
    int64_t size


cdef struct bigrams_t:
    pairs_t repeated           # both tokens occur more than once
    pairs_t probed             # a probe may have both tokens
    pair_set_t distinct
    token_t* known             # ids of those that a probe has, each once
    int64_t known_capacity


cdef inline void seed_bigrams(bigrams_t* bigrams, hash_t seed) noexcept nogil:
    bigrams.distinct.seed = seed


cdef inline void close_bigrams(bigrams_t* bigrams) noexcept nogil:
    free(bigrams.repeated.items)
    free(bigrams.probed.items)
    close_pairs(&bigrams.distinct)
    free(bigrams.known)


cdef inline int add_marked(pairs_t* pairs, const token_t* tokens, uint64_t marks) noexcept nogil:
    """Add the bigrams that begin at the set bits; 0, or -1 without memory."""
    cdef int64_t size = pairs.size
    cdef uint64_t* items
    cdef uint64_t adjacent
    if reserve(<void**> &pairs.items, &pairs.capacity, size + WORD_BITS, sizeof(uint64_t)):
        return -1
    items = pairs.items
    while marks:
        adjacent = load_8_bytes(<const uint8_t*> (tokens + count_trailing_zeros(marks)))
        items[size] = adjacent << 32 | adjacent >> 32
        size += 1
        marks &= marks - 1
    pairs.size = size
    return 0


cdef inline int sift_bigrams(bigrams_t* bigrams, const token_t* tokens, int64_t n_tokens,
                             const tally_t* counts, token_t n_probe_tokens) noexcept nogil:
    """List those of two repeated tokens and those of two that probes may have; 0, or -1.

    From the end on: what is known of a word's first token is what the word before it wants.
    """
    cdef const uint64_t* cells = counts.cells
    cdef uint64_t once = counts.stamp + 1, probed, repeated, probed_behind = 0, repeated_behind = 0
    cdef int64_t first = n_tokens - 1 & ~<int64_t> (WORD_BITS - 1), i = n_tokens
    cdef int k
    bigrams.repeated.size = bigrams.probed.size = 0
    while first >= 0:
        probed = repeated = 0
        while i & 3:
            i -= 1
            repeated = 2 * repeated + (cells[tokens[i]] > once)
            probed = 2 * probed + (tokens[i] < n_probe_tokens)
        while i > first:
            i -= 4
            for k in range(3, -1, -1):
                repeated = 2 * repeated + (cells[tokens[i + k]] > once)
                probed = 2 * probed + (tokens[i + k] < n_probe_tokens)
        if add_marked(&bigrams.repeated, tokens + first,
                      repeated & (repeated >> 1 | repeated_behind)) or add_marked(
                          &bigrams.probed, tokens + first, probed & (probed >> 1 | probed_behind)):
            return -1
        repeated_behind = repeated << (WORD_BITS - 1)
        probed_behind = probed << (WORD_BITS - 1)
        first -= WORD_BITS
    return 0


cdef inline int64_t find_known(bigrams_t* bigrams, const grams_t* grams,
                               tally_t* tally) noexcept nogil:
    """Set out the ids of the probed bigrams that are numbered, each once; how many, or -1."""
    cdef int64_t n_probed = bigrams.probed.size, n_known = 0, n_others = 0, i, other
    cdef uint64_t n_ids = <uint64_t> grams.n_grams, id, miss
    cdef uint64_t* pairs = bigrams.probed.items
    # In locals: the compiler cannot know that no store of the loop changes them.
    cdef grams_t numbered = grams[0]
    cdef uint64_t stamp, pair
    cdef uint64_t* cells
    cdef token_t* known
    cdef const gram_slot_t* found
    # No bigram has the id ``n_ids``: it stands for all that are not numbered.
    if begin_tally(tally, grams.n_grams + 1):
        return -1
    if reserve(<void**> &bigrams.known, &bigrams.known_capacity, n_probed + 1, sizeof(token_t)):
        return -1
    cells, stamp, known = tally.cells, tally.stamp, bigrams.known
    cells[n_ids] = stamp
    for i in range(n_probed):
        # No branch: whether a probe has the bigram cannot be guessed.
        pair = pairs[i]
        found = &numbered.slots[gram_slot(&numbered, pair)]
        # Of a slot that is free, far above all ids.
        id = <uint64_t> (<int64_t> found.serial - numbered.first_serial)
        miss = found.pair != pair
        # Not in its home slot, if it is numbered at all. The list is written over itself.
        pairs[n_others] = pair
        n_others += miss & ~(id >> 63)
        id = min(id | (0 - miss), n_ids)
        known[n_known] = <token_t> id
        n_known += cells[id] < stamp
        cells[id] = stamp
    for i in range(n_others):
        other = find_gram(grams, pairs[i])
        if other >= 0 and cells[other] < stamp:
            known[n_known] = <token_t> other
            n_known += 1
            cells[other] = stamp
    return n_known


cdef inline int64_t count_bigrams(bigrams_t* bigrams, int64_t n_tokens) noexcept nogil:
    """How many bigrams of so many tokens are distinct; -1 without memory."""
    cdef int64_t n_repeated = bigrams.repeated.size, n_distinct
    if n_repeated < 2:
        return n_tokens - 1
    n_distinct = count_pairs(&bigrams.distinct, bigrams.repeated.items, n_repeated)
    return n_distinct if n_distinct < 0 else n_tokens - 1 - n_repeated + n_distinct
