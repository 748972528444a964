"""Rows of result files on their way into memory: words that were made JSON once, and values.

What is written and how it is worded is told by Python. A form is a text with places for values: its
pieces stand around them. A form that is not known yet is noted; its row is written again with it.
"""
from libc.math cimport fma
from libc.stdlib cimport free
from libc.string cimport memcpy

from primitives cimport int32_t, int64_t, reserve, span_t, uint8_t

cdef extern from "json_strings.h" nogil:
    int64_t plain_end(const uint8_t* bytes_, int64_t at, int64_t end) noexcept

cdef extern from *:
    """
    static const char SHORT_ESCAPES[] = "btn\\0fr", HEXADECIMAL[] = "0123456789abcdef";
    """
    const char* SHORT_ESCAPES   # of the control characters from 8 on
    const char* HEXADECIMAL

cdef enum:
    N_COLUMNS = 13
    N_VARIANTS = 32      # of the words of a metric
    N_REASONS = 16
    # Signals: the number of the metric, and what it is about.
    ABOUT_SENTENCE = 0
    ABOUT_SCORE = 16
    ABOUT_CONTEXTS = 32
    ABOUT_CONTEXT = 48
    ABOUT_CAUSE = 64     # and 16 times the cause
    N_KINDS = 256
    UNKNOWN = -1
    MOST_DIGITS = 20
    COMMA = 0            # the first of the phrases: between the parts of a list


cdef struct form_t:
    int64_t first        # of its pieces
    int64_t n_pieces


cdef struct wanted_t:
    int64_t column       # UNKNOWN where a signal is wanted, or nothing
    int64_t number       # of the variant, or of the signal's kind; UNKNOWN where nothing is
    int64_t reason


cdef struct output_t:
    uint8_t* bytes
    int64_t capacity
    int64_t size
    bint has_no_memory
    bint has_misfit          # a form has not as many places as there are values
    # Forms that are known.
    uint8_t* words
    int64_t words_capacity
    int64_t words_size
    span_t* pieces
    int64_t pieces_capacity
    int64_t n_pieces
    form_t* forms
    int64_t forms_capacity
    int64_t n_forms
    int32_t[N_COLUMNS][N_VARIANTS][N_REASONS] metrics
    int32_t[N_KINDS] signals
    wanted_t wanted
    # The form that is being filled.
    int64_t form
    int64_t piece


cdef inline void close_output(output_t* out) noexcept nogil:
    free(out.bytes)
    free(out.words)
    free(out.pieces)
    free(out.forms)


cdef inline void put(output_t* out, const void* bytes_, int64_t n) noexcept nogil:
    if out.size + n > out.capacity and reserve(<void**> &out.bytes, &out.capacity, out.size + n, 1):
        out.has_no_memory = True
    elif n:
        memcpy(out.bytes + out.size, bytes_, <size_t> n)
        out.size += n


cdef inline void put_byte(output_t* out, uint8_t byte) noexcept nogil:
    put(out, &byte, 1)


cdef inline void put_again(output_t* out, int64_t begin, int64_t end) noexcept nogil:
    """What was written before, once more."""
    if not reserve(<void**> &out.bytes, &out.capacity, out.size + end - begin, 1):
        memcpy(out.bytes + out.size, out.bytes + begin, <size_t> (end - begin))
        out.size += end - begin
    else:
        out.has_no_memory = True


# ---------------------------------------------------------------------------------------- values

cdef inline void put_escape(output_t* out, uint8_t byte) noexcept nogil:
    cdef char[6] text
    text[0], text[1] = b"\\", byte
    if byte < 0x20:
        text[1] = SHORT_ESCAPES[byte - 8] if 8 <= byte < 14 and byte != 11 else b"u"
    if text[1] != b"u":
        put(out, text, 2)
        return
    text[2] = text[3] = b"0"
    text[4], text[5] = HEXADECIMAL[byte >> 4], HEXADECIMAL[byte & 15]
    put(out, text, 6)


cdef inline void put_text(output_t* out, const uint8_t* bytes_, int64_t n) noexcept nogil:
    """A text as it stands between the quotation marks of JSON."""
    cdef int64_t at = 0, end
    while True:
        end = plain_end(bytes_, at, n)
        put(out, bytes_ + at, end - at)
        if end >= n:
            return
        put_escape(out, bytes_[end])
        at = end + 1


