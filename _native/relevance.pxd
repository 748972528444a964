"""How relevant chunks are to a question: words near each other, TF-IDF cosine, kind of answer."""
from libc.math cimport sqrt
from libc.stdlib cimport free
from libc.string cimport memset

from asked_kinds cimport asked_kind, kind_match, query_t
from chunk_terms cimport (
    begin_terms, chunk_cosine, chunk_terms_t, close_chunk_terms, end_terms,
)
from claims cimport STEM_WANTED, add_types, claims_t, clamped
from primitives cimport int64_t, reserve, token_t, uint8_t
from row_words cimport count_content, is_content, n_stems, piece_t, row_words_t
from stopping cimport is_stopped
from windows cimport count_places, list_occurrences, list_runs, occurrences_t, run_t

cdef extern from *:
    """
    static const double NEARNESS_WEIGHT = 0.40, COSINE_WEIGHT = 0.45, KIND_WEIGHT = 0.15,
        RELEVANT = 0.30;
    """
    const double NEARNESS_WEIGHT
    const double COSINE_WEIGHT
    const double KIND_WEIGHT
    const double RELEVANT

cdef enum:
    QUESTION_WINDOW = 20


cdef struct relevance_t:
    token_t* content           # of the queries
    int64_t content_capacity
    int64_t n_content
    chunk_terms_t chunk_terms


cdef inline void close_relevance(relevance_t* work) noexcept nogil:
    free(work.content)
    close_chunk_terms(&work.chunk_terms)


# -------------------------------------------------------------------------------------- queries

