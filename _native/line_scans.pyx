"""Lines of JSON or CSV -> where the texts of our fields lie, and those texts as kernels read them.

A scan of JSON takes lines that hold an object each and are simple in every way. All else, and
whatever two readers of JSON might read differently, it refuses as a whole: then the rows are
decoded one by one, which also tells what is wrong with a line. So it never takes a line that a
decoder of JSON would not take, and reads in it what the decoder reads.

The scan of CSV is in ``csv_records``. It is part of this kernel, because one of its own would have
another copy of Cython's code for arrays, which takes more bytes than both scans.
"""
from libc.string cimport memcmp, memcpy

from byte_arrays cimport first_byte
from csv_records cimport cut_csv, records_t, scan_csv
from json_echoes cimport echo_object
from json_texts cimport closing_quote, list_end, spaces_end, text_end, unescape
from primitives cimport int64_t, uint8_t, uint64_t
from text_places cimport (
    CONTEXTS, ID, LANGUAGE, NO_FIELD, NO_ROOM, REFUSED, begin_row, field_places, note_items, rows_t,
)
from utf8 cimport has_high_byte, is_utf8

cdef enum:
    ID_IS_NUMBER = 0x20  # a mark in place of that of the language, of which rows have none

    OPEN_OBJECT = 0x7B
    OPEN_ARRAY = 0x5B
    TO_CLOSING = 2  # from either to the one that closes it

    MAX_DEPTH = 32      # of objects and arrays, the row among them
    MAX_NUMBER = 15     # digits and point: so many digits are exact in a double
    MAX_ID_DIGITS = 18  # so many are a 64-bit integer


cdef struct scan_t:
    const uint8_t* bytes
    int64_t end
    const uint8_t* keys
    const int64_t* key_offsets
    const uint8_t* key_fields
    int64_t n_keys
    rows_t rows

# -------------------------------------------------------------------------------------- values

cdef inline int64_t digits_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept nogil:
    while at < end and b"0" <= bytes_[at] <= b"9":
        at += 1
    return at


cdef inline int64_t whole_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept nogil:
    """Past the digits before a point, which begin with 0 only when that is all; or REFUSED."""
    cdef int64_t stop = digits_end(bytes_, at, end)
    return REFUSED if stop == at or (bytes_[at] == b"0" and stop > at + 1) else stop


cdef inline int64_t number_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t begin, stop
    at += bytes_[at] == b"-"
    begin = at
    stop = whole_end(bytes_, at, end)
    if stop == REFUSED:
        return REFUSED
    if stop < end and bytes_[stop] == b".":
        at = stop + 1
        stop = digits_end(bytes_, at, end)
        if stop == at:
            return REFUSED
    return REFUSED if stop - begin > MAX_NUMBER else stop


cdef inline int64_t word_end(const uint8_t* bytes_, int64_t at, int64_t end, const char* word,
                             int64_t length) noexcept nogil:
    """Past a word that has to be there, or REFUSED."""
    if end - at < length or memcmp(bytes_ + at, word, <size_t> length) != 0:
        return REFUSED
    return at + length


cdef inline int64_t null_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept nogil:
    return word_end(bytes_, at, end, b"null", 4)


cdef inline int64_t key_end(const uint8_t* bytes_, int64_t at, int64_t end, int64_t* length,
                            int64_t* size) noexcept nogil:
    """Past the colon of a key that begins at ``at``, and the spaces after; or REFUSED.

    The key is ``length`` bytes from ``at`` + 1 on.
    """
    cdef int64_t stop
    if at >= end or bytes_[at] != b'"':
        return REFUSED
    stop = closing_quote(bytes_, at + 1, end, size)
    if stop < 0:
        return REFUSED
    length[0] = stop - at - 1
    at = spaces_end(bytes_, stop + 1, end)
    if at >= end or bytes_[at] != b":":
        return REFUSED
    return spaces_end(bytes_, at + 1, end)


