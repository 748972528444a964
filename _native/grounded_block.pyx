"""Blocks of rows, grounded profile: the way from Python buffers to the rows and back."""
from cpython.bytes cimport PyBytes_AS_STRING
from libc.math cimport NAN
from libc.string cimport memset

from byte_arrays cimport first_byte
from claims cimport CONTRADICTION, NEW_NAME, N_LOSSES
from given_stems cimport give_stems
from grounded_nulls cimport opened_t
from grounded_row cimport score_held, score_others, score_row
from grounded_texts cimport read_row
from grounded_work cimport (
    close_grounded, grounded_columns_t, grounded_work_t, open_grounded,
)
from kept_details cimport (
    ABSENT, begin_row, close_kept, kept_bytes, kept_t, open_kept, seek_row, taken_number,
    taken_text, taken_value, taken_values,
)
from kept_evidence cimport keep_held, keep_scores
from lexicon cimport form_bytes, form_size
from outcomes cimport N_ALL_METRICS
from primitives cimport (
    hash_t, int8_t, int64_t, offset_t, texts_t, token_t, uint8_t,
)
from stopping cimport new_stop, raise_failure, stop_t


cdef inline void put_scores(const grounded_work_t* work, Py_ssize_t row,
                            const int64_t[::1] metrics, double[:, ::1] scores,
                            uint8_t[:, ::1] reasons) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t metric
    for i in range(metrics.shape[0]):
        metric = metrics[i]
        reasons[row, i] = work.causes[metric].reason
        scores[row, i] = NAN if work.causes[metric].reason else work.scores[metric]


cdef int score_rows(grounded_work_t* work, const grounded_columns_t* columns, const bint* wants,
                    Py_ssize_t begin, Py_ssize_t end, const int64_t[::1] metrics,
                    double[:, ::1] scores, uint8_t[:, ::1] reasons,
                    double[:, ::1] losses) noexcept nogil:
    cdef opened_t opened
    cdef Py_ssize_t row, i
    for row in range(begin, end):
        if score_row(work, columns, wants, row, &opened):
            return -1
        put_scores(work, row, metrics, scores, reasons)
        for i in range(N_LOSSES if losses.shape[0] else 0):
            losses[row, i] = work.losses[i] if opened.claims else NAN
    return 0


cdef grounded_columns_t read_columns(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const offset_t[::1] row_truths,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts, const uint8_t[::1] given, const int8_t[::1] languages,
):
    cdef grounded_columns_t columns
    columns.question = texts_t(first_byte(question_bytes), &question_offsets[0])
    columns.answer = texts_t(first_byte(answer_bytes), &answer_offsets[0])
    columns.truths = texts_t(first_byte(truth_bytes), &truth_offsets[0])
    columns.row_truths = &row_truths[0]
    columns.contexts = texts_t(first_byte(context_bytes), &context_offsets[0])
    columns.row_contexts = &row_contexts[0]
    columns.given = &given[0] if given.shape[0] else NULL
    columns.languages = &languages[0] if languages.shape[0] else NULL
    return columns


cdef void read_wants(const int64_t[::1] metrics, bint* wants):
    cdef Py_ssize_t i
    for i in range(N_ALL_METRICS):
        wants[i] = False
    for i in range(metrics.shape[0]):
        wants[metrics[i]] = True


def score_block(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const offset_t[::1] row_truths,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts, const uint8_t[::1] given, const int8_t[::1] languages,
    const uint8_t[::1] word_bytes, const offset_t[::1] word_offsets,
    const uint8_t[::1] stem_bytes, const offset_t[::1] stem_offsets,
    const double[::1] weights, const int64_t[::1] metrics, hash_t seed,
    Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, uint8_t[:, ::1] reasons,
    double[:, ::1] losses, const uint8_t[::1] stop=None,
    bint handles_signals=False,
):
    """Fill rows ``[begin, end)`` of scores and null reasons, one column per metric number.

    ``given``: per row 1 for a question, 2 for an answer, 4 for contexts that are there, if empty.
    ``languages``: per row the number of its language, -1 to detect it. Words and their stems, in
    place of the light English stem: each word after a byte with the number of its language.
    ``weights``: of the eight losses of an answer, for faithfulness. A null score is NaN.
    ``losses``: filled like the scores, a row of NaN where faithfulness is null or asked for by
    nobody; not at all where it has no rows. ``stop`` ends it early, by an InterruptedError, once
    its byte is not 0. With ``handles_signals``, an exception from a signal handler ends it
    too.
    """
    cdef grounded_columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, row_truths, context_bytes, context_offsets, row_contexts, given,
        languages)
    cdef texts_t stem_words = texts_t(first_byte(word_bytes), &word_offsets[0])
    cdef texts_t stems = texts_t(first_byte(stem_bytes), &stem_offsets[0])
    cdef int64_t n_given = word_offsets.shape[0] - 1
    cdef grounded_work_t work
    cdef bint wants[13]
    cdef stop_t ending = new_stop(stop, handles_signals)
    cdef int failed
    read_wants(metrics, wants)
    with nogil:
        open_grounded(&work, seed, ending)
        work.weights = &weights[0]
        failed = give_stems(&work.words.given_stems, &stem_words, &stems, n_given, seed)
        if not failed:
            failed = score_rows(&work, &columns, wants, begin, end, metrics, scores, reasons,
                                losses)
        close_grounded(&work)
    if failed:
        raise_failure("scoring a block of rows", &work.claims.stop)


