"""Blocks of rows, overlap profile: the way from Python buffers to the rows and back."""
from cpython.bytes cimport PyBytes_AS_STRING
from libc.math cimport NAN
from libc.string cimport memset

from byte_arrays cimport first_byte
from kept_details cimport (
    begin_row, close_kept, keep_list, keep_number, keep_oddness, keep_values, kept_bytes, kept_t,
    open_kept, seek_row, taken_list, taken_number, taken_values,
)
from outcomes cimport (
    CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE, FAITHFULNESS, HALLUCINATION_RATE,
    N_OVERLAP_METRICS,
)
from overlap_row cimport (
    close_workspace, columns_t, open_workspace, options_t, score_row, workspace_t,
)
from primitives cimport hash_t, int64_t, offset_t, span_t, texts_t, uint8_t
from probes cimport NO_CONTEXT, probes_t
from stopping cimport new_stop, raise_failure, stop_t


cdef int score_rows(workspace_t* work, const columns_t* columns, const options_t* options,
                    Py_ssize_t begin, Py_ssize_t end, const int64_t[::1] metrics,
                    double[:, ::1] scores, uint8_t[:, ::1] reasons) noexcept nogil:
    cdef Py_ssize_t row, i
    cdef int64_t metric
    for row in range(begin, end):
        if score_row(work, columns, options, row):
            return -1
        for i in range(metrics.shape[0]):
            metric = metrics[i]
            reasons[row, i] = work.reasons[metric]
            scores[row, i] = NAN if work.reasons[metric] else work.scores[metric]
    return 0


cdef options_t read_options(
    const int64_t[::1] metrics, const int64_t[::1] windows, const int64_t[::1] needs,
    const double[::1] weights, const double[::1] numbers,
):
    cdef options_t options
    cdef Py_ssize_t i
    memset(&options, 0, sizeof(options_t))
    options.sizes.n_sizes = windows.shape[0]
    if windows.shape[0]:
        options.sizes.windows = &windows[0]
        options.sizes.needs = &needs[0]
        options.sizes.weights = &weights[0]
    options.chunk_relevance_threshold = numbers[0]
    options.claim_support_threshold = numbers[1]
    options.sentence_coverage_threshold = numbers[2]
    options.ngram_weight = numbers[3]
    options.tfidf_weight = numbers[4]
    for i in range(metrics.shape[0]):
        options.wants[metrics[i]] = True
    return options


cdef columns_t read_columns(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts,
):
    cdef columns_t columns
    columns.question = texts_t(first_byte(question_bytes), &question_offsets[0])
    columns.answer = texts_t(first_byte(answer_bytes), &answer_offsets[0])
    columns.truth = texts_t(first_byte(truth_bytes), &truth_offsets[0])
    columns.contexts = texts_t(first_byte(context_bytes), &context_offsets[0])
    columns.row_contexts = &row_contexts[0]
    return columns


def score_block(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts,
    const int64_t[::1] metrics, const int64_t[::1] windows, const int64_t[::1] needs,
    const double[::1] weights, const double[::1] numbers, hash_t seed,
    Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, uint8_t[:, ::1] reasons,
    const uint8_t[::1] stop=None, bint handles_signals=False,
):
    """Fill rows ``[begin, end)`` of scores and null reasons, one column per metric number.

    An empty ground truth counts as none. ``numbers``: chunk relevance, claim support and sentence
    coverage thresholds, n-gram and TF-IDF weights. A null score is NaN.
    ``stop`` ends it early, by an InterruptedError, once its byte is not 0. With
    ``handles_signals``, an exception from a signal handler ends it too.
    """
    cdef columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, context_bytes, context_offsets, row_contexts)
    cdef options_t options = read_options(metrics, windows, needs, weights, numbers)
    cdef workspace_t work
    cdef stop_t ending = new_stop(stop, handles_signals)
    cdef int failed
    with nogil:
        failed = open_workspace(&work, &options, seed, ending)
        if not failed:
            failed = score_rows(&work, &columns, &options, begin, end, metrics, scores, reasons)
        close_workspace(&work)
    if failed:
        raise_failure("scoring a block of rows", &work.stop)


cdef int keep_numbers(kept_t* kept, const int64_t* numbers, int64_t n) noexcept nogil:
    """So many numbers, and how many they are; 0, or -1 without memory."""
    cdef int64_t i
    if keep_number(kept, n):
        return -1
    for i in range(n):
        if keep_number(kept, numbers[i]):
            return -1
    return 0


cdef int keep_spans(kept_t* kept, const span_t* spans, int64_t n) noexcept nogil:
    """So many spans, and how many they are; 0, or -1 without memory."""
    cdef int64_t i
    if keep_number(kept, n):
        return -1
    for i in range(n):
        if keep_number(kept, spans[i].begin) or keep_number(kept, spans[i].end):
            return -1
    return 0


cdef list taken_spans(kept_t* kept):
    return [(taken_number(kept), taken_number(kept)) for _ in range(taken_number(kept))]


cdef list taken_places(kept_t* kept):
    """Numbers, None in the place of one that is absent."""
    cdef int64_t place
    found = []
    for _ in range(taken_number(kept)):
        place = taken_number(kept)
        found.append(None if place == NO_CONTEXT else place)
    return found


