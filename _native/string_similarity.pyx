"""Pairs of texts -> how alike they are as strings of UTF-16 units, as JavaScript sees them."""
from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND, PyUnicode_2BYTE_KIND, PyUnicode_DATA, PyUnicode_GET_LENGTH,
    PyUnicode_KIND,
)
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from code_points cimport CODE_POINT_SPACE, code_point_flags
from primitives cimport (
    folded_product, hash_t, int64_t, offset_t, reserve, uint8_t, uint32_t, uint64_t,
)
from stopping cimport is_stopped, raise_failure, stop_flag

cdef enum:
    N_UNITS = 65536
    N_ASCII = 128
    STRIP_WORDS = 8
    STRIP_ROWS = 512        # the most that so many words have
    ASCII_BIGRAMS = 16384   # two times seven bits
    TOO_MUCH_WORK = -1


cdef extern from "bit_strips.h" nogil:
    ctypedef void (*bit_strip_t)(const uint64_t*, const uint16_t*, const uint16_t*, int64_t,
                                 uint8_t*, uint64_t*) noexcept
    const bit_strip_t LCS_STRIPS[STRIP_WORDS + 1]
    const bit_strip_t EDIT_STRIPS[STRIP_WORDS + 1]
    const int64_t LCS_ROWS
    const int64_t EDIT_ROWS
    int count_ones(uint64_t word) noexcept


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


cdef struct units_t:
    const uint16_t* items
    int64_t size
    bint is_ascii


cdef inline const uint16_t* first_unit(const uint16_t[::1] units) noexcept nogil:
    return &units[0] if units.shape[0] else NULL


cdef inline units_t units_of(const uint16_t* items, int64_t size) noexcept nogil:
    cdef uint16_t seen = 0
    cdef int64_t at
    for at in range(size):
        seen |= items[at]
    return units_t(items, size, seen < N_ASCII)


cdef struct column_t:
    const uint16_t* units      # of the rows at hand
    const offset_t* offsets    # of all rows


cdef inline units_t units_at(column_t column, Py_ssize_t begin, Py_ssize_t row) noexcept nogil:
    cdef int64_t at = column.offsets[row], size = column.offsets[row + 1] - at
    return units_of(column.units + (at - column.offsets[begin]) if size else NULL, size)


# --------------------------------------------------------------------------------------- bigrams

cdef struct counted_t:
    uint32_t bigram
    uint32_t count   # of those not yet matched; 0 is no entry


cdef struct unspaced_t:
    uint16_t* items
    int64_t capacity


cdef struct dice_t:
    unspaced_t left_memory
    unspaced_t right_memory
    units_t left             # without white space
    units_t right
    uint32_t* ascii_counts   # by bigram, all 0 between rows
    counted_t* slots
    int64_t slots_capacity
    hash_t seed


cdef inline bint is_space(uint16_t unit) noexcept nogil:
    # No space is between U+00A0 and U+1680, where most letters are that are not ASCII.
    if unit <= 0x20:
        return unit == 0x20 or <uint16_t> (unit - 9) < 5
    return unit == 0xA0 or (
        unit >= 0x1680 and code_point_flags(unit) & CODE_POINT_SPACE != 0)


cdef int drop_spaces(unspaced_t* memory, units_t* units) noexcept nogil:
    """Leave all white space out, in memory of its own; 0, or -1 without any."""
    cdef int64_t at, n = 0
    if reserve(<void**> &memory.items, &memory.capacity, units.size, sizeof(uint16_t)):
        return -1
    for at in range(units.size):
        memory.items[n] = units.items[at]
        n += not is_space(units.items[at])
    units.items = memory.items
    units.size = n
    return 0


cdef inline bint same_units(const units_t* left, const units_t* right) noexcept nogil:
    if left.size != right.size:
        return False
    # Texts without units may have no memory to compare.
    return left.size == 0 or memcmp(
        left.items, right.items, <size_t> left.size * sizeof(uint16_t)) == 0


cdef inline uint32_t bigram_at(const uint16_t* units, int64_t at) noexcept nogil:
    return <uint32_t> units[at] << 16 | units[at + 1]


cdef int64_t shared_ascii(dice_t* work) noexcept nogil:
    """Bigrams that both texts have, with repeats; ASCII alone."""
    cdef uint32_t* counts = work.ascii_counts
    cdef const uint16_t* left = work.left.items
    cdef const uint16_t* right = work.right.items
    cdef int64_t i, shared = 0
    cdef uint32_t* count
    for i in range(work.left.size - 1):
        counts[left[i] << 7 | left[i + 1]] += 1
    for i in range(work.right.size - 1):
        count = &counts[right[i] << 7 | right[i + 1]]
        shared += count[0] != 0
        count[0] -= count[0] != 0
    for i in range(work.left.size - 1):
        counts[left[i] << 7 | left[i + 1]] = 0
    return shared


