"""What is said of the scores of a row of the grounded profile.

Which of the words of a metric, the values in them, and signals. The words are Python's.
"""
from libc.math cimport rint
from libc.stdlib cimport free
from libc.string cimport memcmp

from kept_details cimport ABSENT, kept_t, passed_values, taken_number
from outcomes cimport (
    ANSWER_CORRECTNESS, ANSWER_RELEVANCE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE,
    COUNTED, FAITHFULNESS, HALLUCINATION_RATE, N_ALL_METRICS, REFUSAL,
)
from primitives cimport int64_t, reserve, span_t, text_t
from row_output cimport (
    ABOUT_CAUSE, ABOUT_CONTEXT, ABOUT_CONTEXTS, ABOUT_SCORE, ABOUT_SENTENCE, COMMA, begin_signal,
    end_signal, end_values, n_below, output_t, put, put_amount, put_byte, put_count, put_integer,
    put_phrase, put_piece, put_places_below, put_score, put_text,
)
from utf8 cimport has_high_byte

cdef enum:
    # Words of metrics that were counted, and what is added to them.
    PLURAL = 1           # of what is counted
    SEVERAL = 2          # ground truths; of contexts: several are relevant
    NULL_WORDS = 8       # and twice the cause
    ALTHOUGH = 1         # with it: relevant contexts were there
    # Phrases of a sentence that has too little support, after the one between items.
    SEMICOLON = 1
    AND = 2
    NO_WINDOW = 3
    WINDOW = 4
    OPPOSED = 5
    NUMBERS = 6
    NAMES = 7
    FAR_NAMES = 8
    N_LOSSES = 8


cdef struct grounded_limits_t:
    double support               # of a sentence
    double relevance
    double[13] low               # NaN where no score is low


cdef struct texts_list_t:
    int64_t n
    int64_t sizes                # place of the first size among the numbers
    int64_t begin                # of the first text


cdef struct evidence_t:
    span_t span                  # in code points
    int64_t chunk                # or ABSENT
    span_t window
    int64_t value                # place of support, share that is covered, and losses
    texts_list_t numbers
    bint is_opposed
    texts_list_t opposed
    texts_list_t names
    texts_list_t far             # pairs
    bint claims_nothing


cdef struct evidence_list_t:
    evidence_t* items
    int64_t capacity
    int64_t n
    bint is_absent
    span_t written               # their JSON, where it was written before


cdef struct grounded_facts_t:
    const kept_t* kept
    int64_t language
    int64_t n_chunk_scores       # or ABSENT
    int64_t chunk_scores         # place of the first
    int64_t n_precision_scores
    int64_t precision_scores
    evidence_list_t answer
    int64_t best_truth
    evidence_list_t truth
    const double* scores
    const int64_t* causes        # null reason and cause of each metric
    int64_t losses               # place of the first, or ABSENT
    bint is_refusal
    bint only_refuses
    bint answerable
    # Of the sample.
    text_t answer_text
    text_t truth_text            # the one that context_recall took
    int64_t n_truths
    int64_t n_chunks


cdef inline void close_facts(grounded_facts_t* facts) noexcept nogil:
    free(facts.answer.items)
    free(facts.truth.items)


cdef inline texts_list_t passed_texts(kept_t* kept, int64_t n) noexcept nogil:
    cdef texts_list_t found
    found.n, found.sizes, found.begin = n, kept.number, kept.text
    for _ in range(n):
        kept.text += taken_number(kept)
    return found


cdef inline void read_sentence(evidence_t* found, kept_t* kept) noexcept nogil:
    found.span.begin = taken_number(kept)
    found.span.end = taken_number(kept)
    found.chunk = taken_number(kept)
    if found.chunk != ABSENT:
        found.window.begin = taken_number(kept)
        found.window.end = taken_number(kept)
    found.value = kept.value
    kept.value += 2 + N_LOSSES
    found.numbers = passed_texts(kept, taken_number(kept))
    found.is_opposed = taken_number(kept) != 0
    found.opposed = passed_texts(kept, 2 if found.is_opposed else 0)
    found.names = passed_texts(kept, taken_number(kept))
    found.far = passed_texts(kept, 2 * taken_number(kept))
    found.claims_nothing = taken_number(kept) != 0


