"""Cleaned text -> words: numbers whole, contractions opened, scripts without spaces in bigrams.

A word begins with a letter or digit; ``1,234``, ``1 , 234`` and ``v2.0.1`` are one. Runs of a
script without spaces give overlapping bigrams of letters with their marks, runs of other numerals
(fractions, Roman, circled) one token each.
"""
from libc.string cimport memcpy, memset

from code_points cimport decode_code_point
from folding cimport fold_token
from markup cimport END_OF_TEXT, is_token_point, peek, place_before
from normal_forms cimport (
    FOLD_APOSTROPHE, FOLD_BARE, FOLD_CHANGES, FOLD_DIGIT, FOLD_GLUED, FOLD_IGNORED, FOLD_MARK,
    FOLD_NUMERAL, FOLD_WORD, flags_at, fold_flags,
)
from primitives cimport int64_t, reserve, span_t, text_t, uint8_t, uint32_t, uint64_t
from token_stream cimport LOWERED_MARGIN, lowered_t
from word_cutter cimport (
    add_form, add_letters, add_literal, add_word, reserve_words, seen_t, word_cutter_t,
)

cdef extern from "byte_kinds.h" nogil:
    int64_t next_odd_byte(const uint8_t* bytes, int64_t size, int64_t at) noexcept

cdef extern from "byte_blocks.h" nogil:
    int BLOCK_BYTES
    int BLOCK_EDGES

cdef enum:
    STRIDE = 8           # runs passed over at once

cdef extern from "text_runs.h" nogil:
    int pass_point(seen_t* seen, const uint8_t* text, int64_t size, int64_t at) noexcept
    int64_t run_end(seen_t* seen, const uint8_t* text, int64_t size, int64_t at, uint32_t* kinds,
                    uint32_t* flags) noexcept


cdef inline bint changes(uint32_t seen) noexcept nogil:
    """Text with these flags may change when it is folded; otherwise its form is in the store."""
    return seen & FOLD_CHANGES != 0 or (seen & FOLD_MARK != 0 and seen & FOLD_BARE != 0)


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


cdef inline int64_t number_end(const uint8_t* text, int64_t size, int64_t at,
                               uint32_t* seen) noexcept nogil:
    """Past the thousands and decimals that go on with a word up to ``at``, which has the flags."""
    cdef int64_t joined
    cdef int width
    cdef bint digit = (seen[0] & FOLD_DIGIT != 0
                       and is_digit_at(text, at, place_before(text, at), &width))
    while True:
        joined = past_thousands(text, size, at) if digit else at
        if joined == at:
            joined = past_decimals(text, size, at)
        if joined == at:
            return at
        digit = True
        seen[0] |= FOLD_CHANGES
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
                           int64_t size, int64_t begin, int64_t end,
                           uint32_t seen) noexcept nogil:
    """Add a spaced word: ``n't`` as ``not``, ``'s`` not at all; 0, or -1 without memory."""
    cdef int64_t at = cutter.base + begin, form_size = end - begin, stem_end, past = 0
    cdef const uint8_t* form
    if is_clitic(text, begin, end):
        return 0
    if changes(seen):
        at = store.size
        form_size = fold_token(&cutter.points, store, text + begin, end - begin)
        if form_size <= 0:
            return <int> form_size
    if store.bytes[at + form_size - 1] != 0x6E or not opens_negation(text, size, end, &past):
        return add_word(cutter, store, at, at + form_size, begin, end)
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

