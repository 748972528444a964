"""How a kernel ends early: by a byte that another thread sets, or by what a signal handler raises.

Python handles signals only in its main thread, so a kernel that runs there looks for signals from
time to time.
"""
from cpython.exc cimport PyErr_Occurred
from libc.stdint cimport int64_t, uint8_t

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept  # what it raises waits for ``raise_failure``

cdef extern from "portable.h" nogil:
    bint is_set(const uint8_t* flag) noexcept

cdef extern from "clock.h" nogil:
    int64_t clock_ns() noexcept

cdef enum:
    # Pairs of bytes whose comparison takes an eighth of a second however odd the texts are.
    QUICK_PAIRS = 1 << 26
    # Nanoseconds between two looks for signals.
    LOOK_NS = 50_000_000


cdef struct stop_t:
    const uint8_t* flag        # set when nobody waits for the call any more; or NULL
    bint handles_signals       # the caller's thread is the one where Python does
    double pairs               # of bytes or units that the row at hand compares at most
    double compared            # such pairs since the last look at the clock
    int64_t looked_ns          # when signals were looked for last


cdef inline stop_t new_stop(const uint8_t[::1] flag, bint handles_signals) noexcept:
    """Of a call that ``flag`` ends, where there is one."""
    cdef stop_t stop = stop_t(NULL, handles_signals, 0.0, 0.0, 0)
    if flag is not None and flag.shape[0]:
        stop.flag = &flag[0]
    if handles_signals:
        stop.looked_ns = clock_ns()
    return stop


cdef inline bint signal_raises(stop_t* stop) noexcept nogil:
    """Have Python handle the signals that came since the last look: whether a handler raises."""
    cdef int64_t now = clock_ns()
    stop.compared = 0.0
    if 0 <= now - stop.looked_ns < LOOK_NS:
        return False
    stop.looked_ns = now
    with gil:
        return PyErr_CheckSignals() != 0


cdef inline bint is_stopped(stop_t* stop) noexcept nogil:
    """Whether the call has to end; asked a few times per row."""
    if stop.flag != NULL and is_set(stop.flag):
        return True
    if not stop.handles_signals:
        return False
    stop.compared += stop.pairs
    return stop.compared >= QUICK_PAIRS and signal_raises(stop)


cdef inline int raise_failure(str doing, const stop_t* stop) except -1:
    """Say why a kernel has failed: it was ended, or had no memory."""
    if PyErr_Occurred() != NULL:
        return -1
    if stop.flag != NULL and is_set(stop.flag):
        raise InterruptedError(f"{doing} was interrupted")
    raise MemoryError(doing)
