"""An event loop whose clock jumps to the next timer: a wait of an hour takes no time at all."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


class VirtualTime:
    """Seconds since the start, by ``clock()``; they pass where the loop has nothing else to do.

    A loop does not see what threads are at: where one is waited for, the time stands still.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._stands_still = False

    def __call__(self) -> float:
        return self._now

    def run(self, main: Coroutine[Any, Any, Result]) -> Result:
        """Like ``asyncio.run``."""
        with asyncio.Runner(loop_factory=lambda: _Loop(_Selector(self), self)) as runner:
            return runner.run(main)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """No timer rings."""
        self._stands_still = True
        try:
            yield
        finally:
            self._stands_still = False

    def passed(self, seconds: float | None) -> bool:
        """Let them pass, if time passes."""
        if self._stands_still:
            return False
        assert seconds is not None, "everything waits, and for nothing that could happen"
        self._now += seconds
        return True


class _Selector(selectors.DefaultSelector):
    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0 or self._time.passed(timeout):
            return ready
        return super().select(None)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, selector: selectors.BaseSelector, time: VirtualTime) -> None:
        self._virtual_time = time
        super().__init__(selector)

    def time(self) -> float:
        return self._virtual_time()