cdef inline int64_t cell_end(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Past a letter and its marks."""
    cdef int64_t width
    flags_at(text, size, at, &width)
    at += width
    while at < size and flags_at(text, size, at, &width) & (FOLD_MARK | FOLD_IGNORED):
        at += width
    return at


cdef inline int add_bigram(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                           int64_t begin, int64_t end, bint folds) noexcept nogil:
    cdef int64_t at = store.size
    if not folds:
        return add_form(cutter, cutter.base + begin, cutter.base + end, begin, end)
    if fold_token(&cutter.points, store, text + begin, end - begin) < 0:
        return -1
    return add_form(cutter, at, store.size, begin, end)


cdef inline int add_run_letters(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                                int64_t begin, int64_t end, bint folds) noexcept nogil:
    cdef int64_t at = store.size
    if not folds:
        return add_letters(cutter, store.bytes + cutter.base + begin, end - begin)
    if fold_token(&cutter.points, store, text + begin, end - begin) < 0:
        return -1
    if add_letters(cutter, store.bytes + at, store.size - at):
        return -1
    store.size = at
    return 0


cdef inline int64_t letter_end(const uint8_t* text, int64_t at) noexcept nogil:
    """Past a letter, which has three bytes at least."""
    return at + 3 + (text[at] >= 0xF0)


cdef inline int add_plain_letters(word_cutter_t* cutter, const uint8_t* text, int64_t begin,
                                  int64_t end) noexcept nogil:
    """Add the bigrams of letters without marks that stay as they are, or the only one; 0, or -1."""
    cdef int64_t n_before = cutter.n_words, first = begin, second = letter_end(text, begin), past
    cdef int64_t* form
    if second == end:
        return add_form(cutter, cutter.base + begin, cutter.base + end, begin, end)
    if reserve_words(cutter, n_before + (end - begin) // 3):
        return -1
    form = cutter.forms + 2 * n_before
    while second < end:
        past = letter_end(text, second)
        form[0] = first
        form[1] = past
        form += 2
        first = second
        second = past
    cutter.n_words = (form - cutter.forms) >> 1
    # They lie in the store as they do in the text.
    memcpy(cutter.spans + cutter.n_spans + n_before, cutter.forms + 2 * n_before,
           <size_t> (cutter.n_words - n_before) * sizeof(span_t))
    return 0


cdef inline int add_glued(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                          int64_t begin, int64_t end, uint32_t seen) noexcept nogil:
    """Add the bigrams of a glued run, or its only letter; 0, or -1 without memory."""
    cdef int64_t first = begin, second, past
    cdef bint folds = changes(seen)
    if cutter.wants_letters and add_run_letters(cutter, store, text, begin, end, folds):
        return -1
    if not folds and not seen & FOLD_MARK:
        return add_plain_letters(cutter, text, begin, end)
    second = cell_end(text, end, first)
    if second == end:
        return add_bigram(cutter, store, text, first, end, folds)
    while second < end:
        past = cell_end(text, end, second)
        if add_bigram(cutter, store, text, first, past, folds):
            return -1
        first = second
        second = past
    return 0


# ------------------------------------------------------------------------------------- whole texts

cdef inline int64_t cut_closely(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                                int64_t size, int64_t at, int64_t end) noexcept nogil:
    """Cut what begins from ``at`` to ``end``, code point by code point; past it, or -1."""
    cdef int64_t begin
    cdef uint32_t kinds, flags
    cdef int failed
    while at < end:
        begin = at
        at = run_end(&cutter.seen, text, size, begin, &kinds, &flags)
        if kinds & FOLD_WORD:
            at = number_end(text, size, at, &flags)
            failed = add_spaced(cutter, store, text, size, begin, at, flags)
        elif kinds & FOLD_GLUED:
            failed = add_glued(cutter, store, text, begin, at, flags)
        elif kinds & FOLD_NUMERAL:
            # Numerals are kept as they are.
            failed = add_literal(cutter, store, <const char*> text + begin, at - begin, begin, at)
        else:
            # Letters among them: apostrophes, and those that are ignored.
            at += pass_point(&cutter.seen, text, size, at)
            failed = 0
        if failed:
            return -1
    return at


cdef inline int64_t find_runs(word_cutter_t* cutter, lowered_t* store, const uint8_t* text,
                              int64_t size) noexcept nogil:
    """Copy a text into the store, ASCII in lower case, and list its runs; how many, or -1."""
    cdef int64_t at = 0, left, n_edges = 0
    cdef uint64_t inside = 0
    cdef uint8_t padded[64]
    cdef const uint8_t* block
    cdef int n_bytes, n_cut, place
    if reserve(<void**> &store.bytes, &store.capacity, store.size + size + LOWERED_MARGIN, 1):
        return -1
    if reserve(<void**> &cutter.runs, &cutter.runs_capacity, size + BLOCK_EDGES + 2 + 2 * STRIDE,
               sizeof(int64_t)):
        return -1
    while at < size:
        left = size - at
        n_bytes = BLOCK_BYTES
        block = text + at
        if left < BLOCK_BYTES:
            n_bytes = <int> left
            memcpy(padded, block, <size_t> left)
            block = padded
        n_edges += cutter.cut_block(block, n_bytes, store.bytes + store.size + at, at, &inside,
                                    cutter.runs + n_edges, &n_cut)
        at += n_bytes
    if inside:
        cutter.runs[n_edges] = size
        n_edges += 1
    # Runs behind the last end nowhere.
    for place in range(STRIDE):
        cutter.runs[n_edges + 2 * place + 1] = <int64_t> 0x7FFFFFFFFFFFFFFF
    return n_edges // 2


cdef inline int64_t take_plain(word_cutter_t* cutter, int64_t i, int64_t n_runs,
                               int64_t next_odd) noexcept nogil:
    """Add runs from ``i`` on that end before ``next_odd``: words. The first run that is none."""
    cdef const int64_t* runs = cutter.runs
    cdef int64_t past = n_runs, n_before = 0
    cdef int place
    cdef size_t n_bytes
    if runs[2 * n_runs - 1] >= next_odd:
        past = i
        # In strides first: they end in order, and odd bytes are rare.
        while runs[2 * (past + STRIDE) - 1] < next_odd:
            past += STRIDE
        # Of the last stride all are counted, since where they end cannot be guessed.
        for place in range(STRIDE):
            n_before += runs[2 * (past + place) + 1] < next_odd
        past += n_before
    # A word lies in the store as it does in the text, and runs are laid out as both are.
    n_bytes = <size_t> (past - i) * sizeof(span_t)
    memcpy(cutter.forms + 2 * cutter.n_words, runs + 2 * i, n_bytes)
    memcpy(cutter.spans + cutter.n_spans + cutter.n_words, runs + 2 * i, n_bytes)
    cutter.n_words += past - i
    return past


cdef inline int take_letters(word_cutter_t* cutter, const lowered_t* store,
                             int64_t first) noexcept nogil:
    """The letters of the words from ``first`` on; 0, or -1 without memory."""
    cdef int64_t i, begin
    for i in range(first, cutter.n_words):
        begin = cutter.forms[2 * i]
        if add_letters(cutter, store.bytes + cutter.base + begin,
                       cutter.forms[2 * i + 1] - begin):
            return -1
    return 0


cdef inline int cut_words(word_cutter_t* cutter, lowered_t* store, text_t text) noexcept nogil:
    """Cut a cleaned text into ``forms`` and ``spans``; 0, or -1 without memory."""
    cdef int64_t n_runs, at, first, i = 0, next_odd = -1
    cdef int64_t* runs
    cutter.base = store.size
    cutter.n_words = 0
    cutter.letters.size = 0
    memset(&cutter.seen, 0, sizeof(seen_t))
    cutter.seen.is_composed = True
    n_runs = find_runs(cutter, store, text.bytes, text.size)
    if n_runs < 0:
        return -1
    store.size += text.size
    runs = cutter.runs
    while i < n_runs:
        if text.bytes[runs[2 * i]] < 0x80:
            # Every run may be a word; what is cut closely may be more.
            first = cutter.n_words
            if reserve_words(cutter, first + n_runs - i):
                return -1
            if next_odd < runs[2 * i]:
                next_odd = next_odd_byte(text.bytes, text.size, runs[2 * i])
            i = take_plain(cutter, i, n_runs, next_odd)
            if cutter.wants_letters and take_letters(cutter, store, first):
                return -1
            if i == n_runs:
                break
        at = cut_closely(cutter, store, text.bytes, text.size, runs[2 * i], runs[2 * i + 1])
        if at < 0:
            return -1
        # Runs that the last word has taken in, one of them perhaps in part.
        while i < n_runs and runs[2 * i + 1] <= at:
            i += 1
        if i < n_runs and runs[2 * i] < at:
            runs[2 * i] = at
    return 0
