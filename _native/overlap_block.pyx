"""Blocks of rows, overlap profile: the way from Python buffers to the rows and back."""
from libc.math cimport NAN
from libc.string cimport memset

from overlap_row cimport (
    FAITHFULNESS, HALLUCINATION_RATE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE,
    N_METRICS, close_workspace, columns_t, open_workspace, options_t, score_row, workspace_t,
)
from primitives cimport first_byte, hash_t, int64_t, offset_t, texts_t, uint8_t
from probes cimport probes_t
from stopping cimport raise_failure, stop_flag


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
    const uint8_t[::1] stop=None,
):
    """Fill rows ``[begin, end)`` of scores and null reasons, one column per metric number.

    An empty ground truth counts as none. ``numbers``: chunk relevance, claim support and sentence
    coverage thresholds, n-gram and TF-IDF weights. A null score is NaN.
    ``stop`` ends it early, by an InterruptedError, once its byte is not 0.
    """
    cdef columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, context_bytes, context_offsets, row_contexts)
    cdef options_t options = read_options(metrics, windows, needs, weights, numbers)
    cdef workspace_t work
    cdef const uint8_t* flag = stop_flag(stop)
    cdef int failed
    with nogil:
        failed = open_workspace(&work, &options, seed, flag)
        if not failed:
            failed = score_rows(&work, &columns, &options, begin, end, metrics, scores, reasons)
        close_workspace(&work)
    if failed:
        raise_failure("scoring a block of rows", flag)


def row_details(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts,
    const int64_t[::1] metrics, const int64_t[::1] windows, const int64_t[::1] needs,
    const double[::1] weights, const double[::1] numbers, hash_t seed, Py_ssize_t row,
    const uint8_t[::1] stop=None,
):
    """Score one row and give what its scores are made of.

    Returns ``(scores, reasons, answer_spans, support, overlap, coverage, chunk_tfidf,
    chunk_overlap, parts)``: scores and reasons by metric number; byte spans of the answer's
    sentences with their best weighted and unigram overlap; best unigram overlap of the ground
    truth's sentences; both per chunk; and TF-IDF and overlap of answer_relevance, F1 and overlap of
    answer_correctness. Lists of metrics that were not asked for are empty.
    """
    cdef columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, context_bytes, context_offsets, row_contexts)
    cdef options_t options = read_options(metrics, windows, needs, weights, numbers)
    cdef workspace_t work
    cdef int64_t n_contexts = row_contexts[row + 1] - row_contexts[row], i
    cdef probes_t* probes = &work.probes
    cdef const uint8_t* flag = stop_flag(stop)
    cdef int failed
    with nogil:
        failed = open_workspace(&work, &options, seed, flag)
        if not failed:
            failed = score_row(&work, &columns, &options, row)
    try:
        if failed:
            raise_failure("scoring a row", flag)
        has_claims = probes.n_probes and (
            options.wants[FAITHFULNESS] or options.wants[HALLUCINATION_RATE])
        n_claims = work.n_answer_sentences if has_claims else 0
        n_truths = (work.n_truth_sentences
                    if probes.n_probes and options.wants[CONTEXT_RECALL] else 0)
        return (
            [work.scores[i] for i in range(N_METRICS)],
            [work.reasons[i] for i in range(N_METRICS)],
            [(work.answer_sentences[i].begin, work.answer_sentences[i].end)
             for i in range(work.n_answer_sentences)],
            [probes.best_weighted[work.answer_probe + i] for i in range(n_claims)]
            if options.wants[FAITHFULNESS] else [],
            [probes.best_unigram[work.answer_probe + i] for i in range(n_claims)],
            [probes.best_unigram[work.truth_probe + i] for i in range(n_truths)],
            [work.chunk_tfidf[i] for i in range(n_contexts)]
            if options.wants[CONTEXT_PRECISION] else [],
            [work.chunk_overlap[i] for i in range(n_contexts)]
            if options.wants[CONTEXT_RELEVANCE] else [],
            (work.tfidf_part, work.overlap_part, work.f1_part, work.truth_overlap_part),
        )
    finally:
        close_workspace(&work)
