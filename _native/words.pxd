"""Cleaned text -> words: numbers whole, contractions opened, scripts without spaces in bigrams.

A word begins with a letter or digit; ``1,234``, ``1 , 234`` and ``v2.0.1`` are one. Runs of a
script without spaces give overlapping bigrams of letters with their marks, runs of other numerals
(fractions, Roman, circled) one token each.
"""
from libc.stdlib cimport free
from libc.string cimport memcpy

from code_points cimport decode_code_point
from folding cimport fold_token
from markup cimport END_OF_TEXT, is_token_point, peek, place_before
from normal_forms cimport (
    FOLD_APOSTROPHE, FOLD_DIGIT, FOLD_GLUED, FOLD_IGNORED, FOLD_MARK, FOLD_NUMERAL, FOLD_WORD,
    close_points, fold_flags, points_t,
)
from primitives cimport int64_t, reserve, span_t, text_t, uint8_t, uint32_t, uint64_t
from token_stream cimport LOWERED_MARGIN, lowered_t

cdef extern from "byte_kinds.h" nogil:
    const uint8_t byte_kinds[256]
    uint8_t BYTE_HIGH
    uint8_t BYTE_WORD
    int64_t next_of_kinds(const uint8_t* bytes, int64_t size, int64_t at, uint8_t kinds) noexcept

cdef extern from "byte_blocks.h" nogil:
    int BLOCK_BYTES
    int BLOCK_EDGES
    ctypedef int (*block_cutter_t)(
        const uint8_t*, int, uint8_t*, int64_t, uint64_t*, int64_t*, int*) noexcept nogil
    block_cutter_t best_word_cutter() noexcept


cdef struct word_cutter_t:
    block_cutter_t cut_block
    points_t points            # of a token that is folded
    int64_t* runs              # of ASCII letters and digits: where they begin and end, in turn
    int64_t runs_capacity
    int64_t* forms             # normal forms of the text at hand: begin and end in the store
    int64_t forms_capacity
    span_t* spans              # ... and where they stand in the text
    int64_t spans_capacity
    int64_t n_words
    bint wants_letters
    lowered_t letters          # words of the text at hand, a blank after each


cdef inline void open_word_cutter(word_cutter_t* cutter) noexcept nogil:
    cutter.cut_block = best_word_cutter()


cdef inline void close_word_cutter(word_cutter_t* cutter) noexcept nogil:
    close_points(&cutter.points)
    free(cutter.runs)
    free(cutter.forms)
    free(cutter.spans)
    free(cutter.letters.bytes)


# ---------------------------------------------------------------------------------- adding a word

cdef inline int reserve_words(word_cutter_t* cutter, int64_t n_words) noexcept nogil:
    if reserve(<void**> &cutter.forms, &cutter.forms_capacity, 2 * n_words, sizeof(int64_t)):
        return -1
    return reserve(<void**> &cutter.spans, &cutter.spans_capacity, n_words, sizeof(span_t))


cdef inline int add_form(word_cutter_t* cutter, int64_t form_begin, int64_t form_end,
                         int64_t begin, int64_t end) noexcept nogil:
    """Add a word whose normal form is in the store; 0, or -1 without memory."""
    if reserve_words(cutter, cutter.n_words + 1):
        return -1
    cutter.forms[2 * cutter.n_words] = form_begin
    cutter.forms[2 * cutter.n_words + 1] = form_end
    cutter.spans[cutter.n_words].begin = begin
    cutter.spans[cutter.n_words].end = end
    cutter.n_words += 1
    return 0


cdef inline int add_letters(word_cutter_t* cutter, const uint8_t* form,
                            int64_t size) noexcept nogil:
    cdef lowered_t* letters = &cutter.letters
    if reserve(<void**> &letters.bytes, &letters.capacity,
               letters.size + size + 1 + LOWERED_MARGIN, 1):
        return -1
    memcpy(letters.bytes + letters.size, form, <size_t> size)
    letters.bytes[letters.size + size] = 0x20
    letters.size += size + 1
    return 0


cdef inline int take_letters(word_cutter_t* cutter, const lowered_t* store) noexcept nogil:
    """The letters of all words of a text without glued runs; 0, or -1 without memory."""
    cdef int64_t i, begin
    cutter.letters.size = 0
    for i in range(cutter.n_words):
        begin = cutter.forms[2 * i]
        if add_letters(cutter, store.bytes + begin, cutter.forms[2 * i + 1] - begin):
            return -1
    return 0


