"""Intervals of means: scores, or what was summed up of them, in; a mean and its bounds out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import one_of
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.clustered import FEWEST_CLUSTERS, clustered_mean
from rag_eval.stats.distributions import student_quantile
from rag_eval.stats.groups import group_numbers
from rag_eval.stats.intervals import Interval, checked_level, score_bounds
from rag_eval.stats.moment_intervals import (
    MEAN_METHODS,
    UNSEEN_CLUSTERS,
    Bounds,
    MeanMethod,
    Spread,
    chosen_method,
    interval_at,
    interval_of_moments,
    unbounded,
)

FEWEST_CLUSTERED_OTHERS: Final = 10
"""Rows off the most frequent score, over how much groups inflate the variance: with fewer, an
interval is only indicative if the groups are skewed."""


def mean_interval(
    values: npt.ArrayLike,
    *,
    bounds: Bounds | None = (0.0, 1.0),
    groups: Iterable[object] | None = None,
    level: float = 0.95,
    method: MeanMethod | None = None,
    seed: int = 0,
    n_resamples: int = 2000,
) -> Interval:
    """The mean of a column of scores with its confidence interval.

    Parameters
    ----------
    values : array of float, shape (R,)
        NaN stands for null; such rows are left out.
    bounds : (float, float) or None
        Smallest and largest possible score; None for an unbounded score.
    groups : iterable, optional
        The group of each row, such as a document or a user: rows of one group depend on each other.
    level : float
        Between 0 and 1.
    method : str, optional
        By default ``wilson`` if all scores are at the bounds (verdicts), ``bounded`` for other
        scores with bounds, and ``t`` without bounds. ``percentile`` and ``bca`` are bootstraps,
        whose coverage is below the level if few rows differ.
    seed, n_resamples : int
        For bootstraps alone.

    Returns
    -------
    Interval
        No bounds, and ``too_few``, without rows, for a single row inside the range, and for fewer
        than 5 groups. ``too_few`` is also set, with bounds that are only indicative, if fewer than
        3 rows differ from the most frequent score, or if scores are as skewed as verdicts with
        fewer than 3 of a kind. With groups, rows of at least 5 groups must differ; and if the
        groups are that skewed, the rows that differ must be worth 10 independent ones.

    Raises
    ------
    InputError
        For a score out of bounds, a row without a group, or a method that does not fit.

    Notes
    -----
    ``bounded`` is Wilson's interval for as many rows as verdicts with this mean would need for the
    same standard error, with Student's t in place of the normal quantile. Its variance includes
    that of unseen rows: three quarters of a row with the largest variance that the mean allows, or
    four standard deviations away. Where fewer than four rows tell the spread (n over the squared
    skewness, from Cochran 1977, section 2.15), unseen ones make up for them, as the four rows of
    Agresti and Coull (1998) do. If the interval by Student's t corrected for skewness (Johnson
    1978) ends further out, that end is used. ``wilson`` has Poisson bounds for up to three rows of
    a kind (Brown, Cai and DasGupta 2001). With groups the standard error is the cluster-robust CR2,
    never below that of independent rows; a quarter of a group counts as unseen, and the degrees of
    freedom are at most those of the groups with a row that differs. The coverage is in
    ``benchmarks/statistics/RESULTS.md``.
    """
    level = checked_level(level)
    scores = np.asarray(values, np.float64)
    if scores.ndim != 1:
        raise InputError(f"values must be one column, got an array of shape {scores.shape}")
    measured = ~np.isnan(scores)
    numbers = None if groups is None else _numbers(groups, measured)
    scores = scores[measured]
    if not len(scores):
        return unbounded(math.nan, level, 0)
    if np.isinf(scores).any():
        raise InputError("values must be finite or NaN, got an infinite value")
    if bounds is not None:
        _check_range(scores, bounds)
    if method is not None:
        one_of(method, "method", MEAN_METHODS)
    if method == "percentile" or method == "bca":
        return _bootstrap(scores, numbers, level, method, seed, n_resamples)
    if numbers is not None:
        return _clustered(scores, numbers, bounds, level, method)
    mean = float(scores.mean())
    return interval_of_moments(
        len(scores),
        mean,
        float(scores.std()),
        n_modal=int(_modal(scores).sum()),
        third=_third_moment(scores, mean),
        bounds=bounds,
        level=level,
        method=method,
    )


def _clustered(
    scores: Floats, numbers: Whole, bounds: Bounds | None, level: float, method: MeanMethod | None
) -> Interval:
    found = clustered_mean(scores, numbers)
    mean, n_clusters = found.mean, found.n_clusters
    differs = ~_modal(scores)
    row = Spread.of(len(scores), mean, float(scores.std()), int(differs.sum()), bounds)
    chosen = chosen_method(method, bounds, row)
    name = f"{chosen}-clustered"
    # A cluster in which all rows have the most frequent score says nothing about the spread.
    n_telling = len(np.unique(numbers[differs]))
    too_few = n_telling < FEWEST_CLUSTERS
    if n_clusters < FEWEST_CLUSTERS or (chosen == "t" and not n_telling):
        return unbounded(mean, level, n_clusters, name)
    if chosen == "t":
        half = student_quantile((1 + level) / 2, found.df) * math.sqrt(found.variance)
        return interval_at(mean, (mean - half, mean + half), None, level, n_clusters, name, too_few)
    low, high = bounds or (0.0, 1.0)
    independent = row.most / (row.n - 1) if chosen == "wilson" else row.mixed
    between = found.variance / (high - low) ** 2
    # How far clusters are apart is known as badly as how far apart as many rows are.
    clusters = Spread(
        n_clusters,
        row.mean,
        math.sqrt(between * n_clusters),
        n_telling,
        found.skewness,
        UNSEEN_CLUSTERS,
    )
    # All rows at one end: each cluster may be one row that was copied.
    n_like = row.most / max(clusters.mixed, independent) if row.most else n_clusters
    reach = student_quantile((1 + level) / 2, max(1.0, min(found.df, n_telling - 1)))
    ends = clusters.with_skewness(score_bounds(row.mean, n_like, reach), reach)
    n_few = row.n_others * independent < FEWEST_CLUSTERED_OTHERS * max(between, independent)
    too_few |= n_few and clusters.is_of_few_rows
    return interval_at(mean, ends, bounds, level, n_clusters, name, too_few)


def _bootstrap(
    scores: Floats,
    numbers: Whole | None,
    level: float,
    method: Literal["percentile", "bca"],
    seed: int,
    n_resamples: int,
) -> Interval:
    from rag_eval.stats.bootstrap import bootstrap_intervals

    if numbers is not None:
        n_groups = len(np.unique(numbers))
        if n_groups < FEWEST_CLUSTERS:
            return unbounded(float(scores.mean()), level, n_groups, method)
    (found,) = bootstrap_intervals(
        scores, groups=numbers, method=method, seed=seed, n_resamples=n_resamples, level=level
    )
    return found


def _third_moment(scores: Floats, mean: float) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(((scores - mean) * np.square(scores - mean)).mean())


def _modal(scores: Floats) -> Flags:
    """Which rows have the least or the greatest score, whichever is more frequent."""
    at_least, at_most = scores == scores.min(), scores == scores.max()
    found: Flags = at_least if at_least.sum() >= at_most.sum() else at_most
    return found


def _numbers(groups: Iterable[object], measured: Flags) -> Whole:
    known = groups if isinstance(groups, np.ndarray) and groups.dtype.kind in "iu" else None
    numbers = group_numbers(groups) if known is None else known.astype(np.int64)
    if numbers.shape != measured.shape:
        raise InputError(
            f"groups must have one value for each of {len(measured)} rows, got {len(numbers)}"
        )
    found: Whole = numbers[measured]
    return found


def _check_range(scores: Floats, bounds: Bounds) -> None:
    low, high = bounds
    if not -math.inf < low < high < math.inf:
        raise InputError(f"bounds must be two increasing numbers, got {bounds}")
    for end in (float(scores.min()), float(scores.max())):
        if not low <= end <= high:
            raise InputError(f"values must be from {low:g} to {high:g} (bounds), got {end:g}")