cdef int64_t value_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept nogil:
    """Past the value of any kind that begins at ``at``, or REFUSED."""
    cdef uint64_t objects = 0  # bit 0: the innermost array or object is an object
    cdef int depth = 1         # in the row
    cdef int64_t length, size
    cdef uint8_t first
    while True:
        if at >= end:
            return REFUSED
        first = bytes_[at]
        if first == b'"':
            at = closing_quote(bytes_, at + 1, end, &size)
            at += at != REFUSED
        elif first == b"{" or first == b"[":
            depth += 1
            if depth > MAX_DEPTH:
                return REFUSED
            objects = objects << 1 | (first == b"{")
            at = spaces_end(bytes_, at + 1, end)
            if at < end and bytes_[at] != first + TO_CLOSING:
                if first == b"{":
                    at = key_end(bytes_, at, end, &length, &size)
                    if at == REFUSED:
                        return REFUSED
                continue
        elif first == b"t":
            at = word_end(bytes_, at, end, b"true", 4)
        elif first == b"f":
            at = word_end(bytes_, at, end, b"false", 5)
        elif first == b"n":
            at = null_end(bytes_, at, end)
        else:
            at = number_end(bytes_, at, end)
        if at == REFUSED:
            return REFUSED
        # After a value, or at the end of an empty array or object.
        while depth > 1:
            at = spaces_end(bytes_, at, end)
            if at >= end:
                return REFUSED
            if bytes_[at] == (OPEN_OBJECT if objects & 1 else OPEN_ARRAY) + TO_CLOSING:
                at += 1
                objects >>= 1
                depth -= 1
                continue
            if bytes_[at] != b",":
                return REFUSED
            at = spaces_end(bytes_, at + 1, end)
            if objects & 1:
                at = key_end(bytes_, at, end, &length, &size)
                if at == REFUSED:
                    return REFUSED
            break
        if depth == 1:
            return at


# ---------------------------------------------------------------------------------------- rows

cdef inline int64_t number_id_end(scan_t* scan, int64_t at, int64_t* places,
                                  int64_t stride) noexcept nogil:
    """Past the integer that begins at ``at``, its places noted; or REFUSED."""
    cdef int64_t first = at + (scan.bytes[at] == b"-"), stop
    stop = whole_end(scan.bytes, first, scan.end)
    if stop == REFUSED or stop - first > MAX_ID_DIGITS:
        return REFUSED
    if stop < scan.end and (scan.bytes[stop] == b"." or scan.bytes[stop] | 0x20 == b"e"):
        return REFUSED
    if first > at and scan.bytes[first] == b"0":
        return REFUSED
    places[0] = at
    places[stride] = places[2 * stride] = stop - at
    return stop


cdef inline int field_of_key(const scan_t* scan, int64_t at, int64_t length) noexcept nogil:
    cdef int64_t key
    for key in range(scan.n_keys):
        if (scan.key_offsets[key + 1] - scan.key_offsets[key] == length
                and memcmp(scan.keys + scan.key_offsets[key], scan.bytes + at,
                           <size_t> length) == 0):
            return scan.key_fields[key]
    return NO_FIELD


