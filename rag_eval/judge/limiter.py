"""When the next call may begin: past calls, replies and the clock in, seconds to wait out.

Two rates are kept. The user's, by token buckets over all judges; and each server's, which nobody
knows, found by adding a little to the calls in flight with every success and halving them when the
server says that they are too many. Only ``Slots`` waits: the rest is pure logic, whose clock is
given.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from rag_eval.judge.replies import JudgeLimits

Clock: TypeAlias = Callable[[], float]

# A server that limits the rate without saying for how long: doubled until it answers again.
_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 30.0
# Timers may ring a little early, by the resolution of the clock.
_TICK_S = 0.001


class Bucket:
    """A rate per minute: a bucket that fills evenly and holds a second's worth; None is no limit.

    It can be overdrawn: what a call takes is known when it ends. The next then waits longer, so
    the rate holds over time.
    """

    def __init__(self, per_minute: float | None, clock: Clock) -> None:
        self._rate = None if per_minute is None else per_minute / 60.0
        self._size = max(1.0, self._rate or 0.0)
        self._level = self._size
        self._clock = clock
        self._filled_at = clock()

    def wait_s(self, wanted: float) -> float:
        """Seconds until ``wanted`` is in it."""
        if self._rate is None:
            return 0.0
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._filled_at) * self._rate)
        self._filled_at = now
        return max(0.0, (wanted - self._level) / self._rate)

    def take(self, amount: float) -> None:
        """Take an amount, even if the bucket has less; a negative amount is returned to it."""
        self._level -= amount


class Pace:
    """How many calls one server is sent at a time, by what it said to earlier ones.

    Attributes
    ----------
    allowed : float
        Calls in flight; its whole part counts.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        self.allowed = float(most)
        self._most = most
        self._in_flight = 0
        self._clock = clock
        self._resumes_at = -math.inf
        # Calls that began before the last halving tell nothing about the rate since.
        self._epoch = 0
        self._limited_in_a_row = 0

    def wait_s(self) -> float:
        """Seconds until the next call may begin; infinity: not before one ends."""
        if self._in_flight >= int(self.allowed):
            return math.inf
        return max(0.0, self._resumes_at - self._clock())

    def begin(self) -> int:
        """Count a call that begins; what is returned is said when it ends."""
        self._in_flight += 1
        return self._epoch

    def end(self) -> None:
        """Count a call that ended, successful or not."""
        self._in_flight -= 1

    def succeeded(self, epoch: int) -> None:
        """After a reply, allow one more call in flight per round of calls."""
        if epoch == self._epoch:
            self.allowed = min(float(self._most), self.allowed + 1.0 / self.allowed)
            self._limited_in_a_row = 0

    def limited(self, epoch: int, retry_after_s: float | None) -> None:
        """After a rate limit, allow half as many calls, and none before the server's wait ends."""
        if epoch == self._epoch:
            self._epoch += 1
            self.allowed = max(1.0, self.allowed / 2.0)
            if retry_after_s is None:
                self.pause(
                    min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(self._limited_in_a_row, 30))
                )
            self._limited_in_a_row += 1
        if retry_after_s is not None:
            self.pause(retry_after_s)

    def pause(self, seconds: float) -> None:
        """No call begins for so long; an earlier and longer pause stands."""
        self._resumes_at = max(self._resumes_at, self._clock() + seconds)


class Limiter:
    """All judges of a run: a pace for each, and what they share.

    Attributes
    ----------
    paces : tuple of Pace
        One per judge.
    """

    def __init__(self, n_judges: int, limits: JudgeLimits, clock: Clock) -> None:
        self.paces = tuple(Pace(limits.concurrency, clock) for _ in range(n_judges))
        self._most = limits.concurrency
        self._in_flight = 0
        self._requests = Bucket(limits.requests_per_minute, clock)
        self._tokens = Bucket(limits.tokens_per_minute, clock)

    def wait_s(self, judge: int) -> float:
        """Seconds until a call to this judge may begin; infinity: not before one ends."""
        if self._in_flight >= self._most:
            return math.inf
        pace = self.paces[judge].wait_s()
        return max(pace, self._requests.wait_s(1.0), self._tokens.wait_s(1.0))

    def begin(self, judge: int) -> int:
        """Count a call that begins; what is returned is said to its pace when it ends."""
        self._in_flight += 1
        self._requests.take(1.0)
        return self.paces[judge].begin()

    def end(self, judge: int) -> None:
        """Count a call that ended."""
        self._in_flight -= 1
        self.paces[judge].end()

    def unused(self) -> None:
        """Give back the request of a call that did not begin after all."""
        self._requests.take(-1.0)

    def take_tokens(self, amount: float) -> None:
        """Count tokens: an estimate when a call begins, what is missing from it when it ends."""
        self._tokens.take(amount)


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
        """Release waiting asks, oldest first; set the alarm for the next that only has to wait."""
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
