"""How relevant chunks are to a question: words near each other, TF-IDF cosine, kind of answer."""
from libc.math cimport sqrt
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from claim_sentences cimport NOT_CAPITALISED
from claims cimport STEM_WANTED, add_types, claims_t, clamped, is_name
from lexicon cimport form_bytes, form_size
from natural_log cimport natural_log
from ngram_sets cimport begin_tally, tallied_count, tally_ids, tally_t
from primitives cimport int32_t, int64_t, reserve, token_t, uint8_t, uint32_t
from row_words cimport (
    content_or_all, count_content, is_content, n_stems, piece_t, row_words_t,
)
from stopping cimport is_stopped
from windows cimport count_places, list_occurrences, list_runs, occurrences_t, run_t
from word_facts cimport (
    LANGUAGE_EN, WORD_COUNT, WORD_DATE, WORD_HOW_MANY, WORD_WHAT_DATE, WORD_WHAT_NAME,
    WORD_WHAT_NUMBER, WORD_WHICH_DATE,
)

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
    MANY_TERMS = 16      # of a query, to each of a chunk
    # What a question asks for.
    ASKS_NOTHING_KNOWN = 0
    ASKS_NUMBER
    ASKS_DATE
    ASKS_NAME


cdef struct query_t:
    int64_t types              # distinct content stems: begin in the claims' types, and how many
    int64_t n_types
    int64_t content            # with repeats: begin in ``content``, and how many
    int64_t n_content
    int kind
    int64_t first              # words of the question
    int64_t last
    int64_t truth_first        # ... and of the ground truth read with it
    int64_t truth_last


cdef struct relevance_t:
    token_t* content           # of the queries
    int64_t content_capacity
    int64_t n_content
    token_t* terms             # distinct content stems of the chunks, end to end
    int64_t terms_capacity
    int32_t* counts            # ... and how often each occurs
    int64_t counts_capacity
    int64_t* term_begins       # per chunk, and one more
    int64_t term_begins_capacity
    int32_t* document_counts   # per stem: chunks that have it
    int64_t document_counts_capacity
    int32_t* query_places      # per stem: 1 + its place among the query's terms; else 0
    int64_t query_places_capacity
    token_t* query_terms
    int64_t query_terms_capacity
    int64_t* query_counts
    int64_t query_counts_capacity
    int64_t* shared_counts     # per term of the query, by its place: times in the chunk at hand
    int64_t shared_counts_capacity
    int32_t* shared_places     # ... of a chunk with few terms
    int64_t shared_places_capacity
    double* weights            # idf by document count
    int64_t weights_capacity
    tally_t tally


cdef inline void close_relevance(relevance_t* work) noexcept nogil:
    free(work.content)
    free(work.terms)
    free(work.counts)
    free(work.term_begins)
    free(work.document_counts)
    free(work.query_places)
    free(work.query_terms)
    free(work.query_counts)
    free(work.shared_counts)
    free(work.shared_places)
    free(work.weights)
    free(work.tally.cells)


# --------------------------------------------------------------------------- what a question asks

cdef inline bint is_form(const row_words_t* words, int64_t word, const char* form,
                         int64_t size) noexcept nogil:
    cdef token_t id = words.ids[word]
    cdef const uint8_t* bytes = form_bytes(&words.lexicon, id)
    cdef int64_t i
    if form_size(&words.lexicon, id) != size:
        return False
    for i in range(size):
        if bytes[i] != <uint8_t> form[i]:
            return False
    return True


cdef inline bint asks_who(const row_words_t* words, int64_t word) noexcept nogil:
    return (is_form(words, word, "who", 3) or is_form(words, word, "whom", 4)
            or is_form(words, word, "whose", 5) or is_form(words, word, "where", 5))


cdef inline int rule_of_word(const row_words_t* words, int64_t word,
                             int64_t next_word) noexcept nogil:
    """The first rule, counted from 0, by which a word and the next ask for something; or 7."""
    cdef uint8_t kinds = 0
    if next_word >= 0:
        kinds = words.lexicon.forms[words.ids[next_word]].kinds
    if is_form(words, word, "how", 3):
        return 0 if kinds & WORD_HOW_MANY else 7
    if is_form(words, word, "what", 4):
        return (1 if kinds & WORD_WHAT_NUMBER else 3 if kinds & WORD_WHAT_DATE
                else 6 if kinds & WORD_WHAT_NAME else 7)
    if is_form(words, word, "when", 4):
        return 2
    if is_form(words, word, "which", 5):
        return 4 if kinds & WORD_WHICH_DATE else 7
    return 5 if asks_who(words, word) else 7