cdef inline int read_piece(evidence_list_t* found, kept_t* kept) noexcept nogil:
    """The sentences of a text; 0, or -1 without memory."""
    cdef int64_t i, n = taken_number(kept)
    found.is_absent = n == ABSENT
    found.n = 0 if found.is_absent else n
    found.written = span_t(0, 0)
    if reserve(<void**> &found.items, &found.capacity, found.n, sizeof(evidence_t)):
        return -1
    for i in range(found.n):
        read_sentence(&found.items[i], kept)
    return 0


cdef inline int64_t passed_scores(kept_t* kept, int64_t* n) noexcept nogil:
    n[0] = taken_number(kept)
    if n[0] > 0:
        kept.value += n[0]
        return kept.value - n[0]
    return kept.value


cdef inline int read_grounded(grounded_facts_t* facts, kept_t* kept) noexcept nogil:
    """A row, in the order in which it was kept; 0, or -1 without memory."""
    facts.kept = kept
    facts.language = taken_number(kept)
    facts.chunk_scores = passed_scores(kept, &facts.n_chunk_scores)
    facts.precision_scores = passed_scores(kept, &facts.n_precision_scores)
    if read_piece(&facts.answer, kept):
        return -1
    facts.best_truth = taken_number(kept)
    facts.truth.n = 0
    facts.truth.is_absent = True
    facts.truth.written = span_t(0, 0)
    if facts.best_truth != ABSENT and read_piece(&facts.truth, kept):
        return -1
    facts.scores = passed_values(kept, N_ALL_METRICS)
    facts.causes = kept.numbers + kept.number
    kept.number += 2 * N_ALL_METRICS
    facts.losses = ABSENT
    if taken_number(kept):
        facts.losses = kept.value
        kept.value += N_LOSSES
    facts.is_refusal = taken_number(kept) != 0
    facts.only_refuses = facts.answerable = False
    if facts.is_refusal:
        facts.only_refuses = taken_number(kept) != 0
        facts.answerable = taken_number(kept) != 0
    return 0


# -------------------------------------------------------------------------------------- sentences

cdef inline int64_t text_size(const kept_t* kept, const texts_list_t* texts,
                              int64_t i) noexcept nogil:
    return kept.numbers[texts.sizes + i]


cdef inline bint is_repeated(const kept_t* kept, const texts_list_t* texts, int64_t i,
                             int64_t begin) noexcept nogil:
    """Text ``i``, which begins at ``begin``, is one of those before it."""
    cdef int64_t size = text_size(kept, texts, i), at = texts.begin, earlier
    for earlier in range(i):
        if text_size(kept, texts, earlier) == size and memcmp(
                kept.texts + at, kept.texts + begin, <size_t> size) == 0:
            return True
        at += text_size(kept, texts, earlier)
    return False


cdef inline bint is_text(const kept_t* kept, const texts_list_t* texts, int64_t begin,
                         int64_t size) noexcept nogil:
    """The first of some texts, of which there is one, has these bytes."""
    return texts.n > 0 and text_size(kept, texts, 0) == size and memcmp(
        kept.texts + texts.begin, kept.texts + begin, <size_t> size) == 0


cdef inline void put_listed(output_t* out, const kept_t* kept, const texts_list_t* texts,
                            int64_t phrase, const texts_list_t* but) noexcept nogil:
    """A phrase with texts, each once, but for the first of others; nothing where there is none."""
    cdef int64_t i, at = texts.begin, size
    cdef bint is_next = False
    for i in range(texts.n):
        size = text_size(kept, texts, i)
        if not is_repeated(kept, texts, i, at) and not is_text(kept, but, at, size):
            put_phrase(out, COMMA if is_next else SEMICOLON, 0)
            if not is_next:
                put_phrase(out, phrase, 0)
            is_next = True
            put_text(out, kept.texts + at, size)
        at += size
    if is_next:
        put_phrase(out, phrase, 1)


