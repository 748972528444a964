"""Pairs of texts -> how alike they are as strings of UTF-16 units, as JavaScript sees them."""
from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND, PyUnicode_2BYTE_KIND, PyUnicode_DATA, PyUnicode_GET_LENGTH,
    PyUnicode_KIND,
)
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from bigram_dice cimport ASCII_BIGRAMS, dice, dice_t
from edit_matrices cimport TOO_MUCH_WORK, aligned, close_matrix, matrix_t, open_matrix
from primitives cimport hash_t, int64_t, offset_t, uint32_t, uint8_t
from stopping cimport new_stop, raise_failure
from text_units cimport units_of, units_t

# --------------------------------------------------------------------------------- units of texts

cdef int64_t n_units(str text) noexcept:
    cdef int64_t size = PyUnicode_GET_LENGTH(text), n = size, at
    cdef const uint32_t* points
    if PyUnicode_KIND(text) > PyUnicode_2BYTE_KIND:
        points = <const uint32_t*> PyUnicode_DATA(text)
        for at in range(size):
            n += points[at] >= 0x10000
    return n


cdef void write_units(str text, uint16_t* out) noexcept:
    cdef int64_t size = PyUnicode_GET_LENGTH(text), at
    cdef int kind = PyUnicode_KIND(text)
    cdef const void* data = PyUnicode_DATA(text)
    cdef uint32_t point
    if kind == PyUnicode_1BYTE_KIND:
        for at in range(size):
            out[at] = (<const uint8_t*> data)[at]
    elif kind == PyUnicode_2BYTE_KIND:
        memcpy(out, data, <size_t> size * sizeof(uint16_t))
    else:
        for at in range(size):
            point = (<const uint32_t*> data)[at]
            if point >= 0x10000:
                out[0] = <uint16_t> (0xD800 + ((point - 0x10000) >> 10))
                out += 1
                point = 0xDC00 + (point & 0x3FF)
            out[0] = <uint16_t> point
            out += 1


def measure(list texts, offset_t[::1] offsets):
    """Fill ``offsets`` (one more than texts) with where each text begins, in UTF-16 units.

    Returns -1, or the index of the first item that is no string.
    """
    cdef Py_ssize_t i
    cdef object text
    cdef offset_t total = 0
    offsets[0] = 0
    for i in range(len(texts)):
        text = texts[i]
        if not isinstance(text, str):
            return i
        total += n_units(<str> text)
        offsets[i + 1] = total
    return -1


def fill(list texts, const offset_t[::1] offsets, Py_ssize_t begin, Py_ssize_t end,
         uint16_t[::1] units):
    """Write the texts ``begin`` to ``end`` of those measured before, from ``units[0]`` on."""
    cdef Py_ssize_t row
    for row in range(begin, end):
        if offsets[row] < offsets[row + 1]:
            write_units(<str> texts[row], &units[offsets[row] - offsets[begin]])


cdef inline const uint16_t* first_unit(const uint16_t[::1] units) noexcept nogil:
    return &units[0] if units.shape[0] else NULL


cdef struct column_t:
    const uint16_t* units      # of the rows at hand
    const offset_t* offsets    # of all rows


cdef inline units_t units_at(column_t column, Py_ssize_t begin, Py_ssize_t row) noexcept nogil:
    cdef int64_t at = column.offsets[row], size = column.offsets[row + 1] - at
    return units_of(column.units + (at - column.offsets[begin]) if size else NULL, size)


# ------------------------------------------------------------------------------------------ pairs

def dice_similarities(
    const uint16_t[::1] left_units, const offset_t[::1] left_offsets,
    const uint16_t[::1] right_units, const offset_t[::1] right_offsets,
    hash_t seed, Py_ssize_t begin, Py_ssize_t end, double[::1] scores,
):
    """Fill ``scores[begin:end]`` with the Dice coefficient of the texts' bigrams.

    Units are those of these rows alone. White space is left out; equal texts score 1, and others 0
    where one has fewer than 2 units.
    """
    cdef column_t left = column_t(first_unit(left_units), &left_offsets[0])
    cdef column_t right = column_t(first_unit(right_units), &right_offsets[0])
    cdef dice_t work
    cdef Py_ssize_t row
    cdef bint failed = False
    memset(&work, 0, sizeof(work))
    work.seed = seed
    work.ascii_counts = <uint32_t*> calloc(ASCII_BIGRAMS, sizeof(uint32_t))
    try:
        if work.ascii_counts == NULL:
            raise MemoryError("counting bigrams")
        with nogil:
            for row in range(begin, end):
                work.left = units_at(left, begin, row)
                work.right = units_at(right, begin, row)
                scores[row] = dice(&work)
                if scores[row] < 0:
                    failed = True
                    break
        if failed:
            raise MemoryError("counting bigrams")
    finally:
        free(work.left_memory.items)
        free(work.right_memory.items)
        free(work.ascii_counts)
        free(work.slots)


def align(
    const uint16_t[::1] left_units, const offset_t[::1] left_offsets,
    const uint16_t[::1] right_units, const offset_t[::1] right_offsets,
    bint edits, double max_cells, Py_ssize_t begin, Py_ssize_t end, int64_t[::1] counts,
    const uint8_t[::1] stop=None, bint handles_signals=False,
):
    """Fill ``counts[begin:end]`` with the longest common subsequences, or with the distances.

    Units are those of these rows alone. A count is -1 where the parts of the two texts between what
    they have in common at both ends make more than ``max_cells`` pairs of units. ``stop`` ends it
    early, by an InterruptedError, once its byte is not 0. With ``handles_signals``, an exception
    from a signal handler ends it too.
    """
    cdef column_t left = column_t(first_unit(left_units), &left_offsets[0])
    cdef column_t right = column_t(first_unit(right_units), &right_offsets[0])
    cdef matrix_t work
    cdef Py_ssize_t row
    cdef bint failed = open_matrix(&work, new_stop(stop, handles_signals))
    try:
        if failed:
            raise_failure("aligning texts", &work.stop)
        with nogil:
            for row in range(begin, end):
                work.left = units_at(left, begin, row)
                work.right = units_at(right, begin, row)
                counts[row] = aligned(&work, max_cells, edits)
                if counts[row] < TOO_MUCH_WORK:
                    failed = True
                    break
        if failed:
            raise_failure("aligning texts", &work.stop)
    finally:
        close_matrix(&work)
