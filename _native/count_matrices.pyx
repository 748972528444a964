"""A column of texts as CSR counts, and what is computed from the rows of CSR matrices.

A row may hold a column twice or a count of zero: tallies add up the one and leave out the other.
"""
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memmove, memset

from byte_arrays cimport first_byte
from ngram_sets cimport begin_tally, count_of, tally_ids, tally_t
from primitives cimport (
    hash_t, int32_t, int64_t, offset_t, reserve, span_t, token_t, uint8_t, uint64_t,
)
from tfidf_rows cimport pair_cosine
from token_counts cimport close_counts, counts_t, distinct_jaccard
from token_stream cimport best_block_cutter, cutter_t, lowered_t
from vocabulary cimport (
    append_tokens, clear_vocabulary, close_vocabulary, seed_vocabulary, token_ids_t,
    vocabulary_t,
)

cdef extern from "<math.h>" nogil:
    long double logl(long double) noexcept

cdef enum:
    ROWS_PER_BLOCK = 4096  # of a column, between two looks for Ctrl-C
    FIRST_SLOTS = 1024     # of the column's vocabulary, which grows


# -------------------------------------------------------------------------- texts -> counts

cdef struct column_counts_t:
    cutter_t cutter
    lowered_t lowered          # the vocabulary, then the text at hand
    vocabulary_t vocabulary
    token_ids_t tokens         # of the text at hand
    tally_t tally
    token_ids_t distinct       # of all texts, end to end
    int32_t* counts            # beside ``distinct``
    int64_t counts_capacity


cdef void keep_vocabulary(column_counts_t* column, int64_t first_new,
                          int64_t kept_bytes) noexcept nogil:
    """Drop the lowered bytes of the text at hand, but for its new tokens, a space after each.

    New tokens are numbered in the order they stand in, with a separator between any two, so each
    moves towards the front.
    """
    cdef uint8_t* lowered = column.lowered.bytes
    cdef span_t* place
    cdef int64_t id, size
    for id in range(first_new, column.vocabulary.n_tokens):
        place = &column.vocabulary.places[id]
        size = place.end - place.begin
        memmove(lowered + kept_bytes, lowered + place.begin, <size_t> size)
        place[0] = span_t(kept_bytes, kept_bytes + size)
        kept_bytes += size + 1
        lowered[kept_bytes - 1] = 0x20
    column.lowered.size = kept_bytes


cdef int count_text(column_counts_t* column, const uint8_t* text, int64_t size) noexcept nogil:
    """Append the distinct tokens of a text and their counts; 0, or -1 without memory."""
    cdef int64_t first = column.distinct.size, n_known = column.vocabulary.n_tokens
    cdef int64_t kept_bytes = column.lowered.size, wanted, i
    column.tokens.size = 0
    if append_tokens(&column.cutter, &column.lowered, &column.vocabulary, &column.tokens,
                     text, size):
        return -1
    keep_vocabulary(column, n_known, kept_bytes)
    wanted = first + column.tokens.size + 1
    if begin_tally(&column.tally, column.vocabulary.n_tokens):
        return -1
    if reserve(<void**> &column.distinct.ids, &column.distinct.capacity, wanted, sizeof(token_t)):
        return -1
    if reserve(<void**> &column.counts, &column.counts_capacity, wanted, sizeof(int32_t)):
        return -1
    column.distinct.size += tally_ids(&column.tally, column.tokens.ids, column.tokens.size,
                                      column.distinct.ids + first)
    for i in range(first, column.distinct.size):
        column.counts[i] = <int32_t> count_of(&column.tally, column.distinct.ids[i])
    return 0


cdef int count_texts(column_counts_t* column, const uint8_t* texts, const offset_t[::1] offsets,
                     Py_ssize_t begin, Py_ssize_t end, offset_t[::1] indptr) noexcept nogil:
    cdef Py_ssize_t row
    cdef int64_t size
    for row in range(begin, end):
        size = offsets[row + 1] - offsets[row]
        if count_text(column, texts + offsets[row] if size else NULL, size):
            return -1
        indptr[row + 1] = column.distinct.size
    return 0


