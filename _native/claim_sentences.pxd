"""Sentences of a cleaned text with their words.

A sentence ends at a line end, at ``. ! ?`` or an ellipsis before a blank, and at the full stops of
scripts that need no blank; closing quotes and brackets stay with it. The break is undone after an
abbreviation or a single letter, and before a word in lower case that follows fewer than three
words and a mark that touches the last of them. Linear in the text.
"""
from code_points cimport decode_code_point
from markup cimport (
    is_citation, is_space_point, is_token_point, next_paragraph, past_spaces, peek, place_before,
)
from normal_forms cimport (
    FOLD_APOSTROPHE, FOLD_DECIMAL, FOLD_LOWER, FOLD_SPACE, flags_at, fold_flags,
)
from primitives cimport int64_t, reserve, span_t, text_t, uint32_t, uint8_t

cdef extern from "word_tables.h" nogil:
    bint is_abbreviation(const char* letters, int size) noexcept

cdef extern from "byte_kinds.h" nogil:
    int64_t next_end_byte(const uint8_t* bytes, int64_t size, int64_t at) noexcept
    bint has_three_words(const uint8_t* bytes, int64_t size) noexcept

cdef enum:
    ENOUGH_WORDS = 3
    MAX_LETTERS = 7      # looked at of an abbreviation


cdef struct sentence_t:
    int64_t begin        # bytes of the cleaned text
    int64_t end
    int64_t first        # words of the text: first to last, one past it
    int64_t last
    bint is_label        # nothing but square citations
    bint leads_in        # ends with a colon


cdef struct sentences_t:
    sentence_t* items
    int64_t capacity
    int64_t size


cdef inline bint is_soft_end(uint32_t code_point) noexcept nogil:
    return (code_point == 0x2E or code_point == 0x21 or code_point == 0x3F
            or code_point == 0x2026)


cdef inline bint is_hard_end(uint32_t code_point) noexcept nogil:
    if code_point < 0x589:
        return False
    return (code_point == 0x3002 or code_point == 0xFF01 or code_point == 0xFF1F
            or code_point == 0xFF61 or 0x964 <= code_point <= 0x965 or code_point == 0x61F
            or code_point == 0x6D4 or code_point == 0x589 or code_point == 0x104B
            or code_point == 0x1362 or code_point == 0x17D4)


cdef inline bint is_closer(uint32_t code_point) noexcept nogil:
    if code_point < 0x80:
        return (code_point == 0x22 or code_point == 0x27 or code_point == 0x29
                or code_point == 0x5D)
    return (code_point == 0x201D or code_point == 0x2019 or code_point == 0xBB
            or code_point == 0x203A or code_point == 0x300D or code_point == 0x300F
            or code_point == 0xFF09 or code_point == 0x3011)


