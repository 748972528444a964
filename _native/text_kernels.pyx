"""The primitives on texts: one text, or two columns of texts row by row."""
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdlib cimport free
from libc.string cimport memset

from byte_arrays cimport first_byte
from code_points cimport CODE_POINT_SPACE, code_point_flags, decode_code_point
from ngram_sets cimport clear_grams, grams_t, jaccard, join_grams
from primitives cimport (
    hash_t, int64_t, offset_t, reserve, span_t, text_at, text_t, texts_t, token_t,
    uint8_t,
)
from sentence_spans cimport next_sentence, skip_spaces
from tfidf_rows cimport pair_cosine
from token_counts cimport close_counts, count_ids, counts_t, distinct_jaccard, token_f1
from token_stream cimport begin_text, best_block_cutter, cut_chunk, cutter_t, lowered_t
from vocabulary cimport (
    append_tokens, clear_vocabulary, close_vocabulary, seed_vocabulary, table_size, token_ids_t,
    vocabulary_t,
)

cdef enum:
    FACTUAL_CHUNKS = 3   # a sentence of fewer chunks states no fact


cdef str as_string(const uint8_t* text, int64_t begin, int64_t end):
    if begin == end:
        return ""
    return PyUnicode_DecodeUTF8(<const char*> text + begin, end - begin, "surrogatepass")


# ----------------------------------------------------------------------------------- one text

cdef struct pieces_t:
    span_t* spans
    int64_t capacity
    int64_t size


cdef int cut_tokens(text_t text, lowered_t* lowered, pieces_t* tokens) noexcept nogil:
    """Spans of all tokens over the lowered bytes; 0, or -1 without memory."""
    cdef cutter_t cutter
    cdef Py_ssize_t n_tokens, i
    memset(&cutter, 0, sizeof(cutter))
    cutter.cut_block = best_block_cutter()
    if begin_text(&cutter, lowered, text.bytes, text.size):
        return -1
    while cutter.at < cutter.size:
        n_tokens = cut_chunk(&cutter, lowered)
        if reserve(<void**> &tokens.spans, &tokens.capacity, tokens.size + n_tokens,
                   sizeof(span_t)):
            return -1
        for i in range(n_tokens):
            tokens.spans[tokens.size + i] = span_t(cutter.edges[2 * i], cutter.edges[2 * i + 1])
        tokens.size += n_tokens
    return 0


def tokens(const uint8_t[::1] text):
    """Lower-cased tokens of a text, in order."""
    cdef text_t whole = text_t(first_byte(text), text.shape[0])
    cdef lowered_t lowered
    cdef pieces_t found
    cdef int failed
    memset(&lowered, 0, sizeof(lowered))
    memset(&found, 0, sizeof(found))
    with nogil:
        failed = cut_tokens(whole, &lowered, &found)
    try:
        if failed:
            raise MemoryError("cutting a text into tokens")
        return [as_string(lowered.bytes, found.spans[i].begin, found.spans[i].end)
                for i in range(found.size)]
    finally:
        free(lowered.bytes)
        free(found.spans)


cdef int cut_sentences(text_t text, pieces_t* sentences) noexcept nogil:
    """Byte spans of all sentences; 0, or -1 without memory."""
    cdef int64_t at = 0
    cdef span_t span
    while next_sentence(text.bytes, text.size, &at, &span):
        if reserve(<void**> &sentences.spans, &sentences.capacity, sentences.size + 1,
                   sizeof(span_t)):
            return -1
        sentences.spans[sentences.size] = span
        sentences.size += 1
    return 0


def sentences(const uint8_t[::1] text):
    """Trimmed sentences of a text, in order."""
    cdef text_t whole = text_t(first_byte(text), text.shape[0])
    cdef pieces_t found
    cdef int failed
    memset(&found, 0, sizeof(found))
    with nogil:
        failed = cut_sentences(whole, &found)
    try:
        if failed:
            raise MemoryError("splitting a text into sentences")
        return [as_string(whole.bytes, found.spans[i].begin, found.spans[i].end)
                for i in range(found.size)]
    finally:
        free(found.spans)


cdef bint is_factual(text_t text) noexcept nogil:
    """The text has at least three chunks between white space."""
    cdef int64_t at = skip_spaces(text.bytes, text.size, 0), n_chunks = 0
    cdef int width
    while at < text.size and n_chunks < FACTUAL_CHUNKS:
        n_chunks += 1
        while at < text.size:
            if code_point_flags(
                    decode_code_point(text.bytes, text.size, at, &width)) & CODE_POINT_SPACE:
                break
            at += width
        at = skip_spaces(text.bytes, text.size, at)
    return n_chunks == FACTUAL_CHUNKS


