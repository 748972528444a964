"""Null rules of the grounded profile: what needs no counting, and what is left to count."""
from libc.string cimport memset

from grounded_work cimport (
    GIVEN_ANSWER, GIVEN_CONTEXTS, GIVEN_QUESTION, any_chunk_words, grounded_columns_t,
    grounded_work_t, has_words, missing_or_empty, put_cause,
)
from outcomes cimport (
    ANSWER_CORRECTNESS, ANSWER_RELEVANCE, CLAIM_RECALL, CONTEXT_PRECISION, CONTEXT_RECALL,
    CONTEXT_RELEVANCE, CONTEXT_UTILIZATION, EMPTY_ANSWER, FAITHFULNESS, HALLUCINATION_RATE,
    MEASURED, MISSING_FIELD, N_ALL_METRICS, NOISE_SENSITIVITY, NO_ANSWER, NO_CONTEXT, NO_CONTEXTS,
    NO_QUESTION, NO_TRUTH, REFUSAL, REFUSED, UNSUPPORTED_NAMES, UNSUPPORTED_NUMBERS,
)
from primitives cimport int64_t, uint8_t
from refusals cimport declines, only_refuses


cdef struct opened_t:
    # What is left to count once nulls and zeros are settled.
    bint claims            # faithfulness and hallucination_rate
    bint support           # the answer against all chunks
    bint recall
    bint truth_claims      # the sentences of the ground truths
    bint relevance
    bint chunk_scores      # relevance of each chunk to the question alone
    bint precision
    bint answer
    bint correctness


cdef inline bint lacks_chunks(grounded_work_t* work, uint8_t given, int metric) noexcept nogil:
    """Without contexts a score is null; with none that holds a word it is 0."""
    if not given & GIVEN_CONTEXTS:
        put_cause(work, metric, MISSING_FIELD, NO_CONTEXTS)
        return True
    if not any_chunk_words(work):
        put_cause(work, metric, MEASURED, NO_CONTEXT)
        return True
    return False


cdef inline bint settle_claims(grounded_work_t* work, uint8_t given, int metric) noexcept nogil:
    """Whether faithfulness and hallucination_rate end without counting."""
    if not has_words(&work.answer):
        put_cause(work, metric, missing_or_empty(given & GIVEN_ANSWER != 0), NO_ANSWER)
        return True
    if work.only_refuses and given & GIVEN_CONTEXTS:
        put_cause(work, metric, REFUSED, REFUSAL)
        return True
    return lacks_chunks(work, given, metric)


cdef inline bint settle_recall(grounded_work_t* work, uint8_t given,
                               bint truth_given) noexcept nogil:
    if work.n_truths == 0:
        put_cause(work, CONTEXT_RECALL, missing_or_empty(truth_given), NO_TRUTH)
        return True
    if work.n_claims == 0:
        put_cause(work, CONTEXT_RECALL, REFUSED, REFUSAL)
        return True
    return lacks_chunks(work, given, CONTEXT_RECALL)


cdef inline bint settle_chunks(grounded_work_t* work, uint8_t given, int metric) noexcept nogil:
    if not work.has_question:
        put_cause(work, metric, missing_or_empty(given & GIVEN_QUESTION != 0), NO_QUESTION)
        return True
    return lacks_chunks(work, given, metric)


cdef inline bint settle_answer(grounded_work_t* work, int metric) noexcept nogil:
    """Null without an answer; 0 for one without a word."""
    if not work.has_answer:
        put_cause(work, metric, MISSING_FIELD, NO_ANSWER)
        return True
    if not has_words(&work.answer):
        put_cause(work, metric, MEASURED, EMPTY_ANSWER)
        return True
    return False


cdef inline bint wants_diagnostic(const bint* wants) noexcept nogil:
    cdef int metric
    for metric in range(CONTEXT_UTILIZATION, N_ALL_METRICS):
        if wants[metric]:
            return True
    return False


cdef inline void open_diagnostics(grounded_work_t* work, const bint* wants,
                                  opened_t* opened) noexcept nogil:
    """What the diagnostics need of the other metrics' counting, or may."""
    cdef bint any_text = has_words(&work.answer)
    opened.support |= any_text and (wants[UNSUPPORTED_NUMBERS] or wants[UNSUPPORTED_NAMES])
    opened.truth_claims |= any_text and wants[CLAIM_RECALL]
    opened.chunk_scores |= any_text and work.has_question and work.n_chunks > 0 and (
        wants[CONTEXT_UTILIZATION] or wants[NOISE_SENSITIVITY])


