"""Terms of chunks and of a query, and the TF-IDF cosine of the two."""
from libc.math cimport sqrt
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from claims cimport clamped
from natural_log cimport natural_log
from ngram_sets cimport begin_tally, tallied_count, tally_ids, tally_t
from primitives cimport int32_t, int64_t, reserve, token_t, uint64_t
from row_words cimport content_or_all, n_stems, piece_t, row_words_t

cdef enum:
    MANY_TERMS = 16            # of a query, to each of a chunk


cdef struct chunk_terms_t:
    token_t* terms             # distinct content stems of the chunks, end to end
    int64_t terms_capacity
    int32_t* counts            # ... and how often each occurs
    int64_t counts_capacity
    int64_t* term_begins       # per chunk, and one more
    int64_t term_begins_capacity
    int32_t* document_counts   # per stem: chunks that have it
    int64_t document_counts_capacity
    double* weights            # idf by document count
    int64_t weights_capacity
    tally_t tally
    # Of the query at hand.
    int32_t* query_places      # per stem: 1 + its place among the query's terms; else 0
    int64_t query_places_capacity
    token_t* query_terms
    int64_t query_terms_capacity
    int64_t n_query_terms
    int64_t* query_counts
    int64_t query_counts_capacity
    int64_t* shared_counts     # per term of the query, by its place: times in the chunk at hand
    int64_t shared_counts_capacity
    int32_t* shared_places     # ... of a chunk with few terms
    int64_t shared_places_capacity
    double query_length


cdef inline void close_chunk_terms(chunk_terms_t* work) noexcept nogil:
    free(work.terms)
    free(work.counts)
    free(work.term_begins)
    free(work.document_counts)
    free(work.weights)
    free(work.tally.cells)
    free(work.query_places)
    free(work.query_terms)
    free(work.query_counts)
    free(work.shared_counts)
    free(work.shared_places)


# ------------------------------------------------------------------------------------ of chunks

cdef inline int64_t count_chunk(chunk_terms_t* work, const token_t* content, int64_t n_content,
                                int64_t first) noexcept nogil:
    """Count the terms of a chunk, from place ``first`` on; how many are distinct."""
    # In locals: the compiler cannot know that no store of the loop changes them.
    cdef const token_t* terms = work.terms + first
    cdef int32_t* counts = work.counts + first
    cdef int32_t* document_counts = work.document_counts
    cdef const uint64_t* cells = work.tally.cells
    cdef uint64_t stamp = work.tally.stamp
    cdef int64_t n = tally_ids(&work.tally, content, n_content, work.terms + first), i
    for i in range(n):
        counts[i] = <int32_t> (cells[terms[i]] - stamp)
        document_counts[terms[i]] += 1
    return n


cdef inline int count_terms(chunk_terms_t* work, const row_words_t* words, const piece_t* chunks,
                            int64_t n_chunks) noexcept nogil:
    """Distinct content stems of each chunk, and in how many chunks each is; 0, or -1."""
    cdef int64_t n_words = chunks[n_chunks - 1].last - chunks[0].first
    cdef int64_t n_terms = 0, n_content, chunk
    cdef const token_t* content
    if reserve(<void**> &work.terms, &work.terms_capacity, n_words + 1, sizeof(token_t)):
        return -1
    if reserve(<void**> &work.counts, &work.counts_capacity, n_words + 1, sizeof(int32_t)):
        return -1
    if reserve(<void**> &work.term_begins, &work.term_begins_capacity, n_chunks + 1,
               sizeof(int64_t)):
        return -1
    if reserve(<void**> &work.document_counts, &work.document_counts_capacity, n_stems(words) + 1,
               sizeof(int32_t)):
        return -1
    memset(work.document_counts, 0, <size_t> n_stems(words) * sizeof(int32_t))
    for chunk in range(n_chunks):
        work.term_begins[chunk] = n_terms
        if chunks[chunk].first == chunks[chunk].last:
            continue
        content = content_or_all(words, chunks[chunk].first, chunks[chunk].last, &n_content)
        if begin_tally(&work.tally, n_stems(words)):
            return -1
        n_terms += count_chunk(work, content, n_content, n_terms)
    work.term_begins[n_chunks] = n_terms
    return weigh_documents(work, n_chunks)


cdef inline int weigh_documents(chunk_terms_t* work, int64_t n_chunks) noexcept nogil:
    """idf by document count over the chunks and the query: smooth, as scikit-learn's."""
    cdef double n_documents = <double> (n_chunks + 1)
    cdef int64_t count
    if reserve(<void**> &work.weights, &work.weights_capacity, n_chunks + 2, sizeof(double)):
        return -1
    for count in range(n_chunks + 2):
        work.weights[count] = natural_log((1.0 + n_documents) / (1.0 + <double> count)) + 1.0
    return 0


# --------------------------------------------------------------------------------- of a query

