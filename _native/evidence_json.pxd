"""What scores of the grounded profile are made of, as JSON."""
from grounded_words cimport (
    N_LOSSES, evidence_list_t, evidence_t, grounded_facts_t, is_repeated, text_size, texts_list_t,
)
from kept_details cimport ABSENT, kept_t
from outcomes cimport (
    CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE, COUNTED, FAITHFULNESS,
    HALLUCINATION_RATE, NO_CONTEXT, REFUSAL,
)
from primitives cimport int64_t, span_t, uint8_t
from row_output cimport output_t, put, put_again, put_byte, put_integer, put_phrase, put_text

cdef enum:
    # Phrases, after those of explanations.
    KEYS = 9             # of chunk scores, scores of sentences, evidence and losses
    SENTENCE = 10
    LOSSES = 11


cdef struct numbers_t:
    const uint8_t* text        # numbers as JSON, with a comma between them
    const int64_t* ends


cdef inline void put_numbers(output_t* out, const numbers_t* numbers, int64_t first,
                             int64_t n) noexcept nogil:
    """Some of them, with a comma between them."""
    cdef int64_t begin = numbers.ends[first - 1] + 1 if first else 0
    if n > 0:
        put(out, numbers.text + begin, numbers.ends[first + n - 1] - begin)


cdef inline void put_number_list(output_t* out, const numbers_t* numbers, int64_t first,
                                 int64_t n) noexcept nogil:
    put_byte(out, b"[")
    put_numbers(out, numbers, first, n)
    put_byte(out, b"]")


cdef inline void put_string(output_t* out, const uint8_t* text, int64_t size) noexcept nogil:
    put_byte(out, b'"')
    put_text(out, text, size)
    put_byte(out, b'"')


cdef inline void put_span(output_t* out, const span_t* span) noexcept nogil:
    put_byte(out, b"[")
    put_integer(out, span.begin, False)
    put_byte(out, b",")
    put_integer(out, span.end, False)
    put_byte(out, b"]")


cdef inline void put_strings(output_t* out, const kept_t* kept,
                             const texts_list_t* texts) noexcept nogil:
    """Each text once."""
    cdef int64_t i, at = texts.begin
    cdef bint is_next = False
    put_byte(out, b"[")
    for i in range(texts.n):
        if not is_repeated(kept, texts, i, at):
            if is_next:
                put_byte(out, b",")
            is_next = True
            put_string(out, kept.texts + at, text_size(kept, texts, i))
        at += text_size(kept, texts, i)
    put_byte(out, b"]")


cdef inline void put_string_pair(output_t* out, const kept_t* kept, const texts_list_t* texts,
                                 int64_t i, int64_t at) noexcept nogil:
    cdef int64_t size = text_size(kept, texts, i)
    put_byte(out, b"[")
    put_string(out, kept.texts + at, size)
    put_byte(out, b",")
    put_string(out, kept.texts + at + size, text_size(kept, texts, i + 1))
    put_byte(out, b"]")


cdef inline void put_null(output_t* out) noexcept nogil:
    put(out, b"null", 4)


cdef inline void put_losses(output_t* out, const kept_t* kept, const numbers_t* values,
                            int64_t first) noexcept nogil:
    """Shares, and two flags."""
    cdef int64_t i
    for i in range(N_LOSSES):
        put_phrase(out, LOSSES, i)
        if i < N_LOSSES - 2:
            put_numbers(out, values, first + i, 1)
        else:
            put_integer(out, <int64_t> kept.values[first + i], False)
    put_phrase(out, LOSSES, N_LOSSES)


