"""Bounds from resamples: the numbers of all resamples in, the ends of an interval out."""

from __future__ import annotations

import math

import numpy as np

from rag_eval.stats.arrays import Floats
from rag_eval.stats.distributions import normal_cdf, normal_quantile


def percentile_bounds(draws: Floats, level: float) -> tuple[float, float]:
    """The middle share ``level`` of the draws, by linear interpolation.

    Parameters
    ----------
    draws : float64, shape (B,)
        At least one, none of them NaN.
    level : float
        Between 0 and 1.
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def bca_bounds(
    estimate: float, draws: Floats, left_out: Floats, level: float, tolerance: float = 0.0
) -> tuple[float, float] | None:
    """Bounds corrected for bias and for a spread that grows with the number (BCa).

    Parameters
    ----------
    estimate : float
    draws : float64, shape (B,)
        At least one, none of them NaN.
    left_out : float64, shape (G,)
        The number without each group in turn (the jackknife), for the acceleration.
    level : float
    tolerance : float
        Draws no farther from the estimate are equal to it; half of them count as below.

    Returns
    -------
    (float, float) or None
        None if all draws are on one side of the estimate, because the bias is then unknown.

    References
    ----------
    Efron, Better bootstrap confidence intervals (1987); Efron and Tibshirani, An Introduction to
    the Bootstrap (1993), section 14.3.
    """
    below = int((draws < estimate - tolerance).sum() + (draws <= estimate + tolerance).sum())
    if not 0 < below < 2 * len(draws):
        return None
    bias = normal_quantile(below / (2 * len(draws)))
    acceleration = _acceleration(left_out)
    shares = []
    for z in (normal_quantile((1 - level) / 2), normal_quantile((1 + level) / 2)):
        slope = 1 - acceleration * (bias + z)
        if slope <= 0:
            return None
        shares.append(normal_cdf(bias + (bias + z) / slope))
    low, high = np.quantile(draws, shares).tolist()
    return low, high


def _acceleration(left_out: Floats) -> float:
    """A sixth of the skewness of the jackknife; 0 if it does not vary."""
    apart = left_out.mean() - left_out
    # Scaled first: cubes of small numbers would vanish.
    largest = float(np.abs(apart).max())
    if largest == 0:
        return 0.0
    apart = apart / largest
    found = float((apart**3).sum()) / (6 * float((apart**2).sum()) ** 1.5)
    return found if math.isfinite(found) else 0.0
