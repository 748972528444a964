"""Texts and lists of texts in JSON -> where they lie, and the texts without escapes."""
from libc.string cimport memcpy

from code_points cimport encode_code_point
from json_escapes cimport escaped
from primitives cimport int64_t, uint8_t, uint32_t
from text_places cimport MAX_TEXT_BYTES, NO_ROOM, REFUSED, places_t

cdef extern from "json_strings.h" nogil:
    int64_t plain_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept


cdef inline int64_t closing_quote(const uint8_t* bytes_, int64_t at, int64_t end,
                                  int64_t* size) noexcept nogil:
    """Where the string ends whose first byte is at ``at``, and its size in UTF-8; or REFUSED."""
    cdef int64_t begin = at, saved = 0
    cdef uint32_t code_point = 0
    cdef int width
    while True:
        at = plain_end(bytes_, at, end)
        if at == end:
            return REFUSED
        if bytes_[at] == b'"':
            size[0] = at - begin - saved
            return at
        width = escaped(bytes_ + at, end - at, &code_point) if bytes_[at] == b"\\" else 0
        if width == 0:
            return REFUSED
        at += width
        saved += width - (1 + (code_point >= 0x80) + (code_point >= 0x800)
                          + (code_point >= 0x10000))


cdef inline void unescape(const uint8_t* bytes_, int64_t length, uint8_t* out) noexcept nogil:
    """Write a string that was scanned before as UTF-8."""
    cdef int64_t at = 0, stop
    cdef uint32_t code_point = 0
    while True:
        stop = plain_end(bytes_, at, length)
        memcpy(out, bytes_ + at, <size_t> (stop - at))
        if stop == length:
            return
        out += stop - at
        at = stop + escaped(bytes_ + stop, length - stop, &code_point)
        out += encode_code_point(code_point, out)


cdef inline int64_t spaces_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept nogil:
    """Past the white space within a line."""
    while at < end and (bytes_[at] == b" " or bytes_[at] == b"\t" or bytes_[at] == b"\r"):
        at += 1
    return at


cdef inline int64_t text_end(const uint8_t* bytes_, int64_t at, int64_t end, int64_t* places,
                             int64_t stride) noexcept nogil:
    """Past the string that begins at ``at``, its places noted; or REFUSED."""
    cdef int64_t stop, size = 0
    if at >= end or bytes_[at] != b'"':
        return REFUSED
    stop = closing_quote(bytes_, at + 1, end, &size)
    if stop == REFUSED or size > MAX_TEXT_BYTES:
        return REFUSED
    places[0] = at + 1
    places[stride] = stop - at - 1
    places[2 * stride] = size
    return stop + 1


cdef inline int64_t list_end(const uint8_t* bytes_, int64_t at, int64_t end,
                             places_t* items) noexcept nogil:
    """Past the array of strings that begins at ``at``, below ``end``; or REFUSED, or NO_ROOM."""
    if bytes_[at] != b"[":
        return REFUSED
    at = spaces_end(bytes_, at + 1, end)
    if at < end and bytes_[at] == b"]":
        return at + 1
    while True:
        if items.n == items.n_fitting:
            return NO_ROOM
        at = text_end(bytes_, at, end, items.places + items.n, items.n_fitting)
        if at == REFUSED:
            return REFUSED
        items.n += 1
        at = spaces_end(bytes_, at, end)
        if at >= end:
            return REFUSED
        if bytes_[at] == b"]":
            return at + 1
        if bytes_[at] != b",":
            return REFUSED
        at = spaces_end(bytes_, at + 1, end)