cdef inline void put_sentence(output_t* out, const kept_t* kept, const numbers_t* values,
                              const evidence_t* found) noexcept nogil:
    cdef int64_t i, at = found.far.begin
    put_phrase(out, SENTENCE, 0)
    put_span(out, &found.span)
    put_phrase(out, SENTENCE, 1)
    put_numbers(out, values, found.value, 1)
    put_phrase(out, SENTENCE, 2)
    if found.chunk == ABSENT:
        put_null(out)
        put_phrase(out, SENTENCE, 3)
        put_null(out)
    else:
        put_integer(out, found.chunk, False)
        put_phrase(out, SENTENCE, 3)
        put_span(out, &found.window)
    put_phrase(out, SENTENCE, 4)
    put_numbers(out, values, found.value + 1, 1)
    put_phrase(out, SENTENCE, 5)
    put_strings(out, kept, &found.numbers)
    put_phrase(out, SENTENCE, 6)
    put_strings(out, kept, &found.names)
    put_phrase(out, SENTENCE, 7)
    if found.is_opposed:
        put_string_pair(out, kept, &found.opposed, 0, found.opposed.begin)
    else:
        put_null(out)
    put_phrase(out, SENTENCE, 8)
    put_byte(out, b"[")
    for i in range(0, found.far.n, 2):
        if i:
            put_byte(out, b",")
        put_string_pair(out, kept, &found.far, i, at)
        at += text_size(kept, &found.far, i) + text_size(kept, &found.far, i + 1)
    put_byte(out, b"]")
    put_phrase(out, SENTENCE, 9)
    if found.claims_nothing:
        put(out, b"true", 4)
    else:
        put(out, b"false", 5)
    put_phrase(out, SENTENCE, 10)
    put_losses(out, kept, values, found.value + 2)
    put_phrase(out, SENTENCE, 11)


cdef inline void put_evidence(output_t* out, const kept_t* kept, const numbers_t* values,
                              evidence_list_t* sentences) noexcept nogil:
    """The support of sentences, and all there is to tell of them; two metrics may share them."""
    cdef int64_t i, begin = out.size
    if sentences.written.end:
        put_again(out, sentences.written.begin, sentences.written.end)
        return
    put_phrase(out, KEYS, 1)
    put_byte(out, b"[")
    for i in range(sentences.n):
        if i:
            put_byte(out, b",")
        put_numbers(out, values, sentences.items[i].value, 1)
    put_byte(out, b"]")
    put_phrase(out, KEYS, 2)
    put_byte(out, b"[")
    for i in range(sentences.n):
        if i:
            put_byte(out, b",")
        put_sentence(out, kept, values, &sentences.items[i])
    put_byte(out, b"]")
    sentences.written = span_t(begin, out.size)


cdef inline void put_zeros(output_t* out, int64_t n) noexcept nogil:
    cdef int64_t i
    put_byte(out, b"[")
    for i in range(n):
        if i:
            put_byte(out, b",")
        put(out, b"0.0", 3)
    put_byte(out, b"]")


cdef inline void put_null_details(output_t* out, grounded_facts_t* facts, const numbers_t* values,
                                  int64_t metric, int64_t cause) noexcept nogil:
    """Chunks without a word have a relevance of 0 each, where there is a question.

    The sentences of an answer that only refuses keep their evidence.
    """
    if cause == REFUSAL and not facts.answer.is_absent and (
            metric == FAITHFULNESS or metric == HALLUCINATION_RATE):
        put_evidence(out, facts.kept, values, &facts.answer)
    elif cause == NO_CONTEXT and (metric == CONTEXT_RELEVANCE or metric == CONTEXT_PRECISION):
        put_phrase(out, KEYS, 0)
        put_zeros(out, facts.n_chunks)


cdef inline void put_details(output_t* out, grounded_facts_t* facts, const numbers_t* values,
                             int64_t metric) noexcept nogil:
    """What the score of a metric is made of."""
    cdef int64_t cause = facts.causes[2 * metric + 1]
    if cause != COUNTED:
        put_null_details(out, facts, values, metric, cause)
    elif metric == FAITHFULNESS or metric == HALLUCINATION_RATE:
        put_evidence(out, facts.kept, values, &facts.answer)
        if metric == FAITHFULNESS and facts.losses != ABSENT:
            put_phrase(out, KEYS, 3)
            put_losses(out, facts.kept, values, facts.losses)
    elif metric == CONTEXT_RECALL:
        put_evidence(out, facts.kept, values, &facts.truth)
    elif metric == CONTEXT_RELEVANCE:
        put_phrase(out, KEYS, 0)
        put_number_list(out, values, facts.chunk_scores, facts.n_chunk_scores)
    elif metric == CONTEXT_PRECISION:
        put_phrase(out, KEYS, 0)
        put_number_list(out, values, facts.precision_scores, facts.n_precision_scores)
