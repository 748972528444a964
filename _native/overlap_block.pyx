"""One block of rows, overlap profile: each text cut once, then every requested metric."""
from libc.stdlib cimport free
from libc.string cimport memchr, memset

from context_overlap cimport (
    add_probe, clear_probes, close_probes, finish_probes, index_probes, open_probes,
    overlap_sizes_t, probes_t, rank_probes, share, share_longer, weighted_overlap,
)
from ngram_sets cimport (
    begin_tally, clear_grams, count_of, grams_t, jaccard, shared_ids, tally_ids, tally_t,
    widen_tally,
)
from primitives cimport (
    first_byte, hash_t, int64_t, offset_t, reserve, span_t, token_t, uint8_t,
)
from sentence_spans cimport next_sentence
from tfidf_rows cimport pair_cosine
from token_stream cimport (
    append_tokens, best_block_cutter, clear_vocabulary, close_vocabulary, cutter_t,
    lowered_t, seed_vocabulary, token_ids_t, vocabulary_t,
)

# Metrics and null reasons by number, in the order of rag_eval.samples.
cdef enum:
    FAITHFULNESS, ANSWER_RELEVANCE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE
    ANSWER_CORRECTNESS, HALLUCINATION_RATE, N_METRICS

cdef enum:
    MEASURED, MISSING_FIELD


cdef struct text_t:
    const uint8_t* bytes
    int64_t size


cdef struct texts_t:
    const uint8_t* bytes
    const offset_t* offsets


cdef struct columns_t:
    texts_t question
    texts_t answer
    texts_t truth
    texts_t contexts
    const offset_t* row_contexts   # contexts of row r: row_contexts[r] to row_contexts[r + 1]


cdef struct options_t:
    overlap_sizes_t sizes
    double chunk_relevance_threshold
    double claim_support_threshold
    double sentence_coverage_threshold
    double ngram_weight
    double tfidf_weight
    bint wants[7]


cdef struct counted_t:
    int64_t begin          # tokens of the text: ids[begin:end]
    int64_t end
    tally_t tally
    token_t* distinct
    int64_t distinct_capacity
    int64_t n_distinct


cdef struct workspace_t:
    cutter_t cutter
    lowered_t lowered
    vocabulary_t vocabulary
    grams_t grams
    tally_t grams_tally
    token_ids_t tokens         # of question, answer and ground truth
    token_ids_t context_tokens
    counted_t question
    counted_t answer
    counted_t truth
    counted_t context
    span_t* answer_sentences   # byte spans
    int64_t answer_sentences_capacity
    int64_t n_answer_sentences
    span_t* truth_sentences
    int64_t truth_sentences_capacity
    int64_t n_truth_sentences
    int64_t answer_probe       # first probe of the answer's sentences
    int64_t truth_probe
    probes_t probes
    double* chunk_tfidf
    int64_t chunk_tfidf_capacity
    double* chunk_overlap
    int64_t chunk_overlap_capacity
    double tfidf_part          # of answer_relevance
    double overlap_part
    double f1_part             # of answer_correctness
    double truth_overlap_part
    double scores[7]
    uint8_t reasons[7]


cdef inline text_t text_at(const texts_t* column, int64_t index) noexcept nogil:
    cdef text_t text
    text.size = column.offsets[index + 1] - column.offsets[index]
    text.bytes = column.bytes + column.offsets[index] if text.size else NULL
    return text


cdef int64_t table_size(int64_t n_bytes) noexcept nogil:
    """Slots for the distinct tokens of a row: a power of two; tables double when it is too few."""
    cdef int64_t n_slots = 64
    while n_slots * 4 < n_bytes:
        n_slots *= 2
    return n_slots


cdef int64_t row_bytes(const columns_t* columns, int64_t row) noexcept nogil:
    cdef int64_t first = columns.row_contexts[row], last = columns.row_contexts[row + 1]
    return (columns.contexts.offsets[last] - columns.contexts.offsets[first]
            + text_at(&columns.question, row).size + text_at(&columns.answer, row).size
            + text_at(&columns.truth, row).size)


