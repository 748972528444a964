"""Blocks of rows, grounded profile: the way from Python buffers to the rows and back."""
from libc.math cimport NAN

from claim_sentences cimport sentence_t
from claims cimport N_LOSSES, claims_t, counted_t, sift_chunks, support_t
from given_stems cimport give_stems
from grounded_row cimport (
    N_METRICS, close_grounded, grounded_columns_t, grounded_work_t, open_grounded, read_row,
    read_with_truth, score_row, score_with,
)
from lexicon cimport form_bytes, form_size, form_t
from number_values cimport is_figure, number_t
from primitives cimport (
    first_byte, hash_t, int8_t, int64_t, offset_t, reserve, span_t, texts_t, uint8_t,
)
from relevance cimport count_terms, query_t
from row_words cimport piece_t, row_words_t
from stopping cimport raise_failure, stop_flag
from support cimport (
    is_checked_name, is_missing_name, list_known_names, misses_number, stand_far, support_piece,
)


cdef int score_rows(grounded_work_t* work, const grounded_columns_t* columns, const bint* wants,
                    Py_ssize_t begin, Py_ssize_t end, const int64_t[::1] metrics,
                    double[:, ::1] scores, uint8_t[:, ::1] reasons,
                    double[:, ::1] losses) noexcept nogil:
    cdef Py_ssize_t row, i
    cdef int64_t metric
    for row in range(begin, end):
        if score_row(work, columns, wants, row):
            return -1
        for i in range(metrics.shape[0]):
            metric = metrics[i]
            reasons[row, i] = work.causes[metric].reason
            scores[row, i] = NAN if work.causes[metric].reason else work.scores[metric]
        for i in range(N_LOSSES if losses.shape[0] else 0):
            losses[row, i] = work.losses[i] if work.has_claims else NAN
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
    for i in range(N_METRICS):
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
):
    """Fill rows ``[begin, end)`` of scores and null reasons, one column per metric number.

    ``given``: per row 1 for a question, 2 for an answer, 4 for contexts that are there, if empty.
    ``languages``: per row the number of its language, -1 to detect it. Words and their stems, in
    place of the light English stem: each word after a byte with the number of its language.
    ``weights``: of the eight losses of an answer, for faithfulness. A null score is NaN.
    ``losses``: filled like the scores, a row of NaN where faithfulness is null or asked for by
    nobody; not at all where it has no rows. ``stop`` ends it early, by an InterruptedError, once
    its byte is not 0.
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
    cdef const uint8_t* flag = stop_flag(stop)
    cdef int failed
    read_wants(metrics, wants)
    with nogil:
        open_grounded(&work, seed, flag)
        work.weights = &weights[0]
        failed = give_stems(&work.words.given_stems, &stem_words, &stems, n_given, seed)
        if not failed:
            failed = score_rows(&work, &columns, wants, begin, end, metrics, scores, reasons,
                                losses)
        close_grounded(&work)
    if failed:
        raise_failure("scoring a block of rows", flag)


# -------------------------------------------------------------------------------- one row opened

cdef tuple original_span(const row_words_t* words, const piece_t* piece, int64_t begin,
                         int64_t end):
    """Code points of the original string that the cleaned bytes ``[begin, end)`` stand for."""
    cdef const span_t* origins = words.cleaner.origins.spans + piece.origin
    return (origins[begin].begin, origins[end - 1].end)


cdef str raw_text(const row_words_t* words, const form_t* form):
    return form_bytes(&words.lexicon, form.raw)[:form_size(&words.lexicon, form.raw)].decode(
        "utf-8", "surrogatepass")


cdef tuple missing_figures(claims_t* claims, const row_words_t* words, const piece_t* piece,
                           int64_t first, int64_t last):
    """Numbers and names of a sentence that no chunk has, each once, in their order."""
    cdef const form_t* form
    cdef number_t number
    cdef int64_t i
    cdef int misses
    numbers, names = {}, {}
    for i in range(first, last):
        form = &words.lexicon.forms[words.ids[i]]
        if is_figure(words, i):
            misses = misses_number(claims, words, piece, i, &number)
            if misses < 0:
                raise MemoryError("scoring a row")
            if misses:
                numbers[raw_text(words, form)] = None
        if is_checked_name(words, i) and is_missing_name(claims, form):
            names[raw_text(words, form)] = None
    return list(numbers), list(names)


cdef str word_text(const row_words_t* words, int64_t word):
    return raw_text(words, &words.lexicon.forms[words.ids[word]])


cdef list far_names(grounded_work_t* work, int64_t first, int64_t last):
    """Pairs of names of a sentence that chunks have, but not near each other."""
    cdef counted_t names
    cdef int64_t n_known = list_known_names(&work.claims, &work.words, first, last, &names), i
    cdef const int64_t* known = work.claims.names_known
    if n_known < 0:
        raise MemoryError("scoring a row")
    return [(word_text(&work.words, known[i - 1]), word_text(&work.words, known[i]))
            for i in range(1, n_known)
            if stand_far(&work.claims, &work.words, known[i - 1], known[i], work.chunk_begins,
                         work.n_chunks)]


cdef tuple all_losses(const double* losses):
    cdef int i
    return tuple([losses[i] for i in range(N_LOSSES)])


cdef tuple sentence_evidence(grounded_work_t* work, const piece_t* piece, int64_t sentence):
    cdef const row_words_t* words = &work.words
    cdef const sentence_t* cut = &words.sentences.items[sentence]
    cdef const support_t* support = &work.claims.supports[sentence]
    cdef int64_t chunk = support.where.chunk
    cdef int64_t first = piece.first + cut.first, last = piece.first + cut.last
    numbers, names = missing_figures(&work.claims, words, piece, first, last)
    window = contradiction = None
    if support.where.n_found:
        window = original_span(words, &work.chunks[chunk],
                               words.spans[support.where.first].begin,
                               words.spans[support.where.last].end)
    if support.number >= 0:
        contradiction = word_text(words, support.number), word_text(words, support.against)
    return (
        original_span(words, piece, cut.begin, cut.end), support.score,
        chunk if support.where.n_found else None, window, support.window, numbers, contradiction,
        names, far_names(work, first, last), bool(cut.is_label or cut.leads_in),
        all_losses(support.losses),
    )


cdef list piece_evidence(grounded_work_t* work, const piece_t* piece):
    cdef int64_t i
    return [sentence_evidence(work, piece, i)
            for i in range(piece.first_sentence, piece.last_sentence)]


cdef int score_precision_again(grounded_work_t* work) noexcept nogil:
    """Relevance of every chunk to the question as context_precision reads it; 0, or -1."""
    cdef query_t query = work.question_query
    if reserve(<void**> &work.other_scores, &work.other_scores_capacity, work.n_chunks,
               sizeof(double)):
        return -1
    if count_terms(&work.relevance, &work.claims, &work.words, work.chunks, work.n_chunks):
        return -1
    if work.precision_truth >= 0 and read_with_truth(work, work.precision_truth, &query):
        return -1
    return score_with(work, &query, work.chunks, work.n_chunks, work.chunk_begins,
                      work.other_scores)


cdef int hold_again(grounded_work_t* work) noexcept nogil:
    """Hold all chunks against the claims, and the question as context_precision reads it, again.

    Metrics that hold other texts against each other have used the place.
    """
    cdef double[8] losses
    if sift_chunks(&work.claims, &work.words, work.chunks, work.n_chunks):
        return -1
    if work.has_precision and score_precision_again(work):
        return -1
    if work.has_support and support_piece(&work.claims, &work.words, &work.answer,
                                          work.chunk_begins, work.n_chunks, losses):
        return -1
    if work.has_recall and support_piece(
            &work.claims, &work.words, &work.truths[work.best_truth], work.chunk_begins,
            work.n_chunks, losses):
        return -1
    return 0


def row_details(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const offset_t[::1] row_truths,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts, const uint8_t[::1] given, const int8_t[::1] languages,
    const uint8_t[::1] word_bytes, const offset_t[::1] word_offsets,
    const uint8_t[::1] stem_bytes, const offset_t[::1] stem_offsets,
    const double[::1] weights, const int64_t[::1] metrics, hash_t seed, Py_ssize_t row,
    const uint8_t[::1] stop=None,
):
    """Score one row and give what its scores are made of.

    Returns ``(scores, reasons, causes, language, chunk_scores, precision_scores, answer,
    best_truth, truth, losses, refusal)``: by metric number; the language's number; relevance of
    each chunk to the question, and to it read with the ground truth that context_precision took,
    or None; per sentence of the answer ``(span, score, chunk, window, covered, missing_numbers,
    contradiction, missing_names, far_names, no_claim, losses)``, spans in code points of the
    original strings, or None; the index of the ground truth that context_recall took, or None, and
    its sentences; the losses of the answer as faithfulness pools them, or None; of an answer that
    declines whether it does nothing else, and whether a relevant chunk was there, or None.
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
    cdef int64_t i
    cdef const uint8_t* flag = stop_flag(stop)
    cdef int failed
    read_wants(metrics, wants)
    with nogil:
        open_grounded(&work, seed, flag)
        work.weights = &weights[0]
        work.keeps_evidence = work.words.cleaner.keep_origins = True
        failed = give_stems(&work.words.given_stems, &stem_words, &stems, n_given, seed)
        if not failed:
            failed = score_row(&work, &columns, wants, row)
        if not failed:
            failed = hold_again(&work)
    try:
        if failed:
            raise_failure("scoring a row", flag)
        truth = work.truths[work.best_truth].index if work.has_recall else None
        return (
            [work.scores[i] for i in range(N_METRICS)],
            [work.causes[i].reason for i in range(N_METRICS)],
            [work.causes[i].cause for i in range(N_METRICS)],
            work.words.language,
            [work.chunk_scores[i] for i in range(work.n_chunks)]
            if work.has_chunk_scores else None,
            [work.other_scores[i] for i in range(work.n_chunks)]
            if work.has_precision else None,
            piece_evidence(&work, &work.answer) if work.has_support else None,
            truth,
            piece_evidence(&work, &work.truths[work.best_truth]) if work.has_recall else None,
            all_losses(work.losses) if work.has_claims else None,
            (work.only_refuses != 0, work.answerable != 0) if work.declines else None,
        )
    finally:
        close_grounded(&work)


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
    cdef const form_t* form
    found = {}
    open_grounded(&work, seed, NULL)
    try:
        for row in range(begin, end):
            with nogil:
                failed = read_row(&work, &columns, row)
            if failed:
                raise MemoryError("reading a row")
            words = found.setdefault(work.words.language, set())
            for i in range(work.words.lexicon.n_forms):
                form = &work.words.lexicon.forms[i]
                words.add(form_bytes(&work.words.lexicon, form.raw)[
                    :form_size(&work.words.lexicon, form.raw)])
        return found
    finally:
        close_grounded(&work)
