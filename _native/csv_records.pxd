"""Lines of CSV -> the texts of our fields in them, or the cells of one record.

A scan takes records that are simple in every way, and stops before the first that is not: that one
is read cell by cell, which also tells what is wrong with it.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8

from csv_cells cimport begin_record, cell_end, cell_t, csv_t, is_line_end, write_cell
from json_texts cimport list_end
from primitives cimport int64_t, uint8_t
from printed_texts cimport printed_list_end
from text_places cimport (
    CONTEXTS, LANGUAGE, MAX_TEXT_BYTES, NO_FIELD, NO_ROOM, REFUSED, begin_row,
    field_places, note_items, rows_t,
)
from utf8 cimport has_high_byte, is_utf8


cdef struct records_t:
    csv_t csv
    const uint8_t* column_fields
    int64_t n_columns
    rows_t rows
    uint8_t* texts
    int64_t n_bytes


cdef inline bint may_be_list(const uint8_t* text, int64_t size) noexcept nogil:
    """Whether a text begins like a list or an object, or with white space of any kind."""
    cdef uint8_t first = text[0], second, third
    if first < 0x80:
        return first <= 0x20 or first == b"[" or first == b"{"
    second = text[1] if size > 1 else 0
    third = text[2] if size > 2 else 0
    if first == 0xC2:
        return second == 0x85 or second == 0xA0
    if first == 0xE1:
        return second == 0x9A and third == 0x80
    if first == 0xE2:
        return (second == 0x80 and (third <= 0x8A or 0xA8 <= third <= 0xA9 or third == 0xAF)
                or second == 0x81 and third == 0x9F)
    return first == 0xE3 and second == 0x80 and third == 0x80


cdef inline int64_t note_contexts(records_t* scan, int64_t begin, int64_t size,
                                  int64_t row) noexcept nogil:
    """Note the contexts of a row, which are a list, or one text; 0, REFUSED or NO_ROOM."""
    cdef int64_t first = scan.rows.items.n, stop
    cdef int64_t* item
    if size and may_be_list(scan.texts + begin, size):
        stop = list_end(scan.texts, begin, begin + size, &scan.rows.items)
        if stop != begin + size and stop != NO_ROOM:
            scan.rows.items.n = first
            stop = printed_list_end(scan.texts, begin, begin + size, &scan.rows.items)
        if stop != begin + size:
            return NO_ROOM if stop == NO_ROOM else REFUSED
    elif size:
        if first == scan.rows.items.n_fitting:
            return NO_ROOM
        item = scan.rows.items.places + first
        item[0] = begin
        item[scan.rows.items.n_fitting] = item[2 * scan.rows.items.n_fitting] = size
        scan.rows.items.n += 1
    note_items(&scan.rows, row, first)
    return 0


cdef inline int64_t note_cell(records_t* scan, const cell_t* cell, int field, int64_t row,
                              uint8_t* marks) noexcept nogil:
    """Note what a row has in the cell of a field; 0, REFUSED or NO_ROOM."""
    cdef int64_t size = cell.length - cell.n_doubled, begin = scan.n_bytes
    cdef int64_t* places
    if size > MAX_TEXT_BYTES or (field == LANGUAGE and size):
        return REFUSED
    # Empty cells are texts only where every row has one.
    if not size and field > CONTEXTS:
        return 0
    marks[0] |= <uint8_t> (1 << field)
    scan.n_bytes += write_cell(&scan.csv, cell, scan.texts + begin)
    if field == CONTEXTS:
        return note_contexts(scan, begin, size, row)
    places = field_places(&scan.rows, field, row)
    places[0] = begin
    places[scan.rows.n_fitting] = places[2 * scan.rows.n_fitting] = size
    return 0


cdef inline int64_t row_end(records_t* scan, int64_t at, int64_t row,
                            uint8_t* marks) noexcept nogil:
    """Where the line ends with which the record ends that begins at ``at``, its fields noted.

    Or REFUSED, or NO_ROOM.
    """
    cdef cell_t cell
    cdef int64_t column, found
    marks[0] = 0
    begin_row(&scan.rows, row)
    for column in range(scan.n_columns):
        at = cell_end(&scan.csv, at, &cell)
        if at < 0:
            return at
        if (at == scan.csv.line_end) != (column == scan.n_columns - 1):
            return REFUSED
        if scan.column_fields[column] != NO_FIELD:
            found = note_cell(scan, &cell, scan.column_fields[column], row, marks)
            if found < 0:
                return found
        at += 1
    return at - 1


cdef inline int64_t scan_csv(records_t* scan, int64_t begin, int64_t most_bytes, int64_t* rows,
                             uint8_t* marks, int64_t* counts) noexcept nogil:
    """As ``scan_records`` of ``line_scans``, which has filled the scan."""
    cdef int64_t at = begin, done = begin, stop, n_items, n_bytes, end = scan.csv.end
    cdef int64_t n_rows = 0, n_lines = 0, fitting = scan.rows.n_fitting
    while at < end and n_rows < fitting:
        begin_record(&scan.csv, at)
        if is_line_end(&scan.csv, at):
            at = scan.csv.line_end
        else:
            n_items, n_bytes = scan.rows.items.n, scan.n_bytes
            stop = row_end(scan, at, n_rows, marks + n_rows)
            if stop >= 0 and stop + 1 - at > most_bytes:
                stop = REFUSED
            if stop < 0:
                scan.rows.items.n, scan.n_bytes = n_items, n_bytes
                if done == begin and stop != NO_ROOM:
                    done = REFUSED
                break
            n_lines += scan.csv.n_ends
            rows[n_rows] = n_lines
            rows[fitting + n_rows] = at
            rows[2 * fitting + n_rows] = stop
            n_rows += 1
            at = stop
        n_lines += 1
        at += at < end
        done = at
    if (done > begin and has_high_byte(scan.csv.bytes + begin, done - begin)
            and not is_utf8(scan.csv.bytes + begin, done - begin, False)):
        done = REFUSED
    counts[0] = n_rows
    counts[1] = scan.rows.items.n
    counts[2] = n_lines
    return done


cdef inline str cell_text(const csv_t* csv, const cell_t* cell):
    cdef bytes text
    if not cell.n_doubled:
        return PyUnicode_DecodeUTF8(<const char*> csv.bytes + cell.begin, cell.length, NULL)
    text = PyBytes_FromStringAndSize(NULL, cell.length - cell.n_doubled)
    write_cell(csv, cell, <uint8_t*> PyBytes_AS_STRING(text))
    return text.decode()


cdef inline object cut_csv(bytes lines, int64_t begin, int64_t end, uint8_t separator):
    """As ``cut_record`` of ``line_scans``."""
    cdef csv_t csv
    cdef cell_t cell
    cdef int64_t at = begin
    csv.bytes = <const uint8_t*> PyBytes_AS_STRING(lines)
    csv.end = end
    csv.separator = separator
    begin_record(&csv, at)
    cells = []
    if is_line_end(&csv, at):
        at = csv.line_end
    else:
        while True:
            at = cell_end(&csv, at, &cell)
            if at < 0:
                return None
            cells.append(cell_text(&csv, &cell))
            if at == csv.line_end:
                break
            at += 1
    return cells, at, csv.n_ends + 1
