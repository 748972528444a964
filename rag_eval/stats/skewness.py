"""Sums in; p values of the t test, corrected for their skewness, out."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from rag_eval.stats.effect_sizes import Floats

# Spread below this share of the mean is rounding of sums that are all equal.
_ROUNDING: Final = 1e-12


def skewed_p_values(sums: Floats) -> Floats:
    """P values of "the mean is 0 or above", of "0 or below" and of both sides.

    Parameters
    ----------
    sums : float64, shape (G, M)
        Of independent rows or clusters.

    Returns
    -------
    float64, shape (3, M)
        0 where all sums of a column are equal: they have no skewness to be corrected for.

    References
    ----------
    Hall, On the removal of skewness by transformation (1992), the cubic transformation of t.
    """
    from scipy.special import stdtr

    n = len(sums)
    mean, spread = sums.mean(axis=0), sums.std(axis=0)
    varies = spread > _ROUNDING * np.abs(mean)
    spread = np.where(varies, spread, 1.0)
    size, skewness = mean / spread, ((sums - mean) ** 3).mean(axis=0) / spread**3
    third = size + skewness * size**2 / 3 + skewness**2 * size**3 / 27 + skewness / (6 * n)
    worse = np.where(varies, stdtr(n - 1, math.sqrt(n) * third), 0.0)
    better = np.where(varies, stdtr(n - 1, -math.sqrt(n) * third), 0.0)
    return np.stack([worse, better, 2 * np.minimum(worse, better)])
