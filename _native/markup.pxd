"""Spans of a text that carry no claim: list markers, citations, emphasis.

Every rule looks a bounded number of places around what it begins with, or passes each byte once:
linear in the text.
"""
from code_points cimport decode_code_point
from normal_forms cimport (
    FOLD_DIGIT, FOLD_GLUED, FOLD_IGNORED, FOLD_MARK, FOLD_NUMERAL, FOLD_SPACE, FOLD_WORD,
    fold_flags,
)
from primitives cimport int64_t, reserve, span_t, uint8_t, uint32_t
from word_facts cimport is_counting_word

cdef extern from "byte_kinds.h" nogil:
    int64_t next_line_byte(const uint8_t* bytes, int64_t size, int64_t at) noexcept
    int64_t next_markup(const uint8_t* bytes, int64_t size, int64_t at) noexcept

cdef enum:
    END_OF_TEXT = 0x110000     # no code point
    MAX_QUOTES = 8
    MAX_HASHES = 6
    MAX_CITED = 30             # further numbers in one pair of square brackets
    MAX_ROUND = 9              # further numbers in one pair of round brackets
    MAX_SOURCE = 60            # code points after the number in lenticular brackets
    MAX_SUPERSCRIPTS = 8
    MAX_BEFORE = 12            # code points of a word before round brackets


cdef struct spans_t:
    span_t* items
    int64_t capacity
    int64_t size


cdef inline int add_span(spans_t* spans, int64_t begin, int64_t end) noexcept nogil:
    if reserve(<void**> &spans.items, &spans.capacity, spans.size + 1, sizeof(span_t)):
        return -1
    spans.items[spans.size].begin = begin
    spans.items[spans.size].end = end
    spans.size += 1
    return 0


# ------------------------------------------------------------------------------ one code point on

cdef inline uint32_t peek(const uint8_t* text, int64_t size, int64_t at,
                          int* width) noexcept nogil:
    """Code point at ``at``, or END_OF_TEXT."""
    if at >= size:
        width[0] = 0
        return END_OF_TEXT
    return decode_code_point(text, size, at, width)


cdef inline int64_t place_before(const uint8_t* text, int64_t at) noexcept nogil:
    """Where the code point begins that ends at ``at`` (above 0)."""
    at -= 1
    while at > 0 and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


cdef inline bint is_token_point(uint32_t code_point) noexcept nogil:
    return code_point != END_OF_TEXT and fold_flags(code_point) & (
        FOLD_WORD | FOLD_GLUED | FOLD_MARK | FOLD_DIGIT | FOLD_NUMERAL | FOLD_IGNORED) != 0


cdef inline bint is_space_point(uint32_t code_point) noexcept nogil:
    return code_point != END_OF_TEXT and fold_flags(code_point) & FOLD_SPACE != 0


cdef inline bint is_line_end(uint32_t code_point) noexcept nogil:
    return code_point == 0x0A or code_point == 0x0D or 0x2028 <= code_point <= 0x2029


cdef inline bint is_ascii_digit(uint32_t code_point) noexcept nogil:
    return 0x30 <= code_point <= 0x39


