"""Canonical decomposition, order and composition of code points (Unicode, section 3.11)."""
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from code_points cimport encode_code_point
from primitives cimport int64_t, reserve, uint8_t, uint32_t

cdef extern from "fold_tables.h" nogil:
    uint32_t FOLD_WORD
    uint32_t FOLD_GLUED
    uint32_t FOLD_MARK
    uint32_t FOLD_DIGIT
    uint32_t FOLD_NUMERAL
    uint32_t FOLD_IGNORED
    uint32_t FOLD_APOSTROPHE
    uint32_t FOLD_UPPER
    uint32_t FOLD_LOWER
    uint32_t FOLD_TITLE
    uint32_t FOLD_NUMBER
    uint32_t FOLD_BARE
    uint32_t FOLD_CONTEXT
    uint32_t FOLD_COMPOSES
    uint32_t FOLD_SPACE
    uint32_t FOLD_DECIMAL
    uint32_t FOLD_CHANGES
    uint32_t fold_flags(uint32_t code_point) noexcept
    uint32_t fold_base(uint32_t code_point) noexcept
    uint8_t combining_class(uint32_t code_point) noexcept
    int canonical_decomposition(uint32_t code_point, const uint32_t** parts) noexcept

cdef extern from "point_flags.h" nogil:
    uint32_t flags_at(const uint8_t* text, int64_t size, int64_t at, int64_t* width) noexcept

cdef extern from "nfc_check.h" nogil:
    uint32_t HANGUL_FIRST
    uint32_t HANGUL_L
    uint32_t HANGUL_V
    uint32_t HANGUL_T
    uint32_t N_HANGUL_V
    uint32_t N_HANGUL_T
    uint32_t N_HANGUL
    uint32_t composed_pair(uint32_t first, uint32_t second) noexcept
    bint is_composed(const uint8_t* text, int64_t size) noexcept

cdef enum:
    SHORT_RUN = 24             # marks that are sorted by insertion; more are counted


cdef struct points_t:
    uint32_t* points
    int64_t capacity
    int64_t size
    uint32_t* spare            # of a long run of marks while it is put in order
    int64_t spare_capacity


cdef inline void close_points(points_t* text) noexcept nogil:
    free(text.points)
    free(text.spare)


cdef inline int add_point(points_t* text, uint32_t code_point) noexcept nogil:
    if reserve(<void**> &text.points, &text.capacity, text.size + 1, sizeof(uint32_t)):
        return -1
    text.points[text.size] = code_point
    text.size += 1
    return 0


cdef inline int add_decomposed(points_t* text, uint32_t code_point) noexcept nogil:
    """Append the full canonical decomposition of a code point; 0, or -1 without memory."""
    cdef const uint32_t* parts
    cdef uint32_t index
    cdef int n_parts, i
    if HANGUL_FIRST <= code_point < HANGUL_FIRST + N_HANGUL:
        index = code_point - HANGUL_FIRST
        if add_point(text, HANGUL_L + index // (N_HANGUL_V * N_HANGUL_T)):
            return -1
        if add_point(text, HANGUL_V + index // N_HANGUL_T % N_HANGUL_V):
            return -1
        if index % N_HANGUL_T:
            return add_point(text, HANGUL_T + index % N_HANGUL_T)
        return 0
    n_parts = canonical_decomposition(code_point, &parts)
    if n_parts == 0:
        return add_point(text, code_point)
    for i in range(n_parts):
        if add_point(text, parts[i]):
            return -1
    return 0


cdef inline void insert_marks(uint32_t* marks, int64_t n_marks) noexcept nogil:
    cdef int64_t i, j
    cdef uint32_t mark
    for i in range(1, n_marks):
        mark = marks[i]
        j = i
        while j > 0 and combining_class(marks[j - 1]) > combining_class(mark):
            marks[j] = marks[j - 1]
            j -= 1
        marks[j] = mark


cdef inline int count_marks(points_t* text, int64_t begin, int64_t n_marks) noexcept nogil:
    """Sort a long run of marks by class, stably, in linear time; 0, or -1 without memory."""
    cdef int64_t places[257]
    cdef int64_t i
    cdef uint8_t order
    if reserve(<void**> &text.spare, &text.spare_capacity, n_marks, sizeof(uint32_t)):
        return -1
    memset(places, 0, sizeof(places))
    for i in range(n_marks):
        places[combining_class(text.points[begin + i]) + 1] += 1
    for i in range(256):
        places[i + 1] += places[i]
    for i in range(n_marks):
        order = combining_class(text.points[begin + i])
        text.spare[places[order]] = text.points[begin + i]
        places[order] += 1
    memcpy(text.points + begin, text.spare, <size_t> n_marks * sizeof(uint32_t))
    return 0


cdef inline int order_marks(points_t* text) noexcept nogil:
    """Put each run of marks in canonical order; 0, or -1 without memory."""
    cdef int64_t begin = 0, end
    while begin < text.size:
        if combining_class(text.points[begin]) == 0:
            begin += 1
            continue
        end = begin + 1
        while end < text.size and combining_class(text.points[end]):
            end += 1
        if end - begin <= SHORT_RUN:
            insert_marks(text.points + begin, end - begin)
        elif count_marks(text, begin, end - begin):
            return -1
        begin = end
    return 0


cdef inline void compose(points_t* text) noexcept nogil:
    """Canonical composition of an ordered decomposition, in place."""
    cdef int64_t n_out = 0, starter = -1, i
    cdef int last_class = -1, here     # -1: nothing stands between the starter and here
    cdef uint32_t code_point, composite
    for i in range(text.size):
        code_point = text.points[i]
        here = combining_class(code_point)
        if starter >= 0 and last_class < here:
            composite = composed_pair(text.points[starter], code_point)
            if composite:
                text.points[starter] = composite
                continue
        if here == 0:
            starter = n_out
            last_class = -1
        else:
            last_class = here
        text.points[n_out] = code_point
        n_out += 1
    text.size = n_out


cdef inline bint may_continue(uint32_t code_point, uint32_t flags) noexcept nogil:
    """Text is normalised piece by piece; a piece ends before what this is false of.

    True of marks (those among the ignored characters too), of conjoining vowels and finals and of
    whatever composes with what stands before it.
    """
    return (flags & (FOLD_MARK | FOLD_COMPOSES) != 0 or 0x1160 <= code_point <= 0x11FF
            or code_point == 0x34F or 0xFE00 <= code_point <= 0xFE0F)


cdef inline int64_t encode_points(const points_t* text, uint8_t* out) noexcept nogil:
    """Write code points as UTF-8; how many bytes."""
    cdef int64_t size = 0, i
    for i in range(text.size):
        size += encode_code_point(text.points[i], out + size)
    return size
