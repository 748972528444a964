"""Numbers in; coordinates of small drawings out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.stats.intervals import Interval
from rag_eval.views.run_view import Histogram

Side: TypeAlias = Literal["good", "bad", "plain"]
_SideOf: TypeAlias = Callable[[float, float], Side]

WIDTH: Final = 300.0
HEIGHT: Final = 64.0
_GAP: Final = 1.0
_LEAST_BAR: Final = 1.5  # a bin with one row of a hundred thousand can still be seen
_DIFFERENCE_BINS: Final = 30  # even: 0 is between two
_NEAR: Final = 1e-9  # edges of bins are rounded


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin, as a rectangle on the ground line, with what it holds in words."""

    x: str
    y: str
    width: str
    height: str
    side: Side
    title: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bins side by side; ``line`` is where the threshold, or no change, is drawn."""

    bars: Sequence[Bar]
    low: str
    high: str
    line: str | None
    most: int


@dataclass(frozen=True, slots=True)
class Span:
    """An interval on a scale that several share; bounds are None where there are none."""

    x: str
    low: str | None
    high: str | None
    zero: str


def score_chart(histogram: Histogram, threshold: float | None, rises: bool) -> BarChart:
    """The distribution of scores; bins on the wrong side of the threshold are bad."""

    def side(begin: float, end: float) -> Side:
        if threshold is None:
            return "plain"
        failed = end <= threshold + _NEAR if rises else begin >= threshold - _NEAR
        return "bad" if failed else "good"

    return _chart(histogram, side, threshold)


def difference_chart(differences: npt.NDArray[np.float64]) -> BarChart | None:
    """How rows moved, better to the right; None where none did. Rows that did not are left out."""
    moved = differences[np.isfinite(differences) & (differences != 0)]
    if not len(moved):
        return None
    reach = float(np.abs(moved).max())
    counts, _ = np.histogram(moved, bins=_DIFFERENCE_BINS, range=(-reach, reach))

    def side(begin: float, end: float) -> Side:
        return "bad" if (begin + end) / 2 < 0 else "good"

    return _chart(Histogram(-reach, reach, tuple(counts.tolist())), side, 0.0)


def _chart(histogram: Histogram, side: _SideOf, line: float | None) -> BarChart:
    n_bins = max(len(histogram.counts), 1)
    most = max(histogram.counts, default=0)
    slot = WIDTH / n_bins
    step = (histogram.high - histogram.low) / n_bins
    bars = []
    for place, count in enumerate(histogram.counts):
        if not count:
            continue
        height = max(HEIGHT * count / most, _LEAST_BAR)
        begin = histogram.low + place * step
        rows = "row" if count == 1 else "rows"
        bars.append(
            Bar(
                _at(place * slot + _GAP / 2),
                _at(HEIGHT - height),
                _at(max(slot - _GAP, 0.5)),
                _at(height),
                side(begin, begin + step),
                f"{begin:.3g} to {begin + step:.3g}: {count:,} {rows}",
            )
        )
    return BarChart(
        bars,
        f"{histogram.low:.3g}",
        f"{histogram.high:.3g}",
        _place(line, histogram.low, histogram.high),
        most,
    )


def spans(intervals: Sequence[Interval]) -> list[Span | None]:
    """Intervals of differences on one scale with 0 in its middle; None for no estimate."""
    reach = _reach(intervals)
    zero = _at(WIDTH / 2)
    found: list[Span | None] = []
    for interval in intervals:
        x = _place(interval.estimate, -reach, reach)
        if x is None:
            found.append(None)
            continue
        low, high = (
            None if end is None else _place(max(-reach, min(reach, end)), -reach, reach)
            for end in (interval.low, interval.high)
        )
        both = low is not None and high is not None
        found.append(Span(x, low if both else None, high if both else None, zero))
    return found


def _reach(intervals: Iterable[Interval]) -> float:
    ends = [
        abs(end)
        for interval in intervals
        for end in (interval.estimate, interval.low, interval.high)
        if end is not None and math.isfinite(end)
    ]
    return max(ends, default=0.0) * 1.05 or 1.0


def _place(value: float | None, low: float, high: float) -> str | None:
    if value is None or not low <= value <= high or high <= low:
        return None
    return _at(WIDTH * ((value - low) / (high - low)))


def _at(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
