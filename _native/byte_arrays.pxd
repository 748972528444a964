"""Arrays of bytes from Python; apart, since Cython's code for arrays is 130 KB of a kernel."""
from primitives cimport uint8_t


cdef inline const uint8_t* first_byte(const uint8_t[::1] bytes_) noexcept nogil:
    """Address of the first byte, or NULL when there is none to take the address of."""
    return &bytes_[0] if bytes_.shape[0] else NULL
