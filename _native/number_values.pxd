"""What numbers are worth: 2.3 million is 2,300,000, "235 000" may be 235000, third is 3.

Values are the nearest doubles: one product or quotient of exact numbers below 10^16. A set of them
holds their bits, which differ where values do: none is negative.
"""
from libc.string cimport memcmp, memcpy, memset

from lexicon cimport IS_NUMBER, IS_ORDINAL, form_bytes, form_size, form_t
from ngram_sets cimport clear_grams, find_gram, grams_t, number_gram
from primitives cimport int64_t, token_t, uint8_t, uint64_t
from row_words cimport facts_of, piece_t, raw_of, row_words_t
from word_facts cimport LANGUAGE_EN, word_facts_t

cdef enum:
    MAX_DIGITS = 15      # a number that is written with more has no value
    SHORT_GROUP = 3      # digits of a thousand
    VALUE_SLOTS = 64     # of a set to begin with
    # Units of a number.
    NO_UNIT = 0
    PLAIN_UNIT
    ORDINAL_UNIT
    MULTIPLIER
    MULTIPLIER_OR_UNIT   # m and k: metre, kelvin
    UNKNOWN_UNIT

cdef extern from *:
    """
    static const double powers_of_ten[16] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
        1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    """
    const double powers_of_ten[16]


cdef struct number_t:
    int n_values         # 0 for a word without a value
    double values[2]
    bint is_ordinal


cdef struct reading_t:
    int n_values         # what a word and the next ones may be together
    double values[2]
    int64_t last[2]      # the last of these words


# ---------------------------------------------------------------------------------------- a number

cdef inline bint is_figure(const row_words_t* words, int64_t word) noexcept nogil:
    """A number in digits, or an English ordinal."""
    return words.lexicon.forms[words.ids[word]].flags & (IS_NUMBER | IS_ORDINAL) != 0


cdef inline double scaled(uint64_t digits, int power) noexcept nogil:
    """Digits times a power of ten, rounded once."""
    if power >= 0:
        return <double> digits * powers_of_ten[power]
    return <double> digits / powers_of_ten[-power]


cdef inline int64_t take_digits(const uint8_t* form, int64_t size, int64_t at,
                                uint64_t* digits) noexcept nogil:
    """Past the digits at ``at``, which are added to those before; they may be too many."""
    while at < size and 0x30 <= form[at] <= 0x39:
        digits[0] = digits[0] * 10 + (form[at] - 0x30)
        at += 1
    return at


cdef inline int unit_of(const uint8_t* unit, int64_t size, int* power) noexcept nogil:
    """What the letters behind a number are; ``power`` is set where they multiply it."""
    cdef int pair
    power[0] = 0
    if size == 0:
        return NO_UNIT
    if size == 1:
        if unit[0] == 0x6D or unit[0] == 0x6B:  # m, k
            power[0] = 6 if unit[0] == 0x6D else 3
            return MULTIPLIER_OR_UNIT
        return PLAIN_UNIT if unit[0] == 0x73 or unit[0] == 0x70 else UNKNOWN_UNIT
    if size == 2:
        pair = unit[0] << 8 | unit[1]
        # st nd rd th, pc km kg cm mm am pm
        if pair == 0x7374 or pair == 0x6E64 or pair == 0x7264 or pair == 0x7468:
            return ORDINAL_UNIT
        if (pair == 0x7063 or pair == 0x6B6D or pair == 0x6B67 or pair == 0x636D
                or pair == 0x6D6D or pair == 0x616D or pair == 0x706D):
            return PLAIN_UNIT
        # bn mn tn
        power[0] = 9 if pair == 0x626E else 6 if pair == 0x6D6E else 12 if pair == 0x746E else 0
        return MULTIPLIER if power[0] else UNKNOWN_UNIT
    if size == 8 and memcmp(unit, b"thousand", 8) == 0:
        power[0] = 3
    elif size == 7 and memcmp(unit, b"million", 7) == 0:
        power[0] = 6
    elif size == 7 and memcmp(unit, b"billion", 7) == 0:
        power[0] = 9
    elif size == 8 and memcmp(unit, b"trillion", 8) == 0:
        power[0] = 12
    return MULTIPLIER if power[0] else UNKNOWN_UNIT


cdef inline int multiplier_at(const row_words_t* words, int64_t word, int64_t end,
                              int* power) noexcept nogil:
    """The multiplier that a word before ``end`` is."""
    cdef const word_facts_t* facts = facts_of(words, word) if word < end else NULL
    power[0] = facts.power if facts != NULL else 0
    if not power[0]:
        return NO_UNIT
    return MULTIPLIER_OR_UNIT if facts.size == 1 else MULTIPLIER


cdef inline bint read_grouped(const uint8_t* form, int64_t size, number_t* number) noexcept nogil:
    """Read ``1.234.567``; False of what is not written so. A single group may be decimals, too."""
    cdef uint64_t digits = 0
    cdef int64_t at = take_digits(form, size, 0, &digits), n_groups = 0, end
    if not 1 <= at <= SHORT_GROUP or at == size:
        return False
    while at < size:
        if form[at] != 0x2E:
            return False
        end = take_digits(form, size, at + 1, &digits)
        if end - at - 1 != SHORT_GROUP:
            return False
        at = end
        n_groups += 1
    if size - n_groups > MAX_DIGITS:
        return True
    number.n_values = 1
    number.values[0] = <double> digits
    if n_groups == 1:
        number.n_values = 2
        number.values[1] = scaled(digits, -SHORT_GROUP)
    return True


