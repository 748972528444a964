"""One row, grounded profile: its texts read as words once, then every requested metric."""
from libc.stdlib cimport free
from libc.string cimport memset

from answer_match cimport (
    answer_match_t, begin_match, close_answer_match, correctness, end_match,
)
from asked_kinds cimport may_ask_for_name, query_t
from chunk_terms cimport count_terms
from claim_lists cimport claim_lists_t, close_claim_lists, list_claims
from claims cimport (
    N_LOSSES, RAW_IN_QUESTION, STEM_IN_QUESTION, add_claims, begin_claims, claims_t, close_claims,
    counted_t, mark_words, sift_chunks,
)
from clean_text cimport begins_with_label
from lexicon cimport letter_counts_t
from primitives cimport (
    hash_t, int8_t, int64_t, offset_t, reserve, text_at, texts_t, token_t, uint8_t,
)
from refusals cimport close_refusals, declines, only_refuses, refusals_t
from relevance cimport (
    RELEVANT, average_precision, close_relevance, drop_query, has_places, list_hits, make_query,
    query_precision, relevance_t, relevant_share, score_chunks, want_stems,
)
from row_words cimport (
    WANTS_CAPITALS, WANTS_LETTERS, WANTS_SENTENCES, add_piece, begin_row,
    close_row_words, count_content, n_stems, open_row_words, piece_t, read_words, row_words_t,
)
from stopping cimport is_stopped
from support cimport (
    SENTENCE_CUT, is_too_short, parts_t, shipped_weights, support_piece, support_sentence,
    weighted_score,
)
from vocabulary cimport table_size

# Metrics by number, the first seven in the order of rag_eval.samples.
cdef enum:
    FAITHFULNESS, ANSWER_RELEVANCE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE
    ANSWER_CORRECTNESS, HALLUCINATION_RATE
    CONTEXT_UTILIZATION, NOISE_SENSITIVITY, CLAIM_RECALL, SELF_KNOWLEDGE
    UNSUPPORTED_NUMBERS, UNSUPPORTED_NAMES, N_METRICS

# Why a score is null, and above that why it is 0, by number in the order of rag_eval.samples and
# of rag_eval.results.words_grounded.
cdef enum:
    MEASURED, MISSING_FIELD, NOTHING_TO_MEASURE
    REFUSED = 13

cdef enum:
    COUNTED, NO_ANSWER, NO_CONTEXTS, NO_CONTEXT, NO_TRUTH, NO_QUESTION, EMPTY_ANSWER, REFUSAL
    NO_RELEVANT_CHUNK, NO_NUMBERS, NO_NAMES


cdef struct grounded_columns_t:
    texts_t question
    texts_t answer
    texts_t truths
    const offset_t* row_truths     # ground truths of row r: row_truths[r] to row_truths[r + 1]
    texts_t contexts
    const offset_t* row_contexts
    const uint8_t* given           # per row, bits GIVEN_*: an empty text is not a missing one
    const int8_t* languages        # per row: its number, or DETECT

cdef enum:
    GIVEN_QUESTION = 1
    GIVEN_ANSWER = 2
    GIVEN_CONTEXTS = 4


cdef enum:
    # What carries a sentence of the answer.
    CARRIED_BY_RELEVANT = 1
    CARRIED_BY_IRRELEVANT = 2
    CARRIED_BY_TRUTH = 4


cdef struct cause_t:
    uint8_t reason                 # MEASURED, or why the score is null
    uint8_t cause                  # what is said of a null, or of a 0 that was not counted out