# ---------------------------------------------------------------------------- rows with details

cdef int score_kept_rows(grounded_work_t* work, const grounded_columns_t* columns,
                         const bint* wants, Py_ssize_t begin, Py_ssize_t end,
                         const int64_t[::1] metrics, double[:, ::1] scores,
                         uint8_t[:, ::1] reasons, kept_t* kept) noexcept nogil:
    cdef opened_t opened
    cdef Py_ssize_t row
    for row in range(begin, end):
        # What no metric of the row asks for is 0, and not what it was for the row before.
        memset(work.scores, 0, sizeof(work.scores))
        if begin_row(kept):
            return -1
        if score_held(work, columns, wants, row, &opened) or keep_held(kept, work, &opened):
            return -1
        if score_others(work, columns, wants, row, &opened) or keep_scores(kept, work, &opened):
            return -1
        put_scores(work, row, metrics, scores, reasons)
    return 0


cdef inline tuple taken_span(kept_t* kept):
    return (taken_number(kept), taken_number(kept))


cdef tuple taken_texts(kept_t* kept):
    """Texts, each once. Tuples of texts, unlike lists, take none of the garbage collector's time.
    """
    cdef int64_t n = taken_number(kept)
    return tuple(dict.fromkeys([taken_text(kept) for _ in range(n)])) if n else ()


cdef tuple taken_pairs(kept_t* kept):
    cdef int64_t n = taken_number(kept)
    return tuple([taken_pair(kept) for _ in range(n)]) if n else ()


cdef inline tuple taken_pair(kept_t* kept):
    return (taken_text(kept), taken_text(kept))


cdef tuple taken_losses(kept_t* kept):
    """Shares, and two flags as integers."""
    cdef const double* found = kept.values + kept.value
    kept.value += N_LOSSES
    return (found[0], found[1], found[2], found[3], found[4], found[5],
            <int> found[<int> CONTRADICTION], <int> found[<int> NEW_NAME])


cdef tuple taken_sentence(kept_t* kept):
    cdef int64_t chunk
    span = taken_span(kept)
    chunk = taken_number(kept)
    window = None if chunk == ABSENT else taken_span(kept)
    support, covered = taken_value(kept), taken_value(kept)
    numbers = taken_texts(kept)
    contradiction = taken_pair(kept) if taken_number(kept) else None
    names = taken_texts(kept)
    far_names = taken_pairs(kept)
    no_claim = taken_number(kept) != 0
    return (span, support, None if chunk == ABSENT else chunk, window, covered, numbers,
            contradiction, names, far_names, no_claim, taken_losses(kept))


cdef list taken_piece(kept_t* kept):
    cdef int64_t n = taken_number(kept)
    return None if n == ABSENT else [taken_sentence(kept) for _ in range(n)]


cdef list taken_scores(kept_t* kept):
    """The scores of chunks."""
    cdef int64_t n = taken_number(kept)
    return None if n == ABSENT else taken_values(kept, n)


cdef tuple taken_row(kept_t* kept):
    cdef int64_t language = taken_number(kept), truth
    chunk_scores, precision_scores = taken_scores(kept), taken_scores(kept)
    answer = taken_piece(kept)
    truth = taken_number(kept)
    sentences = None if truth == ABSENT else taken_piece(kept)
    scores = taken_values(kept, N_ALL_METRICS)
    reasons, causes = [], []
    for _ in range(N_ALL_METRICS):
        reasons.append(taken_number(kept))
        causes.append(taken_number(kept))
    losses = taken_losses(kept) if taken_number(kept) else None
    refusal = None
    if taken_number(kept):
        refusal = (taken_number(kept) != 0, taken_number(kept) != 0)
    return (scores, reasons, causes, language, chunk_scores, precision_scores, answer,
            None if truth == ABSENT else truth, sentences, losses, refusal,
            taken_number(kept) != 0)


