"""Scores of the same thing, one judgement each, in; mean, spread, verdicts, words out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_eval.stats.intervals import Interval


def measured(score: float | None) -> float | None:
    """A score, or None for one that is missing or NaN."""
    return None if score is None or math.isnan(score) else score


def mean_of(scores: Iterable[float | None]) -> float | None:
    """Mean of the scores that there are, within their range; None if there are none."""
    found = [score for score in scores if score is not None]
    if not found:
        return None
    # The quotient is rounded, too, and would give equal scores a mean beside them.
    return min(max(math.fsum(found) / len(found), min(found)), max(found))


def passes(score: float, threshold: float, *, higher_is_better: bool = True) -> bool:
    """Whether a score is on the good side of a threshold, or on it."""
    return score >= threshold if higher_is_better else score <= threshold


def spread_of(scores: Iterable[float | None]) -> float | None:
    """Standard deviation (n - 1) of the scores that there are; None for fewer than two."""
    found = [score for score in map(measured, scores) if score is not None]
    mean = mean_of(found)
    if mean is None or len(found) < 2:
        return None
    return math.sqrt(math.fsum((score - mean) ** 2 for score in found) / (len(found) - 1))


def is_flaky(
    scores: Iterable[float | None], threshold: float | None, *, higher_is_better: bool = True
) -> bool:
    """Whether some of the scores pass the threshold and others do not; never without one."""
    verdicts = {
        passes(score, threshold, higher_is_better=higher_is_better)
        for score in map(measured, scores)
        if score is not None and threshold is not None
    }
    return len(verdicts) == 2


def shown(value: float | None) -> str:
    """A number with two decimals, or a dash."""
    return "–" if value is None else f"{value:.2f}"


def interval_text(interval: Interval, digits: int = 2) -> str:
    """The bounds of an interval in words."""
    if interval.low is None or interval.high is None:
        return "no interval"
    bounds = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return f"{interval.level * 100:g} % interval {bounds}"
