"""Light stems of English words: plurals, -ing, -ed, -ly and what stands at the end without them."""
from libc.string cimport memcpy, memmove

from primitives cimport int64_t, reserve, token_t, uint8_t
from token_stream cimport LOWERED_MARGIN, lowered_t
from vocabulary cimport number_bytes, number_short, token_key_t, vocabulary_t

cdef extern from "word_endings.h" nogil:
    ctypedef struct cut_t:
        int64_t size
        token_t id
        token_t last
    ctypedef struct worded_t:
        const token_key_t* keys
        const int64_t* places
        const token_t* raws
        const uint8_t* bytes
    int64_t list_cuts(const worded_t* words, const token_t* ids, int64_t n_ids,
                      cut_t* cuts) noexcept


cdef inline int64_t number_behind(vocabulary_t* vocabulary, lowered_t* store,
                                  int64_t size) noexcept nogil:
    """Id of the ``size`` bytes behind the store's end, which stay if they are new; -1."""
    cdef int64_t n_known = vocabulary.n_tokens, id
    id = number_bytes(vocabulary, store, store.size, size)
    if id >= n_known:
        store.size += size
    return id


cdef inline int64_t respelt_stem(vocabulary_t* vocabulary, lowered_t* store, int64_t begin,
                                 int64_t size, uint8_t last) noexcept nogil:
    """Id of the stem that a word begins with but for its last byte; -1 without memory."""
    if reserve(<void**> &store.bytes, &store.capacity, store.size + size + LOWERED_MARGIN, 1):
        return -1
    # Most words are copied at once; the last one of the store overlaps its copy.
    memmove(store.bytes + store.size, store.bytes + begin, 16)
    if size > 16:
        memcpy(store.bytes + store.size, store.bytes + begin, <size_t> size)
    store.bytes[store.size + size - 1] = last
    return number_behind(vocabulary, store, size)


cdef inline int64_t stem_of(vocabulary_t* vocabulary, lowered_t* store,
                            const cut_t* cut) noexcept nogil:
    """Id of the light stem of a word with an ending; -1 without memory.

    ``make_room`` was called for a new token.
    """
    cdef int64_t begin = vocabulary.places[cut.id].begin
    if store.bytes[begin + cut.size - 1] != cut.last:
        return respelt_stem(vocabulary, store, begin, cut.size, <uint8_t> cut.last)
    # The word begins with its stem, and has room for it.
    if cut.size > 16:
        return number_bytes(vocabulary, store, begin, cut.size)
    return number_short(vocabulary, store, begin, cut.size)
