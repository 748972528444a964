"""The t test corrected for skewness: values in, p values or bounds of their means out."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from rag_eval.stats.arrays import Flags, Floats
from rag_eval.stats.distributions import t_quantile

# Spread below this share of the mean is rounding of values that are all equal.
_ROUNDING: Final = 1e-12
# Below, a skewness is nothing that three digits of a bound could show, and a poor divisor.
_NO_SKEWNESS: Final = 1e-6


def johnson_shift(skewness: float, reach: float, n: float) -> float:
    """How far skewness moves both ends of a t interval, in standard errors.

    References
    ----------
    Johnson, Modified t tests and confidence intervals for asymmetrical populations (1978), with the
    term in t squared of Hall, On the removal of skewness by transformation (1992): its first order,
    which stays small where a handful of rows cannot tell the skewness.
    """
    return skewness * (1 + 2 * reach * reach) / (6 * math.sqrt(n))


def skewed_p_values(sums: Floats, known: Flags | None = None) -> Floats:
    """P values of "the mean is 0 or above", of "0 or below" and of both sides.

    Parameters
    ----------
    sums : float64, shape (G, M)
        Of independent rows or clusters.
    known : bool, shape (G, M), optional
        Which of them have a value in the column: the others are not in its mean. All by default.

    Returns
    -------
    float64, shape (3, M)
        0 if all sums of a column are equal, or there are fewer than two: they have no skewness
        to be corrected for.

    References
    ----------
    Hall, On the removal of skewness by transformation (1992), the cubic transformation of t.
    """
    from scipy.special import stdtr

    there = np.ones(sums.shape, np.bool_) if known is None else known
    n = there.sum(axis=0)
    counts = np.maximum(n, 1)
    # Scaled first: cubes of large numbers overflow, and those of small ones vanish.
    largest = np.abs(sums).max(axis=0, initial=0.0)
    rows = sums / np.where(largest > 0, largest, 1.0)
    mean = np.where(there, rows, 0.0).sum(axis=0) / counts
    apart = np.where(there, rows - mean, 0.0)
    spread = np.sqrt((apart**2).sum(axis=0) / counts)
    varies = (spread > _ROUNDING * np.abs(mean)) & (n > 1)
    spread = np.where(varies, spread, 1.0)
    size, skewness = mean / spread, (apart**3).sum(axis=0) / counts / spread**3
    third = size + skewness * size**2 / 3 + skewness**2 * size**3 / 27 + skewness / (6 * counts)
    df, t = np.maximum(counts - 1, 1), np.sqrt(counts) * third
    worse, better = np.where(varies, stdtr(df, t), 0.0), np.where(varies, stdtr(df, -t), 0.0)
    return np.stack([worse, better, 2 * np.minimum(worse, better)])


def skewed_lower_bounds(values: Floats, alpha: float) -> Floats:
    """What the means are above, but for a chance of ``alpha`` to be wrong.

    Parameters
    ----------
    values : float64, shape (G, M)
        Of independent rows or clusters.
    alpha : float
        Above 0 and below 0.5.

    Returns
    -------
    float64, shape (M,)
        The least means that the test of :func:`skewed_p_values` does not
        reject; the mean itself where all values of a column are equal.

    References
    ----------
    Hall, On the removal of skewness by transformation (1992): the transformation, inverted.
    """
    n = len(values)
    # Powers of very small and very large numbers would run out of digits.
    scale = np.abs(values).max(axis=0)
    scaled = values / np.where(scale > 0, scale, 1.0)
    mean, spread = scaled.mean(axis=0), scaled.std(axis=0)
    varies = spread > _ROUNDING * np.abs(mean)
    cubes = np.square(scaled - mean) * (scaled - mean)
    skewness = np.where(varies, cubes.mean(axis=0) / np.where(varies, spread, 1.0) ** 3, 0.0)
    reach = t_quantile(1 - alpha, n - 1) / math.sqrt(n) - skewness / (6 * n)
    skewed = np.abs(skewness) > _NO_SKEWNESS
    divisor = np.where(skewed, skewness, 1.0)
    reach = np.where(skewed, 3 / divisor * (np.cbrt(1 + skewness * reach) - 1), reach)
    bounds: Floats = scale * np.where(varies, mean - spread * reach, mean)
    return bounds
