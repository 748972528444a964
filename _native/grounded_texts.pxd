"""The texts of a row of the grounded profile, cut and read in one language."""
from libc.string cimport memset

from asked_kinds cimport may_ask_for_name
from claims cimport begin_claims
from clean_text cimport begins_with_label
from grounded_work cimport GIVEN_ANSWER, grounded_columns_t, grounded_work_t, has_words
from lexicon cimport letter_counts_t
from primitives cimport int64_t, reserve, text_at
from row_words cimport (
    WANTS_CAPITALS, WANTS_LETTERS, WANTS_SENTENCES, add_piece, begin_row, n_stems, piece_t,
    read_words, row_words_t,
)
from stopping cimport is_stopped
from vocabulary cimport table_size


cdef inline int64_t short_bytes(const grounded_columns_t* columns, int64_t row) noexcept nogil:
    """Of the question, the answer and the ground truths."""
    cdef int64_t first = columns.row_truths[row], last = columns.row_truths[row + 1]
    return (columns.truths.offsets[last] - columns.truths.offsets[first]
            + text_at(&columns.question, row).size + text_at(&columns.answer, row).size)


cdef inline int64_t context_bytes(const grounded_columns_t* columns, int64_t row) noexcept nogil:
    cdef int64_t first = columns.row_contexts[row], last = columns.row_contexts[row + 1]
    return columns.contexts.offsets[last] - columns.contexts.offsets[first]


cdef inline bint is_labelled(const grounded_columns_t* columns, int64_t row) noexcept nogil:
    """A chunk begins with a label: square brackets in the answer can be checked, and stay."""
    cdef int64_t i
    for i in range(columns.row_contexts[row], columns.row_contexts[row + 1]):
        if begins_with_label(text_at(&columns.contexts, i)):
            return True
    return False


cdef inline int cut_short_texts(grounded_work_t* work, const grounded_columns_t* columns,
                                int64_t row) noexcept nogil:
    cdef row_words_t* words = &work.words
    cdef int64_t first = columns.row_truths[row], last = columns.row_truths[row + 1], i
    cdef letter_counts_t counts
    cdef piece_t* truth
    if add_piece(words, text_at(&columns.question, row), 0, &work.question):
        return -1
    if add_piece(words, text_at(&columns.answer, row),
                 WANTS_SENTENCES | WANTS_LETTERS | WANTS_CAPITALS, &work.answer):
        return -1
    if reserve(<void**> &work.truths, &work.truths_capacity, last - first, sizeof(piece_t)):
        return -1
    work.n_truths = 0
    for i in range(first, last):
        truth = &work.truths[work.n_truths]
        counts = words.counts
        if add_piece(words, text_at(&columns.truths, i),
                     WANTS_SENTENCES | WANTS_LETTERS | WANTS_CAPITALS, truth):
            return -1
        truth.index = i - first
        if has_words(truth):
            work.n_truths += 1
        else:
            # Left out altogether: its letters do not tell the language.
            words.counts = counts
    return 0


cdef inline int cut_chunks(grounded_work_t* work, const grounded_columns_t* columns,
                           int64_t row) noexcept nogil:
    cdef row_words_t* words = &work.words
    cdef int64_t first = columns.row_contexts[row], last = columns.row_contexts[row + 1], i
    cdef int wants = 0
    if may_ask_for_name(words, work.question.first, work.question.last) or may_ask_for_name(
            words, work.answer.last, words.n_words):
        wants = WANTS_CAPITALS
    work.n_chunks = last - first
    if reserve(<void**> &work.chunks, &work.chunks_capacity, last - first, sizeof(piece_t)):
        return -1
    for i in range(first, last):
        if is_stopped(&work.claims.stop):
            return -1
        if add_piece(words, text_at(&columns.contexts, i), wants, &work.chunks[i - first]):
            return -1
    return 0


cdef inline int read_row(grounded_work_t* work, const grounded_columns_t* columns,
                         int64_t row) noexcept nogil:
    """Cut all texts of a row and read them in one language; 0, or -1 without memory."""
    cdef int64_t n_short = short_bytes(columns, row)
    cdef int64_t n_bytes = n_short + context_bytes(columns, row)
    cdef int64_t n_slots = table_size(n_bytes), before = work.in_query_capacity
    work.claims.stop.pairs = <double> n_short * <double> n_bytes
    if begin_row(&work.words, n_slots, is_labelled(columns, row)):
        return -1
    if cut_short_texts(work, columns, row) or cut_chunks(work, columns, row):
        return -1
    if read_words(&work.words, columns.languages[row]):
        return -1
    if reserve(<void**> &work.in_query, &work.in_query_capacity, n_stems(&work.words) + 1, 1):
        return -1
    memset(work.in_query + before, 0, <size_t> (work.in_query_capacity - before))
    work.has_question = has_words(&work.question)
    work.has_answer = columns.given[row] & GIVEN_ANSWER != 0
    return begin_claims(&work.claims, &work.words, 2048)
