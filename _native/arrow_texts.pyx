"""Arrow buffers -> texts as kernels read them: checked, and gathered where they are out of order.

What a producer says of its buffers is not trusted: every place is held against the size of what it
points into. All functions say with an index which entry is bad, and with -1 that none is.
"""
from libc.stdint cimport int32_t, uintptr_t
from libc.string cimport memcpy

from byte_arrays cimport first_byte
from primitives cimport int64_t, uint8_t
from utf8 cimport has_high_byte, is_utf8

cdef enum:
    VIEW_BYTES = 16    # of a string view
    INLINE_BYTES = 12  # a text of no more lies in its view
    RUN_BYTES = 4096   # texts that are looked at together, for a byte that is no ASCII


# ----------------------------------------------------------------------------------- offsets

def widen_offsets(const int32_t[::1] offsets, int64_t limit, int64_t[::1] out):
    """Copy offsets, which must begin at 0 or later, never decrease and end at ``limit`` or before.

    Returns the index of the first that does not.
    """
    cdef Py_ssize_t i, n = offsets.shape[0]
    cdef int64_t before = 0, bad = 0
    with nogil:
        for i in range(n):
            bad |= offsets[i] - before
            before = offsets[i]
            out[i] = before
        bad |= limit - before
    return first_bad_offset(out, limit) if bad < 0 else -1


def check_offsets(const int64_t[::1] offsets, int64_t limit):
    """As :func:`widen_offsets`, of offsets that need no copy."""
    return first_bad_offset(offsets, limit)


cdef int64_t first_bad_offset(const int64_t[::1] offsets, int64_t limit):
    cdef Py_ssize_t i
    cdef int64_t before = 0
    with nogil:
        for i in range(offsets.shape[0]):
            if not before <= offsets[i] <= limit:
                break
            before = offsets[i]
        else:
            i = -1
    return i


# ------------------------------------------------------------------------------------- UTF-8

def first_invalid(const uint8_t[::1] data, const int64_t[::1] offsets, Py_ssize_t begin,
                  Py_ssize_t end):
    """The first of the texts ``begin`` to ``end`` that is no UTF-8 by itself; else -1.

    Lone surrogates of three bytes are. ``offsets`` are trusted, as kernels trust them.
    """
    cdef const uint8_t* text = first_byte(data)
    cdef Py_ssize_t first = begin, last, i, found = -1
    with nogil:
        while first < end and found < 0:
            last = first + 1
            while last < end and offsets[last] - offsets[first] < RUN_BYTES:
                last += 1
            # A column of ASCII is read once, however short its texts are.
            if offsets[last] > offsets[first] and has_high_byte(
                    text + offsets[first], offsets[last] - offsets[first]):
                for i in range(first, last):
                    if offsets[i + 1] > offsets[i] and not is_utf8(
                            text + offsets[i], offsets[i + 1] - offsets[i], True):
                        found = i
                        break
            first = last
    return found


# ----------------------------------------------------------------------------------- gathering

def gather(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] lengths,
           uint8_t[::1] out):
    """Lay spans of ``data`` end to end in ``out``; the first that does not fit stops it.

    A span of no bytes may begin anywhere.
    """
    cdef const uint8_t* source = first_byte(data)
    cdef int64_t at = 0, size = data.shape[0], room = out.shape[0]
    cdef Py_ssize_t i
    with nogil:
        for i in range(lengths.shape[0]):
            if lengths[i] == 0:
                continue
            if (lengths[i] < 0 or lengths[i] > room - at or starts[i] < 0
                    or starts[i] > size - lengths[i]):
                break
            memcpy(&out[at], source + starts[i], <size_t> lengths[i])
            at += lengths[i]
        else:
            i = -1
    return i


cdef inline int32_t load_4_bytes(const uint8_t* bytes_) noexcept nogil:
    cdef int32_t number
    memcpy(&number, bytes_, sizeof(number))
    return number


cdef inline bint in_bounds(const uint8_t* view, const int64_t[::1] sizes) noexcept nogil:
    """The text of a view lies in the view, or in one of the buffers, whose sizes are given."""
    cdef int64_t length = load_4_bytes(view), buffer, offset
    if length <= INLINE_BYTES:
        return length >= 0
    buffer = load_4_bytes(view + 8)
    offset = load_4_bytes(view + 12)
    return 0 <= buffer < sizes.shape[0] and 0 <= offset <= sizes[buffer] - length


def measure_views(const uint8_t[::1] views, const uint8_t[::1] valid, const int64_t[::1] sizes,
                  int64_t[::1] lengths):
    """Fill ``lengths`` with the bytes of each string view, 0 for a null.

    ``valid`` is empty where nothing is null; ``sizes`` are those of the buffers that views lie in.
    Returns the first view that lies in none of them.
    """
    cdef const uint8_t* first = first_byte(views)
    cdef Py_ssize_t i
    with nogil:
        for i in range(lengths.shape[0]):
            if valid.shape[0] and not valid[i]:
                lengths[i] = 0
                continue
            if not in_bounds(first + VIEW_BYTES * i, sizes):
                break
            lengths[i] = load_4_bytes(first + VIEW_BYTES * i)
        else:
            i = -1
    return i


def gather_views(const uint8_t[::1] views, const int64_t[::1] places, const int64_t[::1] lengths,
                 const int64_t[::1] addresses, const int64_t[::1] sizes, uint8_t[::1] out):
    """Lay the texts of the views at ``places`` end to end in ``out``.

    ``lengths``, one per place, are as measured before; 0 skips a view. Returns the first place
    whose view says otherwise or is out of bounds.
    """
    cdef const uint8_t* first = first_byte(views)
    cdef const uint8_t* view
    cdef const uint8_t* text
    cdef int64_t at = 0, room = out.shape[0], n_views = views.shape[0] // VIEW_BYTES
    cdef Py_ssize_t i
    with nogil:
        for i in range(places.shape[0]):
            if lengths[i] == 0:
                continue
            if not 0 <= places[i] < n_views:
                break
            view = first + VIEW_BYTES * places[i]
            if (load_4_bytes(view) != lengths[i] or lengths[i] > room - at
                    or not in_bounds(view, sizes)):
                break
            text = view + 4
            if lengths[i] > INLINE_BYTES:
                text = (<const uint8_t*> <uintptr_t> addresses[load_4_bytes(view + 8)]
                        + load_4_bytes(view + 12))
            memcpy(&out[at], text, <size_t> lengths[i])
            at += lengths[i]
        else:
            i = -1
    return i