cdef int64_t row_end(scan_t* scan, int64_t at, int64_t row, uint8_t* marks) noexcept nogil:
    """Past the object whose brace is at ``at``, its fields noted; or REFUSED, or NO_ROOM."""
    cdef const uint8_t* bytes_ = scan.bytes
    cdef int64_t stride = scan.rows.n_fitting, end = scan.end, begin, length = 0, size = 0
    cdef int64_t first_item = scan.rows.items.n
    cdef int64_t* places
    cdef int seen = 0, field
    marks[0] = 0
    begin_row(&scan.rows, row)
    at = spaces_end(bytes_, at + 1, end)
    if at < end and bytes_[at] == b"}":
        return at + 1
    while True:
        begin = at + 1
        at = key_end(bytes_, at, end, &length, &size)
        # A key with escapes may be one of ours in disguise.
        if at == REFUSED or at >= end or size < length:
            return REFUSED
        field = field_of_key(scan, begin, length)
        if field == NO_FIELD:
            at = value_end(bytes_, at, end)
        else:
            if seen >> field & 1:
                return REFUSED
            seen |= 1 << field
            places = field_places(&scan.rows, field, row)
            if bytes_[at] == b"n" or field == LANGUAGE:
                at = null_end(bytes_, at, end)
            else:
                marks[0] |= <uint8_t> (1 << field)
                if field == CONTEXTS:
                    at = list_end(bytes_, at, end, &scan.rows.items)
                    note_items(&scan.rows, row, first_item)
                elif field == ID and bytes_[at] != b'"':
                    at = number_id_end(scan, at, places, stride)
                    marks[0] |= ID_IS_NUMBER
                else:
                    at = text_end(bytes_, at, end, places, stride)
        if at < 0:
            return at
        at = spaces_end(bytes_, at, end)
        if at >= end:
            return REFUSED
        if bytes_[at] == b"}":
            return at + 1
        if bytes_[at] != b",":
            return REFUSED
        at = spaces_end(bytes_, at + 1, end)


def scan_lines(const uint8_t[::1] lines, int64_t begin, const uint8_t[::1] keys,
               const int64_t[::1] key_offsets, const uint8_t[::1] key_fields,
               int64_t[::1] rows, int64_t[::1] places, uint8_t[::1] marks, int64_t[::1] items,
               int64_t[::1] counts):
    """Find our fields in the lines from byte ``begin`` on, which is the first of a line.

    Returns where the lines that were scanned end, or -1 when one of them is not as simple as the
    scan wants it. It stops before that only where no more rows (R) or items (I) fit; when nothing
    was scanned, one row has more items than fit.

    ``keys`` are the names of our fields laid end to end, ``key_fields`` gives the field of each: 0
    for the question, 1 the answer, 2 the contexts, 3 the ground truth, 4 the id and 5 the language.
    Filled are, field by field, ``rows`` (3, R): number of the line, counted from the first one
    scanned, begin and end of its object; ``places`` (5, 3, R): of a text or a number its begin, its
    bytes in the line and its bytes without escapes, of the contexts their first item and their
    number; ``marks`` (R,): a bit for each field that is there, and bit 5 for an id that is a
    number; ``items`` (3, I): contexts, as texts; and ``counts``: rows, items and lines.
    """
    cdef scan_t scan
    cdef int64_t at = begin, done = begin, row_begin, stop, n_before
    cdef int64_t n_rows = 0, n_lines = 0, fitting = marks.shape[0]
    scan.bytes = first_byte(lines)
    scan.end = lines.shape[0]
    scan.keys = first_byte(keys)
    scan.key_offsets = &key_offsets[0]
    scan.key_fields = first_byte(key_fields)
    scan.n_keys = key_fields.shape[0]
    scan.rows.places = &places[0]
    scan.rows.n_fitting = fitting
    scan.rows.items.places = &items[0]
    scan.rows.items.n_fitting = items.shape[0] // 3
    scan.rows.items.n = 0
    with nogil:
        while at < scan.end and n_rows < fitting:
            at = spaces_end(scan.bytes, at, scan.end)
            if at < scan.end and scan.bytes[at] != b"\n":
                if scan.bytes[at] != b"{":
                    done = REFUSED
                    break
                row_begin = at
                n_before = scan.rows.items.n
                stop = row_end(&scan, at, n_rows, &marks[n_rows])
                if stop < 0:
                    scan.rows.items.n = n_before
                    done = done if stop == NO_ROOM else REFUSED
                    break
                at = spaces_end(scan.bytes, stop, scan.end)
                if at < scan.end and scan.bytes[at] != b"\n":
                    done = REFUSED
                    break
                rows[n_rows] = n_lines
                rows[fitting + n_rows] = row_begin
                rows[2 * fitting + n_rows] = stop
                n_rows += 1
            n_lines += 1
            at += at < scan.end
            done = at
        if (done > begin and has_high_byte(scan.bytes + begin, done - begin)
                and not is_utf8(scan.bytes + begin, done - begin, False)):
            done = REFUSED
    counts[0] = n_rows
    counts[1] = scan.rows.items.n
    counts[2] = n_lines
    return done


