"""One row, grounded profile: its texts read as words once, then every requested metric."""
from answer_match cimport begin_match, correctness, end_match
from asked_kinds cimport query_t
from chunk_terms cimport count_terms
from claims cimport RAW_IN_QUESTION, STEM_IN_QUESTION, add_claims, mark_words, sift_chunks
from grounded_diagnostics cimport score_diagnostics
from grounded_nulls cimport opened_t, settle_row, wants_diagnostic
from grounded_texts cimport read_row
from grounded_work cimport grounded_columns_t, grounded_work_t, has_words
from outcomes cimport (
    ANSWER_CORRECTNESS, ANSWER_RELEVANCE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE,
    FAITHFULNESS, HALLUCINATION_RATE,
)
from primitives cimport int64_t, reserve
from relevance cimport (
    RELEVANT, average_precision, drop_query, has_places, list_hits, make_query, query_precision,
    relevant_share, score_chunks, want_stems,
)
from row_words cimport count_content, piece_t
from stopping cimport is_stopped
from support cimport SENTENCE_CUT, shipped_weights, support_piece, weighted_score


cdef inline double share_carried_to_cut(const grounded_work_t* work) noexcept nogil:
    """Of the answer's sentences; labels of citations do not count, unless there is nothing else."""
    cdef int64_t good = 0, good_labels = 0, n_labels = 0, i
    cdef int64_t n_sentences = work.answer.last_sentence - work.answer.first_sentence
    cdef bint is_good
    for i in range(work.answer.first_sentence, work.answer.last_sentence):
        is_good = work.claims.supports[i].score >= SENTENCE_CUT
        good += is_good
        good_labels += is_good and work.words.sentences.items[i].is_label
        n_labels += work.words.sentences.items[i].is_label
    if n_labels == n_sentences:
        return <double> good / <double> n_sentences
    return <double> (good - good_labels) / <double> (n_sentences - n_labels)


cdef inline int score_claims(grounded_work_t* work, bint claims) noexcept nogil:
    """Support of the answer; with ``claims``, faithfulness and hallucination_rate."""
    if support_piece(&work.claims, &work.words, &work.answer, work.losses):
        return -1
    work.numbers = work.claims.numbers
    work.names = work.claims.names
    if not claims:
        return 0
    work.scores[<int> FAITHFULNESS] = weighted_score(work.losses, work.weights)
    work.scores[<int> HALLUCINATION_RATE] = share_carried_to_cut(work)
    return 0


cdef inline int score_recall(grounded_work_t* work) noexcept nogil:
    """context_recall: of several ground truths the best counts that claims something."""
    cdef double score, best = -1.0
    cdef double[8] losses
    cdef int64_t i
    for i in range(work.n_truths):
        if work.truths[i].refuses:
            continue
        if support_piece(&work.claims, &work.words, &work.truths[i], losses):
            return -1
        score = weighted_score(losses, shipped_weights)
        if score > best:
            best = score
            work.best_truth = i
    work.scores[<int> CONTEXT_RECALL] = best
    return 0


cdef inline int set_out_claims(grounded_work_t* work, const bint* wants,
                               const opened_t* opened) noexcept nogil:
    cdef int64_t i
    if has_words(&work.answer) and (opened.support or wants_diagnostic(wants)) and add_claims(
            &work.claims, &work.words, &work.answer):
        return -1
    for i in range(work.n_truths if opened.truth_claims else 0):
        if add_claims(&work.claims, &work.words, &work.truths[i]):
            return -1
    mark_words(&work.claims, &work.words, work.question.first, work.question.last,
               STEM_IN_QUESTION, RAW_IN_QUESTION)
    work.claims.question = &work.question if work.has_question else NULL
    return 0


cdef inline int set_out_queries(grounded_work_t* work, const opened_t* opened) noexcept nogil:
    """The question alone; what it is with each ground truth is wanted of the chunks. 0, or -1."""
    cdef bint stop_words
    cdef int64_t i
    work.relevance.n_content = 0
    if not (opened.chunk_scores or opened.precision or opened.answer):
        return 0
    if make_query(&work.relevance, &work.claims, &work.words, &work.question, NULL,
                  &work.question_query):
        return -1
    if opened.precision and work.n_claims:
        # Those of a query that has no content, and of more: it does no harm.
        stop_words = not count_content(&work.words, work.question.first, work.question.last)
        for i in range(work.n_truths):
            want_stems(&work.claims, &work.words, &work.truths[i], stop_words)
    return 0


cdef inline int score_with(grounded_work_t* work, const query_t* query, const piece_t* chunks,
                           int64_t n_chunks, double* scores) noexcept nogil:
    return score_chunks(&work.relevance, &work.claims, &work.words, query, chunks, n_chunks,
                        work.in_query, scores)


cdef inline int read_with_truth(grounded_work_t* work, int64_t truth,
                                query_t* query) noexcept nogil:
    return make_query(&work.relevance, &work.claims, &work.words, &work.question,
                      &work.truths[truth], query)


