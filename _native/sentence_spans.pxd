"""Sentences: byte spans of the trimmed pieces between boundaries.

A boundary is white space directly after ``.``, ``!`` or ``?`` and directly before ``A`` to ``Z`` or
the end of the text.
"""
from code_points cimport CODE_POINT_SPACE, code_point_flags, decode_code_point
from primitives cimport int64_t, load_8_bytes, span_t, uint8_t, uint32_t, uint64_t


cdef inline int64_t skip_spaces(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """First byte at or after ``at`` that is not part of white space."""
    cdef int width
    cdef uint32_t code_point
    while at < size:
        code_point = decode_code_point(text, size, at, &width)
        if not code_point_flags(code_point) & CODE_POINT_SPACE:
            break
        at += width
    return at


cdef inline int64_t drop_spaces(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """End of the text ``[begin, end)`` without its trailing white space."""
    cdef int64_t at
    cdef int width
    while end > begin:
        at = end - 1
        while at > begin and (text[at] & 0xC0) == 0x80:
            at -= 1
        if not code_point_flags(decode_code_point(text, end, at, &width)) & CODE_POINT_SPACE:
            break
        end = at
    return end


cdef inline bint is_mark(uint8_t byte) noexcept nogil:
    return byte == 0x2E or byte == 0x21 or byte == 0x3F


cdef inline uint64_t zero_bytes(uint64_t word) noexcept nogil:
    """Not 0 if and only if a byte of the word is 0 (Mycroft 1987)."""
    return (word - <uint64_t> 0x0101010101010101) & ~word & <uint64_t> 0x8080808080808080


cdef inline int64_t skip_unmarked(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """A place from ``at`` on that no mark comes before, found eight bytes at a time."""
    cdef uint64_t word
    while at + 8 <= size:
        word = load_8_bytes(text + at)
        if (zero_bytes(word ^ <uint64_t> 0x2E2E2E2E2E2E2E2E)
                | zero_bytes(word ^ <uint64_t> 0x2121212121212121)
                | zero_bytes(word ^ <uint64_t> 0x3F3F3F3F3F3F3F3F)):
            break
        at += 8
    return at


cdef inline bint next_sentence(const uint8_t* text, int64_t size, int64_t* at,
                               span_t* sentence) noexcept nogil:
    """Find the next sentence from ``at`` on and move ``at`` past it; False at the end."""
    cdef int64_t begin = skip_spaces(text, size, at[0]), mark, after
    cdef bint found = begin < size
    sentence.begin = begin
    sentence.end = size
    mark = skip_unmarked(text, size, begin)
    after = size
    while mark < size:
        if is_mark(text[mark]):
            after = skip_spaces(text, size, mark + 1)
            if after == size or (after > mark + 1 and 0x41 <= text[after] <= 0x5A):
                sentence.end = mark + 1
                break
            mark = skip_unmarked(text, size, after)
        else:
            mark += 1
    else:
        after = size
        sentence.end = drop_spaces(text, begin, size)
    at[0] = after
    return found