cdef inline void put_window(output_t* out, const evidence_t* found,
                            double covered) noexcept nogil:
    if found.chunk == ABSENT:
        put_phrase(out, NO_WINDOW, 0)
        return
    put_phrase(out, WINDOW, 0)
    put_integer(out, found.chunk, False)
    put_phrase(out, WINDOW, 1)
    put_integer(out, found.window.begin, False)
    put_phrase(out, WINDOW, 2)
    put_integer(out, found.window.end, False)
    put_phrase(out, WINDOW, 3)
    put_integer(out, <int64_t> rint(100 * covered), False)
    put_phrase(out, WINDOW, 4)


cdef inline void put_pair(output_t* out, const kept_t* kept, const texts_list_t* texts, int64_t i,
                          int64_t at, int64_t phrase) noexcept nogil:
    """Two texts, and a piece of a phrase between them."""
    cdef int64_t size = text_size(kept, texts, i)
    put_text(out, kept.texts + at, size)
    put_phrase(out, phrase, 1 if phrase == OPPOSED else 0)
    put_text(out, kept.texts + at + size, text_size(kept, texts, i + 1))


cdef inline void put_lacking(output_t* out, const kept_t* kept,
                             const evidence_t* found) noexcept nogil:
    """What the contexts have of a sentence, and what not."""
    cdef int64_t i, at = found.far.begin
    cdef texts_list_t none
    none.n = 0
    put_window(out, found, kept.values[found.value + 1])
    if found.is_opposed:
        put_phrase(out, SEMICOLON, 0)
        put_phrase(out, OPPOSED, 0)
        put_pair(out, kept, &found.opposed, 0, found.opposed.begin, OPPOSED)
        put_phrase(out, OPPOSED, 2)
    put_listed(out, kept, &found.numbers, NUMBERS, &found.opposed)
    put_listed(out, kept, &found.names, NAMES, &none)
    for i in range(0, found.far.n, 2):
        put_phrase(out, COMMA if i else SEMICOLON, 0)
        if not i:
            put_phrase(out, FAR_NAMES, 0)
        put_pair(out, kept, &found.far, i, at, AND)
        at += text_size(kept, &found.far, i) + text_size(kept, &found.far, i + 1)
    if found.far.n:
        put_phrase(out, FAR_NAMES, 1)


cdef inline int64_t byte_of(const text_t* text, int64_t n, int64_t at) noexcept nogil:
    """Where the text is ``n`` code points after byte ``at``."""
    while n > 0 and at < text.size:
        at += 1
        while at < text.size and text.bytes[at] & 0xC0 == 0x80:
            at += 1
        n -= 1
    return at


cdef inline void put_sentences(output_t* out, const kept_t* kept, const evidence_list_t* sentences,
                               const text_t* text, int64_t metric, double cut) noexcept nogil:
    """One signal per sentence below the cut that claims something: what the chunks have of it."""
    cdef const evidence_t* found
    cdef bint is_next = False, is_ascii = not has_high_byte(text.bytes, text.size)
    cdef int64_t i, begin, end, points = 0, at = 0
    for i in range(sentences.n):
        found = &sentences.items[i]
        if not kept.values[found.value] < cut or found.claims_nothing:
            continue
        if is_next:
            put_byte(out, b",")
        is_next = True
        begin_signal(out, ABOUT_SENTENCE + metric, i)
        put_score(out, kept.values[found.value])
        put_lacking(out, kept, found)
        put_piece(out)
        begin, end = found.span.begin, found.span.end
        if not is_ascii:
            if begin < points:
                points = at = 0
            at = byte_of(text, begin - points, at)
            points = found.span.end
            begin = at
            end = at = byte_of(text, points - found.span.begin, at)
        put(out, b',"evidence":"', 13)
        put_text(out, text.bytes + begin, end - begin)
        put_byte(out, b'"')
        if found.chunk != ABSENT:
            put(out, b',"contextChunkIndex":', 21)
            put_integer(out, found.chunk, False)
        end_signal(out)


# ---------------------------------------------------------------------------------------- metrics

cdef inline bint is_few(int64_t n, int64_t total) noexcept nogil:
    """Of such numbers is said that something is, and not that some are."""
    return n == 1 or total == 1


cdef inline int64_t n_relevant(const grounded_facts_t* facts, double limit) noexcept nogil:
    cdef int64_t n = facts.n_chunk_scores
    return n - n_below(facts.kept.values + facts.chunk_scores, n, limit)