cdef inline void read_number(const row_words_t* words, int64_t word, int64_t end,
                             number_t* number) noexcept nogil:
    """What a word before ``end`` is worth; ``end`` is that of its text."""
    cdef const form_t* form = &words.lexicon.forms[words.ids[word]]
    cdef const uint8_t* bytes
    cdef bint english = words.language == LANGUAGE_EN
    cdef uint64_t digits = 0
    cdef int64_t size, at, n_digits
    cdef int unit, power, n_decimals = 0
    memset(number, 0, sizeof(number_t))
    if form.flags & IS_ORDINAL:
        number.n_values = 1
        number.values[0] = facts_of(words, word).ordinal
        number.is_ordinal = True
        return
    if not form.flags & IS_NUMBER:
        return
    bytes = form_bytes(&words.lexicon, raw_of(words, word))
    size = form_size(&words.lexicon, raw_of(words, word))
    if not english and read_grouped(bytes, size, number):
        return
    at = n_digits = take_digits(bytes, size, 0, &digits)
    if at == 0:
        return
    if at + 1 < size and bytes[at] == 0x2E:
        n_digits = take_digits(bytes, size, at + 1, &digits) - 1
        if n_digits == at:
            return
        n_decimals = <int> min(n_digits - at, <int64_t> MAX_DIGITS)
        at = n_digits + 1
    unit = unit_of(bytes + at, size - at, &power)
    if unit == UNKNOWN_UNIT or n_digits > MAX_DIGITS:
        return
    number.is_ordinal = unit == ORDINAL_UNIT
    if not english:
        power = 0
    elif unit == NO_UNIT:
        unit = multiplier_at(words, word + 1, end, &power)
    number.n_values = 1
    number.values[0] = scaled(digits, power - n_decimals)
    if english and unit == MULTIPLIER_OR_UNIT:
        number.n_values = 2
        number.values[1] = scaled(digits, -n_decimals)


# --------------------------------------------------------------------------------- second readings

cdef inline int64_t count_digits(const row_words_t* words, int64_t word, int64_t end,
                                 uint64_t* digits) noexcept nogil:
    """Digits of a word before ``end`` that is of nothing else; else 0."""
    cdef token_t raw
    cdef int64_t size
    digits[0] = 0
    if word >= end or not words.lexicon.forms[words.ids[word]].flags & IS_NUMBER:
        return 0
    raw = raw_of(words, word)
    size = form_size(&words.lexicon, raw)
    if size > MAX_DIGITS:
        return 0
    return size if take_digits(form_bytes(&words.lexicon, raw), size, 0, digits) == size else 0


cdef inline void read_on(const row_words_t* words, int64_t word, int64_t end,
                         reading_t* reading) noexcept nogil:
    """What the digits of a word and of the next may be together: thousands, or decimals."""
    cdef uint64_t first, second, third
    cdef int64_t n_first = count_digits(words, word, end, &first), n_second
    cdef int power
    reading.n_values = 0
    if n_first == 0:
        return
    n_second = count_digits(words, word + 1, end, &second)
    reading.last[0] = reading.last[1] = word + 1
    if n_first <= SHORT_GROUP and n_second == SHORT_GROUP:
        reading.n_values = 1
        reading.values[0] = <double> (first * 1000 + second)
        if count_digits(words, word + 2, end, &third) == SHORT_GROUP:
            reading.n_values = 2
            reading.values[1] = <double> ((first * 1000 + second) * 1000 + third)
            reading.last[1] = word + 2
    elif 0 < n_second < SHORT_GROUP and n_first + n_second <= MAX_DIGITS:
        first = first * (100 if n_second == 2 else 10) + second
        reading.n_values = 1
        reading.values[0] = scaled(first, -<int> n_second)
        if words.language == LANGUAGE_EN and multiplier_at(words, word + 2, end, &power):
            reading.n_values = 2
            reading.values[1] = scaled(first, power - <int> n_second)


# --------------------------------------------------------------------------------- sets of values

cdef inline uint64_t bits_of(double value) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &value, sizeof(double))
    return bits


cdef inline int clear_values(grams_t* values) noexcept nogil:
    return clear_grams(values, VALUE_SLOTS)


cdef inline int add_values(grams_t* values, const double* found, int n_values) noexcept nogil:
    """0, or -1 without memory."""
    cdef int i
    for i in range(n_values):
        if number_gram(values, bits_of(found[i])) < 0:
            return -1
    return 0


cdef inline bint has_any(const grams_t* values, const double* wanted,
                         int n_values) noexcept nogil:
    cdef int i
    for i in range(n_values):
        if find_gram(values, bits_of(wanted[i])) >= 0:
            return True
    return False


cdef inline int list_values(grams_t* values, const row_words_t* words,
                            const piece_t* piece) noexcept nogil:
    """Add all values of a text, second readings among them; 0, or -1 without memory."""
    cdef number_t number
    cdef reading_t reading
    cdef int64_t i
    for i in range(piece.first, piece.last):
        if not is_figure(words, i):
            continue
        read_number(words, i, piece.last, &number)
        read_on(words, i, piece.last, &reading)
        if add_values(values, number.values, number.n_values) or add_values(
                values, reading.values, reading.n_values):
            return -1
    return 0
