"""An object of JSON that was scanned before -> the bytes that its value is written as.

Without white space, texts as UTF-8 with the escapes that there have to be, and the ground truth
under the name that result files have for it, at the end. All that would be read and written
otherwise than it stands there is refused: numbers in another form, and keys that come twice.
"""
from libc.string cimport memcmp, memcpy

from code_points cimport encode_code_point
from json_escapes cimport escaped
from primitives cimport int64_t, span_t, uint8_t, uint32_t

cdef extern from "json_strings.h" nogil:
    int64_t plain_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept

cdef enum:
    ROW = 1              # depth of its keys
    MOST_DEPTH = 32      # a scan takes no more
    MOST_KEYS = 256      # of all objects that are open
    REFUSED = -1


cdef struct echo_t:
    const uint8_t* bytes
    int64_t at
    int64_t end
    uint8_t* out
    int64_t size
    span_t[256] keys               # where those of the objects that are open were written
    int64_t n_keys
    int64_t[33] first_keys         # per depth
    bint[33] is_object
    int depth


cdef inline void put(echo_t* echo, uint8_t byte) noexcept nogil:
    echo.out[echo.size] = byte
    echo.size += 1


cdef inline void put_code_point(echo_t* echo, uint32_t code_point) noexcept nogil:
    """A character that was written as an escape, as short as may be."""
    cdef const char* digits = b"0123456789abcdef"
    cdef uint8_t letter = 0
    if code_point == b'"' or code_point == b"\\":
        letter = <uint8_t> code_point
    elif code_point == 0x08:
        letter = b"b"
    elif code_point == 0x09:
        letter = b"t"
    elif code_point == 0x0A:
        letter = b"n"
    elif code_point == 0x0C:
        letter = b"f"
    elif code_point == 0x0D:
        letter = b"r"
    if letter:
        put(echo, b"\\")
        put(echo, letter)
    elif code_point < 0x20:
        memcpy(echo.out + echo.size, b"\\u00", 4)
        echo.size += 4
        put(echo, digits[code_point >> 4])
        put(echo, digits[code_point & 15])
    else:
        echo.size += encode_code_point(code_point, echo.out + echo.size)


cdef inline int echo_string(echo_t* echo) noexcept nogil:
    """The string whose quotation mark is at hand; 0, or REFUSED."""
    cdef int64_t stop
    cdef uint32_t code_point = 0
    cdef int width
    put(echo, b'"')
    echo.at += 1
    while True:
        stop = plain_end(echo.bytes, echo.at, echo.end)
        memcpy(echo.out + echo.size, echo.bytes + echo.at, <size_t> (stop - echo.at))
        echo.size += stop - echo.at
        echo.at = stop
        if stop == echo.end:
            return REFUSED
        if echo.bytes[stop] == b'"':
            break
        width = escaped(echo.bytes + stop, echo.end - stop, &code_point)
        if width == 0:
            return REFUSED
        put_code_point(echo, code_point)
        echo.at += width
    echo.at += 1
    put(echo, b'"')
    return 0


cdef inline int echo_key(echo_t* echo) noexcept nogil:
    """The key at hand, which no key of its object was before; 0, or REFUSED."""
    cdef int64_t begin = echo.size, length, i
    if echo.n_keys == MOST_KEYS or echo_string(echo):
        return REFUSED
    length = echo.size - begin
    for i in range(echo.first_keys[echo.depth], echo.n_keys):
        if echo.keys[i].end - echo.keys[i].begin == length and memcmp(
                echo.out + echo.keys[i].begin, echo.out + begin, <size_t> length) == 0:
            return REFUSED
    echo.keys[echo.n_keys] = span_t(begin, echo.size)
    echo.n_keys += 1
    return 0


cdef inline bint is_in_number(uint8_t byte) noexcept nogil:
    return b"0" <= byte <= b"9" or byte == b"-" or byte == b"."


