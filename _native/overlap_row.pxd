"""One row, overlap profile: each text cut once, then every requested metric."""
from libc.stdlib cimport free
from libc.string cimport memchr, memset

from context_overlap cimport (
    finish_probes, note_context, note_unshared, rank_probes, share_longer, share_tokens,
    weighted_overlap,
)
from ngram_sets cimport clear_grams, grams_t, tally_t, widen_tally
from outcomes cimport (
    ANSWER_CORRECTNESS, ANSWER_RELEVANCE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE,
    FAITHFULNESS, HALLUCINATION_RATE, MEASURED, MISSING_FIELD, N_OVERLAP_METRICS,
)
from primitives cimport (
    hash_t, int64_t, offset_t, reserve, span_t, text_at, text_t, texts_t, uint8_t,
)
from probes cimport (
    add_probe, clear_probes, close_probes, index_probes, open_probes, overlap_sizes_t, probes_t,
)
from sentence_spans cimport next_sentence
from stopping cimport is_stopped, stop_t
from tfidf_rows cimport pair_cosine
from token_counts cimport close_counts, count_ids, counts_t, distinct_jaccard, token_f1
from token_stream cimport best_block_cutter, cutter_t, lowered_t
from vocabulary cimport (
    append_tokens, clear_vocabulary, close_vocabulary, seed_vocabulary, table_size, token_ids_t,
    vocabulary_t,
)


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
    bint wants[N_OVERLAP_METRICS]


cdef struct counted_t:
    int64_t begin          # tokens of the text: ids[begin:end]
    int64_t end
    counts_t counts


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
    counts_t context
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
    double scores[N_OVERLAP_METRICS]
    uint8_t reasons[N_OVERLAP_METRICS]
    stop_t stop


cdef inline int64_t short_bytes(const columns_t* columns, int64_t row) noexcept nogil:
    """Of the question, the answer and the ground truth."""
    return (text_at(&columns.question, row).size + text_at(&columns.answer, row).size
            + text_at(&columns.truth, row).size)


cdef inline int64_t context_bytes(const columns_t* columns, int64_t row) noexcept nogil:
    cdef int64_t first = columns.row_contexts[row], last = columns.row_contexts[row + 1]
    return columns.contexts.offsets[last] - columns.contexts.offsets[first]


# ----------------------------------------------------------------------- the row's short texts

cdef inline bint has_bom(text_t text) noexcept nogil:
    """The text may hold U+FEFF: white space that a final sigma looks past.

    Cut sentence by sentence, the tokens beside it can differ from those of the whole text.
    """
    return text.size > 0 and memchr(text.bytes, 0xEF, <size_t> text.size) != NULL


cdef inline int cut_whole(workspace_t* work, text_t text, counted_t* counted) noexcept nogil:
    counted.begin = work.tokens.size
    if append_tokens(&work.cutter, &work.lowered, &work.vocabulary, &work.tokens,
                     text.bytes, text.size):
        return -1
    counted.end = work.tokens.size
    return 0


cdef inline int cut_sentences(
    workspace_t* work, text_t text, counted_t* counted, span_t** sentences, int64_t* capacity,
    int64_t* n_sentences, bint as_probes, bint weighted,
) noexcept nogil:
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


cdef inline int count_tokens(workspace_t* work, counted_t* counted) noexcept nogil:
    return count_ids(&counted.counts, work.tokens.ids + counted.begin,
                     counted.end - counted.begin, work.vocabulary.n_tokens)


cdef inline int cut_short_texts(
    workspace_t* work, const columns_t* columns, const options_t* options, int64_t row,
) noexcept nogil:
    """Question, answer and ground truth: tokens, sentences, counts and probes."""
    cdef bint has_contexts = columns.row_contexts[row] < columns.row_contexts[row + 1]
    cdef bint claims = options.wants[FAITHFULNESS] or options.wants[HALLUCINATION_RATE]
    cdef probes_t* probes = &work.probes
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
    if count_tokens(work, &work.question) or count_tokens(work, &work.answer) or count_tokens(
            work, &work.truth):
        return -1
    if probes.n_probes:
        return index_probes(probes, work.tokens.ids, work.vocabulary.n_tokens, &work.grams,
                            &work.grams_tally)
    return 0


# ---------------------------------------------------------------------------------- contexts