def lay_texts(const uint8_t[::1] lines, const int64_t[::1] begins, const int64_t[::1] lengths,
              const int64_t[::1] offsets, uint8_t[::1] data):
    """Write texts that were scanned before into ``data`` at their offsets, without escapes."""
    cdef const uint8_t* bytes_ = first_byte(lines)
    cdef Py_ssize_t i
    cdef int64_t size
    with nogil:
        for i in range(lengths.shape[0]):
            size = offsets[i + 1] - offsets[i]
            if size == 0:
                continue
            if size == lengths[i]:
                memcpy(&data[offsets[i]], bytes_ + begins[i], <size_t> size)
            else:
                unescape(bytes_ + begins[i], lengths[i], &data[offsets[i]])


def echoed_objects(const uint8_t[::1] lines, const int64_t[::1] begins, const int64_t[::1] ends,
                   bytearray scratch):
    """Objects of lines that were scanned before, as JSON is written here.

    A list with the bytes of each, None where it has to be decoded and encoded for that.
    ``scratch`` has room for the longest object, twice.
    """
    cdef const uint8_t* bytes_ = first_byte(lines)
    cdef uint8_t* out = scratch
    cdef int64_t room = len(scratch) // 2, size
    cdef Py_ssize_t i
    found = []
    for i in range(begins.shape[0]):
        size = -1
        if ends[i] - begins[i] <= room:
            size = echo_object(bytes_, begins[i], ends[i], out, out + room)
        found.append(None if size < 0 else <bytes> out[:size])
    return found


# ---------------------------------------------------------------------------------------- CSV

def scan_records(const uint8_t[::1] lines, int64_t begin, int64_t end, int separator,
                 const uint8_t[::1] column_fields, int64_t most_bytes, int64_t[::1] rows,
                 int64_t[::1] places, uint8_t[::1] marks, int64_t[::1] items, uint8_t[::1] texts,
                 int64_t[::1] counts):
    """Find the texts of our fields in whole lines of CSV, and write them into ``texts``.

    Returns where the records that were scanned end: at ``end``; or before the first that is not
    simple, is longer than ``most_bytes`` with its line ends, or does not end in these lines; or
    where the arrays are full. When no record was scanned, that is -1, or ``begin`` if one row has
    more contexts than fit into ``items``. It is -1, too, where a byte of them is not UTF-8.

    ``separator`` is between cells; ``column_fields`` gives the field of each column, 255 for none;
    see ``scan_lines`` for the fields, and for what is filled. ``rows`` has of each record the
    number of its last line, and where it begins and ends; other places are those in ``texts``,
    which has room for as many bytes as the lines have. ``counts`` are rows, items and lines.
    """
    cdef records_t scan
    cdef int64_t done
    scan.csv.bytes = first_byte(lines)
    scan.csv.end = end
    scan.csv.separator = <uint8_t> separator
    scan.column_fields = first_byte(column_fields)
    scan.n_columns = column_fields.shape[0]
    scan.rows.places = &places[0]
    scan.rows.n_fitting = marks.shape[0]
    scan.rows.items.places = &items[0]
    scan.rows.items.n_fitting = items.shape[0] // 3
    scan.rows.items.n = 0
    scan.texts = &texts[0]
    scan.n_bytes = 0
    with nogil:
        done = scan_csv(&scan, begin, most_bytes, &rows[0], &marks[0], &counts[0])
    return done


def cut_record(bytes lines, int64_t begin, int64_t end, int separator):
    """The cells of the record that begins at ``begin``, which is below ``end``.

    With them the place of its line end, or ``end``, and how many lines it has; None where the
    standard library has to read it. An empty line has no cells. Raises a UnicodeDecodeError for a
    cell that is not UTF-8.
    """
    return cut_csv(lines, begin, end, <uint8_t> separator)