cdef inline counted_t* slot_of(dice_t* work, uint64_t mask, uint32_t bigram) noexcept nogil:
    """The slot of a bigram, or the free one where it belongs."""
    cdef uint64_t place = folded_product(
        bigram ^ work.seed, <uint64_t> 0x9E3779B97F4A7C15) & mask
    while work.slots[place].count and work.slots[place].bigram != bigram:
        place = (place + 1) & mask
    return &work.slots[place]


cdef int64_t shared_any(dice_t* work) noexcept nogil:
    """Bigrams that both texts have, with repeats; -1 without memory."""
    cdef int64_t n_slots = 64, i, shared = 0
    cdef counted_t* slot
    cdef uint32_t bigram
    while n_slots < 2 * work.left.size:
        n_slots *= 2
    if reserve(<void**> &work.slots, &work.slots_capacity, n_slots, sizeof(counted_t)):
        return -1
    memset(work.slots, 0, <size_t> n_slots * sizeof(counted_t))
    # A count is one more than what is left to match, so that a spent entry is still an entry.
    for i in range(work.left.size - 1):
        bigram = bigram_at(work.left.items, i)
        slot = slot_of(work, n_slots - 1, bigram)
        slot.bigram = bigram
        slot.count += 1 + (slot.count == 0)
    for i in range(work.right.size - 1):
        slot = slot_of(work, n_slots - 1, bigram_at(work.right.items, i))
        shared += slot.count > 1
        slot.count -= slot.count > 1
    return shared


cdef double dice(dice_t* work) noexcept nogil:
    """2 x shared bigrams / all of them; -1 without memory."""
    cdef int64_t shared
    if (drop_spaces(&work.left_memory, &work.left)
            or drop_spaces(&work.right_memory, &work.right)):
        return -1.0
    if same_units(&work.left, &work.right):
        return 1.0
    if work.left.size < 2 or work.right.size < 2:
        return 0.0
    if work.left.is_ascii and work.right.is_ascii:
        shared = shared_ascii(work)
    else:
        shared = shared_any(work)
    if shared < 0:
        return -1.0
    return <double> (2 * shared) / <double> (work.left.size + work.right.size - 2)


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


# ---------------------------------------------------------------------------------- edit matrices

cdef struct matrix_t:
    units_t left
    units_t right
    uint16_t* ids          # by unit; all 0 between strips
    uint16_t* ascii_ids    # every unit of ASCII is its own id
    uint64_t* masks        # of a strip: for each id the rows that have it
    uint8_t* flows
    int64_t flows_capacity
    const uint8_t* stop    # set when nobody waits for the counts any more


cdef int open_matrix(matrix_t* work, const uint8_t* stop) noexcept nogil:
    cdef uint16_t unit
    memset(work, 0, sizeof(matrix_t))
    work.stop = stop
    work.ids = <uint16_t*> calloc(N_UNITS + N_ASCII, sizeof(uint16_t))
    work.masks = <uint64_t*> calloc((STRIP_ROWS + 1) * STRIP_WORDS, sizeof(uint64_t))
    if work.ids == NULL or work.masks == NULL:
        return -1
    work.ascii_ids = work.ids + N_UNITS
    for unit in range(N_ASCII):
        work.ascii_ids[unit] = unit
    return 0


cdef void close_matrix(matrix_t* work) noexcept nogil:
    free(work.ids)
    free(work.masks)
    free(work.flows)


cdef struct strip_t:
    const uint16_t* units  # of the rows
    int64_t n_rows
    int64_t word_rows
    int width              # in words


cdef inline int64_t rows_until(strip_t strip, int word) noexcept nogil:
    """Where the rows of a word end."""
    return min((word + 1) * strip.word_rows, strip.n_rows)


cdef void mark_ascii(matrix_t* work, strip_t strip) noexcept nogil:
    """Set the rows of each unit."""
    cdef int64_t row
    cdef int word
    cdef uint64_t bit
    memset(work.masks, 0, <size_t> (N_ASCII * strip.width) * sizeof(uint64_t))
    for word in range(strip.width):
        bit = 1
        for row in range(word * strip.word_rows, rows_until(strip, word)):
            work.masks[strip.units[row] * strip.width + word] |= bit
            bit <<= 1


cdef void mark_any(matrix_t* work, strip_t strip) noexcept nogil:
    """Give ids to the units of the rows, and set the rows of each id; 0 is that of all others."""
    cdef size_t n_bytes = <size_t> strip.width * sizeof(uint64_t)
    cdef int64_t row
    cdef int word
    cdef uint64_t bit
    cdef uint16_t n_ids = 0
    cdef uint16_t* id_
    memset(work.masks, 0, n_bytes)
    for word in range(strip.width):
        bit = 1
        for row in range(word * strip.word_rows, rows_until(strip, word)):
            id_ = &work.ids[strip.units[row]]
            if id_[0] == 0:
                n_ids += 1
                id_[0] = n_ids
                memset(work.masks + n_ids * strip.width, 0, n_bytes)
            work.masks[id_[0] * strip.width + word] |= bit
            bit <<= 1


