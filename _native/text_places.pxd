"""Where the texts of our fields lie in what was scanned, and why a scan stops."""
from primitives cimport int64_t

cdef enum:
    # Fields of a row, by the numbers of their bits in its marks; the first five have places.
    QUESTION
    ANSWER
    CONTEXTS
    GROUND_TRUTH
    ID
    LANGUAGE
    N_PLACED = 5
    NO_FIELD = 255

    MAX_TEXT_BYTES = 0x7FFFFF00  # kernels count the bytes of a token in 32 bits

    REFUSED = -1
    NO_ROOM = -2


cdef struct places_t:
    # Of texts: their first bytes, their bytes there, and how many those are without escapes.
    int64_t* places
    int64_t n_fitting
    int64_t n


cdef struct rows_t:
    # Of each field and row the place of a text; of its contexts the first item, and how many.
    int64_t* places
    int64_t n_fitting
    places_t items


cdef inline int64_t* field_places(const rows_t* rows, int field, int64_t row) noexcept nogil:
    """Where the places of a field of a row are noted, ``n_fitting`` apart from each other."""
    return rows.places + 3 * field * rows.n_fitting + row


cdef inline void begin_row(const rows_t* rows, int64_t row) noexcept nogil:
    """Note that the row has no texts so far."""
    cdef int64_t* places
    cdef int field
    for field in range(N_PLACED):
        places = field_places(rows, field, row)
        places[0] = places[rows.n_fitting] = places[2 * rows.n_fitting] = 0
    field_places(rows, CONTEXTS, row)[0] = rows.items.n


cdef inline void note_items(const rows_t* rows, int64_t row, int64_t first) noexcept nogil:
    """Note that the contexts of the row are the items from ``first`` on."""
    cdef int64_t* places = field_places(rows, CONTEXTS, row)
    places[0] = first
    places[rows.n_fitting] = rows.items.n - first
