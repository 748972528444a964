"""Sums of resampled rows: rows whose signs are flipped, or rows drawn with replacement.

Randomness is counted, not kept: word ``i`` of resample ``b`` is a function of its stream, which the
caller makes of seed and ``b``, and of ``i``. So a resample is the same whichever thread or call
makes it. Each word is one step of splitmix64 (Steele, Lea and Flood 2014, figure 17).

Rows come in strips of four columns, which fill two registers of any 64-bit machine; additions of a
resample are in one fixed order, so sums have the same bits everywhere.
"""
from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    #include "portable.h"

    static inline uint64_t resampling_word(uint64_t stream, uint64_t number) {
        uint64_t mixed = stream + (number + 1) * UINT64_C(0x9E3779B97F4A7C15);
        mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
        return mixed ^ (mixed >> 31);
    }

    /* All 16 sums of four rows with either sign; bit i of the place is 1 where row i is negative.
       Fewer than four rows are filled up with zeros. */
    static void sign_table(const double *rows, int64_t n_rows, four_t table[16]) {
        four_t row[4];
        memset(row, 0, sizeof row);
        for (int64_t i = 0; i < n_rows && i < 4; i++)
            row[i] = ((const four_t *)rows)[i];
        for (int place = 0; place < 16; place++)
            table[place] = add_fours(add_fours(place & 1 ? negate_four(row[0]) : row[0],
                                               place & 2 ? negate_four(row[1]) : row[1]),
                                     add_fours(place & 4 ? negate_four(row[2]) : row[2],
                                               place & 8 ? negate_four(row[3]) : row[3]));
    }

    /* One addition instead of four: tables of 64 rows, 8 KB, serve all resamples of the call. */
    static void add_flipped(const double *rows, int64_t n_rows, const uint64_t *streams,
                            int64_t n_resamples, double *sums) {
        four_t tables[16][16];
        four_t *out = (four_t *)sums;
        for (int64_t begin = 0; begin < n_rows; begin += 64) {
            for (int part = 0; part < 16; part++) {
                int64_t first = begin + 4 * part;
                sign_table(rows + 4 * (first < n_rows ? first : n_rows), n_rows - first,
                           tables[part]);
            }
            for (int64_t resample = 0; resample < n_resamples; resample++) {
                uint64_t signs = resampling_word(streams[resample], (uint64_t)begin / 64);
                four_t sum = tables[0][signs & 15];
                for (int part = 1; part < 16; part++)
                    sum = add_fours(sum, tables[part][(signs >> (4 * part)) & 15]);
                out[resample] = add_fours(out[resample], sum);
            }
        }
    }

    /* A place is the upper half of word * n_rows: it is off uniform by less than n_rows / 2**64. */
    static void add_drawn(const double *rows, int64_t n_rows, const uint64_t *streams,
                          int64_t n_resamples, double *sums) {
        for (int64_t resample = 0; resample < n_resamples; resample++) {
            four_t sum = {0};
            for (int64_t draw = 0; draw < n_rows; draw++) {
                uint64_t place;
                multiply_wide(resampling_word(streams[resample], (uint64_t)draw),
                              (uint64_t)n_rows, &place);
                sum = add_fours(sum, ((const four_t *)rows)[place]);
            }
            ((four_t *)sums)[resample] = sum;
        }
    }
    """
    uint64_t resampling_word(uint64_t stream, uint64_t number) noexcept nogil
    void c_add_flipped "add_flipped"(
        const double* rows, int64_t n_rows, const uint64_t* streams, int64_t n_resamples,
        double* sums) noexcept nogil
    void c_add_drawn "add_drawn"(
        const double* rows, int64_t n_rows, const uint64_t* streams, int64_t n_resamples,
        double* sums) noexcept nogil


def words(const uint64_t[::1] streams, int64_t first, uint64_t[:, ::1] out):
    """Words ``first``, ``first + 1``, ... of each stream, shape (streams, words)."""
    cdef Py_ssize_t stream, number
    with nogil:
        for stream in range(out.shape[0]):
            for number in range(out.shape[1]):
                out[stream, number] = resampling_word(streams[stream], <uint64_t> (first + number))


def flipped_sums(const double[:, ::1] rows, const uint64_t[::1] streams, Py_ssize_t begin,
                 Py_ssize_t end, double[:, ::1] sums):
    """Add the sums of resamples ``begin`` to ``end``; each row is negative in half of them.

    ``rows`` has shape (G, 4), ``sums`` (B, 4) and begins with zeros. Row ``g`` is negative where
    bit ``g % 64`` of word ``g // 64`` is 1.
    """
    if rows.shape[0] == 0 or begin >= end:
        return
    cdef const double* first_row = &rows[0, 0]
    cdef const uint64_t* first_stream = &streams[begin]
    cdef double* first_sum = &sums[begin, 0]
    with nogil:
        c_add_flipped(first_row, rows.shape[0], first_stream, end - begin, first_sum)


def drawn_sums(const double[:, ::1] rows, const uint64_t[::1] streams, Py_ssize_t begin,
               Py_ssize_t end, double[:, ::1] sums):
    """Sums of resamples ``begin`` to ``end``, each of as many rows as there are, with replacement.

    ``rows`` has shape (G, 4), ``sums`` (B, 4).
    """
    if rows.shape[0] == 0 or begin >= end:
        return
    cdef const double* first_row = &rows[0, 0]
    cdef const uint64_t* first_stream = &streams[begin]
    cdef double* first_sum = &sums[begin, 0]
    with nogil:
        c_add_drawn(first_row, rows.shape[0], first_stream, end - begin, first_sum)
