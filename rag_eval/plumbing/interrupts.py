"""Ctrl-C and SIGTERM: deferred where work must not be interrupted, forwarded to long tasks."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

_P = ParamSpec("_P")
_T = TypeVar("_T")

_thread = threading.local()

LOOK_S: Final = 0.1
"""How often a thread that waits looks for signals.

One that comes a moment before a wait, or to another thread, does not end the wait.
"""


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Let the block end before a SIGINT or a SIGTERM that comes in it takes effect.

    Only the main thread gets signals; in another one this does nothing. Neither does it for a
    signal that is ignored, that ends the process at once, or whose handler was not set from Python
    and could not be put back.
    """
    if not in_main_thread():
        yield
        return
    # Nested, so that the second block ends even if the end of the first raises.
    with _deferred(signal.SIGINT), _deferred(signal.SIGTERM):
        yield


def uninterrupted(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call a function of a thread, a future or an event; what a signal raises comes after it.

    Such objects have locks of Python code: an exception from a signal's handler in between leaves
    one locked, and the next thread that needs it waits forever. Waits have to be short.
    """
    with deferred_interrupts():
        return function(*args, **kwargs)


def wait_for(futures: Iterable[Future[Any]], seconds: float | None = None) -> bool:
    """Wait until one of the futures is done, or so long; return whether one is.

    What a signal raises comes between two short waits.
    """
    from concurrent.futures import FIRST_COMPLETED, wait

    waiting = list(futures)
    end = None if seconds is None else time.monotonic() + seconds
    left = LOOK_S
    while left > 0:
        if end is not None:
            left = min(LOOK_S, max(0.0, end - time.monotonic()))
        if uninterrupted(wait, waiting, left, FIRST_COMPLETED).done:
            return True
    return False


def result_of(future: Future[_T]) -> _T:
    """Wait for what a future returns, or raise what it raised."""
    wait_for([future])
    return uninterrupted(future.result)


@contextmanager
def _deferred(number: signal.Signals) -> Iterator[None]:
    usual = signal.getsignal(number)
    if not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(number, usual)
        if came:
            usual(*came[0])


class Termination:
    """SIGTERM that ends a block as Ctrl-C does.

    Attributes
    ----------
    has_come : bool
    """

    def __init__(self) -> None:
        self.has_come = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Let SIGTERM raise a KeyboardInterrupt in the block, where it would end the process.

        Where it is ignored, or somebody's handler waits for it, that stays so.
        """
        if not in_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            yield
            return
        signal.signal(signal.SIGTERM, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.has_come = True
        raise KeyboardInterrupt


def in_main_thread() -> bool:
    """Whether this is the thread in which Python handles signals."""
    return threading.current_thread() is threading.main_thread()


class StopFlag:
    """Tells the threads of a run that nothing waits for them any more.

    Attributes
    ----------
    memory : bytearray
        One byte, which kernels look at while they work; not 0 once the flag is set.
    """

    __slots__ = ("memory",)

    def __init__(self) -> None:
        self.memory = bytearray(1)

    def set(self) -> None:
        """Stop whatever checks the flag, by an InterruptedError in its thread."""
        self.memory[0] = 1

    def obeyed(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function; what it computes in this thread obeys the flag."""
        before = _current()
        _thread.flag = self
        try:
            check_stopped()
            return function(*args, **kwargs)
        finally:
            _thread.flag = before


def check_stopped() -> None:
    """Raise InterruptedError where the flag that this thread obeys is set."""
    flag = _current()
    if flag is not None and flag.memory[0]:
        raise InterruptedError("scoring was interrupted")


def interruptible(kernel: Callable[..., _T], *arguments: Any) -> _T:
    """Call a kernel that ends early when the flag of this thread's run is set.

    In the main thread it handles signals while it works, and ends with what their handlers raise.
    """
    flag = _current() or StopFlag()
    return kernel(*arguments, flag.memory, in_main_thread())


async def in_thread(flag: StopFlag, function: Callable[..., _T], *arguments: Any) -> _T:
    """Call a function in a thread; once its caller is cancelled, what obeys the flag is ended.

    An event loop takes Ctrl-C for itself and cancels its task, so that nothing is raised in a
    kernel that the loop's own thread waits for.
    """
    import asyncio

    try:
        return await asyncio.to_thread(flag.obeyed, function, *arguments)
    except BaseException:
        flag.set()
        raise


def _current() -> StopFlag | None:
    return getattr(_thread, "flag", None)
