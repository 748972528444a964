"""UTF-8 <-> code points, and lower-casing one of them in its text."""
from primitives cimport int64_t, uint8_t, uint32_t

cdef extern from "unicode_tables.h" nogil:
    uint8_t CODE_POINT_SEPARATOR
    uint8_t CODE_POINT_SPACE
    uint8_t CODE_POINT_CASED
    uint8_t CODE_POINT_CASE_IGNORABLE
    uint8_t CODE_POINT_LOWERS
    uint8_t code_point_flags(uint32_t code_point) noexcept
    uint32_t code_point_lower(uint32_t code_point) noexcept

cdef extern from "utf8_points.h" nogil:
    uint32_t decode_code_point(const uint8_t* text, int64_t size, int64_t at,
                               int* width) noexcept
    int encode_code_point(uint32_t code_point, uint8_t* out) noexcept


cdef inline bint cased_before(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """A cased letter precedes byte ``at``, case-ignorable code points between them skipped."""
    cdef int width
    cdef uint8_t flags
    while at > 0:
        at -= 1
        while at > 0 and (text[at] & 0xC0) == 0x80:
            at -= 1
        flags = code_point_flags(decode_code_point(text, size, at, &width))
        if not flags & CODE_POINT_CASE_IGNORABLE:
            return flags & CODE_POINT_CASED
    return False


cdef inline bint cased_after(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """A cased letter follows at or after byte ``at``, case-ignorable code points skipped."""
    cdef int width
    cdef uint8_t flags
    while at < size:
        flags = code_point_flags(decode_code_point(text, size, at, &width))
        if not flags & CODE_POINT_CASE_IGNORABLE:
            return flags & CODE_POINT_CASED
        at += width
    return False


cdef inline int write_lower(const uint8_t* text, int64_t size, int64_t at, int width,
                            uint32_t code_point, uint8_t* out) noexcept nogil:
    """Write the full lower-case mapping of one code point and return its width in bytes.

    Only U+0130 maps to two code points, and only U+03A3 looks around itself: it ends a word when
    a cased letter stands before it and none after (Unicode 17, section 3.13, Final_Sigma).
    """
    if code_point == 0x130:
        out[0] = 0x69
        return 1 + encode_code_point(0x307, out + 1)
    if code_point == 0x3A3:
        if cased_before(text, size, at) and not cased_after(text, size, at + width):
            return encode_code_point(0x3C2, out)
        return encode_code_point(0x3C3, out)
    return encode_code_point(code_point_lower(code_point), out)
