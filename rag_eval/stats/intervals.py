"""Intervals: counts of rows in, a number and its interval out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import number


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number measured on some rows, with its confidence interval.

    Attributes
    ----------
    estimate : float
        The number on the given rows.
    low, high : float or None
        The bounds; None if there are none, as with a single group.
    level : float
        Confidence level, for example 0.95.
    n_resamples : int
        Number of resamples, without those on which the number is undefined (for example if it needs
        two classes and only one was drawn).
    n_groups : int
        Number of independent groups of rows.
    method : str or None
        Method of the bounds; None if the owner of the interval has it.
    seed : int or None
        Seed of the resamples; None without resamples.
    too_few : bool
        Whether there are too few rows, or too few that differ, for bounds at this level. Any bounds
        are then only indicative.
    n_undefined : int
        Number of resamples on which the number is undefined, if they are counted.
    """

    estimate: float
    low: float | None = None
    high: float | None = None
    level: float
    n_resamples: int = 0
    n_groups: int
    method: str | None = None
    seed: int | None = None
    too_few: bool = False
    n_undefined: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without fields of the method that are unknown."""
        found: dict[str, Any] = {
            "estimate": None if math.isnan(self.estimate) else self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "nResamples": self.n_resamples,
            "nGroups": self.n_groups,
        }
        if self.method is not None:
            found["method"] = self.method
        if self.seed is not None:
            found["seed"] = self.seed
        if self.too_few:
            found["tooFew"] = True
        if self.n_undefined:
            found["nUndefined"] = self.n_undefined
        return found


def wilson_interval(n_found: int, n_trials: int, level: float = 0.95) -> Interval:
    """A share with Wilson's score interval.

    Parameters
    ----------
    n_found, n_trials : int
        From 0 to ``n_trials``, which is at least 1.
    level : float
        Between 0 and 1.

    Raises
    ------
    InputError
        For numbers out of range.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if n_trials < 1 or not 0 <= n_found <= n_trials:
        raise InputError(
            f"n_found must be from 0 to n_trials (at least 1), got {n_found} of {n_trials}"
        )
    share = n_found / n_trials
    low, high = score_bounds(share, n_trials, normal_reach(level))
    return Interval(
        estimate=share,
        low=low,
        high=high,
        level=level,
        n_groups=n_trials,
        method="wilson",
    )


def normal_reach(level: float) -> float:
    """The half-width of an interval of this level in standard errors."""
    return NormalDist().inv_cdf((1 + checked_level(level)) / 2)


def checked_level(level: object) -> float:
    """A level between 0 and 1, or an InputError."""
    found = number(level, "level")
    if not 0 < found < 1:
        raise InputError(f"level must be between 0 and 1, got {level}")
    return found


def score_bounds(share: float, n_rows: float, reach: float) -> tuple[float, float]:
    """Wilson's bounds of a share of rows, whose number need not be whole.

    They are the shares from which the one found is ``reach`` of their own standard errors away,
    so that they stay inside of 0 to 1 and have a width at its ends.
    """
    square = reach * reach
    center = share + square / (2 * n_rows)
    spread = reach * math.sqrt((share * (1 - share) + square / (4 * n_rows)) / n_rows)
    scale = 1 + square / n_rows
    # Not (center - spread) / scale: near 0 the two cancel out, and a rounding is left as bound.
    low = share * share / (center + spread) if share > 0 else 0.0
    return low, min(1.0, (center + spread) / scale) if share < 1 else 1.0