cdef inline int add_word(word_cutter_t* cutter, const lowered_t* store, int64_t form_begin,
                         int64_t form_end, int64_t begin, int64_t end) noexcept nogil:
    if cutter.wants_letters and add_letters(
            cutter, store.bytes + form_begin, form_end - form_begin):
        return -1
    return add_form(cutter, form_begin, form_end, begin, end)


cdef inline int add_literal(word_cutter_t* cutter, lowered_t* store, const char* form, int64_t size,
                            int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t at = store.size
    if reserve(<void**> &store.bytes, &store.capacity, at + size + LOWERED_MARGIN, 1):
        return -1
    memcpy(store.bytes + at, form, <size_t> size)
    store.size += size
    return add_word(cutter, store, at, store.size, begin, end)


cdef inline int add_folded(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                           int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t at = store.size
    cdef int64_t size = fold_token(&cutter.points, store, text + begin, end - begin)
    if size < 0:
        return -1
    return add_word(cutter, store, at, at + size, begin, end) if size else 0


# ------------------------------------------------------------------------------------ spaced words

cdef inline bint is_digit_at(const uint8_t* text, int64_t size, int64_t at,
                             int* width) noexcept nogil:
    cdef uint32_t code_point = peek(text, size, at, width)
    return code_point != END_OF_TEXT and fold_flags(code_point) & FOLD_DIGIT != 0


cdef inline bint is_apostrophe(uint32_t code_point) noexcept nogil:
    return code_point != END_OF_TEXT and fold_flags(code_point) & FOLD_APOSTROPHE != 0


cdef inline int64_t past_thousands(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past a comma and three digits that end a number, or ``at``."""
    cdef int64_t begin = at
    cdef uint32_t code_point
    cdef int width, _place
    if at < size and text[at] == 0x2C:
        at += 1
    elif size - at >= 3 and text[at] == 0x20 and text[at + 1] == 0x2C and text[at + 2] == 0x20:
        at += 3
    else:
        return begin
    for _place in range(3):
        if not is_digit_at(text, size, at, &width):
            return begin
        at += width
    code_point = peek(text, size, at, &width)
    if code_point != END_OF_TEXT and fold_flags(code_point) & (
            FOLD_WORD | FOLD_DIGIT | FOLD_MARK | FOLD_IGNORED | FOLD_GLUED):
        return begin
    return at


cdef inline int64_t past_decimals(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past a full stop and digits, or ``at``."""
    cdef int64_t begin = at
    cdef int width
    if at >= size or text[at] != 0x2E or not is_digit_at(text, size, at + 1, &width):
        return begin
    at += 1
    while is_digit_at(text, size, at, &width):
        at += width
    return at


cdef inline int64_t word_end(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past the spaced word that begins at ``at``."""
    cdef int64_t joined
    cdef uint32_t flags
    cdef bint digit = False
    cdef int width
    while at < size:
        flags = fold_flags(decode_code_point(text, size, at, &width))
        if not flags & (FOLD_WORD | FOLD_DIGIT | FOLD_MARK | FOLD_IGNORED):
            break
        digit = flags & FOLD_DIGIT != 0
        at += width
    while True:
        joined = past_thousands(text, size, at) if digit else at
        if joined == at:
            joined = past_decimals(text, size, at)
        if joined == at:
            return at
        digit = True
        at = joined


cdef inline bint is_clitic(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """The ``s`` of ``'s`` or the ``t`` of ``n't``: no word of its own."""
    cdef int width
    cdef int64_t apostrophe
    if end - begin != 1 or begin == 0:
        return False
    apostrophe = place_before(text, begin)
    if not is_apostrophe(decode_code_point(text, begin, apostrophe, &width)):
        return False
    if text[begin] | 0x20 == 0x73:
        return True
    return text[begin] | 0x20 == 0x74 and apostrophe > 0 and text[apostrophe - 1] | 0x20 == 0x6E


cdef inline bint opens_negation(const uint8_t* text, int64_t size, int64_t end,
                                int64_t* past) noexcept nogil:
    """An apostrophe and a ``t`` that ends its word stand at ``end``."""
    cdef int width, next_width
    if not is_apostrophe(peek(text, size, end, &width)):
        return False
    past[0] = end + width + 1
    return (end + width < size and text[end + width] | 0x20 == 0x74
            and not is_token_point(peek(text, size, past[0], &next_width)))


cdef inline int add_spaced(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                           int64_t size, int64_t begin, int64_t end) noexcept nogil:
    """Add a spaced word: ``n't`` as ``not``, ``'s`` not at all; 0, or -1 without memory."""
    cdef int64_t at = store.size, form_size, stem_end, past = 0
    cdef const uint8_t* form
    if is_clitic(text, begin, end):
        return 0
    form_size = fold_token(&cutter.points, store, text + begin, end - begin)
    if form_size < 0:
        return -1
    if form_size == 0:
        return 0
    if store.bytes[store.size - 1] != 0x6E or not opens_negation(text, size, end, &past):
        return add_word(cutter, store, at, store.size, begin, end)
    stem_end = place_before(text, end)
    form = store.bytes + at
    form_size -= 1
    if form_size == 2 and form[0] == 0x63 and form[1] == 0x61:
        if add_literal(cutter, store, "can", 3, begin, stem_end):
            return -1
    elif form_size == 2 and form[0] == 0x77 and form[1] == 0x6F:
        if add_literal(cutter, store, "will", 4, begin, stem_end):
            return -1
    elif form_size == 3 and form[0] == 0x73 and form[1] == 0x68 and form[2] == 0x61:
        if add_literal(cutter, store, "shall", 5, begin, stem_end):
            return -1
    elif form_size and add_word(cutter, store, at, at + form_size, begin, stem_end):
        return -1
    return add_literal(cutter, store, "not", 3, stem_end, past)


# ----------------------------------------------------------------------- scripts without spaces

cdef inline int64_t run_end(const uint8_t* text, int64_t size, int64_t at,
                            uint32_t kinds) noexcept nogil:
    """Past the run of code points of some kinds that begins at ``at``."""
    cdef int width
    while at < size and fold_flags(decode_code_point(text, size, at, &width)) & kinds:
        at += width
    return at


cdef inline int64_t cell_end(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past a letter and its marks."""
    cdef int width
    decode_code_point(text, size, at, &width)
    return run_end(text, size, at + width, FOLD_MARK | FOLD_IGNORED)


cdef inline int add_bigram(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                           int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t at = store.size
    if fold_token(&cutter.points, store, text + begin, end - begin) < 0:
        return -1
    return add_form(cutter, at, store.size, begin, end)


cdef inline int add_glued(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                          int64_t begin, int64_t end) noexcept nogil:
    """Add the bigrams of a glued run, or its only letter; 0, or -1 without memory."""
    cdef int64_t at = store.size, first = begin, second, past
    if cutter.wants_letters:
        if fold_token(&cutter.points, store, text + begin, end - begin) < 0:
            return -1
        if add_letters(cutter, store.bytes + at, store.size - at):
            return -1
        store.size = at
    second = cell_end(text, end, first)
    if second == end:
        return add_bigram(cutter, store, text, first, end)
    while second < end:
        past = cell_end(text, end, second)
        if add_bigram(cutter, store, text, first, past):
            return -1
        first = second
        second = past
    return 0


# ------------------------------------------------------------------------------------- whole texts

cdef inline bint is_plain(const uint8_t* text, int64_t size, int64_t begin,
                          int64_t end) noexcept nogil:
    """The run is a word of its own: no number goes on after it, no apostrophe is beside it."""
    cdef uint8_t before, after, next
    if begin == 0 or end + 1 >= size:
        return False
    before = text[begin - 1]
    after = text[end]
    next = text[end + 1]
    # Without branches: what stands beside a word cannot be guessed.
    return not ((before == 0x27) | (after == 0x27) | ((after == 0x20) & (next == 0x2C))
                | ((<uint8_t> (next - 0x30) < 10) & ((after == 0x2C) | (after == 0x2E))))


cdef inline int64_t plain_end(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past the run of ASCII letters and digits at ``at``, if it is a plain word; else ``at``."""
    cdef int64_t end = at
    while end < size and byte_kinds[text[end]] & BYTE_WORD:
        end += 1
    if end == at or not is_plain(text, size, at, end):
        return at
    # Apostrophes, marks and digits of other scripts are looked at closely.
    if (text[at - 1] | text[end]) & 0x80:
        return at
    if text[end + 1] & 0x80 and (text[end] == 0x2C or text[end] == 0x2E):
        return at
    return end


cdef inline int add_plain(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                          int64_t begin, int64_t end) noexcept nogil:
    """Add a word of ASCII letters and digits in lower case; 0, or -1 without memory."""
    cdef int64_t at = store.size, i
    cdef uint8_t* out
    if reserve(<void**> &store.bytes, &store.capacity, at + end - begin + LOWERED_MARGIN, 1):
        return -1
    out = store.bytes + at - begin
    for i in range(begin, end):
        # Digits have the bit that makes a letter small.
        out[i] = text[i] | 0x20
    store.size += end - begin
    return add_word(cutter, store, at, store.size, begin, end)


cdef inline int cut_any(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                        int64_t size) noexcept nogil:
    """Cut a text of any script, code point by code point; 0, or -1 without memory."""
    cdef int64_t at = 0, end
    cdef uint32_t flags
    cdef int width, failed
    while True:
        at = next_of_kinds(text, size, at, BYTE_WORD | BYTE_HIGH)
        if at == size:
            return 0
        end = plain_end(text, size, at)
        if end > at:
            if add_plain(cutter, store, text, at, end):
                return -1
            at = end
            continue
        flags = fold_flags(decode_code_point(text, size, at, &width))
        if flags & (FOLD_WORD | FOLD_DIGIT):
            end = word_end(text, size, at)
            failed = add_spaced(cutter, store, text, size, at, end)
        elif flags & FOLD_GLUED:
            end = run_end(text, size, at, FOLD_GLUED | FOLD_MARK | FOLD_IGNORED)
            failed = add_glued(cutter, store, text, at, end)
        elif flags & FOLD_NUMERAL:
            end = run_end(text, size, at, FOLD_NUMERAL)
            # Numerals are kept as they are.
            failed = add_literal(cutter, store, <const char*> text + at, end - at, at,
                                 end)
        else:
            end = at + width
            failed = 0
        if failed:
            return -1
        at = end


cdef inline int64_t find_runs(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                              int64_t size) noexcept nogil:
    """Lower-case ASCII into the store and list its runs of letters and digits; how many, or -1."""
    cdef int64_t at = 0, left, n_edges = 0
    cdef uint64_t inside = 0
    cdef uint8_t padded[64]
    cdef int n_bytes, n_cut
    if reserve(<void**> &store.bytes, &store.capacity, store.size + size + LOWERED_MARGIN, 1):
        return -1
    if reserve(<void**> &cutter.runs, &cutter.runs_capacity, size + BLOCK_EDGES + 2,
               sizeof(int64_t)):
        return -1
    while at < size:
        left = size - at
        n_bytes = BLOCK_BYTES if left >= BLOCK_BYTES else <int> left
        if left < BLOCK_BYTES:
            memcpy(padded, text + at, <size_t> left)
        n_edges += cutter.cut_block(
            text + at if left >= BLOCK_BYTES else padded, n_bytes, store.bytes + store.size + at,
            at, &inside, cutter.runs + n_edges, &n_cut)
        at += n_cut
    if inside:
        cutter.runs[n_edges] = size
        n_edges += 1
    return n_edges // 2


cdef inline int cut_ascii(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                          int64_t size) noexcept nogil:
    """Cut a text of ASCII alone, 64 bytes at a time; 0, or -1 without memory."""
    cdef int64_t base = store.size, n_runs = find_runs(cutter, store, text, size), i = 0
    cdef int64_t n_words = 0, begin, end, at
    cdef int64_t* runs = cutter.runs
    cdef int64_t* forms
    cdef span_t* spans
    # No more words than runs: these stay where they are.
    if n_runs < 0 or reserve_words(cutter, n_runs + 1):
        return -1
    forms = cutter.forms
    spans = cutter.spans
    store.size += size
    while i < n_runs:
        begin = runs[2 * i]
        end = runs[2 * i + 1]
        i += 1
        if is_plain(text, size, begin, end):
            n_words = cutter.n_words
            forms[2 * n_words] = base + begin
            forms[2 * n_words + 1] = base + end
            spans[n_words].begin = begin
            spans[n_words].end = end
            cutter.n_words = n_words + 1
            continue
        at = word_end(text, size, begin)
        if add_spaced(cutter, store, text, size, begin, at):
            return -1
        # Runs that the word has taken in, the last one perhaps in part.
        while i < n_runs and runs[2 * i + 1] <= at:
            i += 1
        if i < n_runs and runs[2 * i] < at:
            runs[2 * i] = at
    return take_letters(cutter, store) if cutter.wants_letters else 0


cdef inline int cut_words(word_cutter_t* cutter, lowered_t* store, text_t text,
                          bint ascii) noexcept nogil:
    """Cut a cleaned text into ``forms`` and ``spans``; 0, or -1 without memory."""
    cutter.n_words = 0
    cutter.letters.size = 0
    if text.size == 0:
        return 0
    if ascii:
        return cut_ascii(cutter, store, text.bytes, text.size)
    return cut_any(cutter, store, text.bytes, text.size)