cdef inline int asked_kind(const row_words_t* words, const query_t* query) noexcept nogil:
    """What an English question, read on into its ground truth, asks for."""
    cdef int64_t i, next_word
    cdef int best = 7
    if words.language != LANGUAGE_EN:
        return ASKS_NOTHING_KNOWN
    for i in range(query.first, query.last):
        next_word = i + 1
        if next_word == query.last:
            next_word = query.truth_first if query.truth_first < query.truth_last else -1
        best = min(best, rule_of_word(words, i, next_word))
    for i in range(query.truth_first, query.truth_last):
        best = min(best, rule_of_word(words, i, i + 1 if i + 1 < query.truth_last else -1))
    if best < 2:
        return ASKS_NUMBER
    if best < 5:
        return ASKS_DATE
    return ASKS_NAME if best < 7 else ASKS_NOTHING_KNOWN


cdef inline bint may_ask_for_name(const row_words_t* words, int64_t first,
                                  int64_t last) noexcept nogil:
    """Names of the chunks may be asked for, should the row turn out to be English."""
    cdef int64_t i
    for i in range(first, last):
        if asks_who(words, i) or is_form(words, i, "what", 4):
            return True
    return False


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
        if stop_words or is_content(words, i):
            claims.marks[words.stems[i]] |= STEM_WANTED


cdef inline bint has_places(const claims_t* claims, const row_words_t* words,
                            const piece_t* piece) noexcept nogil:
    """The chunks have a stem of a text."""
    cdef int64_t i
    for i in range(piece.first, piece.last):
        if count_places(&claims.occurrences, words.stems[i]):
            return True
    return False


# ------------------------------------------------------------------------------- terms of chunks

cdef inline int count_terms(relevance_t* work, const row_words_t* words, const piece_t* chunks,
                            int64_t n_chunks) noexcept nogil:
    """Distinct content stems of each chunk, and in how many chunks each is; 0, or -1."""
    cdef int64_t n_words = chunks[n_chunks - 1].last - chunks[0].first
    cdef int64_t n_terms = 0, n_content, n, chunk, i
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
        n = tally_ids(&work.tally, content, n_content, work.terms + n_terms)
        for i in range(n_terms, n_terms + n):
            work.counts[i] = <int32_t> tallied_count(&work.tally, work.terms[i])
            work.document_counts[work.terms[i]] += 1
        n_terms += n
    work.term_begins[n_chunks] = n_terms
    return weigh_documents(work, n_chunks)


cdef inline int weigh_documents(relevance_t* work, int64_t n_chunks) noexcept nogil:
    """idf by document count over the chunks and the query: smooth, as scikit-learn's."""
    cdef double n_documents = <double> (n_chunks + 1)
    cdef int64_t count
    if reserve(<void**> &work.weights, &work.weights_capacity, n_chunks + 2, sizeof(double)):
        return -1
    for count in range(n_chunks + 2):
        work.weights[count] = natural_log((1.0 + n_documents) / (1.0 + <double> count)) + 1.0
    return 0


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


# --------------------------------------------------------------------------- the kind of answer

cdef inline int longest_digits(const row_words_t* words, token_t id) noexcept nogil:
    """Digits side by side in a form: 0, 1, or 2 for more."""
    cdef const uint8_t* form = form_bytes(&words.lexicon, id)
    cdef int64_t i
    cdef int run = 0, longest = 0
    for i in range(form_size(&words.lexicon, id)):
        run = run + 1 if 0x30 <= form[i] <= 0x39 else 0
        longest = max(longest, run)
    return min(longest, 2)


cdef inline bint is_ordinal(const row_words_t* words, token_t id) noexcept nogil:
    cdef const uint8_t* form = form_bytes(&words.lexicon, id)
    return (form_size(&words.lexicon, id) == 3 and 0x30 <= form[0] <= 0x39
            and form[1] == 0x74 and form[2] == 0x68)