cdef inline int64_t copy_stems(token_t* out, const token_t* stems, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = stems[i]
    return n


cdef inline int64_t take_content(relevance_t* work, const row_words_t* words,
                                 const query_t* query) noexcept nogil:
    """Take the content stems of a query, all stems when there is none; how many, or -1."""
    cdef int64_t n = query.last - query.first + query.truth_last - query.truth_first
    cdef int64_t n_first = count_content(words, query.first, query.last)
    cdef int64_t n_truth = count_content(words, query.truth_first, query.truth_last)
    cdef token_t* out
    if reserve(<void**> &work.content, &work.content_capacity, work.n_content + n,
               sizeof(token_t)):
        return -1
    out = work.content + work.n_content
    if n_first + n_truth:
        n = copy_stems(out, words.content_stems + words.content_before[query.first], n_first)
        return n + copy_stems(
            out + n, words.content_stems + words.content_before[query.truth_first], n_truth)
    n = copy_stems(out, words.stems + query.first, query.last - query.first)
    return n + copy_stems(
        out + n, words.stems + query.truth_first, query.truth_last - query.truth_first)


cdef inline int make_query(relevance_t* work, claims_t* claims, const row_words_t* words,
                           const piece_t* question, const piece_t* truth,
                           query_t* query) noexcept nogil:
    """Read a question, with a ground truth or NULL, as one list of words; 0, or -1."""
    cdef int64_t n
    memset(query, 0, sizeof(query_t))
    query.first = question.first
    query.last = question.last
    if truth != NULL:
        query.truth_first = truth.first
        query.truth_last = truth.last
    query.kind = asked_kind(words, query)
    n = take_content(work, words, query)
    if n < 0:
        return -1
    query.content = work.n_content
    query.n_content = n
    work.n_content += n
    query.types = claims.n_types
    query.n_types = add_types(claims, words, work.content + query.content, n)
    return -1 if query.n_types < 0 else 0


cdef inline void drop_query(relevance_t* work, claims_t* claims,
                            const query_t* query) noexcept nogil:
    """Forget the query that was made last."""
    work.n_content = query.content
    claims.n_types = query.types


cdef inline void want_stems(claims_t* claims, const row_words_t* words, const piece_t* piece,
                            bint stop_words) noexcept nogil:
    """Want the places of a text's content stems, with ``stop_words`` those of all its stems."""
    cdef int64_t i
    for i in range(piece.first, piece.last):
        claims.marks[words.stems[i]] |= STEM_WANTED * (stop_words | is_content(words, i))


cdef inline bint has_places(const claims_t* claims, const row_words_t* words,
                            const piece_t* piece) noexcept nogil:
    """The chunks have a stem of a text."""
    cdef int64_t i
    for i in range(piece.first, piece.last):
        if count_places(&claims.occurrences, words.stems[i]):
            return True
    return False


cdef inline int list_hits(claims_t* claims, const row_words_t* words,
                          const piece_t* piece) noexcept nogil:
    """List the places of wanted stems in one text instead of the chunks; 0, or -1."""
    cdef int64_t n_hits = 0, i
    if reserve(<void**> &claims.hits, &claims.hits_capacity, piece.last - piece.first + 1,
               sizeof(int64_t)):
        return -1
    for i in range(piece.first, piece.last):
        claims.hits[n_hits] = i
        n_hits += claims.marks[words.stems[i]] & STEM_WANTED != 0
    return list_occurrences(&claims.occurrences, words.stems, claims.hits, n_hits,
                            n_stems(words))


# ------------------------------------------------------------------------------------ relevance

cdef inline double chunk_score(relevance_t* work, const row_words_t* words, const query_t* query,
                               const piece_t* chunks, const run_t* run,
                               const uint8_t* in_query) noexcept nogil:
    """Relevance of a chunk with a word; one that has no stem of the query has an empty run."""
    cdef double cosine = 0.0, nearness
    if run.n_found:
        cosine = chunk_cosine(&work.chunk_terms, run.chunk)
    nearness = <double> run.n_found / <double> query.n_types
    return clamped(
        NEARNESS_WEIGHT * nearness + COSINE_WEIGHT * sqrt(cosine)
        + KIND_WEIGHT * kind_match(words, query, in_query, &chunks[run.chunk]))


cdef inline int open_query(relevance_t* work, claims_t* claims, const row_words_t* words,
                           const query_t* query, int64_t n_chunks,
                           uint8_t* in_query) noexcept nogil:
    """Set out a query and the runs of its stems in the chunks; 0, or -1 without memory.

    ``in_query``, all 0 before and when closed, has room for every stem.
    """
    if list_runs(&claims.occurrences, words.stems, claims.types + query.types, query.n_types,
                 QUESTION_WINDOW, n_chunks):
        return -1
    if begin_terms(&work.chunk_terms, work.content + query.content, query.n_content,
                   n_stems(words)):
        return -1
    mark_query(words, query, in_query, 1)
    return 0


cdef inline void close_query(relevance_t* work, const row_words_t* words, const query_t* query,
                             uint8_t* in_query) noexcept nogil:
    mark_query(words, query, in_query, 0)
    end_terms(&work.chunk_terms)


cdef inline int score_chunks(relevance_t* work, claims_t* claims, const row_words_t* words,
                             const query_t* query, const piece_t* chunks, int64_t n_chunks,
                             uint8_t* in_query, double* scores) noexcept nogil:
    """Relevance of each chunk to a query, 0 for one without a word; 0, or -1 if ended early."""
    cdef const occurrences_t* found = &claims.occurrences
    cdef int64_t n_seen = 0, chunk
    cdef run_t run
    if open_query(work, claims, words, query, n_chunks, in_query):
        return -1
    for chunk in range(n_chunks):
        if is_stopped(&claims.stop):
            return -1
        scores[chunk] = 0.0
        if chunks[chunk].first == chunks[chunk].last:
            continue
        run = run_t(chunk, 0)
        if n_seen < found.n_runs and found.runs[n_seen].chunk == chunk:
            run = found.runs[n_seen]
            n_seen += 1
        scores[chunk] = chunk_score(work, words, query, chunks, &run, in_query)
    close_query(work, words, query, in_query)
    return 0


cdef inline int query_precision(relevance_t* work, claims_t* claims, const row_words_t* words,
                                const query_t* query, const piece_t* chunks, int64_t n_chunks,
                                uint8_t* in_query, double* precision) noexcept nogil:
    """Average precision of the chunks for a query; 0, or -1 if ended early.

    A chunk that has no stem of the query cannot be relevant: the kind of answer that it may hold
    is worth KIND_WEIGHT alone. So it is passed over.
    """
    cdef const occurrences_t* found = &claims.occurrences
    cdef int64_t n_relevant = 0, i
    cdef double total = 0.0
    if open_query(work, claims, words, query, n_chunks, in_query):
        return -1
    for i in range(found.n_runs):
        if is_stopped(&claims.stop):
            return -1
        if chunk_score(work, words, query, chunks, &found.runs[i], in_query) >= RELEVANT:
            n_relevant += 1
            total += <double> n_relevant / <double> (found.runs[i].chunk + 1)
    close_query(work, words, query, in_query)
    precision[0] = total / <double> n_relevant if n_relevant else 0.0
    return 0


cdef inline void mark_query(const row_words_t* words, const query_t* query, uint8_t* in_query,
                            uint8_t mark) noexcept nogil:
    """Set the mark of every stem of a query."""
    cdef int64_t i
    for i in range(query.first, query.last):
        in_query[words.stems[i]] = mark
    for i in range(query.truth_first, query.truth_last):
        in_query[words.stems[i]] = mark


cdef inline double relevant_share(const double* scores, int64_t n_chunks) noexcept nogil:
    cdef int64_t relevant = 0, i
    for i in range(n_chunks):
        relevant += scores[i] >= RELEVANT
    return <double> relevant / <double> n_chunks


cdef inline double average_precision(const double* scores, int64_t n_chunks) noexcept nogil:
    """Mean over the relevant chunks of the precision at their rank; 0 when none is relevant."""
    cdef int64_t found = 0, i
    cdef double total = 0.0
    for i in range(n_chunks):
        if scores[i] >= RELEVANT:
            found += 1
            total += <double> found / <double> (i + 1)
    return total / <double> found if found else 0.0
