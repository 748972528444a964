"""Rows of result files: words as JSON with places for values, filled.

What is written and how it is worded is told by Python, once; here it is only put together.
"""
cimport cython
from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdlib cimport free
from libc.string cimport memcpy

from primitives cimport int64_t, reserve, uint8_t

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from "json_strings.h" nogil:
    int64_t plain_end(const uint8_t* bytes, int64_t at, int64_t end)

cdef extern from *:
    """
    static const char SHORT_ESCAPES[] = "btn\\0fr", HEXADECIMAL[] = "0123456789abcdef";
    """
    const char* SHORT_ESCAPES   # of the control characters from 8 on
    const char* HEXADECIMAL


cdef inline int check_places(tuple around, Py_ssize_t wanted) except -1:
    if len(around) != wanted:
        raise ValueError("words have not as many places as there are values")
    return 0


cdef enum:
    KEPT_BYTES = 1 << 24       # of memory, between blocks


@cython.auto_pickle(False)
@cython.final
cdef class RowWriter:
    """Writes the rows of a block into memory of its own.

    Parameters
    ----------
    rounded : callable
        The text of a number, with three decimals, that is not plainly from 0 to 1.
    add_form : callable
        ``(place, words, reason)`` -> the JSON of the metric at a place around its values.
    add_signal : callable
        ``(kind, is_numbered)`` -> the JSON of signals of a kind around their values, and whether
        these are text of the data.
    between : bytes
        Stands between rows.
    """
    cdef uint8_t* bytes_
    cdef int64_t capacity
    cdef int64_t size
    cdef object rounded, add_form, add_signal
    cdef bytes between
    cdef list ends
    cdef dict forms, signals, numbered

    def __cinit__(self, rounded, add_form, add_signal, bytes between):
        self.between, self.ends = between, []
        self.rounded, self.add_form, self.add_signal = rounded, add_form, add_signal
        self.forms, self.signals, self.numbered = {}, {}, {}

    def __dealloc__(self):
        free(self.bytes_)

    cdef int put(self, const void* bytes_, int64_t n) except -1:
        if reserve(<void**> &self.bytes_, &self.capacity, self.size + n, 1):
            raise MemoryError("writing a row")
        memcpy(self.bytes_ + self.size, bytes_, <size_t> n)
        self.size += n
        return 0

    def clear(self):
        """Forget the rows."""
        if self.capacity > KEPT_BYTES:
            free(self.bytes_)
            self.bytes_, self.capacity = NULL, 0
        self.size = 0
        self.ends = []

    def add(self, bytes row):
        """A row that was written otherwise."""
        self.begin()
        self.put_bytes(row)
        self.ends.append(self.size)

    def rows(self):
        """Each row by itself."""
        cdef int64_t begin = 0, end
        found = []
        for end in self.ends:
            found.append(PyBytes_FromStringAndSize(<char*> self.bytes_ + begin, end - begin))
            begin = end + PyBytes_GET_SIZE(self.between)
        return found

    def write_to(self, write):
        """Pass all rows on, with what stands between them; nothing where there are none."""
        if self.ends:
            write(PyMemoryView_FromMemory(<char*> self.bytes_, self.size, PyBUF_READ))

    cdef int begin(self) except -1:
        return self.put_bytes(self.between) if self.ends else 0

    cdef int put_bytes(self, bytes part) except -1:
        return self.put(PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))

    cdef int put_text(self, str text, bint escapes) except -1:
        """A text; as it stands between the quotation marks of JSON where it may hold anything."""
        cdef Py_ssize_t n
        cdef const uint8_t* bytes_ = <const uint8_t*> PyUnicode_AsUTF8AndSize(text, &n)
        cdef int64_t at = 0, end
        if not escapes:
            return self.put(bytes_, n)
        while True:
            end = plain_end(bytes_, at, n)
            self.put(bytes_ + at, end - at)
            if end == n:
                return 0
            self.put_escape(bytes_[end])
            at = end + 1

    cdef int put_escape(self, uint8_t byte) except -1:
        cdef char[6] text
        text[0], text[1] = b"\\", byte
        if byte < 0x20:
            text[1] = SHORT_ESCAPES[byte - 8] if 8 <= byte < 14 and byte != 11 else b"u"
        if text[1] != b"u":
            return self.put(text, 2)
        text[2] = text[3] = b"0"
        text[4], text[5] = HEXADECIMAL[byte >> 4], HEXADECIMAL[byte & 15]
        return self.put(text, 6)

    cdef int put_decimals(self, double value) except -1:
        """A number with three decimals."""
        cdef char[5] text
        cdef double scaled = value * 1000 + 0.5
        cdef int number
        if 0 <= value <= 1:
            number = <int> scaled
            if 1e-6 < scaled - number < 1 - 1e-6:
                text[0], text[1] = <char> (48 + number // 1000), b"."
                text[2] = <char> (48 + number // 100 % 10)
                text[3] = <char> (48 + number // 10 % 10)
                text[4] = <char> (48 + number % 10)
                return self.put(text, 5)
        return self.put_text(self.rounded(value), False)

    cdef int put_number(self, int64_t number) except -1:
        cdef char[1] digit
        if not 0 <= number < 10:
            return self.put_text(str(number), False)
        digit[0] = <char> (48 + number)
        return self.put(digit, 1)

    cdef int put_values(self, tuple around, Py_ssize_t place, tuple values,
                        bint escapes) except -1:
        """Values, and what follows each of them; the first is before piece ``place``."""
        for value in values:
            if type(value) is float:
                self.put_decimals(value)
            elif type(value) is str:
                self.put_text(value, escapes)
            else:
                self.put_number(value)
            self.put_bytes(around[place])
            place += 1
        return 0

    cdef int put_signals(self, object signals) except -1:
        cdef bint is_next = False, quotes
        cdef tuple around, said
        cdef dict known
        for said in signals:
            kind, values, place, evidence, chunk = said
            known = self.signals if place is None else self.numbered
            found = known.get(kind)
            if found is None:
                found = known[kind] = self.add_signal(kind, place is not None)
            around, quotes = found
            self.put(b",", is_next)
            is_next = True
            check_places(around, len(values) + (1 if place is None else 2))
            self.put_bytes(around[0])
            if place is not None:
                self.put_number(place)
                self.put_bytes(around[1])
            self.put_values(around, 1 if place is None else 2, values, quotes)
            if evidence is not None:
                self.put(b',"evidence":"', 13)
                self.put_text(evidence, True)
                self.put(b'"', 1)
            if chunk is not None:
                self.put(b',"contextChunkIndex":', 21)
                self.put_number(chunk)
            self.put(b"}", 1)
        return 0

    def row(self, tuple around, bytes sample, list said, list scores, list verdicts, list reasons,
            list details, list others):
        """Add a row.

        ``around`` is what stands around its sample, its metrics and the other parts. Of each metric
        there is what is said of it, the JSON of its score and its verdict, and why it is null; with
        ``details`` also the JSON of its parts. Raises UnicodeEncodeError for a lone surrogate,
        and nothing is added.
        """
        cdef int64_t before = self.size
        cdef Py_ssize_t n = len(said)
        if not (len(scores) == len(verdicts) == len(reasons) == n and len(details) in (0, n)):
            raise ValueError("a part for each metric is needed")
        check_places(around, len(others) + 3)
        try:
            self.begin()
            self.put_row(around, sample, said, scores, verdicts, reasons, details, others)
        except BaseException:
            self.size = before
            raise
        self.ends.append(self.size)

    cdef int put_row(self, tuple around, bytes sample, list said, list scores, list verdicts,
                     list reasons, list details, list others) except -1:
        cdef Py_ssize_t place, n
        cdef tuple one, form, values
        self.put_bytes(around[0])
        self.put_bytes(sample)
        self.put_bytes(around[1])
        for place in range(len(said)):
            one = said[place]
            key = (place, one[0], reasons[place])
            form = self.forms.get(key)
            if form is None:
                form = self.forms[key] = self.add_form(*key)
            values = one[1]
            n = len(values)
            check_places(form, n + 4)
            self.put(b",", place > 0)
            self.put_bytes(form[0])
            self.put_bytes(scores[place])
            self.put_bytes(form[1])
            self.put_bytes(verdicts[place])
            self.put_bytes(form[2])
            self.put_values(form, 3, values, False)
            self.put_signals(one[2])
            self.put_bytes(form[n + 3])
            if details:
                self.put_bytes(details[place])
            self.put(b"}", 1)
        for place in range(len(others)):
            self.put_bytes(around[place + 2])
            self.put_bytes(others[place])
        return self.put_bytes(around[len(others) + 2])
