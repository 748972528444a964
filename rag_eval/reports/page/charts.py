"""Coordinates of the small drawings of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.plumbing.spelling import counted
from rag_eval.stats.intervals import Interval
from rag_eval.views.run_view import Histogram

Side: TypeAlias = Literal["good", "bad", "plain"]
_IsBad: TypeAlias = Callable[[float, float], bool]

WIDTH: Final = 300.0
HEIGHT: Final = 64.0
_GAP: Final = 1.0
_LEAST_BAR: Final = 1.5  # keeps a bin with one row of many visible
_DIFFERENCE_BINS: Final = 30  # even, so that 0 is between two bins
_NEAR: Final = 1e-9  # the edges of bins are rounded


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin as a rectangle on the base line, with its contents in words."""

    x: str
    y: str
    width: str
    height: str
    side: Side
    title: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bins side by side; ``line`` is the position of the threshold or of no change."""

    bars: Sequence[Bar]
    low: str
    high: str
    line: str | None


@dataclass(frozen=True, slots=True)
class Span:
    """An interval on a shared scale; its bounds may be None."""

    x: str
    low: str | None
    high: str | None
    zero: str


def score_chart(histogram: Histogram, threshold: float | None, rises: bool) -> BarChart:
    """The distribution of scores; bins that fail the threshold are bad."""
    if threshold is None:
        return _chart(histogram, None, None)
    if rises:
        return _chart(histogram, lambda _, end: end <= threshold + _NEAR, threshold)
    return _chart(histogram, lambda begin, _: begin >= threshold - _NEAR, threshold)


def difference_chart(differences: npt.NDArray[np.float64]) -> BarChart | None:
    """The changes of rows, better to the right; None if no row changed."""
    moved = differences[np.isfinite(differences) & (differences != 0)]
    if not len(moved):
        return None
    reach = float(np.abs(moved).max())
    counts, _ = np.histogram(moved, bins=_DIFFERENCE_BINS, range=(-reach, reach))
    histogram = Histogram(-reach, reach, tuple(counts.tolist()))
    return _chart(histogram, lambda begin, end: begin + end < 0, 0.0)


def _chart(histogram: Histogram, is_bad: _IsBad | None, line: float | None) -> BarChart:
    """The bins, coloured good or bad if ``is_bad`` is given."""
    low, high, counts = histogram.low, histogram.high, histogram.counts
    n_bins, most = max(len(counts), 1), max(counts, default=0)
    slot, step = WIDTH / n_bins, (high - low) / n_bins
    bars = []
    for place, count in enumerate(counts):
        if not count:
            continue
        height = max(HEIGHT * count / most, _LEAST_BAR)
        begin, end = low + place * step, low + place * step + step
        side: Side = "plain" if is_bad is None else "bad" if is_bad(begin, end) else "good"
        bars.append(
            Bar(
                x=_at(place * slot + _GAP / 2),
                y=_at(HEIGHT - height),
                width=_at(max(slot - _GAP, 0.5)),
                height=_at(height),
                side=side,
                title=f"{begin:.3g} to {end:.3g}: {counted(count, 'row')}",
            )
        )
    return BarChart(bars, f"{low:.3g}", f"{high:.3g}", _place(line, low, high))


def spans(intervals: Sequence[Interval]) -> list[Span | None]:
    """Intervals of differences on one scale centred on 0; None for no estimate."""
    reach = reach_of(intervals) * 1.05 or 1.0
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


def reach_of(intervals: Iterable[Interval]) -> float:
    """The largest distance of any interval from 0; 0 for no intervals."""
    ends = [
        abs(end)
        for interval in intervals
        for end in (interval.estimate, interval.low, interval.high)
        if end is not None and math.isfinite(end)
    ]
    return max(ends, default=0.0)


def _place(value: float | None, low: float, high: float) -> str | None:
    if value is None or not low <= value <= high or high <= low:
        return None
    return _at(WIDTH * ((value - low) / (high - low)))


def _at(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