cdef void close_column(column_counts_t* column) noexcept nogil:
    close_vocabulary(&column.vocabulary)
    free(column.lowered.bytes)
    free(column.tokens.ids)
    free(column.tally.cells)
    free(column.distinct.ids)
    free(column.counts)


def count_column(const uint8_t[::1] text_bytes, const offset_t[::1] text_offsets, hash_t seed,
                 offset_t[::1] indptr):
    """Count the tokens of each text; fills ``indptr`` (one more than texts).

    Returns ``(indices, counts, vocabulary)``: the memory of two int32 arrays, a text's tokens in
    order of first appearance in it; and the tokens by id, in order of first appearance in the
    column, as UTF-8 with a space after each.
    """
    cdef column_counts_t column
    cdef Py_ssize_t begin, end = 0, n_rows = indptr.shape[0] - 1, n_bytes
    cdef int failed
    memset(&column, 0, sizeof(column))
    column.cutter.cut_block = best_block_cutter()
    seed_vocabulary(&column.vocabulary, seed)
    indptr[0] = 0
    try:
        failed = clear_vocabulary(&column.vocabulary, FIRST_SLOTS)
        while end < n_rows and not failed:
            begin = end
            end = min(n_rows, begin + ROWS_PER_BLOCK)
            with nogil:
                failed = count_texts(
                    &column, first_byte(text_bytes), text_offsets, begin, end, indptr)
            PyErr_CheckSignals()
        if failed:
            raise MemoryError("counting the tokens of a column")
        n_bytes = column.distinct.size * <Py_ssize_t> sizeof(int32_t)
        return (
            PyByteArray_FromStringAndSize(<char*> column.distinct.ids, n_bytes),
            PyByteArray_FromStringAndSize(<char*> column.counts, n_bytes),
            PyByteArray_FromStringAndSize(<char*> column.lowered.bytes, column.lowered.size),
        )
    finally:
        close_column(&column)


# ---------------------------------------------------------------------------- rows of counts

cdef struct count_matrix_t:
    const offset_t* indptr
    const token_t* indices
    const int32_t* counts


cdef struct weighted_row_t:
    counts_t places        # ``total`` unused; the tally holds one-based places in ``weights``
    double* weights        # beside ``places.distinct``
    int64_t weights_capacity


cdef count_matrix_t read_counts(
    const offset_t[::1] indptr, const token_t[::1] indices, const int32_t[::1] counts,
) noexcept nogil:
    cdef count_matrix_t matrix
    memset(&matrix, 0, sizeof(matrix))
    matrix.indptr = &indptr[0]
    if indices.shape[0]:
        matrix.indices = &indices[0]
        matrix.counts = &counts[0]
    return matrix


cdef int count_row(counts_t* row, const count_matrix_t* matrix, Py_ssize_t index,
                   int64_t n_columns) noexcept nogil:
    """Tally a row and list its columns that are not zero; 0, or -1 without memory."""
    cdef int64_t begin = matrix.indptr[index], end = matrix.indptr[index + 1], at
    cdef uint64_t cell
    cdef token_t id
    row.n_distinct = row.total = 0
    if begin_tally(&row.tally, n_columns):
        return -1
    if reserve(<void**> &row.distinct, &row.distinct_capacity, end - begin, sizeof(token_t)):
        return -1
    for at in range(begin, end):
        if matrix.counts[at] == 0:
            continue
        id = matrix.indices[at]
        cell = row.tally.cells[id]
        if cell < row.tally.stamp:
            cell = row.tally.stamp
            row.distinct[row.n_distinct] = id
            row.n_distinct += 1
        row.tally.cells[id] = cell + <uint64_t> matrix.counts[at]
        row.total += matrix.counts[at]
    return 0


# A number of two rows of counts.
ctypedef double (*measure_t)(const counts_t*, const counts_t*) noexcept nogil


