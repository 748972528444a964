"""Python strings -> one UTF-8 column, and back.

The one kernel that touches Python objects: it reads a list of strings under the GIL, so that everything
after it need not. Lone surrogates are written as three bytes each, like ``surrogatepass``; a high and a
low one side by side are one code point, as they are in JSON and in UTF-16.
"""
from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND, PyUnicode_2BYTE_KIND, PyUnicode_DATA, PyUnicode_GET_LENGTH,
    PyUnicode_KIND, PyUnicode_READ,
)
from libc.string cimport memcpy

from primitives cimport offset_t, uint8_t, uint32_t
from token_stream cimport encode_code_point

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text) noexcept

cdef enum:
    # Kernels count the bytes of a token in 32 bits.
    MAX_TEXT_BYTES = 0x7FFFFF00


cdef inline uint32_t code_point_at(int kind, const void* data, Py_ssize_t size,
                                   Py_ssize_t* at) noexcept:
    """Code point at ``at``, which moves past it."""
    cdef uint32_t here = PyUnicode_READ(kind, <void*> data, at[0]), after
    at[0] += 1
    if 0xD800 <= here < 0xDC00 and at[0] < size:
        after = PyUnicode_READ(kind, <void*> data, at[0])
        if 0xDC00 <= after < 0xE000:
            at[0] += 1
            return 0x10000 + ((here - 0xD800) << 10) + (after - 0xDC00)
    return here


cdef Py_ssize_t encoded_size(str text) noexcept:
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), at = 0, n_bytes = 0
    cdef int kind = PyUnicode_KIND(text)
    cdef const void* data = PyUnicode_DATA(text)
    cdef const uint8_t* latin
    cdef uint32_t code_point
    if PyUnicode_IS_ASCII(text):
        return size
    if kind == PyUnicode_1BYTE_KIND:
        latin = <const uint8_t*> data
        n_bytes = size
        for at in range(size):
            n_bytes += latin[at] >> 7
        return n_bytes
    while at < size:
        code_point = code_point_at(kind, data, size, &at)
        n_bytes += 1 + (code_point >= 0x80) + (code_point >= 0x800) + (code_point >= 0x10000)
    return n_bytes


cdef void encode(str text, uint8_t* out) noexcept:
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), at = 0
    cdef int kind = PyUnicode_KIND(text)
    cdef const void* data = PyUnicode_DATA(text)
    if PyUnicode_IS_ASCII(text):
        memcpy(out, data, <size_t> size)
        return
    while at < size:
        out += encode_code_point(code_point_at(kind, data, size, &at), out)


def measure(list texts, offset_t[::1] offsets):
    """Fill ``offsets`` (one more than texts) with where each text begins in UTF-8.

    Returns -1, or the index of the first item that is no string or has 2 GiB or more.
    """
    cdef Py_ssize_t i, size
    cdef object text
    cdef offset_t total = 0
    offsets[0] = 0
    for i in range(len(texts)):
        text = texts[i]
        if not isinstance(text, str):
            return i
        size = encoded_size(<str> text)
        if size > MAX_TEXT_BYTES:
            return i
        total += size
        offsets[i + 1] = total
    return -1


def fill(list texts, const offset_t[::1] offsets, uint8_t[::1] data):
    """Write the texts measured before into ``data`` at their offsets."""
    cdef Py_ssize_t i
    for i in range(len(texts)):
        if offsets[i] < offsets[i + 1]:
            encode(<str> texts[i], &data[offsets[i]])
