"""Lists of Python strings -> one list -> one UTF-8 column.

The one kernel that touches Python objects: it looks at lists of strings under the GIL, and copies
these without it where they are many megabytes. Lone surrogates are written as three bytes, like
``surrogatepass``; a high and a low one side by side are one code point, as they are in JSON and in
UTF-16.
"""
from cpython.ref cimport PyObject, Py_XDECREF
from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND, PyUnicode_2BYTE_KIND, PyUnicode_4BYTE_KIND, PyUnicode_DATA,
    PyUnicode_GET_LENGTH, PyUnicode_KIND,
)
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from primitives cimport int64_t, offset_t, uint8_t

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text) noexcept
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char* text, Py_ssize_t size) except NULL
    char* bytes_of "PyBytes_AS_STRING"(PyObject* text) noexcept nogil
    PyObject* item_of "PyList_GET_ITEM"(object items, Py_ssize_t i) noexcept
    int _PyBytes_Resize(PyObject** text, Py_ssize_t size) except -1

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define LISTS_ARE_LOCKED 0
    #else
    #define LISTS_ARE_LOCKED 1
    #endif
    """
    const bint LISTS_ARE_LOCKED  # while this thread runs, no other shortens one

cdef extern from "portable.h" nogil:
    void prefetch(const void* address) noexcept

cdef extern from "string_units.h" nogil:
    int64_t encode_1(const void* units, int64_t n, uint8_t* out) noexcept
    int64_t encode_2(const void* units, int64_t n, uint8_t* out) noexcept
    int64_t encode_4(const void* units, int64_t n, uint8_t* out) noexcept

cdef enum:
    # Kernels count the bytes of a token in 32 bits.
    MAX_TEXT_BYTES = 0x7FFFFF00
    ASCII = 0
    # Copying fewer bytes takes less time than waiting for the GIL again.
    LARGE_BYTES = 1 << 22
    # Lists between the one that is read and the one whose strings are fetched from memory.
    FETCHED_AHEAD = 8


cdef struct string_t:
    const void* units
    int64_t size           # in units
    int kind               # bytes of a unit, or ASCII


cdef inline int64_t most_bytes(const string_t* text) noexcept nogil:
    """That it can take in UTF-8."""
    if text.kind == ASCII:
        return text.size
    return text.size * (2 if text.kind == 1 else 3 if text.kind == 2 else 4)


cdef int64_t encode(const string_t* text, uint8_t* out) noexcept nogil:
    """Write a text, into room for the most that it can take; how many bytes it takes."""
    if text.kind == PyUnicode_1BYTE_KIND:
        return encode_1(text.units, text.size, out)
    if text.kind == PyUnicode_2BYTE_KIND:
        return encode_2(text.units, text.size, out)
    if text.kind == PyUnicode_4BYTE_KIND:
        return encode_4(text.units, text.size, out)
    memcpy(out, text.units, <size_t> text.size)
    return text.size


cdef int64_t encode_from(const string_t* texts, int64_t n, int64_t first, offset_t[::1] offsets,
                         uint8_t* out, int64_t room) noexcept nogil:
    """Write the texts from one on; the index of the first that has no room or is too long, or n."""
    cdef int64_t i, size
    for i in range(first, n):
        if offsets[i] + most_bytes(&texts[i]) > room:
            return i
        size = encode(&texts[i], out + offsets[i])
        if size > MAX_TEXT_BYTES:
            return i
        offsets[i + 1] = offsets[i] + size
    return n


cdef inline void fetch_items(list items) noexcept:
    cdef Py_ssize_t i
    for i in range(len(items)):
        prefetch(item_of(items, i))


def joined(list lists, missing=None):
    """The items of lists, one after the other, with ``missing`` in place of None.

    The strings lie anywhere in memory, so they are fetched some lists ahead: waiting for each in
    turn took a quarter to a third of the time that reading the texts of a row takes.
    """
    cdef Py_ssize_t n = len(lists), i
    cdef list items, found = []
    for i in range(n):
        if LISTS_ARE_LOCKED and i + FETCHED_AHEAD < n:
            fetch_items(lists[i + FETCHED_AHEAD])
        items = lists[i]
        if missing is None:
            found += items
        else:
            for item in items:
                found.append(missing if item is None else item)
    return found


def pack(list texts, offset_t[::1] offsets):
    """The UTF-8 of the texts end to end; fills ``offsets``, one more than texts, with their begins.

    Raises TypeError for an item that is no string and OverflowError for one of 2 GiB or more, with
    its index.
    """
    cdef int64_t n = len(texts), i = 0, room = 0, most = 0
    cdef string_t* strings = <string_t*> malloc(<size_t> (n + 1) * sizeof(string_t))
    cdef PyObject* packed = NULL
    if strings == NULL:
        raise MemoryError("packing texts")
    try:
        for i in range(n):
            text = texts[i]
            if not isinstance(text, str):
                raise TypeError(i)
            strings[i] = string_t(
                PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text),
                ASCII if PyUnicode_IS_ASCII(text) else <int> PyUnicode_KIND(text))
            room += strings[i].size
            most = max(most, most_bytes(&strings[i]))
        # Most texts take little more than a byte a unit.
        room += room // 8 + most
        packed = new_bytes(NULL, room)
        offsets[0] = offsets[n] = i = 0
        while True:
            if room < LARGE_BYTES:
                i = encode_from(strings, n, i, offsets, <uint8_t*> bytes_of(packed), room)
            else:
                with nogil:
                    i = encode_from(strings, n, i, offsets, <uint8_t*> bytes_of(packed), room)
            if i == n:
                break
            if offsets[i] + most_bytes(&strings[i]) <= room:
                raise OverflowError(i)
            room *= 2
            _PyBytes_Resize(&packed, room)
        _PyBytes_Resize(&packed, offsets[n])
        return <object> packed
    finally:
        Py_XDECREF(packed)
        free(strings)
