"""Intervals of the mean paired difference: differences of rows in, bounds out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import level, positive
from rag_eval.stats.arrays import Floats
from rag_eval.stats.distributions import t_quantile
from rag_eval.stats.groups import cluster_numbers, group_sums, without_rounding
from rag_eval.stats.intervals import Interval, checked_level
from rag_eval.stats.skewness import skewed_lower_bounds

# Of the mean: means closer than this differ by rounding.
_NO_SPREAD: Final = 1e-12

FEWEST_ROWS: Final = 3
"""Rows that must differ before their spread says anything."""
FEWEST_CLUSTERS: Final = 5
"""Clusters that must differ before their spread says anything, and clusters there must be."""


def difference_interval(
    differences: npt.ArrayLike,
    *,
    clusters: Iterable[object] | None = None,
    level: float = 0.95,
    largest: float | None = 1.0,
) -> Interval:
    """The mean paired difference with its confidence interval.

    Parameters
    ----------
    differences : array_like, shape (R,)
        NaN if a pair lacks a score; such pairs are left out.
    clusters : iterable of hashable, optional
        The cluster of each row.
    level : float
        Between 0 and 1.
    largest : float or None
        Largest possible difference, 1 for scores from 0 to 1; None without a limit. It is needed if
        almost no row changed.

    Returns
    -------
    Interval
        ``method`` is one of:

        ``plus_two``
            Independent rows, if at least 3 differ: the t interval after adding two rows, one gain
            and one loss as large as the largest difference. If most rows tie, the others tell too
            little of the spread, and the plain t interval is too short. For differences of -1, 0
            and 1 it is Bonett and Price's, with t for the normal. Also used if all clusters have
            the same mean.
        ``cluster_jackknife``
            Five or more clusters differ: t with G - 1 degrees of freedom, the variance by leaving
            out one cluster at a time.
        ``share_moved``
            Fewer differ: an upper bound for the number that could have (Clopper and Pearson), each
            by ``largest``; for clusters, each with the size of the largest cluster.

        Too few to say, without bounds, for no rows, fewer than 5 clusters, or fewer that differ
        than above with no ``largest``, or one that the differences exceed.

    Raises
    ------
    InputError
        For differences that are infinite, options out of range, clusters that do not fit the rows.

    References
    ----------
    Bonett and Price, Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data (2012).
    Bell and McCaffrey, Bias reduction in standard errors for linear regression with multi-stage
    samples (2002), for the jackknife over clusters.
    Clopper and Pearson, The use of confidence or fiducial limits (1934).

    Notes
    -----
    Chosen by simulation; ``benchmarks/statistics/RESULTS.md`` has coverage and widths. The
    interval and the sign-flip test are two answers, and can differ near the border.
    """
    if largest is not None:
        positive(largest, "largest")
    rows = _rows(differences, clusters)
    return _interval(rows, clusters is not None, checked_level(level), largest)


def difference_lower_bound(
    differences: npt.ArrayLike,
    *,
    clusters: Iterable[object] | None = None,
    alpha: float = 0.05,
    largest: float | None = 1.0,
) -> float | None:
    """Lower confidence bound of the mean paired difference, at level ``1 - alpha``.

    The lower end of :func:`difference_interval` at a level of 1 - 2 alpha, or that of the t
    interval corrected for skewness if that is lower: if few rows change and nearly all get worse,
    the former is too high. A run is non-inferior by a margin if this bound is above -margin.

    Parameters
    ----------
    differences : array_like, shape (R,)
        Positive is better.
    clusters, largest
        As for :func:`difference_interval`.
    alpha : float
        Above 0 and below 0.5.

    Returns
    -------
    float or None
        None if there are too few rows.

    References
    ----------
    Hall, On the removal of skewness by transformation (1992). Independent rows have two more, as
    for ``plus_two``; of clusters it takes the jackknife's pseudo-values, with and without two more,
    and the lower bound.
    """
    level(alpha, "alpha")
    if largest is not None:
        positive(largest, "largest")
    rows, clustered = _rows(differences, clusters), clusters is not None
    found = _interval(rows, clustered, 1 - 2 * alpha, largest)
    if found.low is None or found.method == "share_moved":
        return found.low
    several = [_with_two(rows.column)]
    if clustered:
        values = _pseudo_values(rows.sums, rows.sizes)
        # Two more of five clusters would make t shorter than they make the spread larger.
        several = [values, _with_two(values, float(values.mean()))]
    bounds = (skewed_lower_bounds(values[:, np.newaxis], alpha)[0] for values in several)
    return min(found.low, *map(float, bounds))


def independent_difference(
    left: npt.ArrayLike, right: npt.ArrayLike, *, level: float = 0.95
) -> Interval:
    """The difference of the means of two independent samples.

    Parameters
    ----------
    left, right : array_like, shape (R,) each
        NaN is left out.
    level : float

    Returns
    -------
    Interval
        Right minus left, by Welch's t; no bounds with fewer than two scores on a side or if neither
        side varies.

    References
    ----------
    Welch, The generalization of "Student's" problem when several different population variances
    are involved (1947).
    """
    sides = [column[~np.isnan(column)] for column in (np.asarray(left), np.asarray(right))]
    counts = [len(column) for column in sides]
    mean = float(sides[1].mean() - sides[0].mean()) if min(counts) else math.nan
    low = high = None
    if min(counts) > 1:
        # With a rounded mean, a constant column would seem to vary.
        parts = [float(np.ptp(column) and column.var(ddof=1)) / len(column) for column in sides]
        if total := sum(parts):
            shares = [part**2 / (n - 1) for part, n in zip(parts, counts, strict=True)]
            reach = t_quantile((1 + checked_level(level)) / 2, total**2 / sum(shares)) * math.sqrt(
                total
            )
            low, high = mean - reach, mean + reach
    return Interval(
        estimate=mean,
        low=low,
        high=high,
        level=level,
        n_groups=sum(counts),
        method="Welch",
        too_few=low is None,
    )


class _Rows(NamedTuple):
    """Known differences; their sums and numbers by cluster, or by row where there are none."""

    column: Floats
    sums: Floats
    sizes: Floats


def _rows(differences: npt.ArrayLike, clusters: Iterable[object] | None) -> _Rows:
    column = np.asarray(differences, np.float64)
    if column.ndim != 1 or np.isinf(column).any():
        raise InputError("differences must be one column of finite numbers or NaN")
    groups = cluster_numbers(clusters, len(column))
    known = ~np.isnan(column)
    if groups is not None:
        groups = np.unique(groups[known], return_inverse=True)[1].astype(np.int64)
    rows = without_rounding(column[known, np.newaxis])
    sums = without_rounding(group_sums(rows, groups))[:, 0]
    sizes = np.ones(len(sums)) if groups is None else np.bincount(groups).astype(np.float64)
    return _Rows(rows[:, 0], sums, sizes)


def _interval(rows: _Rows, clustered: bool, level: float, largest: float | None) -> Interval:
    column, sums, sizes = rows
    estimate = float(column.mean()) if len(column) else math.nan
    fewest = FEWEST_CLUSTERS if clustered else FEWEST_ROWS
    bounds, method = None, None
    if np.count_nonzero(sums) >= fewest:
        method = "cluster_jackknife"
        bounds = _jackknife(sums, sizes, level) if clustered else None
        if bounds is None:
            method, bounds = "plus_two", _plus_two(sums / sizes if clustered else column, level)
    elif len(sums) >= (fewest if clustered else 1) and _within(column, largest):
        method, bounds = "share_moved", _share_moved(sums, sizes, largest or 0.0, level)
    return Interval(
        estimate=estimate,
        # At low levels two rows more pull the middle further than the interval reaches.
        low=None if bounds is None else min(bounds[0], estimate),
        high=None if bounds is None else max(bounds[1], estimate),
        level=float(level),
        n_groups=len(sums),
        method=method,
        too_few=bounds is None,
    )


def _plus_two(column: Floats, level: float) -> tuple[float, float]:
    n = len(column) + 2
    size = float(np.abs(column).max())
    # Scaled: squares of very large and very small numbers run out of digits.
    scaled = column / size
    center = float(scaled.sum()) / n
    squares = float(np.square(scaled).sum()) + 2 - n * center * center
    reach = t_quantile((1 + level) / 2, len(column) - 1) * math.sqrt(squares) / n
    return size * (center - reach), size * (center + reach)


def _with_two(column: Floats, center: float = 0.0) -> Floats:
    size = float(np.abs(column - center).max())
    return np.append(column, [center + size, center - size])


def _jackknife(sums: Floats, sizes: Floats, level: float) -> tuple[float, float] | None:
    """None if all clusters have the same mean, since the interval would have no width."""
    n_clusters = len(sums)
    mean = float(sums.sum() / sizes.sum())
    apart = _without_each(sums, sizes) - mean
    largest = float(np.abs(apart).max())
    if largest <= _NO_SPREAD * abs(mean):
        return None
    variance = (n_clusters - 1) / n_clusters * float(np.square(apart / largest).sum())
    reach = t_quantile((1 + level) / 2, n_clusters - 1) * math.sqrt(variance) * largest
    return mean - reach, mean + reach


def _pseudo_values(sums: Floats, sizes: Floats) -> Floats:
    """One per cluster; their mean is that of the rows."""
    mean, n_clusters = float(sums.sum() / sizes.sum()), len(sums)
    values = n_clusters * mean - (n_clusters - 1) * _without_each(sums, sizes)
    return values + (mean - float(values.mean()))


def _without_each(sums: Floats, sizes: Floats) -> Floats:
    """The mean of the rows outside of each cluster."""
    means: Floats = (sums.sum() - sums) / (sizes.sum() - sizes)
    return means


def _share_moved(sums: Floats, sizes: Floats, largest: float, level: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    n_moved = int(np.count_nonzero(sums))
    # All moved: nothing is known about the share except that it is at most 1.
    still = len(sums) - n_moved
    share = float(betaincinv(n_moved + 1, still, (1 + level) / 2)) if still else 1.0
    reach = share * largest * float(sizes.max() / sizes.mean())
    return -reach, reach


def _within(column: Floats, largest: float | None) -> bool:
    return largest is not None and float(np.abs(column).max(initial=0.0)) <= largest
