"""Times taken in turns, so that a neighbour on the machine slows all that is compared alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Call: TypeAlias = Callable[[], Any]
Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and range of some measured values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """The spread of a non-empty list."""
        return cls(statistics.median(values), min(values), max(values))

    def times(self, factor: float) -> Spread:
        """The same in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)

    def as_list(self) -> list[float]:
        """Median, low and high, for JSON."""
        return [self.median, self.low, self.high]


def seconds_of(call: Call, clock: Clock = time.perf_counter) -> float:
    """Seconds that one call takes."""
    begin = clock()
    call()
    return clock() - begin


def in_turns(
    calls: Mapping[str, Call], rounds: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each call in each round, after one round that is not counted.

    ``time.process_time`` leaves out what others on the machine took; it counts all threads.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for counted in [False] + [True] * rounds:
        for name, call in calls.items():
            taken = seconds_of(call, clock)
            if counted:
                seconds[name].append(taken)
    return seconds


def ratios(over: list[float], under: list[float]) -> Spread:
    """Spread of the ratio, round by round."""
    return Spread.of([a / b for a, b in zip(over, under, strict=True)])