cdef inline bint leads_in(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """A colon ends the stretch, whatever closes behind it."""
    cdef int64_t before
    cdef uint32_t code_point
    cdef int width
    while end > begin:
        before = place_before(text, end)
        code_point = decode_code_point(text, end, before, &width)
        if not (is_closer(code_point) or code_point == 0x20 or code_point == 0xA0):
            return code_point == 0x3A or code_point == 0xFF1A
        end = before
    return False


cdef inline int64_t past_closers(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    cdef int width
    while at < size and is_closer(decode_code_point(text, size, at, &width)):
        at += width
    return at


cdef inline int64_t next_cut(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Where the stretch ends that begins at ``at``; at the paragraph's end at the latest."""
    cdef int64_t past
    cdef uint32_t code_point
    cdef int width
    while True:
        at = next_end_byte(text, size, at)
        if at == size:
            return size
        # Two scripts in which most letters begin like an end.
        if (text[at] == 0xE0 and text[at + 1] != 0xA5) or (
                text[at] == 0xE3 and text[at + 1] != 0x80):
            at += 3
            continue
        code_point = decode_code_point(text, size, at, &width)
        at += width
        if is_soft_end(code_point):
            past = past_closers(text, size, at)
            if is_space_point(peek(text, size, past, &width)):
                return past
        elif is_hard_end(code_point):
            while is_hard_end(peek(text, size, at, &width)):
                at += width
            return past_closers(text, size, at)


# ------------------------------------------------------------------------------- breaks undone

cdef inline bint ends_with_abbreviation(const uint8_t* text, int64_t begin, int64_t end,
                                        uint32_t following) noexcept nogil:
    """The stretch ends with ``Mr.``, ``J.``, ``e.g.`` or the like."""
    cdef char letters[8]
    cdef int64_t at = end - 1
    cdef int n_letters = 0, i, width
    cdef uint32_t before
    if text[at] != 0x2E:
        return False
    while at > begin and n_letters < MAX_LETTERS and 0x61 <= text[at - 1] | 0x20 <= 0x7A:
        at -= 1
        n_letters += 1
    for i in range(n_letters):
        letters[i] = <char> (text[at + i] | 0x20)
    if n_letters == 0:
        return False
    if at > begin:
        before = decode_code_point(text, end, place_before(text, at), &width)
        if before == 0x5F or is_token_point(before) or fold_flags(before) & FOLD_APOSTROPHE:
            return False
    if n_letters == 1:
        return True
    if not is_abbreviation(letters, n_letters):
        return False
    # "no" abbreviates "number" before a number only.
    return not (n_letters == 2 and letters[0] == 0x6E and letters[1] == 0x6F) or (
        fold_flags(following) & FOLD_DECIMAL != 0)


cdef inline bint is_detached(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """A blank stands before the mark that ends the stretch."""
    cdef int width
    cdef uint8_t mark = text[end - 1]
    if not (mark == 0x2E or mark == 0x21 or mark == 0x3F) or end - 1 <= begin:
        return False
    return is_space_point(decode_code_point(text, end, place_before(text, end - 1), &width))


cdef inline int count_blank_words(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    """Words between blanks, up to ENOUGH_WORDS."""
    cdef int n_words = 1
    cdef int64_t width
    cdef bint space, before = False
    if has_three_words(text + begin, end - begin):
        return ENOUGH_WORDS
    while begin < end:
        space = flags_at(text, end, begin, &width) & FOLD_SPACE != 0
        if before and not space:
            n_words += 1
            if n_words == ENOUGH_WORDS:
                break
        before = space
        begin += width
    return n_words


cdef inline int64_t trimmed_end(const uint8_t* text, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t before
    cdef int width
    while end > begin:
        before = place_before(text, end)
        if not is_space_point(decode_code_point(text, end, before, &width)):
            break
        end = before
    return end


cdef inline int add_sentence(sentences_t* sentences, int64_t begin, int64_t end) noexcept nogil:
    if reserve(<void**> &sentences.items, &sentences.capacity, sentences.size + 1,
               sizeof(sentence_t)):
        return -1
    sentences.items[sentences.size].begin = begin
    sentences.items[sentences.size].end = end
    sentences.size += 1
    return 0


cdef inline int cut_paragraph(sentences_t* sentences, const uint8_t* text, int64_t begin,
                              int64_t end) noexcept nogil:
    # The open sentence, the last of its stretches, and how many words those before that have.
    cdef int64_t at = begin, cut, stop, open_at = -1, open_end = 0, last_at = 0
    cdef int n_before = 0, width
    cdef uint32_t first
    while at < end:
        cut = next_cut(text, end, at)
        at = past_spaces(text, cut, at)
        stop = trimmed_end(text, at, cut)
        if at < stop:
            first = decode_code_point(text, stop, at, &width)
            if open_at >= 0 and (
                    ends_with_abbreviation(text, open_at, open_end, first)
                    or (fold_flags(first) & FOLD_LOWER
                        and n_before + count_blank_words(text, last_at, open_end) < ENOUGH_WORDS
                        and not is_detached(text, open_at, open_end))):
                n_before += count_blank_words(text, last_at, open_end)
            else:
                if open_at >= 0 and add_sentence(sentences, open_at, open_end):
                    return -1
                open_at = at
                n_before = 0
            last_at = at
            open_end = stop
        at = cut
    return add_sentence(sentences, open_at, open_end) if open_at >= 0 else 0


cdef inline int cut_sentences(sentences_t* sentences, text_t text, const span_t* words,
                              int64_t n_words) noexcept nogil:
    """Append the sentences of a text that hold a word; 0, or -1 without memory."""
    cdef int64_t at = 0, first = sentences.size, kept, i, word = 0
    cdef sentence_t* sentence
    cdef span_t paragraph
    while next_paragraph(text.bytes, text.size, &at, &paragraph):
        if cut_paragraph(sentences, text.bytes, paragraph.begin, paragraph.end):
            return -1
    kept = first
    for i in range(first, sentences.size):
        sentence = &sentences.items[i]
        while word < n_words and words[word].begin < sentence.begin:
            word += 1
        sentence.first = word
        while word < n_words and words[word].begin < sentence.end:
            word += 1
        sentence.last = word
        if sentence.first < word:
            sentence.is_label = is_citation(text.bytes, sentence.begin, sentence.end)
            sentence.leads_in = leads_in(text.bytes, sentence.begin, sentence.end)
            sentences.items[kept] = sentence[0]
            kept += 1
    sentences.size = kept
    return 0
