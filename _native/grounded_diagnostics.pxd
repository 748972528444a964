"""The metrics of the grounded profile that say why: they hold claims against one text at a time."""
from libc.string cimport memset

from claim_lists cimport claim_lists_t, list_claims
from claims cimport counted_t, sift_chunks
from grounded_work cimport (
    CARRIED_BY_IRRELEVANT, CARRIED_BY_RELEVANT, CARRIED_BY_TRUTH, GIVEN_CONTEXTS, GIVEN_QUESTION,
    grounded_columns_t, grounded_work_t, has_words, missing_or_empty, put_cause,
)
from outcomes cimport (
    CLAIM_RECALL, CONTEXT_UTILIZATION, MISSING_FIELD, NOISE_SENSITIVITY, NOTHING_TO_MEASURE,
    NO_ANSWER, NO_CONTEXTS, NO_NAMES, NO_NUMBERS, NO_QUESTION, NO_RELEVANT_CHUNK, NO_TRUTH,
    SELF_KNOWLEDGE, UNSUPPORTED_NAMES, UNSUPPORTED_NUMBERS,
)
from primitives cimport int64_t, reserve, token_t, uint8_t
from relevance cimport RELEVANT
from row_words cimport piece_t
from stopping cimport is_stopped
from support cimport SENTENCE_CUT, is_too_short, parts_t, support_piece, support_sentence


cdef inline int carry_by(grounded_work_t* work, const piece_t* text, uint8_t mark,
                         bint* carries) noexcept nogil:
    """Mark the sentences of the answer that a text carries; 0, or -1 if ended early.

    Only those are looked at of which it has a content stem, and enough words: the others are far
    from the cut.
    """
    cdef claim_lists_t* lists = &work.claim_lists
    cdef int64_t first = work.answer.first_sentence, i, at, sentence
    cdef token_t stem
    cdef parts_t parts
    carries[0] = False
    if sift_chunks(&work.claims, &work.words, text, 1):
        return -1
    lists.n_looked_at += 1
    for i in range(work.claims.occurrences.n_listed):
        stem = work.claims.occurrences.listed[i]
        for at in range(lists.begins[stem], lists.begins[stem + 1]):
            sentence = lists.sentences[at]
            if lists.looked_at[sentence - first] == lists.n_looked_at:
                continue
            lists.looked_at[sentence - first] = lists.n_looked_at
            if is_too_short(&work.claims.claims[sentence], text.last - text.first):
                continue
            if support_sentence(&work.claims, &work.words, &work.answer, sentence, &parts):
                return -1
            if work.claims.supports[sentence].score >= SENTENCE_CUT:
                work.carried[sentence - first] |= mark
                carries[0] = True
    return 0


cdef inline int carry_answer(grounded_work_t* work, bint by_relevance) noexcept nogil:
    """Which chunks and which ground truths carry which sentences of the answer; 0, or -1."""
    cdef int64_t n_sentences = work.answer.last_sentence - work.answer.first_sentence, i
    cdef uint8_t mark
    cdef bint carries
    if reserve(<void**> &work.carried, &work.carried_capacity, n_sentences, 1):
        return -1
    if reserve(<void**> &work.used, &work.used_capacity, work.n_chunks, 1):
        return -1
    memset(work.carried, 0, <size_t> n_sentences)
    if list_claims(&work.claim_lists, &work.claims, &work.words, &work.answer):
        return -1
    for i in range(work.n_chunks):
        work.used[i] = False
        if not has_words(&work.chunks[i]):
            continue
        mark = CARRIED_BY_RELEVANT
        if by_relevance and work.chunk_scores[i] < RELEVANT:
            mark = CARRIED_BY_IRRELEVANT
        if is_stopped(&work.claims.stop) or carry_by(work, &work.chunks[i], mark, &carries):
            return -1
        work.used[i] = carries
    for i in range(work.n_truths):
        if is_stopped(&work.claims.stop):
            return -1
        if carry_by(work, &work.truths[i], CARRIED_BY_TRUTH, &carries):
            return -1
    return 0


cdef inline double share_carried(const grounded_work_t* work, uint8_t by,
                                 uint8_t not_by) noexcept nogil:
    """Share of the answer's sentences that something carries and something else does not."""
    cdef int64_t n_sentences = work.answer.last_sentence - work.answer.first_sentence, n = 0, i
    for i in range(n_sentences):
        n += work.carried[i] & by != 0 and not work.carried[i] & not_by
    return <double> n / <double> n_sentences


