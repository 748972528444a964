"""What is told of scored rows, kept as flat memory.

A writer puts counts, values and texts at the ends of three arrays while no Python is at hand; a
reader takes them in the same order, row by row: words for result files, or Python objects.
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from primitives cimport int64_t, reserve, uint8_t

cdef extern from *:
    """
    /* From here on, and up to there, all writers of JSON have one form for a double. */
    static const double LEAST_PLAIN = 1e-4, MOST_PLAIN = 1e16;
    """
    const double LEAST_PLAIN
    const double MOST_PLAIN


cdef enum:
    ABSENT = -1                # in the place of a number or a length


cdef struct kept_t:
    int64_t* numbers
    int64_t numbers_capacity
    int64_t n_numbers
    double* values
    int64_t values_capacity
    int64_t n_values
    uint8_t* texts             # their sizes are among the numbers
    int64_t texts_capacity
    int64_t texts_size
    bint is_odd                # some value since the last ``keep_oddness`` is written otherwise
    int64_t* rows              # for each row how much was kept before it, of each kind
    int64_t rows_capacity
    int64_t n_rows
    # What a reader has taken.
    int64_t number
    int64_t value
    int64_t text


cdef inline void close_kept(kept_t* kept) noexcept nogil:
    free(kept.numbers)
    free(kept.values)
    free(kept.texts)
    free(kept.rows)


cdef inline int begin_row(kept_t* kept) noexcept nogil:
    """A row follows; 0, or -1 without memory."""
    cdef int64_t* row
    if reserve(<void**> &kept.rows, &kept.rows_capacity, kept.n_rows + 3, sizeof(int64_t)):
        return -1
    row = kept.rows + kept.n_rows
    row[0], row[1], row[2] = kept.n_numbers, kept.n_values, kept.texts_size
    kept.n_rows += 3
    return 0


cdef inline tuple kept_bytes(const kept_t* kept):
    """Numbers, values, texts and where each row begins in them, all as bytes."""
    return (
        PyBytes_FromStringAndSize(<const char*> kept.numbers, 8 * kept.n_numbers),
        PyBytes_FromStringAndSize(<const char*> kept.values, 8 * kept.n_values),
        PyBytes_FromStringAndSize(<const char*> kept.texts, kept.texts_size),
        PyBytes_FromStringAndSize(<const char*> kept.rows, 8 * kept.n_rows),
    )


cdef inline void open_kept(kept_t* kept, const int64_t* numbers, const double* values,
                           const uint8_t* texts) noexcept nogil:
    """For a reader of what was kept before."""
    memset(kept, 0, sizeof(kept_t))
    kept.numbers, kept.values, kept.texts = <int64_t*> numbers, <double*> values, <uint8_t*> texts


cdef inline void seek_row(kept_t* kept, const int64_t* row) noexcept nogil:
    kept.number, kept.value, kept.text = row[0], row[1], row[2]


cdef inline int keep_number(kept_t* kept, int64_t number) noexcept nogil:
    """0, or -1 without memory, as all that keep something."""
    if reserve(<void**> &kept.numbers, &kept.numbers_capacity, kept.n_numbers + 1,
               sizeof(int64_t)):
        return -1
    kept.numbers[kept.n_numbers] = number
    kept.n_numbers += 1
    return 0


cdef inline int keep_values(kept_t* kept, const double* values, int64_t n) noexcept nogil:
    """So many values, whose number is known to the reader."""
    cdef int64_t i
    if reserve(<void**> &kept.values, &kept.values_capacity, kept.n_values + n, sizeof(double)):
        return -1
    for i in range(n):
        kept.values[kept.n_values + i] = values[i]
        kept.is_odd |= 0.0 < values[i] < LEAST_PLAIN or values[i] >= MOST_PLAIN
    kept.n_values += n
    return 0


cdef inline int keep_oddness(kept_t* kept) noexcept nogil:
    """Note whether writers of JSON have several forms for some value since the last time."""
    if keep_number(kept, kept.is_odd):
        return -1
    kept.is_odd = False
    return 0


cdef inline int keep_list(kept_t* kept, const double* values, int64_t n) noexcept nogil:
    """So many values, and their number."""
    return -1 if keep_number(kept, n) or keep_values(kept, values, n) else 0


cdef inline int keep_text(kept_t* kept, const uint8_t* bytes_, int64_t size) noexcept nogil:
    if keep_number(kept, size) or reserve(<void**> &kept.texts, &kept.texts_capacity,
                                          kept.texts_size + size, 1):
        return -1
    if size:
        memcpy(kept.texts + kept.texts_size, bytes_, <size_t> size)
    kept.texts_size += size
    return 0


cdef inline int64_t taken_number(kept_t* kept) noexcept nogil:
    kept.number += 1
    return kept.numbers[kept.number - 1]


cdef inline double taken_value(kept_t* kept) noexcept nogil:
    kept.value += 1
    return kept.values[kept.value - 1]


cdef inline const double* passed_values(kept_t* kept, int64_t n) noexcept nogil:
    """Values where they are."""
    kept.value += n
    return kept.values + kept.value - n


cdef inline list taken_values(kept_t* kept, int64_t n):
    cdef int64_t i
    kept.value += n
    return [kept.values[i] for i in range(kept.value - n, kept.value)]


cdef inline list taken_list(kept_t* kept):
    return taken_values(kept, taken_number(kept))


cdef inline str taken_text(kept_t* kept):
    cdef int64_t size = taken_number(kept)
    kept.text += size
    return kept.texts[kept.text - size:kept.text].decode("utf-8", "surrogatepass")