cdef inline void put_integer(output_t* out, int64_t number, bint groups) noexcept nogil:
    """A number from 0 on; with ``groups`` a comma between its thousands."""
    cdef char[2 * MOST_DIGITS] text
    cdef int at = 2 * MOST_DIGITS, n_digits = 0
    while True:
        if groups and n_digits and n_digits % 3 == 0:
            at -= 1
            text[at] = b","
        at -= 1
        text[at] = <char> (48 + number % 10)
        n_digits += 1
        number //= 10
        if number == 0:
            break
    put(out, text + at, 2 * MOST_DIGITS - at)


cdef inline void put_decimals(output_t* out, double value) noexcept nogil:
    """A number with three decimals; a half, of the number as it is, goes up."""
    cdef double scaled = value * 1000, rest
    cdef int64_t number
    cdef char[4] text
    if value < 0:
        put_byte(out, b"-")
        value, scaled = -value, -scaled
    if not value < 1e12:  # no score
        put(out, b"NaN", 3)
        return
    number = <int64_t> scaled
    rest = scaled - number
    if rest > 0.5 or (rest == 0.5 and fma(value, 1000, -scaled) >= 0):
        number += 1
    put_integer(out, number // 1000, False)
    text[0] = b"."
    text[1] = <char> (48 + number // 100 % 10)
    text[2] = <char> (48 + number // 10 % 10)
    text[3] = <char> (48 + number % 10)
    put(out, text, 4)


# ----------------------------------------------------------------------------------------- forms

cdef inline void put_piece(output_t* out) noexcept nogil:
    """The next piece of the form at hand."""
    cdef const form_t* form
    cdef span_t piece
    if out.form == UNKNOWN:
        return
    form = &out.forms[out.form]
    if out.piece < form.n_pieces:
        piece = out.pieces[form.first + out.piece]
        put(out, out.words + piece.begin, piece.end - piece.begin)
    out.piece += 1


cdef inline void begin_form(output_t* out, int64_t form) noexcept nogil:
    out.form = form
    out.piece = 0
    put_piece(out)


cdef inline void begin_metric(output_t* out, int64_t column, int64_t variant,
                              int64_t reason) noexcept nogil:
    """The form of a metric's words, up to its score."""
    cdef int64_t form = out.metrics[column][variant][reason]
    if form == UNKNOWN:
        out.wanted = wanted_t(column, variant, reason)
    begin_form(out, form)


cdef inline void begin_signal(output_t* out, int64_t kind, int64_t place) noexcept nogil:
    """The form of a signal, up to its first value; ``place`` is the number of a sentence, or -1."""
    cdef int64_t form = out.signals[kind]
    if form == UNKNOWN:
        out.wanted = wanted_t(UNKNOWN, kind, 0)
    begin_form(out, form)
    if place >= 0:
        put_integer(out, place, False)
        put_piece(out)


cdef inline void end_values(output_t* out, int64_t n_left) noexcept nogil:
    """All values are there, and so many pieces of the form at hand follow."""
    if out.form != UNKNOWN and out.piece != out.forms[out.form].n_pieces - n_left:
        out.has_misfit = True


cdef inline void end_signal(output_t* out) noexcept nogil:
    end_values(out, 0)
    put_byte(out, b"}")


cdef inline void put_count(output_t* out, int64_t number) noexcept nogil:
    """A value of the form at hand, as the following ones: a number as it is."""
    put_integer(out, number, False)
    put_piece(out)


cdef inline void put_amount(output_t* out, int64_t number) noexcept nogil:
    """With a comma between its thousands."""
    put_integer(out, number, True)
    put_piece(out)


cdef inline void put_score(output_t* out, double value) noexcept nogil:
    """With three decimals."""
    put_decimals(out, value)
    put_piece(out)


cdef inline void put_phrase(output_t* out, int64_t phrase, int64_t piece) noexcept nogil:
    """A piece of a phrase: phrases are the first forms, and stand in values of others."""
    cdef span_t found = out.pieces[out.forms[phrase].first + piece]
    put(out, out.words + found.begin, found.end - found.begin)


cdef inline void put_places_below(output_t* out, const double* values, int64_t n,
                                  double limit) noexcept nogil:
    """A value: the places of values below a limit."""
    cdef int64_t i
    cdef bint is_next = False
    for i in range(n):
        if values[i] < limit:
            if is_next:
                put_phrase(out, COMMA, 0)
            is_next = True
            put_integer(out, i, False)
    put_piece(out)


cdef inline int64_t n_below(const double* values, int64_t n, double limit) noexcept nogil:
    cdef int64_t i, found = 0
    for i in range(n):
        found += values[i] < limit
    return found
