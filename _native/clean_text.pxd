"""A text as the grounded profile reads it: composed (NFC), without markup.

Most texts are that already and are read where they lie. On request each byte of a text that was
changed remembers the code points of the original string that it stands for.
"""
from libc.stdlib cimport free
from libc.string cimport memcpy

from code_points cimport decode_code_point
from markup cimport (
    has_line_end, is_token_point, mark_line_heads, mark_within, past_cited, past_spaces, peek,
    place_before, read_line_head, spans_t,
)
from normal_forms cimport (
    add_decomposed, close_points, compose, encode_points, fold_flags, is_composed, may_continue,
    order_marks, points_t,
)
from primitives cimport int64_t, reserve, span_t, text_t, uint8_t, uint32_t
from token_stream cimport LOWERED_MARGIN, lowered_t

cdef extern from "byte_kinds.h" nogil:
    int CARE_MARKUP
    int CARE_LINES
    int CARE_SEPARATORS
    int care_of_bytes(const uint8_t* bytes, int64_t size) noexcept


cdef struct origins_t:
    # Per byte: the first code point of the original that it stands for, and one past the last.
    span_t* spans
    int64_t capacity
    int64_t size


cdef struct cleaner_t:
    bint keep_origins
    points_t points
    spans_t heads
    spans_t within
    lowered_t composed
    origins_t composed_origins
    lowered_t cleaned
    origins_t origins          # of all texts cleaned since ``size`` was set to 0


cdef inline void close_cleaner(cleaner_t* cleaner) noexcept nogil:
    close_points(&cleaner.points)
    free(cleaner.heads.items)
    free(cleaner.within.items)
    free(cleaner.composed.bytes)
    free(cleaner.composed_origins.spans)
    free(cleaner.cleaned.bytes)
    free(cleaner.origins.spans)


cdef inline int add_origins(origins_t* origins, int64_t n_bytes, int64_t begin,
                            int64_t end) noexcept nogil:
    """Let the next bytes stand for code points ``[begin, end)``; 0, or -1 without memory."""
    cdef int64_t i
    if reserve(<void**> &origins.spans, &origins.capacity, origins.size + n_bytes,
               sizeof(span_t)):
        return -1
    for i in range(origins.size, origins.size + n_bytes):
        origins.spans[i].begin = begin
        origins.spans[i].end = end
    origins.size += n_bytes
    return 0


cdef inline int number_code_points(origins_t* origins, text_t text) noexcept nogil:
    """Each code point of a text stands for itself; 0, or -1 without memory."""
    cdef int64_t at = 0, n_points = 0
    cdef int width
    while at < text.size:
        decode_code_point(text.bytes, text.size, at, &width)
        if add_origins(origins, width, n_points, n_points + 1):
            return -1
        at += width
        n_points += 1
    return 0


# --------------------------------------------------------------------------------------- composing

cdef inline int64_t piece_end(text_t text, int64_t at, int64_t* n_points) noexcept nogil:
    """Past the stretch that is normalised on its own, and how many code points it has."""
    cdef uint32_t code_point
    cdef int width
    decode_code_point(text.bytes, text.size, at, &width)
    at += width
    n_points[0] = 1
    while at < text.size:
        code_point = decode_code_point(text.bytes, text.size, at, &width)
        if not may_continue(code_point, fold_flags(code_point)):
            break
        at += width
        n_points[0] += 1
    return at


cdef inline int add_piece_origins(cleaner_t* cleaner, const uint8_t* out, int64_t n_bytes,
                                  int64_t begin, int64_t n_points) noexcept nogil:
    """Code points one by one where their number has not changed, else all for all."""
    cdef bint same = cleaner.points.size == n_points
    cdef int64_t at = 0, i
    cdef int width
    for i in range(cleaner.points.size):
        decode_code_point(out, n_bytes, at, &width)
        if add_origins(&cleaner.composed_origins, width, begin + i if same else begin,
                       begin + i + 1 if same else begin + n_points):
            return -1
        at += width
    return 0


cdef inline int compose_text(cleaner_t* cleaner, text_t text) noexcept nogil:
    """Write the text's NFC into ``composed``, piece by piece; 0, or -1 without memory."""
    cdef int64_t at = 0, end, n_points = 0, n_done = 0, n_bytes
    cdef lowered_t* out = &cleaner.composed
    cdef int width
    out.size = 0
    cleaner.composed_origins.size = 0
    while at < text.size:
        end = piece_end(text, at, &n_points)
        # No code point takes more than three times its bytes.
        if reserve(<void**> &out.bytes, &out.capacity,
                   out.size + 4 * (end - at) + LOWERED_MARGIN, 1):
            return -1
        cleaner.points.size = 0
        while at < end:
            if add_decomposed(&cleaner.points,
                              decode_code_point(text.bytes, text.size, at, &width)):
                return -1
            at += width
        if order_marks(&cleaner.points):
            return -1
        compose(&cleaner.points)
        n_bytes = encode_points(&cleaner.points, out.bytes + out.size)
        if cleaner.keep_origins and add_piece_origins(
                cleaner, out.bytes + out.size, n_bytes, n_done, n_points):
            return -1
        out.size += n_bytes
        n_done += n_points
    return 0


# -------------------------------------------------------------------------------- without markup

