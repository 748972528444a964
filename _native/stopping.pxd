"""How a caller ends a kernel early: by a byte of its own, which it sets while the kernel runs."""
from libc.stdint cimport uint8_t

cdef extern from "portable.h" nogil:
    bint is_set(const uint8_t* flag) noexcept


cdef inline bint is_stopped(const uint8_t* stop) noexcept nogil:
    """Whether another thread has ended this call."""
    return stop != NULL and is_set(stop)


cdef inline const uint8_t* stop_flag(const uint8_t[::1] stop) noexcept:
    """Where the byte is, or NULL for a call that nobody ends."""
    return &stop[0] if stop is not None and stop.shape[0] else NULL


cdef inline int raise_failure(str doing, const uint8_t* stop) except -1:
    """Say why a kernel has failed: it was ended, or had no memory."""
    if is_stopped(stop):
        raise InterruptedError(f"{doing} was interrupted")
    raise MemoryError(doing)
