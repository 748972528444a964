"""What is said of the scores of a row of the overlap profile.

Which of the words of a metric, the values in them, and signals. The words are Python's.
"""
from kept_details cimport kept_t, passed_values, taken_number
from outcomes cimport (
    ANSWER_CORRECTNESS, ANSWER_RELEVANCE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE,
    FAITHFULNESS, HALLUCINATION_RATE, N_OVERLAP_METRICS,
)
from primitives cimport int64_t, text_t
from row_output cimport (
    ABOUT_CONTEXTS, ABOUT_SCORE, ABOUT_SENTENCE, begin_signal, end_signal, end_values, n_below,
    output_t, put, put_byte, put_count, put_places_below, put_score, put_text,
)

# Words of a metric.
cdef enum:
    PLAIN = 0
    NOTHING = 1          # there is nothing to count
    LACKED = 2           # the row has no ground truth, or no context
    LACKED_BY_ALL = 3    # no row has a field


cdef struct overlap_limits_t:
    double low_support
    double low_relevance
    double low_score
    double chunk_relevance
    double claim_support
    double sentence_coverage


cdef struct list_t:
    const double* values
    int64_t n


cdef struct overlap_facts_t:
    const double* scores
    const int64_t* spans     # of the answer's sentences, in bytes
    list_t support
    list_t overlap
    list_t coverage
    list_t chunk_tfidf
    list_t chunk_overlap
    const double* parts
    text_t answer
    int64_t n_contexts
    bint has_truth


cdef inline list_t passed_list(kept_t* kept) noexcept nogil:
    cdef list_t found
    found.n = taken_number(kept)
    found.values = passed_values(kept, found.n)
    return found


cdef inline void read_overlap(overlap_facts_t* facts, kept_t* kept) noexcept nogil:
    """A row, in the order in which it was kept."""
    cdef int64_t n_spans
    kept.number += N_OVERLAP_METRICS
    n_spans = taken_number(kept)
    facts.spans = kept.numbers + kept.number
    kept.number += 2 * n_spans
    facts.scores = passed_values(kept, N_OVERLAP_METRICS)
    facts.support = passed_list(kept)
    facts.overlap = passed_list(kept)
    facts.coverage = passed_list(kept)
    facts.chunk_tfidf = passed_list(kept)
    facts.chunk_overlap = passed_list(kept)
    facts.parts = passed_values(kept, 4)


cdef inline void put_claims(output_t* out, const overlap_facts_t* facts, int64_t metric,
                            const list_t* overlaps, double below) noexcept nogil:
    """One signal per sentence of the answer whose overlap is below a limit."""
    cdef int64_t i, begin
    cdef bint is_next = False
    for i in range(overlaps.n):
        if overlaps.values[i] < below:
            if is_next:
                put_byte(out, b",")
            is_next = True
            begin = facts.spans[2 * i]
            begin_signal(out, ABOUT_SENTENCE + metric, i)
            put_score(out, overlaps.values[i])
            put(out, b',"evidence":"', 13)
            put_text(out, facts.answer.bytes + begin, facts.spans[2 * i + 1] - begin)
            put_byte(out, b'"')
            end_signal(out)


cdef inline void put_low_score(output_t* out, int64_t metric, double score,
                               double below) noexcept nogil:
    if not score >= below:
        begin_signal(out, ABOUT_SCORE + metric, -1)
        put_score(out, score)
        end_signal(out)


cdef inline int64_t overlap_variant(const overlap_facts_t* facts, int64_t metric) noexcept nogil:
    """Which of the words of a metric are said of a row."""
    if metric == FAITHFULNESS:
        return PLAIN if facts.support.n else NOTHING
    if metric == CONTEXT_PRECISION:
        return PLAIN if facts.chunk_tfidf.n else NOTHING
    if metric == CONTEXT_RECALL:
        if not facts.has_truth:
            return LACKED
        return PLAIN if facts.coverage.n else NOTHING
    if metric == CONTEXT_RELEVANCE:
        return PLAIN if facts.chunk_overlap.n else NOTHING
    if metric == ANSWER_CORRECTNESS:
        return PLAIN if facts.has_truth else LACKED
    if metric == HALLUCINATION_RATE:
        if not facts.n_contexts:
            return LACKED
        return PLAIN if facts.overlap.n else NOTHING
    return PLAIN


cdef inline void put_overlap_values(output_t* out, const overlap_facts_t* facts, int64_t metric,
                                    const overlap_limits_t* limits) noexcept nogil:
    """The values in the words of a metric that was counted, and its signals."""
    cdef double score = facts.scores[metric]
    cdef int64_t n
    if metric == FAITHFULNESS:
        put_count(out, facts.support.n)
        put_score(out, score)
        end_values(out, 1)
        put_claims(out, facts, metric, &facts.support, limits.low_support)
    elif metric == ANSWER_RELEVANCE:
        put_score(out, facts.parts[0])
        put_score(out, facts.parts[1])
        put_score(out, score)
        end_values(out, 1)
        put_low_score(out, metric, score, limits.low_score)
    elif metric == CONTEXT_PRECISION:
        put_count(out, facts.chunk_tfidf.n)
        put_score(out, score)
        end_values(out, 1)
        if n_below(facts.chunk_tfidf.values, facts.chunk_tfidf.n, limits.low_relevance):
            begin_signal(out, ABOUT_CONTEXTS + metric, -1)
            put_places_below(out, facts.chunk_tfidf.values, facts.chunk_tfidf.n,
                             limits.low_relevance)
            end_signal(out)
    elif metric == CONTEXT_RECALL:
        n = facts.coverage.n
        put_count(out, n - n_below(facts.coverage.values, n, limits.sentence_coverage))
        put_count(out, n)
        put_score(out, score)
        end_values(out, 1)
    elif metric == CONTEXT_RELEVANCE:
        n = facts.chunk_overlap.n
        put_count(out, n - n_below(facts.chunk_overlap.values, n, limits.chunk_relevance))
        put_count(out, n)
        put_score(out, score)
        end_values(out, 1)
    elif metric == ANSWER_CORRECTNESS:
        put_score(out, facts.parts[2])
        put_score(out, facts.parts[3])
        put_score(out, score)
        end_values(out, 1)
        put_low_score(out, metric, score, limits.low_score)
    else:
        n = n_below(facts.overlap.values, facts.overlap.n, limits.claim_support)
        put_count(out, n)
        put_count(out, facts.overlap.n)
        put_score(out, <double> n / <double> facts.overlap.n)
        put_score(out, score)
        end_values(out, 1)
        put_claims(out, facts, metric, &facts.overlap, limits.claim_support)
