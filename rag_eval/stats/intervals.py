"""Intervals: counts of rows in, a number and where it could have been out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number measured on some rows, and where other rows of the same kind could have put it.

    Attributes
    ----------
    estimate : float
        On the rows as they are.
    low, high : float or None
        The interval; None where there is none, as with a single group.
    level : float
        Share of such intervals that should hold the true value, for example 0.95.
    n_resamples : int
        Resamples the interval is made of. Those on which the number does not exist (one that needs
        two classes, where only one was drawn) are not among them.
    n_groups : int
        Independent groups of rows.
    """

    estimate: float
    low: float | None
    high: float | None
    level: float
    n_resamples: int
    n_groups: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "nResamples": self.n_resamples,
            "nGroups": self.n_groups,
        }


def wilson_interval(n_found: int, n_trials: int, level: float = 0.95) -> Interval:
    """A share and its score interval.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = n_found / n_trials
    center = share + z * z / (2 * n_trials)
    reach = z * math.sqrt((share * (1 - share) + z * z / (4 * n_trials)) / n_trials)
    scale = 1 + z * z / n_trials
    return Interval(
        estimate=share,
        # At the edges rounding would leave the range by one part in 1e17.
        low=max(0.0, (center - reach) / scale) if n_found else 0.0,
        high=min(1.0, (center + reach) / scale) if n_found < n_trials else 1.0,
        level=level,
        n_resamples=0,
        n_groups=n_trials,
    )
