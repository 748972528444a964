"""A queue for the right to call: asks wait in it until the limiter lets them go, in order."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import NamedTuple

from rag_eval.judge.limiter import Limiter

# Timers may ring a little early, by the resolution of the clock.
_TICK_S = 0.001


class _Waiter(NamedTuple):
    number: int
    judge: int
    admitted: asyncio.Future[int]


class Slots:
    """Slots of one event loop at a time.

    An ask that waits for one judge's server does not hold up those of another.
    """

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._queues: list[deque[_Waiter]] = [deque() for _ in limiter.paces]
        self._n_came = 0
        self._alarm: asyncio.TimerHandle | None = None

    async def enter(self, judge: int) -> int:
        """Wait for a slot and take it; what is returned goes to the judge's pace.

        :meth:`leave` has to follow.
        """
        queue = self._queues[judge]
        if not queue and self._limiter.wait_s(judge) <= 0:
            return self._limiter.begin(judge)
        self._n_came += 1
        waiter = _Waiter(self._n_came, judge, asyncio.get_running_loop().create_future())
        queue.append(waiter)
        self._admit()
        try:
            return await waiter.admitted
        except asyncio.CancelledError:
            if waiter.admitted.done() and not waiter.admitted.cancelled():
                self._limiter.unused()
                self.leave(judge)
            elif waiter in queue:
                queue.remove(waiter)
            raise

    def leave(self, judge: int) -> None:
        """Give a slot back."""
        self._limiter.end(judge)
        self._admit()

    def _admit(self) -> None:
        """Let go who may, oldest first; set the alarm for the next who only has to wait."""
        shortest = 0.0
        while shortest <= 0:
            shortest = math.inf
            waiting = sorted(queue[0] for queue in self._queues if queue)
            for waiter in waiting:
                wait = self._limiter.wait_s(waiter.judge)
                shortest = min(shortest, wait)
                if wait <= 0:
                    self._queues[waiter.judge].popleft()
                    # One that was cancelled takes itself out, but only when it gets to run.
                    if not waiter.admitted.done():
                        waiter.admitted.set_result(self._limiter.begin(waiter.judge))
                    break
        self._set_alarm(shortest)

    def _set_alarm(self, wait_s: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if wait_s < math.inf:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(wait_s + _TICK_S, self._admit)
