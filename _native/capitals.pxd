"""Which words of a cleaned text are capitalised.

A capital tells nothing where any word would have one: in a heading, and where a sentence or a
clause opens. Words in capitals alone are capitalised there, too.
"""
from libc.string cimport memchr, memset

from claim_sentences cimport sentence_t
from code_points cimport decode_code_point
from markup cimport is_space_point, peek, place_before
from normal_forms cimport (
    FOLD_APOSTROPHE, FOLD_DIGIT, FOLD_IGNORED, FOLD_LOWER, FOLD_MARK, FOLD_NUMERAL, FOLD_TITLE,
    FOLD_UPPER, FOLD_WORD, fold_flags,
)
from primitives cimport int64_t, span_t, text_t, uint32_t, uint8_t

cdef extern from "byte_kinds.h" nogil:
    const uint8_t byte_kinds[256]
    uint8_t BYTE_HIGH
    uint8_t BYTE_NAME
    uint8_t BYTE_WORD
    int64_t next_of_kinds(const uint8_t* bytes, int64_t size, int64_t at, uint8_t kinds) noexcept

cdef enum:
    # How a word stands in its text.
    NOT_CAPITALISED
    OPENS_SENTENCE       # capitalised, but any word would be here
    CAPITALISED

cdef enum:
    MIN_HEADING = 2      # words
    MAX_HEADING = 8
    SMALL_WORD = 4       # letters; a longer one is capitalised in a heading


cdef inline bint continues_name(const uint8_t* text, int64_t size, int64_t at,
                                int* width) noexcept nogil:
    """A capitalised word goes on: letters, digits, apostrophes and ``_ . -``."""
    if at >= size:
        return False
    width[0] = 1
    if text[at] < 0x80:
        return byte_kinds[text[at]] & (BYTE_WORD | BYTE_NAME) != 0
    return fold_flags(decode_code_point(text, size, at, width)) & (
        FOLD_WORD | FOLD_DIGIT | FOLD_MARK | FOLD_IGNORED | FOLD_NUMERAL | FOLD_APOSTROPHE) != 0