cdef int measure_rows(const count_matrix_t* left, const count_matrix_t* right, measure_t measure,
                      int64_t n_columns, Py_ssize_t begin, Py_ssize_t end,
                      double[::1] scores) noexcept nogil:
    cdef counts_t rows[2]
    cdef Py_ssize_t index
    cdef int failed = 0
    memset(rows, 0, sizeof(rows))
    for index in range(begin, end):
        failed = count_row(&rows[0], left, index, n_columns) or count_row(
            &rows[1], right, index, n_columns)
        if failed:
            break
        scores[index] = measure(&rows[0], &rows[1])
    close_counts(&rows[0])
    close_counts(&rows[1])
    return failed


def paired_tfidf(
    const offset_t[::1] left_indptr, const token_t[::1] left_indices,
    const int32_t[::1] left_counts,
    const offset_t[::1] right_indptr, const token_t[::1] right_indices,
    const int32_t[::1] right_counts,
    int64_t n_columns, Py_ssize_t begin, Py_ssize_t end, double[::1] scores,
):
    """Fill ``scores[begin:end]`` with the TF-IDF cosine of each pair, the pair being the corpus."""
    cdef count_matrix_t left = read_counts(left_indptr, left_indices, left_counts)
    cdef count_matrix_t right = read_counts(right_indptr, right_indices, right_counts)
    cdef int failed
    with nogil:
        failed = measure_rows(&left, &right, pair_cosine, n_columns, begin, end, scores)
    if failed:
        raise MemoryError("TF-IDF cosine of two matrices")


def paired_jaccard(
    const offset_t[::1] left_indptr, const token_t[::1] left_indices,
    const int32_t[::1] left_counts,
    const offset_t[::1] right_indptr, const token_t[::1] right_indices,
    const int32_t[::1] right_counts,
    int64_t n_columns, Py_ssize_t begin, Py_ssize_t end, double[::1] scores,
):
    """Fill ``scores[begin:end]`` with the Jaccard overlap of the columns that are not zero."""
    cdef count_matrix_t left = read_counts(left_indptr, left_indices, left_counts)
    cdef count_matrix_t right = read_counts(right_indptr, right_indices, right_counts)
    cdef int failed
    with nogil:
        failed = measure_rows(&left, &right, distinct_jaccard, n_columns, begin, end, scores)
    if failed:
        raise MemoryError("overlap of two matrices")


# --------------------------------------------------------------------------- rows of weights

cdef double* smooth_idf(const count_matrix_t* matrix, Py_ssize_t n_rows, int64_t n_columns,
                        counts_t* row) noexcept nogil:
    """ln((N + 1) / (df + 1)) + 1 of each column, df the rows that hold it; NULL without memory.

    The logarithm is rounded from the extended one: that of doubles differs in its last bit
    between C libraries.
    """
    cdef double* idf = <double*> calloc(<size_t> n_columns + 1, sizeof(double))
    cdef Py_ssize_t index
    cdef int64_t i
    if idf == NULL:
        return NULL
    for index in range(n_rows):
        if count_row(row, matrix, index, n_columns):
            free(idf)
            return NULL
        for i in range(row.n_distinct):
            idf[row.distinct[i]] += 1.0
    for i in range(n_columns):
        idf[i] = <double> logl((<double> n_rows + 1.0) / (idf[i] + 1.0)) + 1.0
    return idf