# ----------------------------------------------------------------------- the row's short texts

cdef bint has_bom(text_t text) noexcept nogil:
    """The text may hold U+FEFF: white space that a final sigma looks past.

    Cut sentence by sentence, the tokens beside it can differ from those of the whole text.
    """
    return text.size > 0 and memchr(text.bytes, 0xEF, <size_t> text.size) != NULL


cdef int cut_whole(workspace_t* work, text_t text, counted_t* counted) noexcept nogil:
    counted.begin = work.tokens.size
    if append_tokens(&work.cutter, &work.lowered, &work.vocabulary, &work.tokens,
                     text.bytes, text.size):
        return -1
    counted.end = work.tokens.size
    return 0


cdef int cut_sentences(workspace_t* work, text_t text, counted_t* counted, span_t** sentences,
                       int64_t* capacity, int64_t* n_sentences, bint as_probes,
                       bint weighted) noexcept nogil:
    """Cut a text sentence by sentence; their tokens end to end are the text's own."""
    cdef int64_t at = 0, begin
    cdef span_t span
    n_sentences[0] = 0
    counted.begin = work.tokens.size
    while next_sentence(text.bytes, text.size, &at, &span):
        if reserve(<void**> sentences, capacity, n_sentences[0] + 1, sizeof(span_t)):
            return -1
        sentences[0][n_sentences[0]] = span
        n_sentences[0] += 1
        begin = work.tokens.size
        if append_tokens(&work.cutter, &work.lowered, &work.vocabulary, &work.tokens,
                         text.bytes + span.begin, span.end - span.begin):
            return -1
        if as_probes and add_probe(&work.probes, begin, work.tokens.size, weighted):
            return -1
    counted.end = work.tokens.size
    return 0


cdef int count_tokens(counted_t* counted, const token_t* ids, int64_t n_ids) noexcept nogil:
    """Tally the text's tokens and list the distinct ones; 0, or -1 without memory."""
    cdef int64_t n_tokens = counted.end - counted.begin
    if begin_tally(&counted.tally, n_ids):
        return -1
    if reserve(<void**> &counted.distinct, &counted.distinct_capacity, n_tokens + 1,
               sizeof(token_t)):
        return -1
    counted.n_distinct = tally_ids(&counted.tally, ids + counted.begin, n_tokens,
                                   counted.distinct)
    return 0


cdef int cut_short_texts(workspace_t* work, const columns_t* columns, const options_t* options,
                         int64_t row) noexcept nogil:
    """Question, answer and ground truth: tokens, sentences, counts and probes."""
    cdef bint has_contexts = columns.row_contexts[row] < columns.row_contexts[row + 1]
    cdef bint claims = options.wants[FAITHFULNESS] or options.wants[HALLUCINATION_RATE]
    cdef probes_t* probes = &work.probes
    cdef int64_t n_ids
    clear_probes(probes)
    if cut_whole(work, text_at(&columns.question, row), &work.question):
        return -1
    if options.wants[CONTEXT_RELEVANCE] and has_contexts:
        if add_probe(probes, work.question.begin, work.question.end, True):
            return -1
    work.answer_probe = probes.n_probes
    if cut_sentences(work, text_at(&columns.answer, row), &work.answer, &work.answer_sentences,
                     &work.answer_sentences_capacity, &work.n_answer_sentences,
                     claims and has_contexts, options.wants[FAITHFULNESS]):
        return -1
    work.truth_probe = probes.n_probes
    if cut_sentences(work, text_at(&columns.truth, row), &work.truth, &work.truth_sentences,
                     &work.truth_sentences_capacity, &work.n_truth_sentences,
                     options.wants[CONTEXT_RECALL] and has_contexts, False):
        return -1
    if has_bom(text_at(&columns.answer, row)) and cut_whole(
            work, text_at(&columns.answer, row), &work.answer):
        return -1
    if has_bom(text_at(&columns.truth, row)) and cut_whole(
            work, text_at(&columns.truth, row), &work.truth):
        return -1
    n_ids = work.vocabulary.n_tokens
    if count_tokens(&work.question, work.tokens.ids, n_ids):
        return -1
    if count_tokens(&work.answer, work.tokens.ids, n_ids):
        return -1
    if count_tokens(&work.truth, work.tokens.ids, n_ids):
        return -1
    if probes.n_probes:
        return index_probes(probes, work.tokens.ids, n_ids, &work.grams, &work.grams_tally)
    return 0