def mark_factual(const uint8_t[::1] text_bytes, const offset_t[::1] text_offsets,
                 uint8_t[::1] factual):
    """Fill ``factual`` with 1 for each sentence of at least three chunks, else 0."""
    cdef texts_t texts = texts_t(first_byte(text_bytes), &text_offsets[0])
    cdef Py_ssize_t row
    with nogil:
        for row in range(factual.shape[0]):
            factual[row] = is_factual(text_at(&texts, row))


# ------------------------------------------------------------------------ two columns, by rows

cdef struct counted_t:
    token_ids_t tokens
    token_t* grams             # n-gram ids at the places of their first tokens
    int64_t grams_capacity
    token_t* joined            # ... of the size at hand
    int64_t joined_capacity
    counts_t counts            # of tokens, or of n-grams of the size at hand


cdef struct pair_t:
    cutter_t cutter
    lowered_t lowered
    vocabulary_t vocabulary    # of both texts
    grams_t grams
    int64_t n_slots            # for tables of this row
    counted_t left
    counted_t right


cdef void open_pair(pair_t* pair, hash_t seed) noexcept nogil:
    memset(pair, 0, sizeof(pair_t))
    pair.cutter.cut_block = best_block_cutter()
    seed_vocabulary(&pair.vocabulary, seed)
    pair.grams.seed = seed


cdef void close_counted(counted_t* counted) noexcept nogil:
    free(counted.tokens.ids)
    free(counted.grams)
    free(counted.joined)
    close_counts(&counted.counts)


cdef void close_pair(pair_t* pair) noexcept nogil:
    free(pair.lowered.bytes)
    close_vocabulary(&pair.vocabulary)
    free(pair.grams.slots)
    close_counted(&pair.left)
    close_counted(&pair.right)


cdef int cut_text(pair_t* pair, counted_t* counted, text_t text) noexcept nogil:
    counted.tokens.size = 0
    return append_tokens(&pair.cutter, &pair.lowered, &pair.vocabulary, &counted.tokens,
                         text.bytes, text.size)


cdef int cut_pair(pair_t* pair, text_t left, text_t right) noexcept nogil:
    """Tokens of both texts under one numbering; 0, or -1 without memory."""
    pair.n_slots = table_size(left.size + right.size)
    pair.lowered.size = 0
    if clear_vocabulary(&pair.vocabulary, pair.n_slots):
        return -1
    if cut_text(pair, &pair.left, left):
        return -1
    return cut_text(pair, &pair.right, right)


cdef int count_pair(pair_t* pair) noexcept nogil:
    """Count the tokens of both texts; 0, or -1 without memory."""
    cdef int64_t n_ids = pair.vocabulary.n_tokens
    if count_ids(&pair.left.counts, pair.left.tokens.ids, pair.left.tokens.size, n_ids):
        return -1
    return count_ids(&pair.right.counts, pair.right.tokens.ids, pair.right.tokens.size, n_ids)


# A number of two counted texts.
ctypedef double (*measure_t)(const counts_t*, const counts_t*) noexcept nogil


cdef int measure_pairs(const texts_t* left, const texts_t* right, measure_t measure, hash_t seed,
                       Py_ssize_t begin, Py_ssize_t end, double[::1] scores) noexcept nogil:
    cdef pair_t pair
    cdef Py_ssize_t row
    cdef int failed = 0
    open_pair(&pair, seed)
    for row in range(begin, end):
        failed = cut_pair(&pair, text_at(left, row), text_at(right, row)) or count_pair(&pair)
        if failed:
            break
        scores[row] = measure(&pair.left.counts, &pair.right.counts)
    close_pair(&pair)
    return failed


def paired_tfidf(
    const uint8_t[::1] left_bytes, const offset_t[::1] left_offsets,
    const uint8_t[::1] right_bytes, const offset_t[::1] right_offsets,
    hash_t seed, Py_ssize_t begin, Py_ssize_t end, double[::1] scores,
):
    """Fill ``scores[begin:end]`` with the TF-IDF cosine of each pair, the pair being the corpus."""
    cdef texts_t left = texts_t(first_byte(left_bytes), &left_offsets[0])
    cdef texts_t right = texts_t(first_byte(right_bytes), &right_offsets[0])
    cdef int failed
    with nogil:
        failed = measure_pairs(&left, &right, pair_cosine, seed, begin, end, scores)
    if failed:
        raise MemoryError("TF-IDF cosine of two columns")


def paired_token_f1(
    const uint8_t[::1] left_bytes, const offset_t[::1] left_offsets,
    const uint8_t[::1] right_bytes, const offset_t[::1] right_offsets,
    hash_t seed, Py_ssize_t begin, Py_ssize_t end, double[::1] scores,
):
    """Fill ``scores[begin:end]`` with the token F1 of each pair, the left text the reference."""
    cdef texts_t left = texts_t(first_byte(left_bytes), &left_offsets[0])
    cdef texts_t right = texts_t(first_byte(right_bytes), &right_offsets[0])
    cdef int failed
    with nogil:
        failed = measure_pairs(&left, &right, token_f1, seed, begin, end, scores)
    if failed:
        raise MemoryError("token F1 of two columns")