cdef inline double kind_match(const relevance_t* work, const row_words_t* words,
                              const query_t* query, const uint8_t* in_query,
                              const piece_t* chunk) noexcept nogil:
    """1 if the chunk holds what is asked for, 0 if not, 1/2 if nothing known is asked for."""
    cdef int64_t i
    cdef token_t id
    cdef uint8_t kinds
    if query.kind == ASKS_NOTHING_KNOWN:
        return 0.5
    for i in range(chunk.first, chunk.last):
        id = words.ids[i]
        kinds = words.lexicon.forms[id].kinds
        if query.kind == ASKS_NAME:
            if is_name(words, i) and not in_query[words.stems[i]]:
                return 1.0
        elif query.kind == ASKS_NUMBER:
            if kinds & WORD_COUNT or longest_digits(words, id) > 0:
                return 1.0
        elif kinds & WORD_DATE or longest_digits(words, id) > 1 or is_ordinal(words, id):
            return 1.0
    return 0.0


# ------------------------------------------------------------------------------------ relevance

cdef inline int begin_query(relevance_t* work, claims_t* claims, const row_words_t* words,
                            const query_t* query) noexcept nogil:
    """Terms of a query in order of first occurrence, and their places; 0, or -1."""
    cdef int64_t before = work.query_places_capacity, n, i
    if reserve(<void**> &work.query_places, &work.query_places_capacity, n_stems(words) + 1,
               sizeof(int32_t)):
        return -1
    memset(work.query_places + before, 0,
           <size_t> (work.query_places_capacity - before) * sizeof(int32_t))
    if reserve(<void**> &work.query_terms, &work.query_terms_capacity, query.n_content + 1,
               sizeof(token_t)):
        return -1
    if reserve(<void**> &work.query_counts, &work.query_counts_capacity, query.n_content + 1,
               sizeof(int64_t)):
        return -1
    if reserve(<void**> &work.shared_counts, &work.shared_counts_capacity, query.n_content + 2,
               sizeof(int64_t)):
        return -1
    # A chunk whose places are listed has fewer terms than the query.
    if reserve(<void**> &work.shared_places, &work.shared_places_capacity, query.n_content + 1,
               sizeof(int32_t)):
        return -1
    if begin_tally(&work.tally, n_stems(words)):
        return -1
    n = tally_ids(&work.tally, work.content + query.content, query.n_content, work.query_terms)
    for i in range(n):
        work.query_counts[i] = tallied_count(&work.tally, work.query_terms[i])
        work.query_places[work.query_terms[i]] = <int32_t> (i + 1)
        work.shared_counts[i + 1] = 0
    return 0


cdef inline double query_length(const relevance_t* work, int64_t n_terms) noexcept nogil:
    cdef double total = 0.0, weight
    cdef int64_t i
    for i in range(n_terms):
        weight = <double> work.query_counts[i] * work.weights[
            work.document_counts[work.query_terms[i]] + 1]
        total += weight * weight
    return sqrt(total)


cdef inline void add_shared(relevance_t* work, int64_t place, double* dot) noexcept nogil:
    """Add what a term of the query shares with the chunk at hand, and forget it."""
    cdef double weight = work.weights[
        work.document_counts[work.query_terms[place - 1]] + 1]
    dot[0] += <double> (work.query_counts[place - 1] * work.shared_counts[place]) * (
        weight * weight)
    work.shared_counts[place] = 0


cdef inline int earlier_place(const void* left, const void* right) noexcept nogil:
    cdef int32_t a = (<const int32_t*> left)[0], b = (<const int32_t*> right)[0]
    return (a > b) - (a < b)


cdef inline double sparse_dot(relevance_t* work, int64_t chunk) noexcept nogil:
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


cdef inline double chunk_cosine(relevance_t* work, int64_t chunk, int64_t n_terms,
                                double length) noexcept nogil:
    """TF-IDF cosine of a chunk and the query; sums in order of first occurrence."""
    cdef double total = 0.0, dot = 0.0, weight
    cdef int64_t i
    cdef int32_t place
    cdef token_t term
    for i in range(work.term_begins[chunk], work.term_begins[chunk + 1]):
        term = work.terms[i]
        place = work.query_places[term]
        weight = <double> work.counts[i] * work.weights[
            work.document_counts[term] + (place != 0)]
        total += weight * weight
        # Without a branch: place 0 takes what is of no term.
        work.shared_counts[place] = work.counts[i]
    if n_terms > MANY_TERMS * (work.term_begins[chunk + 1] - work.term_begins[chunk]):
        dot = sparse_dot(work, chunk)
    else:
        for i in range(n_terms):
            if work.shared_counts[i + 1]:
                add_shared(work, i + 1, &dot)
    return clamped(dot / (length * sqrt(total)))