# ---------------------------------------------------------------------------------- contexts

cdef int compare_context(workspace_t* work, const options_t* options, text_t text,
                         int64_t index) noexcept nogil:
    """Hold context ``index`` of the row against the question and the probes."""
    cdef counted_t* context = &work.context
    cdef probes_t* probes = &work.probes
    work.context_tokens.size = 0
    if append_tokens(&work.cutter, &work.lowered, &work.vocabulary, &work.context_tokens,
                     text.bytes, text.size):
        return -1
    context.begin = 0
    context.end = work.context_tokens.size
    if count_tokens(context, work.context_tokens.ids, work.vocabulary.n_tokens):
        return -1
    if options.wants[CONTEXT_PRECISION]:
        if widen_tally(&work.question.tally, work.vocabulary.n_tokens):
            return -1
        work.chunk_tfidf[index] = pair_cosine(
            &work.question.tally, work.question.distinct, work.question.n_distinct,
            work.question.end - work.question.begin,
            &context.tally, context.distinct, context.n_distinct, context.end)
    if probes.n_probes == 0:
        return 0
    probes.kinds[0].n_context = context.n_distinct
    if share(probes, &probes.kinds[0], context.distinct, context.n_distinct, True):
        return -1
    if probes.n_weighted and share_longer(
            probes, work.context_tokens.ids, context.end, context.distinct, context.n_distinct,
            work.vocabulary.n_tokens, &work.grams, &work.grams_tally):
        return -1
    if options.wants[CONTEXT_RELEVANCE]:
        work.chunk_overlap[index] = weighted_overlap(probes, &options.sizes, 0, context.end)
    rank_probes(probes, &options.sizes, context.end)
    return 0


cdef int compare_contexts(workspace_t* work, const columns_t* columns, const options_t* options,
                          int64_t row) noexcept nogil:
    cdef int64_t first = columns.row_contexts[row], last = columns.row_contexts[row + 1], index
    cdef bint precision = options.wants[CONTEXT_PRECISION]
    if reserve(<void**> &work.chunk_tfidf, &work.chunk_tfidf_capacity, last - first,
               sizeof(double)):
        return -1
    if reserve(<void**> &work.chunk_overlap, &work.chunk_overlap_capacity, last - first,
               sizeof(double)):
        return -1
    if not precision and work.probes.n_probes == 0:
        return 0
    for index in range(first, last):
        if compare_context(work, options, text_at(&columns.contexts, index), index - first):
            return -1
    finish_probes(&work.probes, &options.sizes)
    return 0


# ------------------------------------------------------------------------------------ metrics

cdef double mean_of(const double* values, int64_t n_values) noexcept nogil:
    cdef double total = 0.0
    cdef int64_t i
    for i in range(n_values):
        total += values[i]
    return total / <double> n_values


cdef int64_t count_from(const double* values, int64_t n_values, double threshold) noexcept nogil:
    """How many values reach the threshold."""
    cdef int64_t reached = 0, i
    for i in range(n_values):
        reached += values[i] >= threshold
    return reached


cdef double answer_relevance(workspace_t* work, const options_t* options) noexcept nogil:
    cdef counted_t* question = &work.question
    cdef counted_t* answer = &work.answer
    work.tfidf_part = pair_cosine(
        &question.tally, question.distinct, question.n_distinct, question.end - question.begin,
        &answer.tally, answer.distinct, answer.n_distinct, answer.end - answer.begin)
    work.overlap_part = jaccard(
        question.n_distinct, answer.n_distinct,
        shared_ids(&question.tally, answer.distinct, answer.n_distinct))
    return (options.tfidf_weight * work.tfidf_part + options.ngram_weight * work.overlap_part) / (
        options.tfidf_weight + options.ngram_weight)


