"""Sums in; p values of the t test, corrected for their skewness, out."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.stats.effect_sizes import Floats

# Spread below this share of the mean is rounding of sums that are all equal.
_ROUNDING: Final = 1e-12


def skewed_p_values(sums: Floats, known: npt.NDArray[np.bool_] | None = None) -> Floats:
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
        0 where all sums of a column are equal, or there are fewer than two: they have no skewness
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