cdef inline int echo_number(echo_t* echo) noexcept nogil:
    """The number at hand, of 15 digits at most and without an exponent; 0, or REFUSED.

    So many digits read back as they are, but for zeros at the end of a fraction; below 0.0001 a
    number would be written with an exponent, and -0 is 0.
    """
    cdef const uint8_t* digits = echo.bytes + echo.at
    cdef int64_t size = 0, point = -1
    while echo.at + size < echo.end and is_in_number(digits[size]):
        if digits[size] == b".":
            point = size
        size += 1
    if size == 0:
        return REFUSED
    memcpy(echo.out + echo.size, digits, <size_t> size)
    echo.at += size
    echo.size += size
    if digits[0] == b"-":
        digits += 1
        size -= 1
        point -= 1
        if size == 1 and digits[0] == b"0":
            return REFUSED
    if point < 0:
        return 0
    if digits[size - 1] == b"0" and size > point + 2:
        return REFUSED
    return REFUSED if size >= 6 and memcmp(digits, b"0.0000", 6) == 0 else 0


cdef inline int64_t named_anew(echo_t* echo, int64_t begin, uint8_t* aside) noexcept nogil:
    """Take the ground truth, whose key was written at ``begin``, out of the object, and write it
    aside under its other name; returns its size."""
    cdef int64_t after = begin + 14, size = echo.size - after
    memcpy(aside, b'"groundTruth"', 13)
    memcpy(aside + 13, echo.out + after, <size_t> size)
    echo.size = begin
    return 13 + size


cdef inline bint is_ground_truth(const echo_t* echo, int64_t begin) noexcept nogil:
    return echo.size - begin == 14 and memcmp(echo.out + begin, b'"ground_truth"', 14) == 0


cdef inline bint is_blank(uint8_t byte) noexcept nogil:
    return byte == b" " or byte == b"\t" or byte == b"\r"


cdef inline int64_t echo_object(const uint8_t* bytes_, int64_t begin, int64_t end, uint8_t* out,
                                uint8_t* aside) noexcept nogil:
    """Write an object, whose bytes ``[begin, end)`` were scanned, to ``out``; its size, or REFUSED.

    ``out`` and ``aside`` have room for as many bytes as it has.
    """
    cdef echo_t echo
    cdef int64_t truth = -1, aside_size = 0, key
    cdef bint is_key = False
    cdef uint8_t first
    echo.bytes = bytes_
    echo.at = begin
    echo.end = end
    echo.out = out
    echo.size = echo.n_keys = echo.depth = 0
    while echo.at < end:
        first = bytes_[echo.at]
        if is_blank(first):
            echo.at += 1
        elif first == b'"' and is_key:
            key = echo.size
            if echo_key(&echo):
                return REFUSED
            is_key = False
            if echo.depth == ROW and is_ground_truth(&echo, key):
                truth = key
        elif first == b'"':
            if echo_string(&echo):
                return REFUSED
        elif first == b"{" or first == b"[":
            if echo.depth == MOST_DEPTH:
                return REFUSED
            echo.depth += 1
            echo.first_keys[echo.depth] = echo.n_keys
            echo.is_object[echo.depth] = is_key = first == b"{"
            put(&echo, first)
            echo.at += 1
        elif first == b"-" or b"0" <= first <= b"9":
            if echo_number(&echo):
                return REFUSED
        else:
            if echo.depth == ROW and truth >= 0 and (first == b"," or first == b"}"):
                # A scan takes one ground truth, and so no other key is compared with its own.
                aside_size = named_anew(&echo, truth, aside)
                echo.n_keys -= 1
                truth = -1
                if first == b",":
                    echo.at += 1
                    is_key = True
                    continue
            if first == b"}" or first == b"]":
                if echo.depth == ROW and aside_size:
                    if out[echo.size - 1] != b"{" and out[echo.size - 1] != b",":
                        put(&echo, b",")
                    memcpy(out + echo.size, aside, <size_t> aside_size)
                    echo.size += aside_size
                echo.n_keys = echo.first_keys[echo.depth]
                echo.depth -= 1
            put(&echo, first)
            echo.at += 1
            is_key = first == b"," and echo.is_object[echo.depth]
    return echo.size if echo.depth == 0 else REFUSED