# ---------------------------------------------------------------------- n-grams of two columns

cdef int begin_grams(counted_t* counted) noexcept nogil:
    """n-grams of one token, and room for those that are counted; 0, or -1 without memory."""
    cdef int64_t i
    if reserve(<void**> &counted.grams, &counted.grams_capacity, counted.tokens.size,
               sizeof(token_t)):
        return -1
    if reserve(<void**> &counted.joined, &counted.joined_capacity, counted.tokens.size,
               sizeof(token_t)):
        return -1
    for i in range(counted.tokens.size):
        counted.grams[i] = counted.tokens.ids[i]
    return 0


cdef int join_windows(pair_t* pair, counted_t* counted, int64_t half, int64_t window,
                      token_t* joined) noexcept nogil:
    """n-grams of ``window`` tokens from those of ``half`` as many or more; 0, or -1."""
    return join_grams(&pair.grams, counted.grams, window - half, counted.tokens.size - window + 1,
                      joined)


cdef int double_grams(pair_t* pair, int64_t half) noexcept nogil:
    """Make the n-grams of ``half`` tokens those of twice as many; 0, or -1 without memory.

    The table forgets the shorter ones: memory follows the texts' size, not the window's.
    """
    if clear_grams(&pair.grams, pair.n_slots):
        return -1
    if join_windows(pair, &pair.left, half, 2 * half, pair.left.grams):
        return -1
    return join_windows(pair, &pair.right, half, 2 * half, pair.right.grams)


cdef int count_windows(pair_t* pair, counted_t* counted, int64_t window) noexcept nogil:
    return count_ids(&counted.counts, counted.joined,
                     max(<int64_t> 0, counted.tokens.size - window + 1), pair.grams.n_grams)


cdef int count_grams(pair_t* pair, int64_t half, int64_t window) noexcept nogil:
    """Count the n-grams of ``window`` tokens; 0, or -1 without memory."""
    if clear_grams(&pair.grams, pair.n_slots):
        return -1
    if join_windows(pair, &pair.left, half, window, pair.left.joined):
        return -1
    if join_windows(pair, &pair.right, half, window, pair.right.joined):
        return -1
    return count_windows(pair, &pair.left, window) or count_windows(pair, &pair.right, window)


cdef int overlap_pair(pair_t* pair, const int64_t[::1] sizes, int64_t widest,
                      double[:, ::1] overlaps, Py_ssize_t row) noexcept nogil:
    """Jaccard overlap of the two texts' n-grams for each size; 0, or -1 without memory.

    Two windows of half a size or more cover one of that size, so the texts are passed over once
    for each doubling, not once for each token of the widest window.
    """
    cdef int64_t longest = max(pair.left.tokens.size, pair.right.tokens.size), half = 1
    cdef Py_ssize_t i
    widest = min(widest, longest)
    if count_pair(pair):
        return -1
    for i in range(sizes.shape[0]):
        # Two texts shorter than a size both have no n-gram of it.
        overlaps[row, i] = jaccard(0, 0, 0)
        if sizes[i] == 1:
            overlaps[row, i] = distinct_jaccard(&pair.left.counts, &pair.right.counts)
    if widest > 1 and (begin_grams(&pair.left) or begin_grams(&pair.right)):
        return -1
    while half < widest:
        for i in range(sizes.shape[0]):
            if half < sizes[i] <= min(2 * half, longest):
                if count_grams(pair, half, sizes[i]):
                    return -1
                overlaps[row, i] = distinct_jaccard(&pair.left.counts, &pair.right.counts)
        if 2 * half < widest and double_grams(pair, half):
            return -1
        half *= 2
    return 0


def paired_overlaps(
    const uint8_t[::1] left_bytes, const offset_t[::1] left_offsets,
    const uint8_t[::1] right_bytes, const offset_t[::1] right_offsets,
    const int64_t[::1] sizes, hash_t seed, Py_ssize_t begin, Py_ssize_t end,
    double[:, ::1] overlaps,
):
    """Fill ``overlaps[begin:end]`` with the n-gram Jaccard of each pair, a column for each size.

    Sizes are 1 and more.
    """
    cdef texts_t left = texts_t(first_byte(left_bytes), &left_offsets[0])
    cdef texts_t right = texts_t(first_byte(right_bytes), &right_offsets[0])
    cdef int64_t widest = 0
    cdef pair_t pair
    cdef Py_ssize_t row, i
    cdef int failed = 0
    for i in range(sizes.shape[0]):
        widest = max(widest, sizes[i])
    with nogil:
        open_pair(&pair, seed)
        for row in range(begin, end):
            failed = cut_pair(&pair, text_at(&left, row), text_at(&right, row)) or overlap_pair(
                &pair, sizes, widest, overlaps, row)
            if failed:
                break
        close_pair(&pair)
    if failed:
        raise MemoryError("n-gram overlap of two columns")