cdef inline int copy_kept(cleaner_t* cleaner, text_t text, int64_t begin,
                          int64_t end) noexcept nogil:
    cdef lowered_t* out = &cleaner.cleaned
    cdef int64_t i
    if reserve(<void**> &out.bytes, &out.capacity, out.size + end - begin + 1 + LOWERED_MARGIN,
               1):
        return -1
    if begin == end:
        return 0
    memcpy(out.bytes + out.size, text.bytes + begin, <size_t> (end - begin))
    out.size += end - begin
    if cleaner.keep_origins:
        for i in range(begin, end):
            if add_origins(&cleaner.origins, 1, cleaner.composed_origins.spans[i].begin,
                           cleaner.composed_origins.spans[i].end):
                return -1
    return 0


cdef inline bint would_glue(const lowered_t* out, text_t text, int64_t at) noexcept nogil:
    """A token character ends what is kept so far, and one stands where it goes on."""
    cdef int width
    if out.size == 0 or not is_token_point(peek(text.bytes, text.size, at, &width)):
        return False
    return is_token_point(decode_code_point(
        out.bytes, out.size, place_before(out.bytes, out.size), &width))


cdef inline int drop_spans(cleaner_t* cleaner, text_t text) noexcept nogil:
    """Copy the text without the marked spans; a blank stands where two words would join."""
    cdef int64_t head = 0, inner = 0, done = 0, begin
    cdef span_t span
    cdef spans_t* heads = &cleaner.heads
    cdef spans_t* within = &cleaner.within
    cleaner.cleaned.size = 0
    while head < heads.size or inner < within.size:
        # In order of begin, then of end.
        if inner == within.size or (head < heads.size and (
                heads.items[head].begin < within.items[inner].begin
                or (heads.items[head].begin == within.items[inner].begin
                    and heads.items[head].end <= within.items[inner].end))):
            span = heads.items[head]
            head += 1
        else:
            span = within.items[inner]
            inner += 1
        begin = max(span.begin, done)
        if copy_kept(cleaner, text, done, begin):
            return -1
        if begin < span.end and would_glue(&cleaner.cleaned, text, span.end):
            cleaner.cleaned.bytes[cleaner.cleaned.size] = 0x20
            cleaner.cleaned.size += 1
            if cleaner.keep_origins and add_origins(
                    &cleaner.origins, 1, cleaner.composed_origins.spans[begin].begin,
                    cleaner.composed_origins.spans[begin].end):
                return -1
        done = max(done, span.end)
    return copy_kept(cleaner, text, done, text.size)


cdef inline int drop_cleaned(cleaner_t* cleaner, text_t text, text_t* cleaned) noexcept nogil:
    if drop_spans(cleaner, text):
        return -1
    cleaned.bytes = cleaner.cleaned.bytes
    cleaned.size = cleaner.cleaned.size
    return 0


cdef inline bint has_line_head(text_t text) noexcept nogil:
    """A marker may stand before the text of the only line."""
    return text.size > 0 and read_line_head(text.bytes, text.size, 0).end > 0


cdef inline int find_markup(cleaner_t* cleaner, text_t text, bint keep_square) noexcept nogil:
    cdef int care = care_of_bytes(text.bytes, text.size)
    cleaner.heads.size = cleaner.within.size = 0
    # Dashes and quotation marks begin with the same byte as line separators.
    if (care & CARE_LINES or has_line_head(text)
            or (care & CARE_SEPARATORS and has_line_end(text.bytes, text.size))) and (
            mark_line_heads(text.bytes, text.size, &cleaner.heads)):
        return -1
    if care & CARE_MARKUP:
        return mark_within(text.bytes, text.size, keep_square, &cleaner.within)
    return 0


cdef inline int clean_composed(cleaner_t* cleaner, text_t text, bint keep_square,
                               text_t* cleaned) noexcept nogil:
    """Clean a text that is not in NFC; 0, or -1 without memory."""
    if compose_text(cleaner, text):
        return -1
    cleaned.bytes = cleaner.composed.bytes
    cleaned.size = cleaner.composed.size
    # U+1FEF composes to a back-tick.
    if find_markup(cleaner, cleaned[0], keep_square):
        return -1
    if cleaner.keep_origins or cleaner.heads.size or cleaner.within.size:
        return drop_cleaned(cleaner, cleaned[0], cleaned)
    return 0


cdef inline int clean_text(cleaner_t* cleaner, text_t text, bint keep_square,
                           text_t* cleaned) noexcept nogil:
    """Point ``cleaned`` at the text, cleaned until the next call; 0, or -1 without memory.

    Where that is the text itself, whoever cuts it has to see whether it is in NFC.
    """
    cleaned[0] = text
    if find_markup(cleaner, text, keep_square):
        return -1
    if not (cleaner.heads.size or cleaner.within.size):
        return 0
    if not is_composed(text.bytes, text.size):
        return clean_composed(cleaner, text, keep_square, cleaned)
    if cleaner.keep_origins:
        cleaner.composed_origins.size = 0
        if number_code_points(&cleaner.composed_origins, text):
            return -1
    return drop_cleaned(cleaner, text, cleaned)


cdef inline bint begins_with_label(text_t text) noexcept nogil:
    """The chunk begins with a label such as ``[2]``."""
    cdef int64_t at = past_spaces(text.bytes, text.size, 0)
    if at >= text.size or text.bytes[at] != 0x5B:
        return False
    at = past_cited(text.bytes, text.size, at + 1)
    return 0 <= at < text.size and text.bytes[at] == 0x5D
