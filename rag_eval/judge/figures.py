"""Numbers of reports as text: a value or an interval in, words out."""

from __future__ import annotations

from rag_eval.stats.intervals import Interval


def shown(value: float | None) -> str:
    """A number with two decimals, or a dash."""
    return "–" if value is None else f"{value:.2f}"


def interval_text(interval: Interval, digits: int = 2) -> str:
    """The bounds of an interval in words."""
    if interval.low is None or interval.high is None:
        return "no interval"
    bounds = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return f"{interval.level * 100:g} % interval {bounds}"
