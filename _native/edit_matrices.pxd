"""How long the longest common subsequence of two texts is, or how far they are apart."""
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from primitives cimport int64_t, reserve, uint64_t, uint8_t
from stopping cimport is_stopped, stop_t
from text_units cimport N_ASCII, units_t

cdef enum:
    N_UNITS = 65536
    STRIP_WORDS = 8
    STRIP_ROWS = 512        # the most that so many words have
    TOO_MUCH_WORK = -1


cdef extern from "bit_strips.h" nogil:
    ctypedef void (*bit_strip_t)(const uint64_t*, const uint16_t*, const uint16_t*, int64_t,
                                 uint8_t*, uint64_t*) noexcept
    const bit_strip_t LCS_STRIPS[STRIP_WORDS + 1]
    const bit_strip_t EDIT_STRIPS[STRIP_WORDS + 1]
    const int64_t LCS_ROWS
    const int64_t EDIT_ROWS
    int count_ones(uint64_t word) noexcept


cdef struct matrix_t:
    units_t left
    units_t right
    uint16_t* ids          # by unit; all 0 between strips
    uint16_t* ascii_ids    # every unit of ASCII is its own id
    uint64_t* masks        # of a strip: for each id the rows that have it
    uint8_t* flows
    int64_t flows_capacity
    stop_t stop


cdef inline int open_matrix(matrix_t* work, stop_t stop) noexcept nogil:
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


cdef inline void close_matrix(matrix_t* work) noexcept nogil:
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


cdef inline void mark_ascii(matrix_t* work, strip_t strip) noexcept nogil:
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


cdef inline void mark_any(matrix_t* work, strip_t strip) noexcept nogil:
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


cdef inline int64_t strip_sum(const uint64_t* state, strip_t strip, bint edits) noexcept nogil:
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


cdef inline int64_t strip_steps(matrix_t* work, strip_t strip, const uint16_t* columns,
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


cdef inline int64_t matrix_corner(matrix_t* work, const uint16_t* rows, int64_t n_rows,
                                  const uint16_t* columns, int64_t n_columns,
                                  bint edits) noexcept nogil:
    """The last cell: common units in order, or edits; -2 if it was ended early."""
    cdef int64_t begin = 0, corner = n_columns if edits else 0
    cdef strip_t strip
    if reserve(<void**> &work.flows, &work.flows_capacity, n_columns, 1):
        return -2
    memset(work.flows, edits, <size_t> n_columns)
    strip.word_rows = EDIT_ROWS if edits else LCS_ROWS
    while begin < n_rows:
        strip.units = rows + begin
        strip.n_rows = min(n_rows - begin, STRIP_WORDS * strip.word_rows)
        work.stop.pairs = <double> strip.n_rows * <double> n_columns
        if is_stopped(&work.stop):
            return -2
        strip.width = <int> ((strip.n_rows + strip.word_rows - 1) // strip.word_rows)
        corner += strip_steps(work, strip, columns, n_columns, edits)
        begin += strip.n_rows
    return corner


cdef inline int64_t aligned(matrix_t* work, double max_cells, bint edits) noexcept nogil:
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
