"""Lists of texts as Python prints them -> where they lie, their escapes replaced in place."""
from libc.string cimport memmove

from code_points cimport encode_code_point
from csv_cells cimport place_of
from primitives cimport int64_t, uint8_t, uint32_t
from text_places cimport NO_ROOM, REFUSED, places_t


cdef inline int64_t printed_number(const uint8_t* digits, int n_digits) noexcept nogil:
    """The number of some hexadecimal digits in lower case, or -1."""
    cdef int64_t value = 0
    cdef int i
    for i in range(n_digits):
        if b"0" <= digits[i] <= b"9":
            value = value << 4 | (digits[i] - <uint8_t> b"0")
        elif b"a" <= digits[i] <= b"f":
            value = value << 4 | (digits[i] - <uint8_t> b"a" + 10)
        else:
            return -1
    return value


cdef inline int printed_escape(const uint8_t* bytes_, int64_t left,
                               uint32_t* code_point) noexcept nogil:
    """Bytes of the escape at a backslash, of ``left``; 0 where Python prints none like it."""
    cdef int64_t value
    cdef int n_digits
    cdef uint8_t letter
    if left < 2:
        return 0
    letter = bytes_[1]
    if letter == b"n":
        code_point[0] = 0x0A
    elif letter == b"'" or letter == b'"' or letter == b"\\":
        code_point[0] = letter
    elif letter == b"t":
        code_point[0] = 0x09
    elif letter == b"r":
        code_point[0] = 0x0D
    elif letter == b"x" or letter == b"u" or letter == b"U":
        n_digits = 2 if letter == b"x" else 4 if letter == b"u" else 8
        value = printed_number(bytes_ + 2, n_digits) if left >= 2 + n_digits else -1
        if value < 0 or value >= 0x110000 or 0xD800 <= value < 0xE000:
            return 0
        code_point[0] = <uint32_t> value
        return 2 + n_digits
    else:
        return 0
    return 2


cdef inline int64_t printed_text_end(uint8_t* bytes_, int64_t at, int64_t end,
                                     int64_t* size) noexcept nogil:
    """Past the text whose quotation mark is at ``at``, and its size without escapes; or REFUSED."""
    cdef uint8_t quote = bytes_[at]
    cdef int64_t begin = at + 1, out = at + 1, closing = at, stop
    cdef uint32_t code_point = 0
    cdef int width
    at += 1
    while True:
        if closing < at:
            closing = place_of(bytes_, quote, at, end)
            if closing == end:
                return REFUSED
        stop = place_of(bytes_, b"\\", at, closing)
        if out < at:
            memmove(bytes_ + out, bytes_ + at, <size_t> (stop - at))
        out += stop - at
        if stop == closing:
            size[0] = out - begin
            return closing + 1
        width = printed_escape(bytes_ + stop, end - stop, &code_point)
        if width == 0:
            return REFUSED
        # What it stands for has no more bytes than the escape.
        out += encode_code_point(code_point, bytes_ + out)
        at = stop + width


cdef inline int64_t printed_space_end(const uint8_t* bytes_, int64_t at,
                                      int64_t end) noexcept nogil:
    while at < end and (bytes_[at] == b" " or bytes_[at] == b"\n"):
        at += 1
    return at


cdef inline int64_t printed_list_end(uint8_t* bytes_, int64_t at, int64_t end,
                                     places_t* items) noexcept nogil:
    """Past the list or array of texts that begins at ``at``, below ``end``.

    Or REFUSED, or NO_ROOM. One of the texts is in apostrophes: no reader of JSON takes the list.
    """
    cdef int64_t begin, stop, size = 0
    cdef int64_t* item
    cdef bint is_printed = False
    if bytes_[at] != b"[":
        return REFUSED
    at = printed_space_end(bytes_, at + 1, end)
    while True:
        if at >= end or (bytes_[at] != b"'" and bytes_[at] != b'"'):
            return REFUSED
        if items.n == items.n_fitting:
            return NO_ROOM
        is_printed |= bytes_[at] == b"'"
        begin = at + 1
        at = printed_text_end(bytes_, at, end, &size)
        if at == REFUSED:
            return REFUSED
        item = items.places + items.n
        item[0] = begin
        item[items.n_fitting] = item[2 * items.n_fitting] = size
        items.n += 1
        stop = printed_space_end(bytes_, at, end)
        if stop < end and bytes_[stop] == b"]":
            return stop + 1 if is_printed else REFUSED
        # Arrays are printed without commas.
        if stop < end and bytes_[stop] == b",":
            stop = printed_space_end(bytes_, stop + 1, end)
        elif stop == at:
            return REFUSED
        at = stop