cdef double token_f1(counted_t* truth, counted_t* answer) noexcept nogil:
    """Harmonic mean of token precision and recall, tokens counted with repeats (SQuAD)."""
    cdef int64_t common = 0, i
    cdef double precision, recall
    for i in range(truth.n_distinct):
        common += min(count_of(&truth.tally, truth.distinct[i]),
                      count_of(&answer.tally, truth.distinct[i]))
    if common == 0:
        return 0.0
    precision = <double> common / <double> (answer.end - answer.begin)
    recall = <double> common / <double> (truth.end - truth.begin)
    return 2.0 * precision * recall / (precision + recall)


cdef double answer_correctness(workspace_t* work) noexcept nogil:
    work.f1_part = token_f1(&work.truth, &work.answer)
    work.truth_overlap_part = jaccard(
        work.truth.n_distinct, work.answer.n_distinct,
        shared_ids(&work.truth.tally, work.answer.distinct, work.answer.n_distinct))
    return 0.7 * work.f1_part + 0.3 * work.truth_overlap_part


cdef void score_claims(workspace_t* work, const options_t* options,
                       int64_t n_contexts) noexcept nogil:
    """faithfulness and hallucination_rate, from the best overlaps of the answer's sentences."""
    cdef int64_t n_sentences = work.n_answer_sentences, unsupported
    work.scores[<int> FAITHFULNESS] = 0.0
    work.scores[<int> HALLUCINATION_RATE] = 0.0
    if n_contexts == 0:
        return
    if n_sentences == 0:
        # The documented score of an empty answer; the system mirrored gives 0.
        work.scores[<int> HALLUCINATION_RATE] = 1.0
        return
    if options.wants[FAITHFULNESS]:
        work.scores[<int> FAITHFULNESS] = mean_of(
            work.probes.best_weighted + work.answer_probe, n_sentences)
    if options.wants[HALLUCINATION_RATE]:
        unsupported = n_sentences - count_from(
            work.probes.best_unigram + work.answer_probe, n_sentences,
            options.claim_support_threshold)
        work.scores[<int> HALLUCINATION_RATE] = (
            1.0 - <double> unsupported / <double> n_sentences)


cdef void score_chunks(workspace_t* work, const options_t* options,
                       int64_t n_contexts) noexcept nogil:
    """context_precision and context_relevance, from each chunk's nearness to the question."""
    work.scores[<int> CONTEXT_PRECISION] = 0.0
    work.scores[<int> CONTEXT_RELEVANCE] = 0.0
    if n_contexts == 0:
        return
    if options.wants[CONTEXT_PRECISION]:
        work.scores[<int> CONTEXT_PRECISION] = mean_of(work.chunk_tfidf, n_contexts)
    if options.wants[CONTEXT_RELEVANCE]:
        work.scores[<int> CONTEXT_RELEVANCE] = <double> count_from(
            work.chunk_overlap, n_contexts, options.chunk_relevance_threshold
        ) / <double> n_contexts


cdef void score_truth(workspace_t* work, const options_t* options, bint has_truth,
                      int64_t n_contexts) noexcept nogil:
    """context_recall and answer_correctness; null without a ground truth."""
    cdef int64_t n_sentences = work.n_truth_sentences
    work.scores[<int> CONTEXT_RECALL] = work.scores[<int> ANSWER_CORRECTNESS] = 0.0
    if not has_truth:
        work.reasons[<int> CONTEXT_RECALL] = MISSING_FIELD
        work.reasons[<int> ANSWER_CORRECTNESS] = MISSING_FIELD
        return
    if options.wants[CONTEXT_RECALL] and n_sentences and n_contexts:
        work.scores[<int> CONTEXT_RECALL] = <double> count_from(
            work.probes.best_unigram + work.truth_probe, n_sentences,
            options.sentence_coverage_threshold) / <double> n_sentences
    if options.wants[ANSWER_CORRECTNESS]:
        work.scores[<int> ANSWER_CORRECTNESS] = answer_correctness(work)


