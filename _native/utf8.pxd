"""Whether bytes are UTF-8."""
from primitives cimport int64_t, load_8_bytes, uint8_t, uint64_t


cdef inline bint has_high_byte(const uint8_t* text, int64_t size) noexcept nogil:
    """Some byte is no ASCII. Without an early exit the compiler takes 16 bytes at a time."""
    cdef uint8_t seen = 0
    cdef int64_t at
    for at in range(size):
        seen |= text[at]
    return seen >= 0x80


cdef inline bint continues(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef inline bint is_utf8(const uint8_t* text, int64_t size, bint surrogates) noexcept nogil:
    """Well-formed as in table 3-7 of Unicode 17.

    Where ``surrogates`` may be there, lone ones are three bytes each. A pair of those is no UTF-8:
    it has a form of four bytes.
    """
    cdef int64_t at = 0, left
    cdef uint8_t lead, second
    while at < size:
        left = size - at
        if left >= 8 and not load_8_bytes(text + at) & <uint64_t> 0x8080808080808080:
            at += 8
            continue
        lead = text[at]
        if lead < 0x80:
            at += 1
            continue
        if lead < 0xC2 or lead > 0xF4 or left < 2 or not continues(text[at + 1]):
            return False
        second = text[at + 1]
        if lead < 0xE0:
            at += 2
            continue
        if left < 3 or not continues(text[at + 2]):
            return False
        if lead < 0xF0:
            if lead == 0xE0 and second < 0xA0:
                return False
            if lead == 0xED and second >= 0xA0:
                if not surrogates:
                    return False
                if (second < 0xB0 and left >= 6
                        and text[at + 3] == 0xED and text[at + 4] >= 0xB0):
                    return False
            at += 3
            continue
        if left < 4 or not continues(text[at + 3]):
            return False
        if (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second >= 0x90):
            return False
        at += 4
    return True
