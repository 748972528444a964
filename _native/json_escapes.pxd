"""Escapes in strings of JSON."""
from primitives cimport int64_t, uint8_t, uint32_t


cdef inline int64_t hex_value(const uint8_t* digits) noexcept nogil:
    """The number of four hexadecimal digits, or -1."""
    cdef int64_t value = 0
    cdef uint8_t digit, letter
    cdef int i
    for i in range(4):
        digit = digits[i]
        letter = digit | 0x20
        if b"0" <= digit <= b"9":
            value = value << 4 | (digit - <uint8_t> b"0")
        elif b"a" <= letter <= b"f":
            value = value << 4 | (letter - <uint8_t> b"a" + 10)
        else:
            return -1
    return value


cdef inline int escaped(const uint8_t* bytes_, int64_t left, uint32_t* code_point) noexcept nogil:
    """Bytes of the escape at a backslash, of ``left``; 0 when it stands for no code point."""
    cdef int64_t unit, low
    cdef uint8_t letter
    if left < 2:
        return 0
    letter = bytes_[1]
    if letter == b"n":
        code_point[0] = 0x0A
    elif letter == b'"' or letter == b"\\" or letter == b"/":
        code_point[0] = letter
    elif letter == b"t":
        code_point[0] = 0x09
    elif letter == b"r":
        code_point[0] = 0x0D
    elif letter == b"b":
        code_point[0] = 0x08
    elif letter == b"f":
        code_point[0] = 0x0C
    elif letter == b"u":
        unit = hex_value(bytes_ + 2) if left >= 6 else -1
        if unit < 0 or 0xDC00 <= unit < 0xE000:
            return 0
        code_point[0] = <uint32_t> unit
        if unit < 0xD800 or unit >= 0xE000:
            return 6
        if left < 12 or bytes_[6] != b"\\" or bytes_[7] != b"u":
            return 0
        low = hex_value(bytes_ + 8)
        if not 0xDC00 <= low < 0xE000:
            return 0
        code_point[0] = <uint32_t> (0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        return 12
    else:
        return 0
    return 2