cdef int score_row(workspace_t* work, const columns_t* columns, const options_t* options,
                   int64_t row) noexcept nogil:
    """All requested metrics of one row into the workspace; 0, or -1 without memory."""
    cdef int64_t n_contexts = columns.row_contexts[row + 1] - columns.row_contexts[row]
    cdef int64_t n_slots = table_size(row_bytes(columns, row))
    work.lowered.size = work.tokens.size = 0
    if clear_vocabulary(&work.vocabulary, n_slots) or clear_grams(&work.grams, n_slots):
        return -1
    if cut_short_texts(work, columns, options, row):
        return -1
    if compare_contexts(work, columns, options, row):
        return -1
    memset(work.reasons, MEASURED, sizeof(work.reasons))
    if options.wants[ANSWER_RELEVANCE]:
        work.scores[<int> ANSWER_RELEVANCE] = answer_relevance(work, options)
    score_claims(work, options, n_contexts)
    score_chunks(work, options, n_contexts)
    score_truth(work, options, text_at(&columns.truth, row).size > 0, n_contexts)
    return 0


# ---------------------------------------------------------------------------------- the door

cdef int open_workspace(workspace_t* work, const options_t* options,
                        hash_t seed) noexcept nogil:
    memset(work, 0, sizeof(workspace_t))
    work.cutter.cut_block = best_block_cutter()
    seed_vocabulary(&work.vocabulary, seed)
    work.grams.seed = seed
    return open_probes(&work.probes, &options.sizes)


cdef void close_workspace(workspace_t* work) noexcept nogil:
    cdef counted_t* counted[4]
    cdef int i
    counted[0], counted[1] = &work.question, &work.answer
    counted[2], counted[3] = &work.truth, &work.context
    for i in range(4):
        free(counted[i].tally.cells)
        free(counted[i].distinct)
    free(work.lowered.bytes)
    close_vocabulary(&work.vocabulary)
    free(work.grams.slots)
    free(work.grams_tally.cells)
    free(work.tokens.ids)
    free(work.context_tokens.ids)
    free(work.answer_sentences)
    free(work.truth_sentences)
    close_probes(&work.probes)
    free(work.chunk_tfidf)
    free(work.chunk_overlap)


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
            scores[row, i] = work.scores[metric]
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
):
    """Fill rows ``[begin, end)`` of scores and null reasons, one column per metric number.

    An empty ground truth counts as none. ``numbers``: chunk relevance, claim support and sentence
    coverage thresholds, n-gram and TF-IDF weights. A null score is left 0 with its reason set.
    """
    cdef columns_t columns = read_columns(
        question_bytes, question_offsets, answer_bytes, answer_offsets, truth_bytes,
        truth_offsets, context_bytes, context_offsets, row_contexts)
    cdef options_t options = read_options(metrics, windows, needs, weights, numbers)
    cdef workspace_t work
    cdef int failed
    with nogil:
        failed = open_workspace(&work, &options, seed)
        if not failed:
            failed = score_rows(&work, &columns, &options, begin, end, metrics, scores, reasons)
        close_workspace(&work)
    if failed:
        raise MemoryError("scoring a block of rows")


def row_details(
    const uint8_t[::1] question_bytes, const offset_t[::1] question_offsets,
    const uint8_t[::1] answer_bytes, const offset_t[::1] answer_offsets,
    const uint8_t[::1] truth_bytes, const offset_t[::1] truth_offsets,
    const uint8_t[::1] context_bytes, const offset_t[::1] context_offsets,
    const offset_t[::1] row_contexts,
    const int64_t[::1] metrics, const int64_t[::1] windows, const int64_t[::1] needs,
    const double[::1] weights, const double[::1] numbers, hash_t seed, Py_ssize_t row,
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
    cdef int failed
    with nogil:
        failed = open_workspace(&work, &options, seed)
        if not failed:
            failed = score_row(&work, &columns, &options, row)
    try:
        if failed:
            raise MemoryError("scoring a row")
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