cdef inline int64_t trimmed_name(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """The end of a word without the marks ``. -`` and apostrophes behind it."""
    cdef int64_t before
    cdef uint32_t code_point
    cdef int width
    while end > begin:
        before = place_before(text, end)
        code_point = decode_code_point(text, end, before, &width)
        if not (code_point == 0x2E or code_point == 0x2D
                or fold_flags(code_point) & FOLD_APOSTROPHE):
            break
        end = before
    return end


cdef inline bint is_shouted(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """Longer than a letter, and none of it in lower or title case: "NASA"."""
    cdef int width
    decode_code_point(text, end, begin, &width)
    if begin + width == end:
        return False
    while begin < end:
        if fold_flags(decode_code_point(text, end, begin, &width)) & (FOLD_LOWER | FOLD_TITLE):
            return False
        begin += width
    return True


cdef inline bint is_joined_before(const uint8_t* text, int64_t at) noexcept nogil:
    """What begins at ``at``, not with its sentence, may go on with what stands before it."""
    return text[at - 1] != 0x20 and (
        byte_kinds[text[at - 1]] & (BYTE_WORD | BYTE_NAME | BYTE_HIGH) != 0)


cdef inline bint is_joined_behind(const uint8_t* text, int64_t size, int64_t end) noexcept nogil:
    """A word that ends at ``end`` may go on."""
    # A single mark behind it is trimmed off.
    end += end < size and byte_kinds[text[end]] & BYTE_NAME != 0
    return end < size and byte_kinds[text[end]] & (BYTE_WORD | BYTE_NAME | BYTE_HIGH) != 0


cdef inline int64_t name_end(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    cdef int width
    while continues_name(text, size, at, &width):
        at += width
    return at


cdef inline int64_t count_letters(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """Code points of a stretch."""
    cdef int64_t n = 0, i
    for i in range(begin, end):
        n += text[i] & 0xC0 != 0x80
    return n


cdef inline bint ends_heading(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """A colon at the end of the sentence, or before a blank."""
    cdef int width
    return at < size and text[at] == 0x3A and (
        at + 1 == size or is_space_point(peek(text, size, at + 1, &width)))


cdef inline int64_t heading_end(const uint8_t* text, int64_t begin, int64_t size) noexcept nogil:
    """Where the heading in title case ends that opens a sentence: ``begin`` where there is none.

    Two to eight words before the first colon, at least half of them and all longer ones
    capitalised.
    """
    cdef int64_t at = begin, word
    cdef int n_words = 0, n_upper = 0, width
    cdef uint32_t flags
    if memchr(text + begin, 0x3A, <size_t> (size - begin)) == NULL:
        return begin
    while True:
        word = next_of_kinds(text, size, at, BYTE_WORD | BYTE_HIGH)
        if word == size:
            return begin
        flags = fold_flags(decode_code_point(text, size, word, &width))
        at = word + width
        if not flags & (FOLD_WORD | FOLD_DIGIT):
            continue
        at = name_end(text, size, at)
        n_words += 1
        if n_words > MAX_HEADING:
            return begin
        if flags & FOLD_UPPER:
            n_upper += 1
        elif count_letters(text, word, at) > SMALL_WORD:
            return begin
        if ends_heading(text, size, at):
            return at if n_words >= MIN_HEADING and 2 * n_upper >= n_words else begin


cdef inline bint may_stand_between(uint32_t code_point) noexcept nogil:
    """An opening quote or bracket, or a closing quote that may open in some language."""
    if code_point < 0x80:
        return (code_point == 0x22 or code_point == 0x27 or code_point == 0x28
                or code_point == 0x5B)
    return (0x201C <= code_point <= 0x201E or 0x2018 <= code_point <= 0x2019
            or code_point == 0xAB or code_point == 0xBB)


cdef inline bint is_clause_mark(uint32_t code_point) noexcept nogil:
    return (code_point == 0x3A or code_point == 0x3B or code_point == 0x7C
            or 0x2013 <= code_point <= 0x2014 or code_point == 0x2022
            or 0xFF1A <= code_point <= 0xFF1B)


cdef inline bint opens_clause(const uint8_t* text, int64_t begin, int64_t at) noexcept nogil:
    """A word at ``at`` follows a colon, semicolon, dash or the like of its sentence."""
    cdef int64_t before
    cdef uint32_t code_point
    cdef int width
    # After a blank and a letter or digit, as most words.
    if at - begin > 1 and text[at - 1] == 0x20 and byte_kinds[text[at - 2]] & BYTE_WORD:
        return False
    while at > begin:
        before = place_before(text, at)
        code_point = decode_code_point(text, at, before, &width)
        if not (may_stand_between(code_point) or is_space_point(code_point)):
            return is_clause_mark(code_point)
        at = before
    return False


cdef inline uint8_t level_of(const uint8_t* text, int64_t begin, int64_t end,
                             bint opening) noexcept nogil:
    """How a word stands that begins with a capital letter."""
    return OPENS_SENTENCE if opening and not is_shouted(text, begin, end) else CAPITALISED


cdef struct openings_t:
    bint wanted                # capitals that any word would have are told from others
    int64_t heading            # end of the sentence's heading, or its begin


cdef inline bint is_opening(const uint8_t* text, const sentence_t* sentence,
                            const openings_t* openings, int64_t begin) noexcept nogil:
    return openings.wanted and (
        begin < openings.heading or opens_clause(text, sentence.begin, begin))


cdef inline int64_t mark_lone_words(text_t text, const sentence_t* sentence,
                                    const openings_t* openings, const span_t* words,
                                    int64_t word, uint8_t* capitals) noexcept nogil:
    """Mark words, most of them, up to the first of a name of several; which that is.

    What begins with a small letter or a digit is no name, whatever it is joined to behind.
    """
    cdef int64_t begin, end
    while word < sentence.last:
        begin = words[word].begin
        if is_joined_before(text.bytes, begin) or text.bytes[begin] >= 0x80:
            break
        if 0x41 <= text.bytes[begin] <= 0x5A:
            if is_joined_behind(text.bytes, sentence.end, words[word].end):
                break
            capitals[word] = CAPITALISED
            if is_opening(text.bytes, sentence, openings, begin):
                end = name_end(text.bytes, sentence.end, words[word].end)
                capitals[word] = level_of(
                    text.bytes, begin, trimmed_name(text.bytes, begin, end), True)
        word += 1
    return word


cdef inline int64_t joined_begin(const uint8_t* text, int64_t first, int64_t at) noexcept nogil:
    """Where what is joined to the word at ``at`` begins, not before ``first``."""
    while at > first and byte_kinds[text[at - 1]] & (BYTE_WORD | BYTE_NAME | BYTE_HIGH):
        at -= 1
    return at


cdef inline void mark_capitals(text_t text, const sentence_t* sentence, bint wants_openings,
                               const span_t* words, uint8_t* capitals) noexcept nogil:
    """Set ``capitals`` of a sentence's words, both arrays those of the whole text."""
    cdef int64_t at = sentence.begin, begin, end, word = sentence.first, first
    cdef openings_t openings
    cdef bint opening = True
    cdef uint32_t flags
    cdef uint8_t level
    cdef int width
    memset(capitals + word, NOT_CAPITALISED, <size_t> (sentence.last - word))
    openings.wanted = wants_openings
    openings.heading = sentence.begin
    if wants_openings:
        openings.heading = heading_end(text.bytes, sentence.begin, sentence.end)
    while True:
        first = word
        if not opening:
            word = mark_lone_words(text, sentence, &openings, words, word, capitals)
        if word == sentence.last:
            return
        if word > first:
            at = joined_begin(text.bytes, at, words[word].begin)
        begin = next_of_kinds(text.bytes, sentence.end, at, BYTE_WORD | BYTE_HIGH)
        if begin == sentence.end:
            return
        flags = fold_flags(decode_code_point(text.bytes, sentence.end, begin, &width))
        at = begin + width
        if not flags & (FOLD_WORD | FOLD_DIGIT):
            continue
        at = name_end(text.bytes, sentence.end, at)
        level = NOT_CAPITALISED
        end = trimmed_name(text.bytes, begin, at)
        if flags & FOLD_UPPER:
            opening |= is_opening(text.bytes, sentence, &openings, begin)
            level = level_of(text.bytes, begin, end, opening)
        opening = False
        while word < sentence.last and words[word].begin < begin:
            word += 1
        while word < sentence.last and words[word].begin < end:
            capitals[word] = level
            word += 1