def explained_block(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const offset_t[::1] row_truths,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts, const uint8_t[::1] given, const int8_t[::1] languages,
    const uint8_t[::1] word_bytes, const offset_t[::1] word_offsets,
    const uint8_t[::1] stem_bytes, const offset_t[::1] stem_offsets,
    const double[::1] weights, const int64_t[::1] metrics, hash_t seed,
    Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, uint8_t[:, ::1] reasons,
    const uint8_t[::1] stop=None,
    bint handles_signals=False,
):
    """As ``score_block`` without losses, and give what the scores of each row are made of.

    Returns four bytes: numbers, values and texts of all rows, and where each row begins in them, as
    three numbers. ``kept_row`` takes a row out of them.
    """
    cdef grounded_columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, row_truths, context_bytes, context_offsets, row_contexts, given,
        languages)
    cdef texts_t stem_words = texts_t(first_byte(word_bytes), &word_offsets[0])
    cdef texts_t stems = texts_t(first_byte(stem_bytes), &stem_offsets[0])
    cdef int64_t n_given = word_offsets.shape[0] - 1
    cdef grounded_work_t work
    cdef kept_t kept
    cdef bint wants[13]
    cdef stop_t ending = new_stop(stop, handles_signals)
    cdef int failed
    read_wants(metrics, wants)
    memset(&kept, 0, sizeof(kept_t))
    with nogil:
        open_grounded(&work, seed, ending)
        work.weights = &weights[0]
        work.keeps_evidence = work.words.cleaner.keep_origins = True
        failed = give_stems(&work.words.given_stems, &stem_words, &stems, n_given, seed)
        if not failed:
            failed = score_kept_rows(&work, &columns, wants, begin, end, metrics, scores,
                                     reasons, &kept)
        close_grounded(&work)
    try:
        if failed:
            raise_failure("scoring a block of rows", &work.claims.stop)
        return kept_bytes(&kept)
    finally:
        close_kept(&kept)


def kept_row(bytes numbers, bytes values, bytes texts, int64_t number, int64_t value,
             int64_t text):
    """A row that ``explained_block`` kept, which begins at those places.

    Returns ``(scores, reasons, causes, language, chunk_scores, precision_scores, answer,
    best_truth, truth, losses, refusal, is_odd)``: by metric number; the language's number;
    relevance of each chunk to the question, and to it read with the ground truth that
    context_precision took, or None; per sentence of the answer ``(span, score, chunk, window,
    covered, missing_numbers, contradiction, missing_names, far_names, no_claim, losses)``, spans in
    code points of the original strings, or None; the index of the ground truth that context_recall
    took, or None, and its sentences; the losses of the answer as faithfulness pools them, or None;
    of an answer that declines whether it does nothing else, and whether a relevant chunk was there,
    or None; and whether a value of the row is so small or large that writers of JSON have several
    forms for it.
    """
    cdef kept_t kept
    cdef int64_t[3] row
    row[0], row[1], row[2] = number, value, text
    open_kept(&kept, <const int64_t*> PyBytes_AS_STRING(numbers),
              <const double*> PyBytes_AS_STRING(values),
              <const uint8_t*> PyBytes_AS_STRING(texts))
    seek_row(&kept, row)
    return taken_row(&kept)


def row_words(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const offset_t[::1] row_truths,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts, const uint8_t[::1] given, const int8_t[::1] languages,
    hash_t seed, Py_ssize_t begin, Py_ssize_t end,
):
    """The distinct words of some rows, as their stems are asked for.

    Returns a dict: the number of a language -> the set of words, raw forms as UTF-8, of the rows
    that are read in it.
    """
    cdef grounded_columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, row_truths, context_bytes, context_offsets, row_contexts, given,
        languages)
    cdef grounded_work_t work
    cdef Py_ssize_t row
    cdef int64_t i
    cdef int failed
    cdef token_t raw
    found = {}
    open_grounded(&work, seed, new_stop(None, False))
    try:
        for row in range(begin, end):
            with nogil:
                failed = read_row(&work, &columns, row)
            if failed:
                raise MemoryError("reading a row")
            words = found.setdefault(work.words.language, set())
            for i in range(work.words.lexicon.n_forms):
                raw = work.words.lexicon.raws[i]
                words.add(form_bytes(&work.words.lexicon, raw)[
                    :form_size(&work.words.lexicon, raw)])
        return found
    finally:
        close_grounded(&work)
