"""Sums of resampled rows: rows drawn with replacement, and the random words behind it.

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