cdef inline int64_t grounded_variant(const grounded_facts_t* facts, int64_t metric,
                                     const grounded_limits_t* limits) noexcept nogil:
    """Which of the words of a metric are said of a row."""
    cdef int64_t cause = facts.causes[2 * metric + 1], n
    if cause != COUNTED:
        return NULL_WORDS + 2 * cause + (
            ALTHOUGH if cause == REFUSAL and metric != CONTEXT_RECALL and facts.answerable else 0)
    if metric == FAITHFULNESS:
        return 0 if facts.answer.n == 1 else PLURAL
    if metric == CONTEXT_RECALL:
        return (0 if facts.truth.n == 1 else PLURAL) + (SEVERAL if facts.n_truths > 1 else 0)
    if metric == CONTEXT_RELEVANCE:
        n = facts.n_chunk_scores if facts.n_chunk_scores > 0 else 0
        return (0 if n == 1 else PLURAL) + (
            0 if is_few(n_relevant(facts, limits.relevance), n) else SEVERAL)
    if metric == CONTEXT_PRECISION:
        return SEVERAL if facts.n_truths else 0
    if metric == ANSWER_CORRECTNESS:
        return SEVERAL if facts.n_truths > 1 else 0
    return 0


cdef inline void put_low(output_t* out, int64_t metric, double score,
                         const grounded_limits_t* limits) noexcept nogil:
    if score < limits.low[metric]:
        begin_signal(out, ABOUT_SCORE + metric, -1)
        put_score(out, score)
        end_signal(out)


cdef inline void put_null_signal(output_t* out, const grounded_facts_t* facts,
                                 int64_t metric) noexcept nogil:
    """A score of 0 that no counting gave is a finding of its own; nothing where it is null."""
    cdef int64_t reason = facts.causes[2 * metric], cause = facts.causes[2 * metric + 1]
    if not reason:
        begin_signal(out, ABOUT_CAUSE + 16 * cause + metric, -1)
        end_signal(out)


cdef inline void put_grounded_values(output_t* out, const grounded_facts_t* facts, int64_t metric,
                                     const grounded_limits_t* limits) noexcept nogil:
    """The values in the words of a metric, and its signals."""
    cdef const double* chunks = facts.kept.values + facts.chunk_scores
    cdef double score = facts.scores[metric]
    cdef int64_t n
    if facts.causes[2 * metric + 1] != COUNTED:
        end_values(out, 1)
        put_null_signal(out, facts, metric)
    elif metric == FAITHFULNESS:
        put_amount(out, facts.answer.n)
        put_score(out, score)
        end_values(out, 1)
        put_sentences(out, facts.kept, &facts.answer, &facts.answer_text, metric, limits.support)
    elif metric == HALLUCINATION_RATE:
        put_score(out, score)
        end_values(out, 1)
        put_sentences(out, facts.kept, &facts.answer, &facts.answer_text, metric, limits.support)
    elif metric == CONTEXT_RECALL:
        put_amount(out, facts.truth.n)
        if facts.n_truths > 1:
            put_count(out, facts.best_truth)
            put_count(out, facts.n_truths)
        put_score(out, score)
        end_values(out, 1)
        put_sentences(out, facts.kept, &facts.truth, &facts.truth_text, metric, limits.support)
    elif metric == CONTEXT_RELEVANCE:
        n = facts.n_chunk_scores if facts.n_chunk_scores > 0 else 0
        put_amount(out, n_relevant(facts, limits.relevance))
        put_amount(out, n)
        put_score(out, score)
        end_values(out, 1)
        if n_below(chunks, n, limits.relevance):
            begin_signal(out, metric + (ABOUT_CONTEXT if n_below(chunks, n, limits.relevance) == 1
                                        else ABOUT_CONTEXTS), -1)
            put_places_below(out, chunks, n, limits.relevance)
            end_signal(out)
    elif metric == CONTEXT_PRECISION or metric == ANSWER_RELEVANCE:
        put_score(out, score)
        end_values(out, 1)
        put_low(out, metric, score, limits)
    elif metric == ANSWER_CORRECTNESS:
        if facts.n_truths > 1:
            put_count(out, facts.n_truths)
        put_score(out, score)
        end_values(out, 1)
        put_low(out, metric, score, limits)
    else:
        put_score(out, score)
        end_values(out, 1)
