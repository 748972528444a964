"""Means of rows that come in clusters: scores and clusters in, a mean and its variance out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from rag_eval.stats.arrays import Floats, Whole

# If all scores are equal, sums of deviations are rounding errors.
_NO_VARIANCE: Final = 1e-24

FEWEST_CLUSTERS: Final = 5
"""Below, the spread between clusters is known too badly for an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredMean:
    """A mean over rows, and how much it would vary with other clusters.

    Attributes
    ----------
    mean : float
        Every row counts the same, so large clusters count more.
    variance : float
        Of the mean: the bias-reduced cluster-robust one (CR2). NaN with a single cluster.
    skewness : float
        Of the clusters' parts in it; 0 with a single cluster.
    df : float
        Degrees of freedom of the variance: clusters less one if they are of one size, fewer if
        some are much larger than others. NaN with a single cluster.
    n_rows, n_clusters : int
    """

    mean: float
    variance: float = math.nan
    skewness: float = 0.0
    df: float = math.nan
    n_rows: int
    n_clusters: int


def clustered_mean(values: Floats, clusters: Whole) -> ClusteredMean:
    """The mean of rows in clusters, with the variance it has between clusters.

    Parameters
    ----------
    values : float64, shape (R,)
        Without NaN; R is at least 1.
    clusters : int64, shape (R,)
        Of each row; any numbers.

    References
    ----------
    Bell and McCaffrey, Bias reduction in standard errors for linear regression with multi-stage
    samples (2002), for a regression on a constant alone: the adjustment of a cluster is then the
    number ``1 / sqrt(1 - share of rows)``, and the degrees of freedom have a closed form.
    """
    _, numbers, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    n_rows, n_clusters = len(values), len(sizes)
    mean = float(values.mean())
    if n_clusters < 2:
        return ClusteredMean(mean=mean, n_rows=n_rows, n_clusters=n_clusters)
    sums = np.bincount(numbers, weights=values - mean)
    rest = 1 - sizes / n_rows
    squares, cubes = float((sums**2).mean()), float((sums**3).mean())
    return ClusteredMean(
        mean=mean,
        variance=float((sums**2 / rest).sum()) / n_rows**2,
        skewness=cubes / squares**1.5 if squares > _NO_VARIANCE else 0.0,
        df=_degrees_of_freedom(sizes / n_rows),
        n_rows=n_rows,
        n_clusters=n_clusters,
    )


def _degrees_of_freedom(shares: Floats) -> float:
    """Satterthwaite's, were the rows independent; ``shares`` are those of the clusters."""
    weights = shares**2 / (1 - shares)
    own = float((shares**2).sum())
    mixed = float(weights.sum()) ** 2 - float((weights**2).sum())
    return 1 / (own + mixed)
