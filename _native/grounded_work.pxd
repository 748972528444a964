"""What rows of the grounded profile are scored with: their texts, and what is found in them."""
from libc.stdlib cimport free
from libc.string cimport memset

from answer_match cimport answer_match_t, close_answer_match
from asked_kinds cimport query_t
from claim_lists cimport claim_lists_t, close_claim_lists
from claims cimport claims_t, close_claims, counted_t
from outcomes cimport MISSING_FIELD, N_ALL_METRICS, NOTHING_TO_MEASURE
from primitives cimport hash_t, int8_t, int64_t, offset_t, texts_t, uint8_t
from refusals cimport close_refusals, refusals_t
from relevance cimport close_relevance, relevance_t
from row_words cimport close_row_words, open_row_words, piece_t, row_words_t
from stopping cimport stop_t
from support cimport shipped_weights


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
    double scores[N_ALL_METRICS]
    cause_t causes[N_ALL_METRICS]


cdef inline void open_grounded(grounded_work_t* work, hash_t seed,
                               stop_t stop) noexcept nogil:
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
    free(work.in_query)
    free(work.chunk_scores)
    free(work.other_scores)
    close_claim_lists(&work.claim_lists)
    free(work.carried)
    free(work.used)


cdef inline bint has_words(const piece_t* piece) noexcept nogil:
    return piece.first < piece.last


cdef inline void put_cause(grounded_work_t* work, int metric, uint8_t reason,
                           uint8_t cause) noexcept nogil:
    """A null, or a 0, that needs no counting."""
    work.scores[metric] = 0.0
    work.causes[metric].reason = reason
    work.causes[metric].cause = cause


cdef inline uint8_t missing_or_empty(bint given) noexcept nogil:
    return NOTHING_TO_MEASURE if given else MISSING_FIELD


cdef inline bint any_chunk_words(const grounded_work_t* work) noexcept nogil:
    return work.n_chunks > 0 and work.chunks[0].first < work.chunks[work.n_chunks - 1].last
