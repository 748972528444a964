"""What a cutter of words knows of a text, and how it adds a word."""
from libc.stdlib cimport free
from libc.string cimport memcpy

from normal_forms cimport close_points, points_t
from primitives cimport int64_t, reserve, span_t, uint8_t, uint32_t, uint64_t
from token_stream cimport LOWERED_MARGIN, lowered_t

cdef extern from "byte_blocks.h" nogil:
    ctypedef int (*block_cutter_t)(
        const uint8_t*, int, uint8_t*, int64_t, uint64_t*, int64_t*, int*) noexcept nogil
    block_cutter_t best_run_cutter() noexcept

cdef extern from "text_runs.h" nogil:
    ctypedef struct seen_t:
        uint64_t letters       # Latin ones that are not ASCII, and from bit 32 on of other scripts
        uint32_t flags         # of words that are not ASCII
        bint is_composed       # the text at hand passes for NFC


cdef struct word_cutter_t:
    block_cutter_t cut_block
    points_t points            # of a token that is folded
    int64_t* runs              # of letters, digits and what is no ASCII: begin and end, in turn
    int64_t runs_capacity
    int64_t* forms             # normal forms of the text at hand: begin and end, from ``base`` on
    int64_t forms_capacity
    span_t* spans              # ... and where they stand in the text; behind those of texts before
    int64_t spans_capacity
    int64_t n_spans            # ... of texts before
    int64_t n_words            # of the text at hand
    int64_t base               # where the text at hand lies in the store, ASCII in lower case
    seen_t seen
    bint wants_letters
    lowered_t letters          # words of the text at hand, a blank after each


cdef inline void open_word_cutter(word_cutter_t* cutter) noexcept nogil:
    cutter.cut_block = best_run_cutter()


cdef inline void close_word_cutter(word_cutter_t* cutter) noexcept nogil:
    close_points(&cutter.points)
    free(cutter.runs)
    free(cutter.forms)
    free(cutter.spans)
    free(cutter.letters.bytes)


cdef inline int reserve_words(word_cutter_t* cutter, int64_t n_words) noexcept nogil:
    if reserve(<void**> &cutter.forms, &cutter.forms_capacity, 2 * n_words, sizeof(int64_t)):
        return -1
    return reserve(<void**> &cutter.spans, &cutter.spans_capacity,
                   cutter.n_spans + n_words, sizeof(span_t))


cdef inline int add_form(word_cutter_t* cutter, int64_t form_begin, int64_t form_end,
                         int64_t begin, int64_t end) noexcept nogil:
    """Add a word whose normal form is in the store; 0, or -1 without memory."""
    if reserve_words(cutter, cutter.n_words + 1):
        return -1
    cutter.forms[2 * cutter.n_words] = form_begin - cutter.base
    cutter.forms[2 * cutter.n_words + 1] = form_end - cutter.base
    cutter.spans[cutter.n_spans + cutter.n_words] = span_t(begin, end)
    cutter.n_words += 1
    return 0


cdef inline int add_letters(word_cutter_t* cutter, const uint8_t* form,
                            int64_t size) noexcept nogil:
    """Add a form of the store, past which bytes are readable; 0, or -1 without memory."""
    cdef lowered_t* letters = &cutter.letters
    if reserve(<void**> &letters.bytes, &letters.capacity,
               letters.size + size + 1 + LOWERED_MARGIN, 1):
        return -1
    # Most forms are copied at once, the surplus overwritten by the next.
    memcpy(letters.bytes + letters.size, form, 16)
    if size > 16:
        memcpy(letters.bytes + letters.size, form, <size_t> size)
    letters.bytes[letters.size + size] = 0x20
    letters.size += size + 1
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