cdef inline void score_utilization(grounded_work_t* work) noexcept nogil:
    cdef int64_t n_relevant = 0, n_used = 0, i
    for i in range(work.n_chunks):
        if work.chunk_scores[i] >= RELEVANT:
            n_relevant += 1
            n_used += work.used[i]
    if n_relevant:
        work.scores[<int> CONTEXT_UTILIZATION] = <double> n_used / <double> n_relevant
    else:
        put_cause(work, CONTEXT_UTILIZATION, NOTHING_TO_MEASURE, NO_RELEVANT_CHUNK)


cdef inline int score_claim_recall(grounded_work_t* work) noexcept nogil:
    """Share of the ground truth's sentences that the answer carries; the best truth counts."""
    cdef int64_t i, k, n
    cdef double best = 0.0
    cdef double[8] losses
    if sift_chunks(&work.claims, &work.words, &work.answer, 1):
        return -1
    for i in range(work.n_truths):
        if support_piece(&work.claims, &work.words, &work.truths[i], losses):
            return -1
        n = 0
        for k in range(work.truths[i].first_sentence, work.truths[i].last_sentence):
            n += work.claims.supports[k].score >= SENTENCE_CUT
        best = max(best, <double> n / <double> (
            work.truths[i].last_sentence - work.truths[i].first_sentence))
    work.scores[<int> CLAIM_RECALL] = best
    return 0


cdef inline void score_figures(grounded_work_t* work, int metric, const counted_t* counted,
                               uint8_t cause) noexcept nogil:
    if counted.n_found:
        work.scores[metric] = <double> counted.n_missing / <double> counted.n_found
    else:
        put_cause(work, metric, NOTHING_TO_MEASURE, cause)


cdef inline bint settle_diagnostic(grounded_work_t* work, const grounded_columns_t* columns,
                                   int64_t row, int metric, bint reads_question,
                                   bint reads_contexts, bint reads_truth) noexcept nogil:
    """Null where a field is missing or holds no word."""
    cdef uint8_t given = columns.given[row]
    if not has_words(&work.answer):
        put_cause(work, metric, missing_or_empty(work.has_answer), NO_ANSWER)
    elif reads_question and not work.has_question:
        put_cause(work, metric, missing_or_empty(given & GIVEN_QUESTION != 0), NO_QUESTION)
    elif reads_contexts and not given & GIVEN_CONTEXTS:
        put_cause(work, metric, MISSING_FIELD, NO_CONTEXTS)
    elif reads_truth and work.n_truths == 0:
        put_cause(work, metric, missing_or_empty(
            columns.row_truths[row] < columns.row_truths[row + 1]), NO_TRUTH)
    else:
        return False
    return True


cdef inline int score_diagnostics(grounded_work_t* work, const grounded_columns_t* columns,
                                  const bint* wants, int64_t row) noexcept nogil:
    """The metrics that say why; they hold claims against one text at a time. 0, or -1.

    Overwrites what is known of the row's chunks and sentences.
    """
    cdef bint utilization = wants[CONTEXT_UTILIZATION] and not settle_diagnostic(
        work, columns, row, CONTEXT_UTILIZATION, True, True, False)
    cdef bint noise = wants[NOISE_SENSITIVITY] and not settle_diagnostic(
        work, columns, row, NOISE_SENSITIVITY, True, True, True)
    cdef bint knowledge = wants[SELF_KNOWLEDGE] and not settle_diagnostic(
        work, columns, row, SELF_KNOWLEDGE, False, True, True)
    if wants[CLAIM_RECALL] and not settle_diagnostic(
            work, columns, row, CLAIM_RECALL, False, False, True):
        if score_claim_recall(work):
            return -1
    if wants[UNSUPPORTED_NUMBERS] and not settle_diagnostic(
            work, columns, row, UNSUPPORTED_NUMBERS, False, True, False):
        score_figures(work, UNSUPPORTED_NUMBERS, &work.numbers, NO_NUMBERS)
    if wants[UNSUPPORTED_NAMES] and not settle_diagnostic(
            work, columns, row, UNSUPPORTED_NAMES, False, True, False):
        score_figures(work, UNSUPPORTED_NAMES, &work.names, NO_NAMES)
    if not (utilization or noise or knowledge):
        return 0
    if carry_answer(work, utilization or noise):
        return -1
    if utilization:
        score_utilization(work)
    if noise:
        work.scores[<int> NOISE_SENSITIVITY] = share_carried(
            work, CARRIED_BY_IRRELEVANT, CARRIED_BY_RELEVANT | CARRIED_BY_TRUTH)
    if knowledge:
        work.scores[<int> SELF_KNOWLEDGE] = share_carried(
            work, CARRIED_BY_TRUTH, CARRIED_BY_RELEVANT | CARRIED_BY_IRRELEVANT)
    return 0
