"""Coroutines of others awaited so that none of them can hold up who waits.

One may catch its cancellation and go on. It is then left behind, like a thread that does not come
back, and what it gives in the end is dropped and counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple

# A connection is closed in far less.
_GRACE_S: Final = 1.0


class _Outcome(NamedTuple):
    value: Any
    error: BaseException | None


class LoopCalls:
    """Awaits, each in a task of its own.

    Attributes
    ----------
    late_replies : int
        Coroutines that ended when nobody waited for them any more.
    """

    def __init__(self) -> None:
        self.late_replies = 0
        # A loop holds its tasks weakly.
        self._left_behind: set[asyncio.Task[None]] = set()

    async def call(self, awaitable: Awaitable[Any]) -> Any:
        """What it gives or raises; cancelled, it is waited for a second at most."""
        loop = asyncio.get_running_loop()
        came: asyncio.Future[_Outcome] = loop.create_future()
        task = loop.create_task(_deliver(awaitable, came))
        try:
            outcome = await came
        except asyncio.CancelledError:
            task.cancel()
            try:
                await asyncio.wait([task], timeout=_GRACE_S)
            finally:
                if not task.done():
                    self._left_behind.add(task)
                    task.add_done_callback(self._came_late)
            raise
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _came_late(self, task: asyncio.Task[None]) -> None:
        self._left_behind.discard(task)
        self.late_replies += 1


async def _deliver(awaitable: Awaitable[Any], came: asyncio.Future[_Outcome]) -> None:
    """Await it, and say what came of it to a future, which is two rounds of the loop earlier."""
    try:
        outcome = _Outcome(await awaitable, None)
    except GeneratorExit:
        raise
    # Out of a task, SystemExit and KeyboardInterrupt would end the loop.
    except BaseException as error:
        outcome = _Outcome(None, error)
    if not came.done():
        came.set_result(outcome)
