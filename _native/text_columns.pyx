"""Python strings -> one UTF-8 column, and back.

The one kernel that touches Python objects: it reads a list of strings under the GIL, so that
everything after it need not. Lone surrogates are written as three bytes each, like
``surrogatepass``; a high and a low one side by side are one code point, as they are in JSON and in
UTF-16.
"""
from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND, PyUnicode_2BYTE_KIND, PyUnicode_DATA, PyUnicode_GET_LENGTH,
    PyUnicode_KIND, PyUnicode_READ,
)
from libc.string cimport memcpy

from code_points cimport encode_code_point
from primitives cimport int64_t, offset_t, uint8_t, uint32_t

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text) noexcept

cdef enum:
    # Kernels count the bytes of a token in 32 bits.
    MAX_TEXT_BYTES = 0x7FFFFF00


cdef extern from "string_units.h":
    int64_t utf8_size_1(const void* units, int64_t n, int* surrogates) noexcept
    int64_t utf8_size_2(const void* units, int64_t n, int* surrogates) noexcept
    int64_t utf8_size_4(const void* units, int64_t n, int* surrogates) noexcept
    int64_t copy_ascii_1(const void* units, int64_t n, uint8_t* out) noexcept
    int64_t copy_ascii_2(const void* units, int64_t n, uint8_t* out) noexcept
    int64_t copy_ascii_4(const void* units, int64_t n, uint8_t* out) noexcept


cdef inline int64_t copy_ascii(int kind, const void* data, int64_t at, int64_t size,
                               uint8_t* out) noexcept:
    """Copy the run of ASCII at ``at``; its length."""
    cdef const uint8_t* units = <const uint8_t*> data + at * kind
    if kind == PyUnicode_1BYTE_KIND:
        return copy_ascii_1(units, size - at, out)
    if kind == PyUnicode_2BYTE_KIND:
        return copy_ascii_2(units, size - at, out)
    return copy_ascii_4(units, size - at, out)


cdef inline uint32_t code_point_at(int kind, const void* data, int64_t size,
                                   int64_t* at) noexcept:
    """Code point at ``at``, which moves past it."""
    cdef uint32_t here = PyUnicode_READ(kind, <void*> data, at[0]), after
    at[0] += 1
    if 0xD800 <= here < 0xDC00 and at[0] < size:
        after = PyUnicode_READ(kind, <void*> data, at[0])
        if 0xDC00 <= after < 0xE000:
            at[0] += 1
            return 0x10000 + ((here - 0xD800) << 10) + (after - 0xDC00)
    return here


cdef int64_t encoded_size(str text) noexcept:
    cdef int64_t size = PyUnicode_GET_LENGTH(text), at = 0, n_bytes
    cdef int kind = PyUnicode_KIND(text), surrogates = 0
    cdef const void* data = PyUnicode_DATA(text)
    if PyUnicode_IS_ASCII(text):
        return size
    if kind == PyUnicode_1BYTE_KIND:
        return utf8_size_1(data, size, &surrogates)
    if kind == PyUnicode_2BYTE_KIND:
        n_bytes = utf8_size_2(data, size, &surrogates)
    else:
        n_bytes = utf8_size_4(data, size, &surrogates)
    while surrogates and at < size:
        # A pair is four bytes, not two times three.
        n_bytes -= 2 * (code_point_at(kind, data, size, &at) >= 0x10000
                        and PyUnicode_READ(kind, <void*> data, at - 1) < 0x10000)
    return n_bytes


cdef void encode(str text, uint8_t* out) noexcept:
    cdef int64_t size = PyUnicode_GET_LENGTH(text), at = 0, n_ascii
    cdef int kind = PyUnicode_KIND(text)
    cdef const void* data = PyUnicode_DATA(text)
    if PyUnicode_IS_ASCII(text):
        memcpy(out, data, <size_t> size)
        return
    while at < size:
        n_ascii = copy_ascii(kind, data, at, size, out)
        out += n_ascii
        at += n_ascii
        while at < size and PyUnicode_READ(kind, <void*> data, at) >= 0x80:
            out += encode_code_point(code_point_at(kind, data, size, &at), out)


def measure(list texts, offset_t[::1] offsets):
    """Fill ``offsets`` (one more than texts) with where each text begins in UTF-8.

    Returns -1, or the index of the first item that is no string or has 2 GiB or more.
    """
    cdef Py_ssize_t i
    cdef int64_t size
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
