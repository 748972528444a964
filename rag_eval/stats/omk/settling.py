"""Whether further repeats would change a mean: scores pooled repeat by repeat in, a verdict out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import from_zero, one_of, whole_from_one
from rag_eval.plumbing.javascript_numbers import round_half_up
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.stats.omk.bootstrap import OMK_SEED, bootstrap_mean_ci

SaturationMethod: TypeAlias = Literal["bootstrap-ci-width", "slope", "plateau-height"]
METHODS: Final[tuple[SaturationMethod, ...]] = ("bootstrap-ci-width", "slope", "plateau-height")

THRESHOLDS: Final[dict[SaturationMethod, float]] = {
    "bootstrap-ci-width": 0.05,
    "slope": 0.005,
    "plateau-height": 0.1,
}
ASSUMES: Final[dict[SaturationMethod, str]] = {
    "bootstrap-ci-width": (
        "repeated scores of the same samples are independent. They are not, so the interval is too "
        "narrow. It shrinks with the square root of their number in any case: this shows when "
        "repeating adds little, not that the mean is known"
    ),
    "slope": (
        "a mean that has stopped moving is correct, and repeated scores of the same samples count "
        "as further samples. Steps get smaller as the pool grows, whatever the scores are"
    ),
    "plateau-height": (
        "a mean that stayed within a band is correct, and repeated scores of the same samples "
        "count as further samples. It says nothing about samples that were not scored"
    ),
}
"""The assumptions of each method."""

_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturationPoint(JsonRecord):
    """The pool after one repeat: its size, its mean and the bounds of the mean, 4 decimals."""

    n: int
    mean: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """What a method says about further repeats.

    Attributes
    ----------
    method : str
    assumes : str
        What the method takes for granted, to be shown beside the verdict.
    saturated : bool
    at_n : int or None
        Pooled scores at the first checkpoint that qualified.
    confidence : {"low", "medium", "high"}
        By the pooled scores of the last checkpoint: high from 50 on, medium from 20 on.
    threshold : float
    trace : tuple of (int, float)
        Pooled scores and the number compared with the threshold, infinite where the window is not
        yet full. Empty with too few checkpoints for a verdict.
    """

    method: SaturationMethod
    assumes: str
    saturated: bool
    at_n: int | None
    confidence: Literal["low", "medium", "high"]
    threshold: float
    trace: tuple[tuple[int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; an infinite number is null."""
        return {
            "method": self.method,
            "assumes": self.assumes,
            "saturated": self.saturated,
            "atN": self.at_n,
            "confidence": self.confidence,
            "threshold": self.threshold,
            "trace": [
                {"n": n, "metric": value if math.isfinite(value) else None}
                for n, value in self.trace
            ],
        }


def saturation(
    cumulative_scores: Sequence[Sequence[float]],
    *,
    method: SaturationMethod = "bootstrap-ci-width",
    threshold: float | None = None,
    window_size: int = 3,
    bootstrap_samples: int = 1000,
    seed: int = OMK_SEED,
) -> Saturation:
    """Whether a mean has settled, by one of omk's three methods.

    Parameters
    ----------
    cumulative_scores : sequence of sequences
        All scores up to each repeat; each entry includes the earlier ones.
    method : {"bootstrap-ci-width", "slope", "plateau-height"}
        Relative change of the width of the mean's interval (one after a width of 0 counts as no
        change), change of the mean per score, or range of the last ``window_size + 1`` means.
    threshold : float, optional
        Largest value that counts as settled; 0.05, 0.005 or 0.1 by default.
    window_size : int
        Number of consecutive checkpoints.
    bootstrap_samples, seed : int
        Of the intervals.

    Returns
    -------
    Saturation

    Raises
    ------
    InputError
        For options out of range, or if a checkpoint has fewer scores than the one before.
    """
    one_of(method, "method", METHODS)
    limit = THRESHOLDS[method] if threshold is None else from_zero(threshold, "threshold")
    whole_from_one(window_size, "window_size")
    # Without a score no mean can have settled.
    pools = [scores for scores in cumulative_scores if len(scores)]
    sizes = [len(scores) for scores in pools]
    if any(later < earlier for earlier, later in pairwise(map(len, cumulative_scores))):
        raise InputError(
            "each entry of cumulative_scores must include the scores of all earlier repeats"
        )
    trace: list[tuple[int, float]] = []
    if len(pools) > window_size:
        points = saturation_points(pools, bootstrap_samples, seed)
        # Rounded before it is compared: 0.1 as the difference of 4.0 and 3.9 is above 0.1.
        trace = [
            (n, round_half_up(value, _DECIMALS)) for n, value in _trace(points, method, window_size)
        ]
    at_n = _first_calm(trace, limit, window_size)
    return Saturation(
        method=method,
        assumes=ASSUMES[method],
        saturated=at_n is not None,
        at_n=at_n,
        confidence=_confidence(sizes[-1] if sizes else 0),
        threshold=limit,
        trace=tuple(trace),
    )


def saturation_points(
    cumulative_scores: Sequence[Sequence[float]],
    bootstrap_samples: int = 1000,
    seed: int = OMK_SEED,
) -> list[SaturationPoint]:
    """Mean and bounds after each repeat; parameters as for :func:`saturation`."""
    points = []
    for scores in cumulative_scores:
        bounds = bootstrap_mean_ci(scores, samples=bootstrap_samples, seed=seed)
        points.append(
            SaturationPoint(
                n=len(scores), mean=bounds.estimate, ci_low=bounds.low, ci_high=bounds.high
            )
        )
    return points


def _trace(
    points: Sequence[SaturationPoint], method: SaturationMethod, window: int
) -> list[tuple[int, float]]:
    if method == "plateau-height":
        means = [point.mean for point in points]
        return [
            (point.n, _range(means[place - window : place + 1]) if place >= window else math.inf)
            for place, point in enumerate(points)
        ]
    change = _width_change if method == "bootstrap-ci-width" else _slope
    return [(later.n, change(earlier, later)) for earlier, later in pairwise(points)]


def _range(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _width_change(earlier: SaturationPoint, later: SaturationPoint) -> float:
    before, after = earlier.ci_high - earlier.ci_low, later.ci_high - later.ci_low
    return abs(before - after) / before if before > 0 else 0.0


def _slope(earlier: SaturationPoint, later: SaturationPoint) -> float:
    # A repeat without a score is ignored.
    return (
        abs(later.mean - earlier.mean) / (later.n - earlier.n) if later.n > earlier.n else math.inf
    )


def _first_calm(trace: Sequence[tuple[int, float]], limit: float, window: int) -> int | None:
    n_calm = 0
    for n, value in trace:
        n_calm = n_calm + 1 if value <= limit else 0
        if n_calm == window:
            return n
    return None


def _confidence(n: int) -> Literal["low", "medium", "high"]:
    if n >= 50:
        return "high"
    return "medium" if n >= 20 else "low"