cdef inline int64_t past_spaces(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    cdef int width
    while at < size and is_space_point(decode_code_point(text, size, at, &width)):
        at += width
    return at


cdef inline int64_t next_line_end(const uint8_t* text, int64_t size, int64_t at,
                                  int* width) noexcept nogil:
    """The next line end at or after ``at``, or ``size``."""
    while True:
        at = next_line_byte(text, size, at)
        if at == size or is_line_end(decode_code_point(text, size, at, width)):
            return at
        at += width[0]


cdef inline bint has_line_end(const uint8_t* text, int64_t size) noexcept nogil:
    cdef int width
    return next_line_end(text, size, 0, &width) < size


cdef inline bint next_paragraph(const uint8_t* text, int64_t size, int64_t* at,
                                span_t* paragraph) noexcept nogil:
    """The next stretch between line ends; False when there is none."""
    cdef int width
    while at[0] < size and is_line_end(decode_code_point(text, size, at[0], &width)):
        at[0] += width
    paragraph.begin = at[0]
    paragraph.end = at[0] = next_line_end(text, size, at[0], &width)
    return paragraph.begin < paragraph.end


# --------------------------------------------------------------------------------- line beginnings

cdef struct line_head_t:
    int64_t end        # past quote marks, heading, bullet and number
    int64_t number     # where the number begins
    int value          # of a number of one or two digits, or -1


cdef inline int64_t past_bullet(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    cdef int width
    cdef uint32_t code_point = peek(text, size, at, &width)
    cdef int64_t after
    if not (code_point == 0x2D or code_point == 0x2A or code_point == 0x2B
            or code_point == 0x2022 or code_point == 0x2023 or code_point == 0x25E6
            or code_point == 0x25AA or code_point == 0x25CF or code_point == 0xB7
            or 0x2013 <= code_point <= 0x2014):
        return at
    after = past_spaces(text, size, at + width)
    return after if after > at + width else at


cdef inline void read_number(const uint8_t* text, int64_t size, int64_t at,
                             line_head_t* head) noexcept nogil:
    """``1. `` ``1) `` ``(1) `` or ``a) `` at the place where the head ends so far."""
    cdef int64_t begin = at, after
    cdef int value = 0, n_digits = 0
    if at < size and text[at] == 0x28:
        at += 1
    while at < size and n_digits < 2 and is_ascii_digit(text[at]):
        value = 10 * value + text[at] - 0x30
        n_digits += 1
        at += 1
    if n_digits == 0:
        at = begin
        if at < size and 0x61 <= text[at] | 0x20 <= 0x7A:
            at += 1
            if at >= size or text[at] != 0x29:
                return
        else:
            return
    elif at >= size or (text[at] != 0x29 and text[at] != 0x2E):
        return
    after = past_spaces(text, size, at + 1)
    if after == at + 1:
        return
    head.end = after
    head.number = begin
    head.value = value if n_digits else -1


cdef inline line_head_t read_line_head(const uint8_t* text, int64_t size,
                                       int64_t at) noexcept nogil:
    """What stands before the text of the line that begins at ``at`` and ends at ``size``."""
    cdef line_head_t head
    cdef int64_t begin
    cdef int n = 0
    at = past_spaces(text, size, at)
    while n < MAX_QUOTES and at < size and text[at] == 0x3E:
        at = past_spaces(text, size, at + 1)
        n += 1
    begin = at
    while at < size and at - begin < MAX_HASHES and text[at] == 0x23:
        at += 1
    if at > begin and past_spaces(text, size, at) > at:
        at = past_spaces(text, size, at)
    else:
        at = begin
    head.end = past_bullet(text, size, at)
    head.number = head.end
    head.value = -1
    read_number(text, size, head.end, &head)
    return head


cdef inline int mark_line_heads(const uint8_t* text, int64_t size, spans_t* spans) noexcept nogil:
    """Heads of lines. A number is a marker when it is 0 or 1, or when a neighbour numbers a line.

    Twice over the lines: the first pass collects their numbers. 0, or -1 without memory.
    """
    cdef bint numbered[101]
    cdef int64_t at = 0, first
    cdef span_t line
    cdef line_head_t head
    cdef int value
    for value in range(101):
        numbered[value] = False
    while next_paragraph(text, size, &at, &line):
        head = read_line_head(text, line.end, line.begin)
        if head.value >= 0 and head.end < line.end:
            numbered[head.value] = True
    at = 0
    while next_paragraph(text, size, &at, &line):
        head = read_line_head(text, line.end, line.begin)
        value = head.value
        if value > 1 and not numbered[value - 1] and not numbered[value + 1]:
            head.end = head.number
        if head.end == line.end:
            continue
        first = past_spaces(text, line.end, line.begin)
        if first < head.end and add_span(spans, first, head.end):
            return -1
    return 0


# -------------------------------------------------------------------------------------- citations

cdef inline int64_t past_cited(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past ``^``, if any, and a number of one to three digits that begins with no 0; or -1."""
    cdef int64_t begin
    if at < size and text[at] == 0x5E:
        at += 1
    begin = at
    if at >= size or text[at] == 0x30:
        return -1
    while at < size and at - begin < 3 and is_ascii_digit(text[at]):
        at += 1
    return at if at > begin else -1


cdef inline int64_t past_square(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past ``[3]``, ``[1, 2]``, ``[1-3]``, ``[^2]`` at ``at``; or -1."""
    cdef int n_more = 0, width
    cdef uint32_t code_point
    at = past_cited(text, size, at + 1)
    while at >= 0 and at < size and text[at] != 0x5D:
        if n_more == MAX_CITED:
            return -1
        n_more += 1
        at += text[at] == 0x20
        code_point = peek(text, size, at, &width)
        if not (code_point == 0x2C or code_point == 0x3B or code_point == 0x2D
                or code_point == 0x2013):
            return -1
        at += width
        at += at < size and text[at] == 0x20
        at = past_cited(text, size, at)
    return at + 1 if 0 <= at < size else -1


cdef inline int64_t past_lenticular(const uint8_t* text, int64_t size,
                                    int64_t at) noexcept nogil:
    """Past a citation such as U+3010 ``1:source`` U+3011 at ``at``; or -1."""
    cdef int64_t begin = at + 3
    cdef int width, n_points = 0
    cdef uint32_t code_point
    at = begin
    while at < size and at - begin < 3 and is_ascii_digit(text[at]):
        at += 1
    if at == begin:
        return -1
    code_point = peek(text, size, at, &width)
    if code_point == 0x3A or code_point == 0x2020:
        at += width
        code_point = peek(text, size, at, &width)
        while (n_points < MAX_SOURCE and code_point != 0x3011 and code_point != 0x0A
               and code_point != END_OF_TEXT):
            at += width
            n_points += 1
            code_point = peek(text, size, at, &width)
    return at + width if code_point == 0x3011 else -1


cdef inline bint is_citation(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """Nothing stands there but square citations, with up to two blanks before each."""
    cdef int n_blanks, width
    cdef uint32_t code_point
    while begin < end:
        code_point = peek(text, end, begin, &width)
        n_blanks = 0
        while n_blanks < 2 and (code_point == 0x20 or code_point == 0xA0):
            begin += width
            n_blanks += 1
            code_point = peek(text, end, begin, &width)
        if code_point == 0x5B:
            begin = past_square(text, end, begin)
        elif code_point == 0x3010:
            begin = past_lenticular(text, end, begin)
        else:
            return False
        if begin < 0:
            return False
    return True


cdef inline int64_t blanks_before(const uint8_t* text, int64_t at, int64_t stop,
                                  int n_blanks) noexcept nogil:
    """Where up to ``n_blanks`` blanks (U+0020, U+00A0) begin that end at ``at``."""
    while n_blanks > 0 and at > stop:
        if text[at - 1] == 0x20:
            at -= 1
        elif at - 2 >= stop and text[at - 1] == 0xA0 and text[at - 2] == 0xC2:
            at -= 2
        else:
            break
        n_blanks -= 1
    return at


cdef inline int64_t past_round(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past ``(2)`` or ``(2, 3)`` at ``at`` when a sentence or line ends there; or -1."""
    cdef int n_more = 0, width
    cdef uint32_t code_point
    cdef int64_t after
    at += 1
    while True:
        if at >= size or not 0x31 <= text[at] <= 0x39:
            return -1
        at += 1
        at += at < size and is_ascii_digit(text[at])
        if at >= size or text[at] != 0x2C or n_more == MAX_ROUND:
            break
        n_more += 1
        at += 1
        at += at < size and text[at] == 0x20
    if at >= size or text[at] != 0x29:
        return -1
    at += 1
    if at < size and (text[at] == 0x2E or text[at] == 0x21 or text[at] == 0x3F):
        return at
    after = at
    code_point = peek(text, size, after, &width)
    while code_point == 0x09 or code_point == 0x20 or code_point == 0xA0:
        after += width
        code_point = peek(text, size, after, &width)
    return at if code_point == END_OF_TEXT or is_line_end(code_point) else -1


cdef inline bint is_quantity(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """No word ends at ``at``, or one that says a number: brackets after it are no citation."""
    cdef int64_t begin = at, before
    cdef int width, n_points = 0
    cdef bint digits = True
    while begin > 0 and n_points < MAX_BEFORE:
        before = place_before(text, begin)
        if not is_token_point(decode_code_point(text, size, before, &width)):
            break
        digits = digits and is_ascii_digit(text[before])
        begin = before
        n_points += 1
    return n_points == 0 or (digits and n_points < 4) or is_counting_word(
        text + begin, at - begin)


cdef inline bint is_superscript(uint32_t code_point) noexcept nogil:
    return (code_point == 0x2070 or code_point == 0xB9 or 0xB2 <= code_point <= 0xB3
            or 0x2074 <= code_point <= 0x2079)


cdef inline int64_t past_superscripts(const uint8_t* text, int64_t size,
                                      int64_t at) noexcept nogil:
    """Past superscript digits at ``at`` that follow a punctuation mark; or -1."""
    cdef int width, n_points = 0
    cdef uint8_t before = text[at - 1] if at > 0 else 0
    if not (before == 0x2E or before == 0x2C or before == 0x3B or before == 0x3A
            or before == 0x21 or before == 0x3F):
        return -1
    while n_points < MAX_SUPERSCRIPTS and is_superscript(peek(text, size, at, &width)):
        at += width
        n_points += 1
    return at if n_points else -1


# --------------------------------------------------------------------------------------- emphasis

cdef inline bint is_emphasis(uint8_t byte) noexcept nogil:
    return byte == 0x2A or byte == 0x5F or byte == 0x60


cdef inline bint emphasises(const uint8_t* text, int64_t size, int64_t begin,
                            int64_t end) noexcept nogil:
    """The run of marks is not inside a word, nor does it stand alone."""
    cdef int width
    cdef uint32_t before = END_OF_TEXT, after = peek(text, size, end, &width)
    if begin > 0:
        before = decode_code_point(text, size, place_before(text, begin), &width)
    if is_token_point(before) and is_token_point(after):
        return False
    return not ((before == END_OF_TEXT or is_space_point(before))
                and (after == END_OF_TEXT or is_space_point(after)))


cdef inline int mark_within(const uint8_t* text, int64_t size, bint keep_square,
                            spans_t* spans) noexcept nogil:
    """Citations and emphasis, in order; 0, or -1 without memory."""
    cdef int64_t at = 0, begin, end, square_end = 0
    cdef uint8_t byte
    while True:
        begin = next_markup(text, size, at)
        if begin == size:
            return 0
        byte = text[begin]
        at = begin
        end = -1
        at += 1
        if is_emphasis(byte):
            while at < size and is_emphasis(text[at]):
                at += 1
            end = at if emphasises(text, size, begin, at) else -1
        elif byte == 0x7E:
            while at < size and text[at] == 0x7E:
                at += 1
            end = at if at - begin > 1 and emphasises(text, size, begin, at) else -1
        elif byte == 0x5B or (byte == 0xE3 and at + 1 < size and text[at] == 0x80
                              and text[at + 1] == 0x90):
            # A source's name may hold brackets of its own.
            if keep_square or begin < square_end:
                continue
            end = past_square(text, size, begin) if byte == 0x5B else past_lenticular(
                text, size, begin)
            begin = blanks_before(text, begin, square_end, 2)
            square_end = max(square_end, end)
        elif byte == 0x28 and begin > blanks_before(text, begin, 0, 1):
            end = past_round(text, size, begin)
            begin = blanks_before(text, begin, 0, 1)
            if end >= 0 and is_quantity(text, size, begin):
                end = -1
        elif byte == 0xC2 or byte == 0xE2:
            end = past_superscripts(text, size, begin)
        if end >= 0:
            if add_span(spans, begin, end):
                return -1
            # What has been taken whole holds no mark of another rule, but for source names.
            if byte != 0xE3:
                at = max(at, end)