cdef inline int score_precision(grounded_work_t* work) noexcept nogil:
    """context_precision: of several ground truths that claim something the best counts. 0, or -1.
    """
    cdef bint question_found = has_places(&work.claims, &work.words, &work.question)
    cdef double precision, best = -1.0
    cdef query_t query
    cdef int64_t i
    for i in range(work.n_truths):
        if work.truths[i].refuses:
            continue
        if is_stopped(&work.claims.stop):
            return -1
        precision = 0.0
        # Without a word in the chunks there is no need to read the question again.
        if question_found or has_places(&work.claims, &work.words, &work.truths[i]):
            if read_with_truth(work, i, &query):
                return -1
            if query_precision(&work.relevance, &work.claims, &work.words, &query, work.chunks,
                               work.n_chunks, work.in_query, &precision):
                return -1
            drop_query(&work.relevance, &work.claims, &query)
        if precision > best:
            best = precision
            work.precision_truth = i
    work.scores[<int> CONTEXT_PRECISION] = best
    return 0


cdef inline int score_relevance(grounded_work_t* work, const opened_t* opened) noexcept nogil:
    """context_relevance by the question; context_precision by it and the best ground truth."""
    work.precision_truth = -1
    if reserve(<void**> &work.chunk_scores, &work.chunk_scores_capacity, work.n_chunks,
               sizeof(double)):
        return -1
    if count_terms(&work.relevance.chunk_terms, &work.words, work.chunks, work.n_chunks):
        return -1
    if opened.chunk_scores:
        if score_with(work, &work.question_query, work.chunks, work.n_chunks, work.chunk_scores):
            return -1
    if opened.relevance:
        work.scores[<int> CONTEXT_RELEVANCE] = relevant_share(work.chunk_scores, work.n_chunks)
    if opened.precision and work.n_claims == 0:
        work.scores[<int> CONTEXT_PRECISION] = average_precision(
            work.chunk_scores, work.n_chunks)
    return score_precision(work) if opened.precision and work.n_claims else 0


cdef inline int score_answer(grounded_work_t* work) noexcept nogil:
    """answer_relevance: the answer as the only chunk. Overwrites what is known of the chunks."""
    if list_hits(&work.claims, &work.words, &work.answer):
        return -1
    if count_terms(&work.relevance.chunk_terms, &work.words, &work.answer, 1):
        return -1
    return score_with(work, &work.question_query, &work.answer, 1,
                      &work.scores[<int> ANSWER_RELEVANCE])


cdef inline int score_correctness(grounded_work_t* work) noexcept nogil:
    """answer_correctness: of several ground truths the best counts."""
    cdef double score, best = 0.0
    cdef int64_t i
    if begin_match(&work.match, &work.words, &work.answer,
                   &work.question if work.has_question else NULL):
        return -1
    for i in range(work.n_truths):
        if is_stopped(&work.claims.stop):
            return -1
        if work.only_refuses and work.truths[i].refuses:
            best = 1.0
            continue
        score = correctness(&work.match, &work.words, &work.answer, &work.truths[i])
        if score < 0.0:
            return -1
        best = max(best, score)
    end_match(&work.match, &work.words, &work.answer,
              &work.question if work.has_question else NULL)
    work.scores[<int> ANSWER_CORRECTNESS] = best
    return 0


# ---------------------------------------------------------------------------------------- rows

cdef inline bint has_relevant_chunk(const grounded_work_t* work) noexcept nogil:
    cdef int64_t i
    for i in range(work.n_chunks):
        if work.chunk_scores[i] >= RELEVANT:
            return True
    return False


cdef inline int score_held(grounded_work_t* work, const grounded_columns_t* columns,
                           const bint* wants, int64_t row, opened_t* opened) noexcept nogil:
    """Read a row and hold its texts against all chunks; 0, or -1 if it was ended early."""
    if read_row(work, columns, row) or settle_row(work, columns, wants, row, opened):
        return -1
    if set_out_claims(work, wants, opened) or set_out_queries(work, opened):
        return -1
    if opened.support or opened.recall or opened.chunk_scores or opened.precision:
        if sift_chunks(&work.claims, &work.words, work.chunks, work.n_chunks):
            return -1
    if opened.support and score_claims(work, opened.claims):
        return -1
    if opened.recall and score_recall(work):
        return -1
    if (opened.chunk_scores or opened.precision) and score_relevance(work, opened):
        return -1
    if work.keeps_evidence:
        work.answerable = (opened.chunk_scores and work.n_claims == work.n_truths
                           and has_relevant_chunk(work))
    return 0


cdef inline int score_others(grounded_work_t* work, const grounded_columns_t* columns,
                             const bint* wants, int64_t row,
                             const opened_t* opened) noexcept nogil:
    """The metrics that hold other texts against each other, in the same place; 0, or -1."""
    if opened.answer and score_answer(work):
        return -1
    if opened.correctness and score_correctness(work):
        return -1
    return score_diagnostics(work, columns, wants, row) if wants_diagnostic(wants) else 0


cdef inline int score_row(grounded_work_t* work, const grounded_columns_t* columns,
                          const bint* wants, int64_t row, opened_t* opened) noexcept nogil:
    """All requested metrics of one row into the workspace; 0, or -1 if it was ended early."""
    # Contexts look at the flag, too; a block may have many rows without any.
    if is_stopped(&work.claims.stop) or score_held(work, columns, wants, row, opened):
        return -1
    return score_others(work, columns, wants, row, opened)
