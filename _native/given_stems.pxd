"""Stems that the caller gives, by language and word, in place of the light English ones."""
from libc.stdlib cimport free
from libc.string cimport memcpy

from primitives cimport hash_t, int64_t, reserve, text_at, text_t, texts_t, uint8_t
from token_stream cimport LOWERED_MARGIN, lowered_t
from vocabulary cimport (
    clear_vocabulary, close_vocabulary, number_bytes, seed_vocabulary, vocabulary_t,
)


cdef struct given_stems_t:
    int64_t n_words            # 0: none are given
    lowered_t words            # each after a byte with the number of its language
    vocabulary_t vocabulary
    texts_t stems              # of word i, as the caller holds them


cdef inline void close_given_stems(given_stems_t* given) noexcept nogil:
    free(given.words.bytes)
    close_vocabulary(&given.vocabulary)


cdef inline int64_t number_given(given_stems_t* given, int64_t size) noexcept nogil:
    """Number of the ``size`` bytes behind the words' end, a new one if need be; -1."""
    return number_bytes(&given.vocabulary, &given.words, given.words.size, size)


cdef inline int copy_behind(given_stems_t* given, int language, const uint8_t* word,
                            int64_t size) noexcept nogil:
    """Put a word, with its language if any, behind the words' end; 0, or -1 without memory."""
    cdef lowered_t* words = &given.words
    cdef int64_t at = words.size
    if reserve(<void**> &words.bytes, &words.capacity, at + size + 1 + LOWERED_MARGIN, 1):
        return -1
    if language >= 0:
        words.bytes[at] = <uint8_t> language
        at += 1
    memcpy(words.bytes + at, word, <size_t> size)
    return 0


cdef inline int give_stems(given_stems_t* given, const texts_t* words, const texts_t* stems,
                           int64_t n_words, hash_t seed) noexcept nogil:
    """Take distinct words and their stems; 0, or -1 without memory."""
    cdef int64_t i
    cdef text_t word
    given.n_words = n_words
    given.stems = stems[0]
    if n_words == 0:
        return 0
    seed_vocabulary(&given.vocabulary, seed)
    if clear_vocabulary(&given.vocabulary, 1024):
        return -1
    for i in range(n_words):
        word = text_at(words, i)
        if copy_behind(given, -1, word.bytes, word.size) or number_given(given, word.size) != i:
            return -1
        given.words.size += word.size
    return 0


cdef inline int64_t find_given(given_stems_t* given, int language, const uint8_t* word,
                               int64_t size) noexcept nogil:
    """Which given word this is; -1 when it was not given, -2 without memory."""
    cdef int64_t n_known = given.vocabulary.n_tokens, found
    if copy_behind(given, language, word, size):
        return -2
    found = number_given(given, size + 1)
    if found < 0:
        return -2
    if found >= n_known:
        # Kept: it may be asked for again.
        given.words.size += size + 1
    return found if found < given.n_words else -1
