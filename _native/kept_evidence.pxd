"""What the scores of a row of the grounded profile are made of, kept as flat memory."""
from asked_kinds cimport query_t
from claim_sentences cimport sentence_t
from claims cimport N_LOSSES, counted_t, support_t
from grounded_nulls cimport opened_t
from grounded_row cimport read_with_truth, score_with
from grounded_work cimport grounded_work_t
from kept_details cimport (
    ABSENT, keep_list, keep_number, keep_oddness, keep_text, keep_values, kept_t,
)
from lexicon cimport form_bytes, form_size
from name_support cimport is_checked_name, is_missing_name, list_known_names, stand_far
from number_support cimport misses_number
from number_values cimport is_figure, number_t
from outcomes cimport N_ALL_METRICS
from primitives cimport int64_t, reserve, span_t, token_t
from relevance cimport drop_query
from row_words cimport original_span, piece_t, raw_of, row_words_t

cdef inline int keep_span(kept_t* kept, const row_words_t* words, const piece_t* piece,
                          int64_t begin, int64_t end) noexcept nogil:
    cdef span_t span = original_span(words, piece, begin, end)
    return -1 if keep_number(kept, span.begin) or keep_number(kept, span.end) else 0


cdef inline int keep_word(kept_t* kept, const row_words_t* words, int64_t word) noexcept nogil:
    cdef token_t raw = raw_of(words, word)
    return keep_text(kept, form_bytes(&words.lexicon, raw), form_size(&words.lexicon, raw))


cdef inline int keep_count(kept_t* kept, int64_t place, int64_t n) noexcept nogil:
    """Note in a number that was kept before how many there were."""
    kept.numbers[place] = n
    return 0


cdef inline int keep_missing_numbers(kept_t* kept, grounded_work_t* work, const piece_t* piece,
                                     int64_t first, int64_t last) noexcept nogil:
    """Numbers of a sentence that no chunk has, in their order, some of them repeated."""
    cdef int64_t place = kept.n_numbers, n = 0, i
    cdef number_t number
    cdef int misses
    if keep_number(kept, 0):
        return -1
    for i in range(first, last):
        if not is_figure(&work.words, i):
            continue
        misses = misses_number(&work.claims, &work.words, piece, i, &number)
        if misses < 0 or (misses and keep_word(kept, &work.words, i)):
            return -1
        n += misses
    return keep_count(kept, place, n)


cdef inline int keep_missing_names(kept_t* kept, const grounded_work_t* work, int64_t first,
                                   int64_t last) noexcept nogil:
    cdef int64_t place = kept.n_numbers, n = 0, i
    if keep_number(kept, 0):
        return -1
    for i in range(first, last):
        if not is_checked_name(&work.words, i):
            continue
        if is_missing_name(&work.claims, &work.words.lexicon.forms[work.words.ids[i]]):
            if keep_word(kept, &work.words, i):
                return -1
            n += 1
    return keep_count(kept, place, n)


cdef inline int keep_far_names(kept_t* kept, grounded_work_t* work, int64_t first,
                               int64_t last) noexcept nogil:
    """Pairs of names of a sentence that chunks have, but not near each other."""
    cdef counted_t names
    cdef int64_t n_known = list_known_names(&work.claims, &work.words, first, last, &names)
    cdef int64_t place = kept.n_numbers, n = 0, i
    cdef const int64_t* known = work.claims.names_known
    if n_known < 0 or keep_number(kept, 0):
        return -1
    for i in range(1, n_known):
        if stand_far(&work.claims, &work.words, known[i - 1], known[i]):
            if keep_word(kept, &work.words, known[i - 1]) or keep_word(
                    kept, &work.words, known[i]):
                return -1
            n += 1
    return keep_count(kept, place, n)


cdef inline int keep_window(kept_t* kept, const grounded_work_t* work,
                            const support_t* support) noexcept nogil:
    """Its chunk and where it is there, or that there is none."""
    cdef const row_words_t* words = &work.words
    cdef int64_t chunk = support.where.chunk
    if not support.where.n_found:
        return keep_number(kept, ABSENT)
    if keep_number(kept, chunk):
        return -1
    return keep_span(kept, words, &work.chunks[chunk],
                     words.cutter.spans[support.where.first].begin,
                     words.cutter.spans[support.where.last].end)