cdef int keep_row(kept_t* kept, const workspace_t* work, const options_t* options,
                  int64_t n_contexts) noexcept nogil:
    """What the scores of a row are made of, in the order of ``taken_row``; 0, or -1."""
    cdef const probes_t* probes = &work.probes
    cdef int64_t n_claims = 0, n_truths = 0, i
    cdef double[4] parts
    if probes.n_probes and (options.wants[FAITHFULNESS] or options.wants[HALLUCINATION_RATE]):
        n_claims = work.n_answer_sentences
    if probes.n_probes and options.wants[CONTEXT_RECALL]:
        n_truths = work.n_truth_sentences
    parts[0] = work.tfidf_part
    parts[1] = work.overlap_part
    parts[2] = work.f1_part
    parts[3] = work.truth_overlap_part
    for i in range(N_OVERLAP_METRICS):
        if keep_number(kept, work.reasons[i]):
            return -1
    if keep_spans(kept, work.answer_sentences, work.n_answer_sentences):
        return -1
    if keep_values(kept, work.scores, N_OVERLAP_METRICS):
        return -1
    if keep_list(kept, probes.best_weighted + work.answer_probe,
                 n_claims if options.wants[FAITHFULNESS] else 0):
        return -1
    if keep_list(kept, probes.best_unigram + work.answer_probe, n_claims):
        return -1
    if keep_list(kept, probes.best_unigram + work.truth_probe, n_truths):
        return -1
    if keep_list(kept, work.chunk_tfidf, n_contexts if options.wants[CONTEXT_PRECISION] else 0):
        return -1
    if keep_list(kept, work.chunk_overlap,
                 n_contexts if options.wants[CONTEXT_RELEVANCE] else 0):
        return -1
    if keep_values(kept, parts, 4) or keep_oddness(kept):
        return -1
    # What the words of a row do not say comes last, so that their writers need not pass it.
    if keep_spans(kept, work.truth_sentences, work.n_truth_sentences):
        return -1
    if keep_numbers(kept, probes.noted_context + work.answer_probe,
                    n_claims if options.wants[FAITHFULNESS] else 0):
        return -1
    return keep_numbers(kept, probes.noted_context + work.truth_probe, n_truths)


cdef tuple taken_row(kept_t* kept):
    """A row that was kept; a tuple's parts are taken in their order."""
    reasons = [taken_number(kept) for _ in range(N_OVERLAP_METRICS)]
    spans = taken_spans(kept)
    return (
        taken_values(kept, N_OVERLAP_METRICS), reasons, spans, taken_list(kept), taken_list(kept),
        taken_list(kept), taken_list(kept), taken_list(kept), tuple(taken_values(kept, 4)),
        taken_number(kept) != 0, taken_spans(kept), taken_places(kept), taken_places(kept),
    )


cdef int score_kept_rows(workspace_t* work, const columns_t* columns, const options_t* options,
                         Py_ssize_t begin, Py_ssize_t end, const int64_t[::1] metrics,
                         double[:, ::1] scores, uint8_t[:, ::1] reasons,
                         kept_t* kept) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(begin, end):
        # What no metric of the row asks for is 0, and not what it was for the row before.
        memset(work.scores, 0, sizeof(work.scores))
        work.tfidf_part = work.overlap_part = work.f1_part = work.truth_overlap_part = 0.0
        if begin_row(kept):
            return -1
        if score_rows(work, columns, options, row, row + 1, metrics, scores, reasons):
            return -1
        if keep_row(kept, work, options, columns.row_contexts[row + 1] - columns.row_contexts[row]):
            return -1
    return 0


def explained_block(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts,
    const int64_t[::1] metrics, const int64_t[::1] windows, const int64_t[::1] needs,
    const double[::1] weights, const double[::1] numbers, hash_t seed,
    Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, uint8_t[:, ::1] reasons,
    const uint8_t[::1] stop=None, bint handles_signals=False,
):
    """As ``score_block``, and give what the scores of each row are made of.

    Returns four bytes: numbers, values and texts of all rows, and where each row begins in them, as
    three numbers. ``kept_row`` takes a row out of them.
    """
    cdef columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, context_bytes, context_offsets, row_contexts)
    cdef options_t options = read_options(metrics, windows, needs, weights, numbers)
    cdef workspace_t work
    cdef kept_t kept
    cdef stop_t ending = new_stop(stop, handles_signals)
    cdef int failed
    memset(&kept, 0, sizeof(kept_t))
    with nogil:
        failed = open_workspace(&work, &options, seed, ending)
        if not failed:
            work.probes.notes_contexts = True
            failed = score_kept_rows(&work, &columns, &options, begin, end, metrics, scores,
                                     reasons, &kept)
        close_workspace(&work)
    try:
        if failed:
            raise_failure("scoring a block of rows", &work.stop)
        return kept_bytes(&kept)
    finally:
        close_kept(&kept)


def kept_row(bytes numbers, bytes values, bytes texts, int64_t number, int64_t value,
             int64_t text):
    """A row that ``explained_block`` kept, which begins at those places.

    Returns ``(scores, reasons, answer_spans, support, overlap, coverage, chunk_tfidf,
    chunk_overlap, parts, is_odd, truth_spans, support_chunks, coverage_chunks)``: scores and
    reasons by metric number; byte spans of the answer's sentences with their best weighted and
    unigram overlap; best unigram overlap of the ground truth's sentences; both per chunk;
    TF-IDF and overlap of answer_relevance, F1 and overlap of answer_correctness; whether a value
    of the row is so small or large that writers of JSON have several forms for it; byte spans
    of the ground truth's sentences; and for each support and coverage the first context that
    gives it, None where it is 0. Lists of metrics that were not asked for are empty.
    """
    cdef kept_t kept
    cdef int64_t[3] row
    row[0], row[1], row[2] = number, value, text
    open_kept(&kept, <const int64_t*> PyBytes_AS_STRING(numbers),
              <const double*> PyBytes_AS_STRING(values),
              <const uint8_t*> PyBytes_AS_STRING(texts))
    seek_row(&kept, row)
    return taken_row(&kept)