cdef struct grounded_work_t:
    row_words_t words
    claims_t claims
    relevance_t relevance
    answer_match_t match
    refusals_t refusals
    const double* weights          # of what the answer lacks, for faithfulness
    double losses[8]               # ... what it lacks
    bint keeps_evidence            # of an answer that only refuses, too
    bint declines                  # the answer does; known where evidence is kept
    bint only_refuses              # ... claims nothing at all
    bint answerable                # ... although a relevant chunk was there
    piece_t question
    piece_t answer
    piece_t* truths                # those with a word
    int64_t truths_capacity
    int64_t n_truths
    int64_t n_claims               # ... that do not only refuse; known where it is asked for
    int64_t best_truth             # of the context_recall
    piece_t* chunks
    int64_t chunks_capacity
    int64_t n_chunks
    int64_t* chunk_begins          # words where chunks begin, and the end of the last
    int64_t chunk_begins_capacity
    query_t question_query         # the question alone
    int64_t precision_truth        # read with the question for context_precision; -1 for none
    uint8_t* in_query              # per stem
    int64_t in_query_capacity
    double* chunk_scores
    int64_t chunk_scores_capacity
    double* other_scores           # of the question read with a ground truth
    int64_t other_scores_capacity
    bint has_question
    bint has_answer                # given; it may hold no word
    claim_lists_t claim_lists      # of the answer
    uint8_t* carried               # per answer sentence, bits CARRIED_*
    int64_t carried_capacity
    uint8_t* used                  # per chunk: it carries a sentence of the answer
    int64_t used_capacity
    counted_t numbers              # of the answer
    counted_t names
    double scores[13]
    cause_t causes[13]


cdef inline bint has_words(const piece_t* piece) noexcept nogil:
    return piece.first < piece.last


cdef inline int64_t row_bytes(const grounded_columns_t* columns, int64_t row) noexcept nogil:
    cdef int64_t first = columns.row_contexts[row], last = columns.row_contexts[row + 1]
    cdef int64_t first_truth = columns.row_truths[row], last_truth = columns.row_truths[row + 1]
    return (columns.contexts.offsets[last] - columns.contexts.offsets[first]
            + columns.truths.offsets[last_truth] - columns.truths.offsets[first_truth]
            + text_at(&columns.question, row).size + text_at(&columns.answer, row).size)


# ------------------------------------------------------------------------------- reading the texts

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
    if reserve(<void**> &work.chunk_begins, &work.chunk_begins_capacity, last - first + 1,
               sizeof(int64_t)):
        return -1
    for i in range(first, last):
        work.chunk_begins[i - first] = words.n_words
        if add_piece(words, text_at(&columns.contexts, i), wants, &work.chunks[i - first]):
            return -1
    work.chunk_begins[last - first] = words.n_words
    return 0


cdef inline int read_row(grounded_work_t* work, const grounded_columns_t* columns,
                         int64_t row) noexcept nogil:
    """Cut all texts of a row and read them in one language; 0, or -1 without memory."""
    cdef int64_t n_slots = table_size(row_bytes(columns, row)), before = work.in_query_capacity
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
    return begin_claims(&work.claims, &work.words, 1024)


# ----------------------------------------------------------------------------------- null rules

cdef inline void put_cause(grounded_work_t* work, int metric, uint8_t reason,
                           uint8_t cause) noexcept nogil:
    """A null, or a 0, that needs no counting."""
    work.scores[metric] = 0.0
    work.causes[metric].reason = reason
    work.causes[metric].cause = cause


cdef inline uint8_t missing_or_empty(bint given) noexcept nogil:
    return NOTHING_TO_MEASURE if given else MISSING_FIELD


cdef inline bint any_chunk_words(const grounded_work_t* work) noexcept nogil:
    return work.n_chunks > 0 and work.chunk_begins[0] < work.chunk_begins[work.n_chunks]


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


# -------------------------------------------------------------------------------------- metrics

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
    if support_piece(&work.claims, &work.words, &work.answer, work.chunk_begins, work.n_chunks,
                     work.losses):
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
        if support_piece(&work.claims, &work.words, &work.truths[i], work.chunk_begins,
                         work.n_chunks, losses):
            return -1
        score = weighted_score(losses, shipped_weights)
        if score > best:
            best = score
            work.best_truth = i
    work.scores[<int> CONTEXT_RECALL] = best
    return 0


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


cdef inline bint wants_diagnostic(const bint* wants) noexcept nogil:
    cdef int metric
    for metric in range(CONTEXT_UTILIZATION, N_METRICS):
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
                           int64_t n_chunks, const int64_t* chunk_begins,
                           double* scores) noexcept nogil:
    return score_chunks(&work.relevance, &work.claims, &work.words, query, chunks, n_chunks,
                        chunk_begins, work.in_query, scores)


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
        if is_stopped(work.claims.stop):
            return -1
        precision = 0.0
        # Without a word in the chunks there is no need to read the question again.
        if question_found or has_places(&work.claims, &work.words, &work.truths[i]):
            if read_with_truth(work, i, &query):
                return -1
            if query_precision(&work.relevance, &work.claims, &work.words, &query, work.chunks,
                               work.n_chunks, work.chunk_begins, work.in_query, &precision):
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
        if score_with(work, &work.question_query, work.chunks, work.n_chunks, work.chunk_begins,
                      work.chunk_scores):
            return -1
    if opened.relevance:
        work.scores[<int> CONTEXT_RELEVANCE] = relevant_share(work.chunk_scores, work.n_chunks)
    if opened.precision and work.n_claims == 0:
        work.scores[<int> CONTEXT_PRECISION] = average_precision(
            work.chunk_scores, work.n_chunks)
    return score_precision(work) if opened.precision and work.n_claims else 0