cdef inline int reserve_query(chunk_terms_t* work, int64_t n_content,
                              int64_t n_ids) noexcept nogil:
    """Room for a query of so many stems, places all 0; 0, or -1 without memory."""
    cdef int64_t before = work.query_places_capacity
    if reserve(<void**> &work.query_places, &work.query_places_capacity, n_ids + 1,
               sizeof(int32_t)):
        return -1
    memset(work.query_places + before, 0,
           <size_t> (work.query_places_capacity - before) * sizeof(int32_t))
    if reserve(<void**> &work.query_terms, &work.query_terms_capacity, n_content + 1,
               sizeof(token_t)):
        return -1
    if reserve(<void**> &work.query_counts, &work.query_counts_capacity, n_content + 1,
               sizeof(int64_t)):
        return -1
    if reserve(<void**> &work.shared_counts, &work.shared_counts_capacity, n_content + 2,
               sizeof(int64_t)):
        return -1
    # A chunk whose places are listed has fewer terms than the query.
    return reserve(<void**> &work.shared_places, &work.shared_places_capacity, n_content + 1,
                   sizeof(int32_t))


cdef inline int begin_terms(chunk_terms_t* work, const token_t* content, int64_t n_content,
                            int64_t n_ids) noexcept nogil:
    """Terms of a query, whose stems are below ``n_ids``, in order of first occurrence; 0, or -1.

    Until ``end_terms`` the query is one of the documents that have them.
    """
    cdef double total = 0.0, weight
    cdef int64_t n, i
    cdef token_t term
    if reserve_query(work, n_content, n_ids) or begin_tally(&work.tally, n_ids):
        return -1
    n = tally_ids(&work.tally, content, n_content, work.query_terms)
    for i in range(n):
        term = work.query_terms[i]
        work.query_counts[i] = tallied_count(&work.tally, term)
        work.query_places[term] = <int32_t> (i + 1)
        work.document_counts[term] += 1
        work.shared_counts[i + 1] = 0
        weight = <double> work.query_counts[i] * work.weights[work.document_counts[term]]
        total += weight * weight
    work.n_query_terms = n
    work.query_length = sqrt(total)
    return 0


cdef inline void end_terms(chunk_terms_t* work) noexcept nogil:
    cdef int64_t i
    for i in range(work.n_query_terms):
        work.query_places[work.query_terms[i]] = 0
        work.document_counts[work.query_terms[i]] -= 1


cdef inline void add_shared(chunk_terms_t* work, int64_t place, double* dot) noexcept nogil:
    """Add what a term of the query shares with the chunk at hand, and forget it."""
    cdef double weight = work.weights[work.document_counts[work.query_terms[place - 1]]]
    dot[0] += <double> (work.query_counts[place - 1] * work.shared_counts[place]) * (
        weight * weight)
    work.shared_counts[place] = 0


cdef inline int earlier_place(const void* left, const void* right) noexcept nogil:
    cdef int32_t a = (<const int32_t*> left)[0], b = (<const int32_t*> right)[0]
    return (a > b) - (a < b)


cdef inline double sparse_dot(chunk_terms_t* work, int64_t chunk) noexcept nogil:
    """The product with a query of many terms, found from the chunk: in the order of the query."""
    cdef int32_t* places = work.shared_places
    cdef int64_t n_shared = 0, i
    cdef double dot = 0.0
    for i in range(work.term_begins[chunk], work.term_begins[chunk + 1]):
        places[n_shared] = work.query_places[work.terms[i]]
        n_shared += places[n_shared] != 0
    qsort(places, <size_t> n_shared, sizeof(int32_t), earlier_place)
    for i in range(n_shared):
        add_shared(work, places[i], &dot)
    return dot


cdef inline double chunk_cosine(chunk_terms_t* work, int64_t chunk) noexcept nogil:
    """TF-IDF cosine of a chunk and the query; sums in order of first occurrence."""
    cdef int64_t first = work.term_begins[chunk], n = work.term_begins[chunk + 1] - first, i
    cdef const token_t* terms = work.terms + first
    cdef const int32_t* counts = work.counts + first
    cdef const int32_t* document_counts = work.document_counts
    cdef const int32_t* places = work.query_places
    cdef const double* weights = work.weights
    cdef int64_t* shared_counts = work.shared_counts
    cdef double total = 0.0, dot = 0.0, weight
    for i in range(n):
        weight = <double> counts[i] * weights[document_counts[terms[i]]]
        total += weight * weight
        # Without a branch: place 0 takes what is of no term.
        shared_counts[places[terms[i]]] = counts[i]
    if work.n_query_terms > MANY_TERMS * n:
        dot = sparse_dot(work, chunk)
    else:
        # Those that are not shared add 0, which is no branch for the processor to guess wrong.
        for i in range(1, work.n_query_terms + 1):
            add_shared(work, i, &dot)
    return clamped(dot / (work.query_length * sqrt(total)))
