"""Light stems of English words: plurals, -ing, -ed, -ly and what stands at the end without them."""
from libc.string cimport memcpy, memmove

from primitives cimport int64_t, load_8_bytes, reserve, span_t, uint8_t, uint64_t
from token_stream cimport LOWERED_MARGIN, lowered_t
from vocabulary cimport is_ascii_key, number_bytes, vocabulary_t


cdef inline int64_t number_behind(vocabulary_t* vocabulary, lowered_t* store,
                                  int64_t size) noexcept nogil:
    """Id of the ``size`` bytes behind the store's end, which stay if they are new; -1."""
    cdef int64_t n_known = vocabulary.n_tokens, id
    id = number_bytes(vocabulary, store, store.size, size)
    if id >= n_known:
        store.size += size
    return id


cdef inline bint is_ascii(const vocabulary_t* vocabulary, const uint8_t* token, int64_t id,
                          int64_t size) noexcept nogil:
    cdef int64_t i
    if size <= 16:
        return is_ascii_key(vocabulary.keys[id], size)
    for i in range(size):
        if token[i] >= 0x80:
            return False
    return True


cdef inline uint8_t last_of(uint64_t ending) noexcept nogil:
    return <uint8_t> (ending >> 56)


cdef inline int64_t without_plural(uint64_t* ending, int64_t size) noexcept nogil:
    cdef uint64_t word = ending[0]
    cdef uint8_t before = <uint8_t> (word >> 48)
    if last_of(word) != 0x73:
        return size
    if size > 4 and word >> 40 == 0x736569:
        # -ies: -y
        ending[0] = (word << 16 & <uint64_t> 0x00FFFFFFFFFFFFFF) | <uint64_t> 0x79 << 56
        return size - 2
    if word >> 32 == 0x73657373:
        # -sses
        ending[0] = word << 16
        return size - 2
    if before == 0x73 or before == 0x75 or before == 0x69:
        return size
    ending[0] = word << 8
    return size - 1


cdef inline int64_t strip_endings(uint64_t* ending, int64_t size) noexcept nogil:
    """Make the end of an English word that of its stem; the stem's size.

    ``ending`` has the last eight bytes, the last on top; no more than seven are taken off or looked
    at. For words of more than three letters that do not end with a digit.
    """
    cdef uint64_t word
    cdef uint8_t last
    size = without_plural(ending, size)
    word = ending[0]
    if size > 5 and word >> 40 == 0x676E69:
        # -ing
        word <<= 24
        size -= 3
    elif size > 4 and word >> 48 == 0x6465:
        # -ed
        word <<= 16
        size -= 2
    elif size > 5 and word >> 48 == 0x796C:
        # -ly
        word <<= 16
        size -= 2
    last = last_of(word)
    if size > 4 and last == <uint8_t> (word >> 48) and not (
            last == 0x6C or last == 0x73 or last == 0x7A):
        word <<= 8
        size -= 1
    if size > 4 and last_of(word) == 0x65:
        word <<= 8
        size -= 1
    if size > 3 and last_of(word) == 0x69:
        word = (word & <uint64_t> 0x00FFFFFFFFFFFFFF) | <uint64_t> 0x79 << 56
    ending[0] = word
    return size


cdef inline int64_t stem_of(vocabulary_t* vocabulary, lowered_t* store,
                            int64_t id) noexcept nogil:
    """Id of the light stem of an English word; -1 without memory."""
    cdef span_t place = vocabulary.places[id]
    cdef int64_t begin = place.begin, size = place.end - begin, stem_size
    cdef const uint8_t* token = store.bytes + begin
    cdef uint64_t ending
    if not is_ascii(vocabulary, token, id, size):
        return id
    if size < 8:
        ending = load_8_bytes(token) << (8 * (8 - size))
    else:
        ending = load_8_bytes(token + size - 8)
    if not 0x61 <= last_of(ending) <= 0x7A:
        return id
    stem_size = strip_endings(&ending, size)
    if store.bytes[begin + stem_size - 1] == last_of(ending):
        # The word begins with its stem, and has room for it.
        return id if stem_size == size else number_bytes(vocabulary, store, begin, stem_size)
    if reserve(<void**> &store.bytes, &store.capacity, store.size + size + LOWERED_MARGIN, 1):
        return -1
    # Most words are copied at once; the last one of the store overlaps its copy.
    memmove(store.bytes + store.size, store.bytes + begin, 16)
    if stem_size > 16:
        memcpy(store.bytes + store.size, store.bytes + begin, <size_t> stem_size)
    store.bytes[store.size + stem_size - 1] = last_of(ending)
    return number_behind(vocabulary, store, stem_size)
