"""Cells of CSV, found by searching for quotation marks and separators: their places and texts.

A cut takes what every reader takes in the same way. Anything else it refuses: the standard library
reads that, and says what is wrong with it.
"""
from libc.string cimport memchr, memcpy

from primitives cimport int64_t, uint8_t
from text_places cimport REFUSED


cdef struct csv_t:
    const uint8_t* bytes
    int64_t end        # of all lines; the last one may lack its line end
    uint8_t separator  # between cells
    int64_t line_end   # of the line at hand
    int64_t n_ends     # line ends that were passed within cells


cdef struct cell_t:
    int64_t begin      # without the quotation marks around it
    int64_t length
    int64_t n_doubled  # quotation marks in it that are written twice


cdef inline int64_t place_of(const uint8_t* bytes_, uint8_t wanted, int64_t at,
                             int64_t end) noexcept nogil:
    """The first place of a byte from ``at`` on, or ``end``."""
    cdef const uint8_t* found = <const uint8_t*> memchr(bytes_ + at, wanted, <size_t> (end - at))
    return end if found == NULL else found - bytes_


cdef inline void begin_record(csv_t* csv, int64_t at) noexcept nogil:
    csv.line_end = place_of(csv.bytes, b"\n", at, csv.end)
    csv.n_ends = 0


cdef inline bint is_line_end(const csv_t* csv, int64_t at) noexcept nogil:
    """Nothing is left of the line at hand, a carriage return apart."""
    return at == csv.line_end or (at + 1 == csv.line_end and csv.bytes[at] == b"\r")


cdef inline int64_t quoted_end(csv_t* csv, int64_t at, cell_t* cell) noexcept nogil:
    """As ``cell_end``, for a cell that begins with a quotation mark."""
    cdef int64_t stop = at + 1
    cell.begin = stop
    cell.n_doubled = 0
    while True:
        stop = place_of(csv.bytes, b'"', stop, csv.end)
        if stop == csv.end:
            return REFUSED
        if stop + 1 == csv.end or csv.bytes[stop + 1] != b'"':
            break
        cell.n_doubled += 1
        stop += 2
    cell.length = stop - cell.begin
    while csv.line_end < stop:
        csv.line_end = place_of(csv.bytes, b"\n", csv.line_end + 1, csv.end)
        csv.n_ends += 1
    stop += 1
    if is_line_end(csv, stop):
        return csv.line_end
    return stop if csv.bytes[stop] == csv.separator else REFUSED


cdef inline int64_t cell_end(csv_t* csv, int64_t at, cell_t* cell) noexcept nogil:
    """Past the cell that begins at ``at``, where the separator or the end of its line is.

    Or REFUSED; also where a quotation mark is not closed in the bytes that are there.
    """
    cdef int64_t stop, text_end
    if at < csv.end and csv.bytes[at] == b'"':
        return quoted_end(csv, at, cell)
    stop = text_end = place_of(csv.bytes, csv.separator, at, csv.line_end)
    if stop == csv.line_end and stop > at and csv.bytes[stop - 1] == b"\r":
        text_end -= 1
    if place_of(csv.bytes, b"\r", at, text_end) != text_end:
        return REFUSED
    cell.begin = at
    cell.length = text_end - at
    cell.n_doubled = 0
    return stop


cdef inline int64_t write_cell(const csv_t* csv, const cell_t* cell, uint8_t* out) noexcept nogil:
    """Write the text of a cell and return its bytes."""
    cdef const uint8_t* bytes_ = csv.bytes
    cdef int64_t at = cell.begin, end = at + cell.length, n_left = cell.n_doubled, stop
    cdef uint8_t* begin = out
    while n_left:
        stop = place_of(bytes_, b'"', at, end) + 1
        memcpy(out, bytes_ + at, <size_t> (stop - at))
        out += stop - at
        at = stop + 1
        n_left -= 1
    memcpy(out, bytes_ + at, <size_t> (end - at))
    return out + (end - at) - begin
