"""Ctrl-C and SIGTERM, held back while something must not be cut in two; SIGTERM as Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Let the block end before a SIGINT or a SIGTERM that comes in it takes effect.

    Only the main thread gets signals; in another one this does nothing. Neither does it for a
    signal that is ignored, that ends the process at once, or whose handler was not set from Python
    and could not be put back.
    """
    if not _in_main_thread():
        yield
        return
    # One inside of the other: when the first to end raises, the other one ends, too.
    with _deferred(signal.SIGINT), _deferred(signal.SIGTERM):
        yield


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
        if not _in_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
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


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