cdef int64_t strip_sum(const uint64_t* state, strip_t strip, bint edits) noexcept nogil:
    """Steps of the rows of a strip in its last column, summed up."""
    cdef int64_t total = 0, left
    cdef uint64_t valid
    cdef int word
    for word in range(strip.width):
        left = min(strip.n_rows - word * strip.word_rows, strip.word_rows)
        valid = ~<uint64_t> 0 >> (64 - left)
        if edits:
            total += count_ones(state[word] & valid) - count_ones(state[strip.width + word] & valid)
        else:
            total += count_ones(~state[word] & valid)
    return total


cdef int64_t strip_steps(matrix_t* work, strip_t strip, const uint16_t* columns,
                         int64_t n_columns, bint edits) noexcept nogil:
    """What the rows of a strip add in the last column."""
    cdef bint is_ascii = work.left.is_ascii and work.right.is_ascii
    cdef const uint16_t* ids = work.ascii_ids if is_ascii else work.ids
    cdef uint64_t[2 * STRIP_WORDS] state
    cdef int64_t i
    if is_ascii:
        mark_ascii(work, strip)
    else:
        mark_any(work, strip)
    if edits:
        EDIT_STRIPS[strip.width](work.masks, ids, columns, n_columns, work.flows, state)
    else:
        LCS_STRIPS[strip.width](work.masks, ids, columns, n_columns, work.flows, state)
    if not is_ascii:
        for i in range(strip.n_rows):
            work.ids[strip.units[i]] = 0
    return strip_sum(state, strip, edits)


cdef int64_t matrix_corner(matrix_t* work, const uint16_t* rows, int64_t n_rows,
                           const uint16_t* columns, int64_t n_columns, bint edits) noexcept nogil:
    """The last cell: common units in order, or edits; -2 if it was ended early."""
    cdef int64_t begin = 0, corner = n_columns if edits else 0
    cdef strip_t strip
    if reserve(<void**> &work.flows, &work.flows_capacity, n_columns, 1):
        return -2
    memset(work.flows, edits, <size_t> n_columns)
    strip.word_rows = EDIT_ROWS if edits else LCS_ROWS
    while begin < n_rows:
        if is_stopped(work.stop):
            return -2
        strip.units = rows + begin
        strip.n_rows = min(n_rows - begin, STRIP_WORDS * strip.word_rows)
        strip.width = <int> ((strip.n_rows + strip.word_rows - 1) // strip.word_rows)
        corner += strip_steps(work, strip, columns, n_columns, edits)
        begin += strip.n_rows
    return corner


cdef int64_t aligned(matrix_t* work, double max_cells, bint edits) noexcept nogil:
    """Common units in order, or edits, of the pair; -1 where it is too much work, -2 if
    it was ended early.

    What both begin or end with is equal in some best alignment, so that the matrix is about the
    rest alone.
    """
    cdef const uint16_t* left = work.left.items
    cdef const uint16_t* right = work.right.items
    cdef int64_t n_left = work.left.size, n_right = work.right.size, n_same = 0, corner
    while n_left and n_right and left[0] == right[0]:
        left += 1
        right += 1
        n_left -= 1
        n_right -= 1
        n_same += 1
    while n_left and n_right and left[n_left - 1] == right[n_right - 1]:
        n_left -= 1
        n_right -= 1
        n_same += 1
    if n_left == 0 or n_right == 0:
        return max(n_left, n_right) if edits else n_same
    if <double> n_left * <double> n_right > max_cells:
        return TOO_MUCH_WORK
    # Fewer and wider columns take less time.
    if n_left >= n_right:
        corner = matrix_corner(work, left, n_left, right, n_right, edits)
    else:
        corner = matrix_corner(work, right, n_right, left, n_left, edits)
    return corner if edits or corner < 0 else corner + n_same


def align(
    const uint16_t[::1] left_units, const offset_t[::1] left_offsets,
    const uint16_t[::1] right_units, const offset_t[::1] right_offsets,
    bint edits, double max_cells, Py_ssize_t begin, Py_ssize_t end, int64_t[::1] counts,
    const uint8_t[::1] stop=None,
):
    """Fill ``counts[begin:end]`` with the longest common subsequences, or with the distances.

    Units are those of these rows alone. A count is -1 where the parts of the two texts between what
    they have in common at both ends make more than ``max_cells`` pairs of units. ``stop`` ends it
    early, by an InterruptedError, once its byte is not 0.
    """
    cdef column_t left = column_t(first_unit(left_units), &left_offsets[0])
    cdef column_t right = column_t(first_unit(right_units), &right_offsets[0])
    cdef matrix_t work
    cdef Py_ssize_t row
    cdef const uint8_t* flag = stop_flag(stop)
    cdef bint failed = open_matrix(&work, flag)
    try:
        if failed:
            raise_failure("aligning texts", flag)
        with nogil:
            for row in range(begin, end):
                work.left = units_at(left, begin, row)
                work.right = units_at(right, begin, row)
                counts[row] = aligned(&work, max_cells, edits)
                if counts[row] < TOO_MUCH_WORK:
                    failed = True
                    break
        if failed:
            raise_failure("aligning texts", flag)
    finally:
        close_matrix(&work)