cdef inline int keep_sentence(kept_t* kept, grounded_work_t* work, const piece_t* piece,
                              int64_t sentence) noexcept nogil:
    cdef const row_words_t* words = &work.words
    cdef const sentence_t* cut = &words.sentences.items[sentence]
    cdef const support_t* support = &work.claims.supports[sentence]
    cdef int64_t first = piece.first + cut.first, last = piece.first + cut.last
    if keep_span(kept, words, piece, cut.begin, cut.end) or keep_window(kept, work, support):
        return -1
    if keep_values(kept, &support.score, 1) or keep_values(kept, &support.window, 1):
        return -1
    if keep_missing_numbers(kept, work, piece, first, last):
        return -1
    if keep_number(kept, support.number >= 0):
        return -1
    if support.number >= 0 and (keep_word(kept, words, support.number)
                                or keep_word(kept, words, support.against)):
        return -1
    if keep_missing_names(kept, work, first, last) or keep_far_names(kept, work, first, last):
        return -1
    if keep_number(kept, cut.is_label or cut.leads_in):
        return -1
    return keep_values(kept, support.losses, N_LOSSES)


cdef inline int keep_piece(kept_t* kept, grounded_work_t* work,
                           const piece_t* piece) noexcept nogil:
    cdef int64_t i
    if keep_number(kept, piece.last_sentence - piece.first_sentence):
        return -1
    for i in range(piece.first_sentence, piece.last_sentence):
        if keep_sentence(kept, work, piece, i):
            return -1
    return 0


cdef inline int score_precision_again(grounded_work_t* work) noexcept nogil:
    """Relevance of every chunk to the question as context_precision reads it; 0, or -1."""
    cdef query_t query
    if reserve(<void**> &work.other_scores, &work.other_scores_capacity, work.n_chunks,
               sizeof(double)):
        return -1
    if work.precision_truth < 0:
        return score_with(work, &work.question_query, work.chunks, work.n_chunks,
                          work.other_scores)
    if read_with_truth(work, work.precision_truth, &query):
        return -1
    if score_with(work, &query, work.chunks, work.n_chunks, work.other_scores):
        return -1
    drop_query(&work.relevance, &work.claims, &query)
    return 0


cdef inline int keep_held(kept_t* kept, grounded_work_t* work,
                          const opened_t* opened) noexcept nogil:
    """What was held against all chunks, before other texts are held in the same place; 0, or -1."""
    cdef const piece_t* truth = &work.truths[work.best_truth]
    if keep_number(kept, work.words.language):
        return -1
    if opened.chunk_scores:
        if keep_list(kept, work.chunk_scores, work.n_chunks):
            return -1
    elif keep_number(kept, ABSENT):
        return -1
    if opened.precision:
        if score_precision_again(work) or keep_list(kept, work.other_scores, work.n_chunks):
            return -1
    elif keep_number(kept, ABSENT):
        return -1
    if opened.support:
        if keep_piece(kept, work, &work.answer):
            return -1
    elif keep_number(kept, ABSENT):
        return -1
    if not opened.recall:
        return keep_number(kept, ABSENT)
    return -1 if keep_number(kept, truth.index) or keep_piece(kept, work, truth) else 0


cdef inline int keep_scores(kept_t* kept, const grounded_work_t* work,
                            const opened_t* opened) noexcept nogil:
    """The scores of a row and why they are null; 0, or -1."""
    cdef int64_t i
    if keep_values(kept, work.scores, N_ALL_METRICS):
        return -1
    for i in range(N_ALL_METRICS):
        if keep_number(kept, work.causes[i].reason) or keep_number(kept, work.causes[i].cause):
            return -1
    if keep_number(kept, opened.claims) or (
            opened.claims and keep_values(kept, work.losses, N_LOSSES)):
        return -1
    if keep_number(kept, work.declines):
        return -1
    if work.declines and (keep_number(kept, work.only_refuses)
                          or keep_number(kept, work.answerable)):
        return -1
    return keep_oddness(kept)