cdef inline int judge_truths(grounded_work_t* work) noexcept nogil:
    """Which ground truths only refuse; 0, or -1 without memory."""
    cdef int64_t i
    cdef int refuses
    work.n_claims = 0
    for i in range(work.n_truths):
        refuses = only_refuses(&work.refusals, &work.words, &work.truths[i])
        if refuses < 0:
            return -1
        work.truths[i].refuses = refuses
        work.n_claims += not refuses
    return 0


cdef inline int judge_refusals(grounded_work_t* work, const bint* wants) noexcept nogil:
    """What only refuses, where a metric asks for it; 0, or -1 without memory."""
    cdef bint any_words = has_words(&work.answer)
    cdef int only = 0, first = 0
    if any_words and (work.keeps_evidence or wants[FAITHFULNESS] or wants[HALLUCINATION_RATE]
                      or wants[ANSWER_CORRECTNESS]):
        only = only_refuses(&work.refusals, &work.words, &work.answer)
    if any_words and (work.keeps_evidence or wants[ANSWER_RELEVANCE]):
        first = declines(&work.refusals, &work.words, &work.answer)
    if only < 0 or first < 0:
        return -1
    work.only_refuses = only != 0
    work.declines = first != 0
    if work.keeps_evidence or wants[CONTEXT_RECALL] or wants[CONTEXT_PRECISION] or (
            wants[ANSWER_CORRECTNESS] and work.only_refuses):
        return judge_truths(work)
    return 0


cdef inline void settle_answer_relevance(grounded_work_t* work, uint8_t given,
                                         opened_t* opened) noexcept nogil:
    if not work.has_question:
        put_cause(work, ANSWER_RELEVANCE, missing_or_empty(given & GIVEN_QUESTION != 0),
                  NO_QUESTION)
    elif not settle_answer(work, ANSWER_RELEVANCE):
        opened.answer = not work.declines
        if work.declines:
            put_cause(work, ANSWER_RELEVANCE, MEASURED, REFUSAL)


cdef inline void open_evidence(grounded_work_t* work, const bint* wants,
                               opened_t* opened) noexcept nogil:
    """What is told of an answer that declines, whatever its scores are."""
    if not (work.keeps_evidence and any_chunk_words(work)):
        return
    if work.only_refuses and (wants[FAITHFULNESS] or wants[HALLUCINATION_RATE]):
        opened.support = True
    opened.chunk_scores |= work.declines and work.has_question


cdef inline int settle_row(grounded_work_t* work, const grounded_columns_t* columns,
                           const bint* wants, int64_t row, opened_t* opened) noexcept nogil:
    """Null rules of every requested metric; 0, or -1 without memory."""
    cdef uint8_t given = columns.given[row]
    cdef bint truth_given = columns.row_truths[row] < columns.row_truths[row + 1]
    memset(opened, 0, sizeof(opened_t))
    memset(work.causes, 0, sizeof(work.causes))
    if judge_refusals(work, wants):
        return -1
    if wants[FAITHFULNESS] or wants[HALLUCINATION_RATE]:
        settle_claims(work, given, HALLUCINATION_RATE)
        opened.claims = opened.support = not settle_claims(work, given, FAITHFULNESS)
    if wants[CONTEXT_RECALL]:
        opened.recall = opened.truth_claims = not settle_recall(work, given, truth_given)
    if wants[CONTEXT_RELEVANCE]:
        opened.relevance = opened.chunk_scores = not settle_chunks(
            work, given, CONTEXT_RELEVANCE)
    if wants[CONTEXT_PRECISION]:
        opened.precision = not settle_chunks(work, given, CONTEXT_PRECISION)
        opened.chunk_scores |= opened.precision and work.n_claims == 0
    if wants[ANSWER_RELEVANCE]:
        settle_answer_relevance(work, given, opened)
    if wants[ANSWER_CORRECTNESS]:
        if work.n_truths == 0:
            put_cause(work, ANSWER_CORRECTNESS, missing_or_empty(truth_given), NO_TRUTH)
        else:
            opened.correctness = not settle_answer(work, ANSWER_CORRECTNESS)
    if wants_diagnostic(wants):
        open_diagnostics(work, wants, opened)
    open_evidence(work, wants, opened)
    return 0