cdef inline double chunk_score(relevance_t* work, const row_words_t* words, const query_t* query,
                               const piece_t* chunks, const run_t* run, double length,
                               const uint8_t* in_query) noexcept nogil:
    """Relevance of a chunk with a word; one that has no stem of the query has an empty run."""
    cdef double cosine = 0.0, nearness
    if run.n_found:
        cosine = chunk_cosine(work, run.chunk, query.n_types, length)
    nearness = <double> run.n_found / <double> query.n_types
    return clamped(
        NEARNESS_WEIGHT * nearness + COSINE_WEIGHT * sqrt(cosine)
        + KIND_WEIGHT * kind_match(work, words, query, in_query, &chunks[run.chunk]))


cdef inline int open_query(relevance_t* work, claims_t* claims, const row_words_t* words,
                           const query_t* query, const int64_t* chunk_begins, int64_t n_chunks,
                           uint8_t* in_query) noexcept nogil:
    """Set out a query and the runs of its stems in the chunks; 0, or -1 without memory.

    ``in_query``, all 0 before and when closed, has room for every stem.
    """
    if list_runs(&claims.occurrences, words.stems, claims.types + query.types, query.n_types,
                 QUESTION_WINDOW, chunk_begins, n_chunks):
        return -1
    if begin_query(work, claims, words, query):
        return -1
    mark_query(words, query, in_query, 1)
    return 0


cdef inline void close_query(relevance_t* work, const row_words_t* words, const query_t* query,
                             uint8_t* in_query) noexcept nogil:
    cdef int64_t i
    mark_query(words, query, in_query, 0)
    for i in range(query.n_types):
        work.query_places[work.query_terms[i]] = 0


cdef inline int score_chunks(relevance_t* work, claims_t* claims, const row_words_t* words,
                             const query_t* query, const piece_t* chunks, int64_t n_chunks,
                             const int64_t* chunk_begins, uint8_t* in_query,
                             double* scores) noexcept nogil:
    """Relevance of each chunk to a query, 0 for one without a word; 0, or -1 if ended early."""
    cdef const occurrences_t* found = &claims.occurrences
    cdef int64_t n_seen = 0, chunk
    cdef double length
    cdef run_t run
    if open_query(work, claims, words, query, chunk_begins, n_chunks, in_query):
        return -1
    length = query_length(work, query.n_types)
    for chunk in range(n_chunks):
        if is_stopped(claims.stop):
            return -1
        scores[chunk] = 0.0
        if chunks[chunk].first == chunks[chunk].last:
            continue
        run = run_t(chunk, 0)
        if n_seen < found.n_runs and found.runs[n_seen].chunk == chunk:
            run = found.runs[n_seen]
            n_seen += 1
        scores[chunk] = chunk_score(work, words, query, chunks, &run, length, in_query)
    close_query(work, words, query, in_query)
    return 0


cdef inline int query_precision(relevance_t* work, claims_t* claims, const row_words_t* words,
                                const query_t* query, const piece_t* chunks, int64_t n_chunks,
                                const int64_t* chunk_begins, uint8_t* in_query,
                                double* precision) noexcept nogil:
    """Average precision of the chunks for a query; 0, or -1 if ended early.

    A chunk that has no stem of the query cannot be relevant: the kind of answer that it may hold
    is worth KIND_WEIGHT alone. So it is passed over.
    """
    cdef const occurrences_t* found = &claims.occurrences
    cdef int64_t n_relevant = 0, i
    cdef double total = 0.0, length
    if open_query(work, claims, words, query, chunk_begins, n_chunks, in_query):
        return -1
    length = query_length(work, query.n_types)
    for i in range(found.n_runs):
        if is_stopped(claims.stop):
            return -1
        if chunk_score(work, words, query, chunks, &found.runs[i], length, in_query) >= RELEVANT:
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
