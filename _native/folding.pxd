"""The normal form of a token: lower case, plain letters and digits, one spelling."""
from libc.string cimport memcpy

from code_points cimport code_point_lower, decode_code_point, encode_code_point
from normal_forms cimport (
    FOLD_BARE, FOLD_CHANGES, FOLD_CONTEXT, FOLD_IGNORED, FOLD_MARK, add_decomposed, add_point,
    compose, encode_points, flags_at, fold_base, fold_flags, order_marks, points_t,
)
from primitives cimport int64_t, reserve, uint8_t, uint32_t
from token_stream cimport LOWERED_MARGIN, lowered_t

cdef extern from "fold_tables.h" nogil:
    const char ligature_letters[7][4]
    uint32_t LIGATURE_FIRST
    uint32_t LIGATURE_LAST

cdef enum:
    GROWTH = 4   # a code point folds to as many bytes as it has, or to this many times as many


cdef inline int64_t fold_by_decomposition(points_t* work, const uint8_t* text, int64_t size,
                                          uint8_t* out) noexcept nogil:
    """Fold with regard to what stands side by side; bytes written, or -1 without memory."""
    cdef int64_t at = 0, n_decomposed, n_kept, i
    cdef uint32_t code_point, flags
    cdef const char* letters
    cdef bint bare = False
    cdef int width
    work.size = 0
    while at < size:
        if add_decomposed(work, decode_code_point(text, size, at, &width)):
            return -1
        at += width
    # Folded behind the decomposition, which is then dropped: a ligature takes up to three places.
    n_decomposed = work.size
    for i in range(n_decomposed):
        code_point = work.points[i]
        flags = fold_flags(code_point)
        if flags & FOLD_IGNORED or code_point == 0x2C or code_point == 0x20:
            continue
        if flags & FOLD_MARK:
            if not bare and add_point(work, code_point):
                return -1
            continue
        bare = flags & FOLD_BARE != 0
        if LIGATURE_FIRST <= code_point <= LIGATURE_LAST:
            letters = ligature_letters[code_point - LIGATURE_FIRST]
            while letters[0]:
                if add_point(work, <uint32_t> letters[0]):
                    return -1
                letters += 1
        elif add_point(work, code_point_lower(fold_base(code_point))):
            return -1
    n_kept = work.size - n_decomposed
    for i in range(n_kept):
        work.points[i] = work.points[n_decomposed + i]
    work.size = n_kept
    # Now that nothing which is left out stands between two marks.
    if order_marks(work):
        return -1
    compose(work)
    return encode_points(work, out)


cdef inline int64_t fold_plainly(const uint8_t* text, int64_t size, uint8_t* out) noexcept nogil:
    """Fold code point by code point; bytes written, or -1 where neighbours matter."""
    cdef int64_t at = 0, n_out = 0, width
    cdef uint32_t code_point, flags
    cdef bint bare = False
    cdef int n_bytes
    while at < size:
        if text[at] < 0x80:
            if text[at] != 0x2C and text[at] != 0x20:
                out[n_out] = text[at] + (32 if 0x41 <= text[at] <= 0x5A else 0)
                n_out += 1
                bare = True
            at += 1
            continue
        flags = flags_at(text, size, at, &width)
        if flags & FOLD_CONTEXT:
            return -1
        if not flags & FOLD_MARK:
            bare = flags & FOLD_BARE != 0
        elif bare:
            at += width
            continue
        if not flags & FOLD_CHANGES and size - at >= 4:
            # As it is; the margin takes the surplus.
            memcpy(out + n_out, text + at, 4)
            n_out += width
            at += width
            continue
        code_point = decode_code_point(text, size, at, &n_bytes)
        if flags & FOLD_CHANGES:
            code_point = code_point_lower(fold_base(code_point))
        n_out += encode_code_point(code_point, out + n_out)
        at += width
    return n_out


cdef inline int64_t fold_token(points_t* work, lowered_t* store, const uint8_t* text,
                               int64_t size) noexcept nogil:
    """Append the normal form of a token to the store; its size in bytes, or -1 without memory."""
    cdef int64_t n_bytes
    if reserve(<void**> &store.bytes, &store.capacity,
               store.size + GROWTH * size + LOWERED_MARGIN, 1):
        return -1
    n_bytes = fold_plainly(text, size, store.bytes + store.size)
    if n_bytes < 0:
        n_bytes = fold_by_decomposition(work, text, size, store.bytes + store.size)
        if n_bytes < 0:
            return -1
    store.size += n_bytes
    return n_bytes