cdef inline int score_answer(grounded_work_t* work) noexcept nogil:
    """answer_relevance: the answer as the only chunk. Overwrites what is known of the chunks."""
    cdef int64_t[2] begins
    begins[0] = work.answer.first
    begins[1] = work.answer.last
    if list_hits(&work.claims, &work.words, &work.answer):
        return -1
    if count_terms(&work.relevance.chunk_terms, &work.words, &work.answer, 1):
        return -1
    return score_with(work, &work.question_query, &work.answer, 1, begins,
                      &work.scores[<int> ANSWER_RELEVANCE])


cdef inline int score_correctness(grounded_work_t* work) noexcept nogil:
    """answer_correctness: of several ground truths the best counts."""
    cdef double score, best = 0.0
    cdef int64_t i
    if begin_match(&work.match, &work.words, &work.answer,
                   &work.question if work.has_question else NULL):
        return -1
    for i in range(work.n_truths):
        if is_stopped(work.claims.stop):
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


# ---------------------------------------------------------------------------------- diagnostics

cdef inline int carry_by(grounded_work_t* work, const piece_t* text, uint8_t mark,
                         bint* carries) noexcept nogil:
    """Mark the sentences of the answer that a text carries; 0, or -1 if ended early.

    Only those are looked at of which it has a content stem, and enough words: the others are far
    from the cut.
    """
    cdef claim_lists_t* lists = &work.claim_lists
    cdef int64_t first = work.answer.first_sentence, i, at, sentence
    cdef int64_t[2] begins
    cdef token_t stem
    cdef parts_t parts
    begins[0] = text.first
    begins[1] = text.last
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
            if support_sentence(&work.claims, &work.words, &work.answer, sentence, begins, 1,
                                &parts):
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
        if is_stopped(work.claims.stop) or carry_by(work, &work.chunks[i], mark, &carries):
            return -1
        work.used[i] = carries
    for i in range(work.n_truths):
        if is_stopped(work.claims.stop) or carry_by(work, &work.truths[i], CARRIED_BY_TRUTH,
                                                    &carries):
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
    cdef int64_t[2] begins
    cdef int64_t i, k, n
    cdef double best = 0.0
    cdef double[8] losses
    begins[0] = work.answer.first
    begins[1] = work.answer.last
    if sift_chunks(&work.claims, &work.words, &work.answer, 1):
        return -1
    for i in range(work.n_truths):
        if support_piece(&work.claims, &work.words, &work.truths[i], begins, 1, losses):
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
    if score_held(work, columns, wants, row, opened):
        return -1
    return score_others(work, columns, wants, row, opened)


# ------------------------------------------------------------------------------------ workspace

cdef inline void open_grounded(grounded_work_t* work, hash_t seed,
                               const uint8_t* stop) noexcept nogil:
    memset(work, 0, sizeof(grounded_work_t))
    work.weights = shipped_weights
    work.claims.stop = stop
    open_row_words(&work.words, seed)
    work.claims.grams.seed = seed
    work.claims.chunk_values.seed = work.claims.question_values.seed = seed
    work.claims.stated.seed = work.match.numbers.seed = seed
    work.match.seed = seed


cdef inline void close_grounded(grounded_work_t* work) noexcept nogil:
    close_row_words(&work.words)
    close_claims(&work.claims)
    close_relevance(&work.relevance)
    close_answer_match(&work.match)
    close_refusals(&work.refusals)
    free(work.truths)
    free(work.chunks)
    free(work.chunk_begins)
    free(work.in_query)
    free(work.chunk_scores)
    free(work.other_scores)
    close_claim_lists(&work.claim_lists)
    free(work.carried)
    free(work.used)