def weigh_rows(
    const offset_t[::1] indptr, const token_t[::1] indices, const int32_t[::1] counts,
    int64_t n_columns, offset_t[::1] weights_indptr, token_t[::1] weights_indices,
    double[::1] weights,
):
    """Fill a CSR matrix, no larger than the counts, with their TF-IDF weights over all rows.

    Weight: count / total of the row x smooth idf. Columns stand in order of first appearance in
    their row.
    """
    cdef count_matrix_t matrix = read_counts(indptr, indices, counts)
    cdef counts_t row
    cdef double* idf
    cdef Py_ssize_t index, n_rows = indptr.shape[0] - 1
    cdef int64_t i, at = 0
    cdef int failed = 0
    memset(&row, 0, sizeof(row))
    weights_indptr[0] = 0
    with nogil:
        idf = smooth_idf(&matrix, n_rows, n_columns, &row)
        failed = idf == NULL
        for index in range(0 if failed else n_rows):
            failed = count_row(&row, &matrix, index, n_columns)
            if failed:
                break
            for i in range(row.n_distinct):
                weights_indices[at] = row.distinct[i]
                weights[at] = (<double> count_of(&row.tally, row.distinct[i])
                               / <double> row.total * idf[row.distinct[i]])
                at += 1
            weights_indptr[index + 1] = at
        free(idf)
        close_counts(&row)
    if failed:
        raise MemoryError("TF-IDF weights of a matrix")


cdef int gather_row(
    weighted_row_t* row, const offset_t[::1] indptr, const token_t[::1] indices,
    const double[::1] weights, Py_ssize_t index, int64_t n_columns,
) noexcept nogil:
    """List a row's columns and their summed weights, and tally the places; 0, or -1."""
    cdef counts_t* places = &row.places
    cdef int64_t begin = indptr[index], end = indptr[index + 1], at, place
    cdef token_t id
    places.n_distinct = 0
    if begin_tally(&places.tally, n_columns):
        return -1
    if reserve(<void**> &places.distinct, &places.distinct_capacity, end - begin,
               sizeof(token_t)):
        return -1
    if reserve(<void**> &row.weights, &row.weights_capacity, end - begin, sizeof(double)):
        return -1
    for at in range(begin, end):
        id = indices[at]
        place = count_of(&places.tally, id)
        if place:
            row.weights[place - 1] += weights[at]
        else:
            places.distinct[places.n_distinct] = id
            row.weights[places.n_distinct] = weights[at]
            places.n_distinct += 1
            places.tally.cells[id] = places.tally.stamp + <uint64_t> places.n_distinct
    return 0


cdef void close_weighted_row(weighted_row_t* row) noexcept nogil:
    close_counts(&row.places)
    free(row.weights)


cdef double weights_cosine(const weighted_row_t* left, const weighted_row_t* right) noexcept nogil:
    """Cosine of two gathered rows; sums run in the order of the columns, the left one's for dot."""
    cdef double dot = 0.0, left_squares = 0.0, right_squares = 0.0, weight
    cdef int64_t i, place
    for i in range(left.places.n_distinct):
        weight = left.weights[i]
        place = count_of(&right.places.tally, left.places.distinct[i])
        if place:
            dot += weight * right.weights[place - 1]
        left_squares += weight * weight
    for i in range(right.places.n_distinct):
        right_squares += right.weights[i] * right.weights[i]
    if left_squares == 0.0 or right_squares == 0.0:
        return 0.0
    return dot / (sqrt(left_squares) * sqrt(right_squares))


def paired_cosine(
    const offset_t[::1] left_indptr, const token_t[::1] left_indices,
    const double[::1] left_weights,
    const offset_t[::1] right_indptr, const token_t[::1] right_indices,
    const double[::1] right_weights,
    int64_t n_columns, Py_ssize_t begin, Py_ssize_t end, double[::1] scores,
):
    """Fill ``scores[begin:end]`` with the cosine of each pair of rows; 0 if either is all zero."""
    cdef weighted_row_t left, right
    cdef Py_ssize_t index
    cdef int failed = 0
    memset(&left, 0, sizeof(left))
    memset(&right, 0, sizeof(right))
    with nogil:
        for index in range(begin, end):
            failed = gather_row(&left, left_indptr, left_indices, left_weights, index, n_columns)
            failed = failed or gather_row(
                &right, right_indptr, right_indices, right_weights, index, n_columns)
            if failed:
                break
            scores[index] = weights_cosine(&left, &right)
        close_weighted_row(&left)
        close_weighted_row(&right)
    if failed:
        raise MemoryError("cosine of two matrices")