cdef inline int compare_context(workspace_t* work, const options_t* options, text_t text,
                                int64_t index) noexcept nogil:
    """Hold context ``index`` of the row against the question and the probes."""
    cdef counts_t* context = &work.context
    cdef probes_t* probes = &work.probes
    work.context_tokens.size = 0
    if append_tokens(&work.cutter, &work.lowered, &work.vocabulary, &work.context_tokens,
                     text.bytes, text.size):
        return -1
    if count_ids(context, work.context_tokens.ids, work.context_tokens.size,
                 work.vocabulary.n_tokens):
        return -1
    if options.wants[<int> CONTEXT_PRECISION]:
        if widen_tally(&work.question.counts.tally, work.vocabulary.n_tokens):
            return -1
        work.chunk_tfidf[index] = pair_cosine(&work.question.counts, context)
    if probes.n_probes == 0:
        return 0
    if share_tokens(probes, context):
        return -1
    if probes.n_weighted and share_longer(
            probes, work.context_tokens.ids, context, &work.grams, &work.grams_tally):
        return -1
    if options.wants[CONTEXT_RELEVANCE]:
        work.chunk_overlap[index] = weighted_overlap(probes, &options.sizes, 0, context.total)
    if probes.notes_contexts and note_context(probes, &options.sizes, context.total, index):
        return -1
    rank_probes(probes, &options.sizes, context.total)
    return 0


cdef inline int compare_contexts(
    workspace_t* work, const columns_t* columns, const options_t* options, int64_t row,
) noexcept nogil:
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
        if is_stopped(&work.stop):
            return -1
        if compare_context(work, options, text_at(&columns.contexts, index), index - first):
            return -1
    finish_probes(&work.probes, &options.sizes)
    if work.probes.notes_contexts:
        note_unshared(&work.probes, &options.sizes)
    return 0


# ------------------------------------------------------------------------------------ metrics

cdef inline double mean_of(const double* values, int64_t n_values) noexcept nogil:
    cdef double total = 0.0
    cdef int64_t i
    for i in range(n_values):
        total += values[i]
    return total / <double> n_values


cdef inline int64_t count_from(const double* values, int64_t n_values,
                               double threshold) noexcept nogil:
    """How many values reach the threshold."""
    cdef int64_t reached = 0, i
    for i in range(n_values):
        reached += values[i] >= threshold
    return reached


cdef inline double answer_relevance(workspace_t* work, const options_t* options) noexcept nogil:
    work.tfidf_part = pair_cosine(&work.question.counts, &work.answer.counts)
    work.overlap_part = distinct_jaccard(&work.question.counts, &work.answer.counts)
    return (options.tfidf_weight * work.tfidf_part + options.ngram_weight * work.overlap_part) / (
        options.tfidf_weight + options.ngram_weight)


cdef inline double answer_correctness(workspace_t* work) noexcept nogil:
    work.f1_part = token_f1(&work.truth.counts, &work.answer.counts)
    work.truth_overlap_part = distinct_jaccard(&work.truth.counts, &work.answer.counts)
    return 0.7 * work.f1_part + 0.3 * work.truth_overlap_part


cdef inline void score_claims(workspace_t* work, const options_t* options,
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


cdef inline void score_chunks(workspace_t* work, const options_t* options,
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


cdef inline void score_truth(workspace_t* work, const options_t* options, bint has_truth,
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


cdef inline int score_row(workspace_t* work, const columns_t* columns, const options_t* options,
                          int64_t row) noexcept nogil:
    """All requested metrics of one row into the workspace; 0, or -1 if it was ended early."""
    cdef int64_t n_contexts = columns.row_contexts[row + 1] - columns.row_contexts[row]
    cdef int64_t n_short = short_bytes(columns, row)
    cdef int64_t n_bytes = n_short + context_bytes(columns, row)
    cdef int64_t n_slots = table_size(n_bytes)
    work.lowered.size = work.tokens.size = 0
    # Few n-grams need a number, those of the short texts: their table begins small, and doubles.
    if clear_vocabulary(&work.vocabulary, n_slots) or clear_grams(&work.grams, n_slots // 8):
        return -1
    # Contexts look at the flag, too; a block may have many rows without any.
    work.stop.pairs = <double> n_short * <double> n_bytes
    if is_stopped(&work.stop):
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


# ---------------------------------------------------------------------------------- workspace

cdef inline int open_workspace(workspace_t* work, const options_t* options, hash_t seed,
                               stop_t stop) noexcept nogil:
    memset(work, 0, sizeof(workspace_t))
    work.stop = stop
    work.cutter.cut_block = best_block_cutter()
    seed_vocabulary(&work.vocabulary, seed)
    work.grams.seed = seed
    return open_probes(&work.probes, &options.sizes, seed)


cdef inline void close_workspace(workspace_t* work) noexcept nogil:
    close_counts(&work.question.counts)
    close_counts(&work.answer.counts)
    close_counts(&work.truth.counts)
    close_counts(&work.context)
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
