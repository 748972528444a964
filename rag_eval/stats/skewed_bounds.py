"""Values in; lower bounds of their means by the t interval, corrected for skewness, out."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from rag_eval.stats.distributions import t_quantile
from rag_eval.stats.effect_sizes import Floats

# Spread below this share of the mean is rounding of values that are all equal.
_ROUNDING: Final = 1e-12
# Below, a skewness is nothing that three digits of a bound could show, and a poor divisor.
_NO_SKEWNESS: Final = 1e-6


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
        The least means that the test of :func:`~rag_eval.stats.skewness.skewed_p_values` does not
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
