"""The bootstrap: numbers and groups of rows in, their intervals by resampling out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import one_of
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.bca import bca_bounds, percentile_bounds
from rag_eval.stats.index_sources import Indices, Resampling, checked_places
from rag_eval.stats.intervals import Interval
from rag_eval.stats.resampling import resampled_sums

Statistic: TypeAlias = Callable[[Whole], Floats]
"""Takes how often each row counts, int64 (B, R); gives one row of S numbers each, (B, S)."""

BootstrapMethod: TypeAlias = Literal["percentile", "bca"]
METHODS: Final[tuple[BootstrapMethod, ...]] = ("percentile", "bca")

MOST_UNDEFINED: Final = 0.05
"""Share of undefined resamples above which :func:`checked_bootstrap` gives no bounds."""

# Number of rows whose weights are held at once: 8 MB, and a few times that in a statistic.
_CELLS: Final = 1 << 20
# Of the largest deviation from the mean: means closer than this differ by rounding. In a constant
# column the deviations are themselves rounding, and all the same.
_ROUNDING: Final = 1e-12


def group_bootstrap(
    statistic: Statistic,
    groups: Whole,
    *,
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
    indices: Indices | None = None,
) -> tuple[Interval, ...]:
    """Percentile intervals of several numbers, by drawing whole groups with replacement.

    Rows of one group, such as answers to one question, depend on each other: resampling single rows
    would make the interval too narrow.

    Parameters
    ----------
    statistic : callable
        Takes row weights, int64 of shape (B, R): how often each row is in each of B resamples.
        Returns the S numbers of each resample, float64 of shape (B, S); NaN if undefined.
    groups : int64, shape (R,)
        As from :func:`group_numbers`; some numbers may be missing.
    seed : int
        The same seed and rows give the same interval.
    n_resamples : int
    level : float
        Between 0 and 1.
    indices : iterable of int64 arrays of shape (B, G), optional
        Drawn groups, counted from 0 in the order of their numbers, in place of those of ``seed``
        and ``n_resamples``.

    Returns
    -------
    tuple of Interval
        One for each of the S numbers. There are no bounds with fewer than two groups.

    References
    ----------
    Davison and Hinkley, Bootstrap Methods and their Application (1997), sections 3.8 and 5.3.1.
    """
    resampling = Resampling(seed=seed, n_resamples=n_resamples, level=level, indices=indices)
    return group_intervals(statistic, groups, resampling)


def group_intervals(
    statistic: Statistic, groups: Whole, resampling: Resampling
) -> tuple[Interval, ...]:
    """The intervals of :func:`group_bootstrap`."""
    (estimates,) = statistic(np.ones((1, len(groups)), np.int64))
    # Renumbered, so that a group without remaining rows is not drawn.
    known, numbers = np.unique(groups, return_inverse=True)
    n_groups = len(known)
    draws = np.empty((0, len(estimates)))
    if n_groups > 1:
        draws = resampled_numbers(statistic, numbers, n_groups, resampling.places(n_groups))
    return tuple(
        _percentile_interval(float(estimate), draws[:, column], resampling.level, n_groups)
        for column, estimate in enumerate(estimates)
    )


def resampled_numbers(
    statistic: Statistic, groups: npt.NDArray[np.intp], n_groups: int, indices: Indices
) -> Floats:
    """The numbers of each resample, shape (B, S); ``groups`` are 0 to ``n_groups - 1``."""
    found = []
    at_once = max(1, _CELLS // len(groups))
    for block in indices:
        places = checked_places(block, n_groups)
        for begin in range(0, len(places), at_once):
            drawn = places[begin : begin + at_once]
            n = len(drawn)
            # One count of all resamples of the block: each has its own range of numbers.
            drawn = drawn + n_groups * np.arange(n)[:, np.newaxis]
            counts = np.bincount(drawn.ravel(), minlength=n * n_groups).reshape(n, n_groups)
            found.append(statistic(counts[:, groups]))
    if not found:
        raise InputError("indices must have at least one resample")
    return np.concatenate(found)


def _percentile_interval(estimate: float, draws: Floats, level: float, n_groups: int) -> Interval:
    found = draws[~np.isnan(draws)]
    low, high = percentile_bounds(found, level) if len(found) else (None, None)
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        level=float(level),
        n_resamples=len(found),
        n_groups=n_groups,
    )


def checked_bootstrap(
    statistic: Statistic, groups: Whole, resampling: Resampling
) -> tuple[Interval, ...]:
    """Intervals of numbers that do not exist on every resample.

    A resample that happens to hold no variety has no correlation and no agreement. To leave some of
    them out does little; to leave out many makes an interval of those that suit the number.

    Parameters
    ----------
    statistic, groups
        As for :func:`rag_eval.stats.group_bootstrap`.
    resampling : Resampling

    Returns
    -------
    tuple of Interval
        ``n_undefined`` of each are the resamples without the number; above 5 % of all resamples
        there are no bounds.
    """
    n_asked = resampling.n_resamples
    if resampling.indices is not None:
        drawn = list(resampling.indices)
        n_asked = sum(map(len, drawn))
        resampling = replace(resampling, indices=drawn)
    found = group_intervals(statistic, groups, resampling)
    return tuple(_checked(one, n_asked) for one in found)


def _checked(found: Interval, n_asked: int) -> Interval:
    if found.n_groups < 2:
        return found
    n_undefined = n_asked - found.n_resamples
    if n_undefined > MOST_UNDEFINED * n_asked:
        return replace(found, low=None, high=None, n_undefined=n_undefined)
    return replace(found, n_undefined=n_undefined)


# ------------------------------------------------------------------------------------------ means


def bootstrap_intervals(
    values: npt.ArrayLike,
    *,
    groups: npt.ArrayLike | None = None,
    method: BootstrapMethod = "percentile",
    seed: int = 0,
    n_resamples: int = 2000,
    level: float = 0.95,
    indices: Indices | None = None,
    threads: int | None = None,
) -> tuple[Interval, ...]:
    """Bootstrap intervals of the means of columns, from the same resamples for all of them.

    Parameters
    ----------
    values : float, shape (R, K) or (R,)
        NaN where a row has no value; the mean of that column excludes the row. It can still be
        drawn, so the number of rows with values varies between resamples.
    groups : int, shape (R,), optional
        Groups of dependent rows, as from :func:`group_numbers`; whole groups are drawn.
    method : {"percentile", "bca"}
        ``"bca"`` corrects for bias and skewness, with the acceleration of the jackknife over
        groups.
    seed : int
        The same seed and rows give the same bits at any number of threads.
    n_resamples : int
    level : float
        Between 0 and 1.
    indices : iterable of int64 arrays of shape (B, G), optional
        Groups to draw instead of those from ``seed`` and ``n_resamples``, as for
        :func:`group_bootstrap`.
    threads : int, optional
        All cores by default.

    Returns
    -------
    tuple of Interval
        One for each column, with ``method`` and ``seed`` (None under ``indices``). ``n_groups`` are
        the groups with a value in the column. There are no bounds, and ``too_few`` is set, with
        fewer than two such groups, if all resamples have the same mean (a constant column says
        nothing about unseen rows), and for BCa if all are on one side of the mean.

    Raises
    ------
    InputError
        For infinite values, groups of another length, or options out of range.

    References
    ----------
    Efron, Better bootstrap confidence intervals (1987). Clusters: Davison and Hinkley, Bootstrap
    Methods and their Application (1997), section 3.8.
    """
    resampling = Resampling(seed=seed, n_resamples=n_resamples, level=level, indices=indices)
    one_of(method, "method", METHODS)
    totals = _group_totals(values, groups)
    n_groups = len(totals.counts)
    if n_groups == 0:
        means = np.empty((0, totals.sums.shape[1]))
    elif indices is None:
        means = _drawn_means(totals, resampling, threads)
    else:
        means = _given_means(totals, indices)
        if not len(means):
            raise InputError("indices must have at least one resample")
    return tuple(
        _mean_interval(totals, means, column, method, resampling)
        for column in range(totals.sums.shape[1])
    )


class _GroupTotals(NamedTuple):
    """Sums of groups, shape (G, K), of what values are above the mean of their column.

    ``reaches`` are the largest of such deviations, shape (K,).
    """

    means: Floats
    reaches: Floats
    sums: Floats
    counts: Floats


def _group_totals(values: npt.ArrayLike, groups: npt.ArrayLike | None) -> _GroupTotals:
    rows = np.asarray(values, np.float64)
    if rows.ndim not in (1, 2):
        raise InputError(
            f"values must be a one- or two-dimensional array, got {rows.ndim} dimensions"
        )
    rows = rows[:, np.newaxis] if rows.ndim == 1 else rows
    if np.isinf(rows).any():
        raise InputError("values must be finite or NaN, got an infinite value")
    given = ~np.isnan(rows)
    n_given = given.sum(axis=0)
    # Column by column: numpy adds a column among others in another order than one alone.
    filled = np.ascontiguousarray(np.where(given, rows, 0.0).T)
    with np.errstate(invalid="ignore"):
        means = filled.sum(axis=1) / n_given
    # About their mean: sums of numbers far from 0 would lose the digits in which they differ.
    above = np.where(given, rows - means, 0.0)
    reaches = np.abs(above).max(axis=0, initial=0.0)
    if groups is None:
        return _GroupTotals(means, reaches, above, given.astype(np.float64))
    numbers = np.asarray(groups)
    if numbers.shape != (len(rows),):
        raise InputError(
            f"groups must have one value for each of {len(rows)} rows, got shape {numbers.shape}"
        )
    known, places = np.unique(numbers, return_inverse=True)
    sums, counts = np.zeros((2, len(known), rows.shape[1]))
    np.add.at(sums, places, above)
    np.add.at(counts, places, given.astype(np.float64))
    return _GroupTotals(means, reaches, sums, counts)


def _drawn_means(totals: _GroupTotals, resampling: Resampling, threads: int | None) -> Floats:
    """Means of each resample, less the mean of the column."""
    n_resamples = resampling.n_resamples
    n_columns = totals.sums.shape[1]
    # A count that is the same for all groups is the same in all resamples, and columns without
    # nulls have the same counts.
    distinct, place = np.unique(totals.counts, axis=1, return_inverse=True)
    varies = (distinct != distinct[:1]).any(axis=0)
    columns = np.concatenate([totals.sums, distinct[:, varies]], axis=1)
    drawn = resampled_sums(columns, n_resamples, resampling.seed, threads)
    counts = np.broadcast_to(distinct.sum(axis=0), (n_resamples, distinct.shape[1])).copy()
    counts[:, varies] = drawn[:, n_columns:]
    return _quotients(drawn[:, :n_columns], counts[:, place.ravel()])


def _given_means(totals: _GroupTotals, indices: Indices) -> Floats:
    """The same for drawn groups of the caller."""
    n_groups, n_columns = totals.sums.shape
    found = [np.empty((0, n_columns))]
    at_once = max(1, _CELLS // (n_groups * max(1, n_columns)))
    for block in indices:
        places = checked_places(block, n_groups)
        for begin in range(0, len(places), at_once):
            some = places[begin : begin + at_once]
            found.append(_quotients(totals.sums[some].sum(axis=1), totals.counts[some].sum(axis=1)))
    return np.concatenate(found)


def _quotients(sums: Floats, counts: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums, np.nan) / counts


def _mean_interval(
    totals: _GroupTotals,
    all_means: Floats,
    column: int,
    method: BootstrapMethod,
    resampling: Resampling,
) -> Interval:
    level = resampling.level
    mean = float(totals.means[column])
    sums, counts = totals.sums[:, column], totals.counts[:, column]
    has_values = counts > 0
    sums, counts = sums[has_values], counts[has_values]
    draws = all_means[:, column]
    draws = draws[~np.isnan(draws)]
    bounds = None
    equal = _ROUNDING * float(totals.reaches[column])
    if len(sums) > 1 and len(draws) and np.ptp(draws) > equal:
        if method == "percentile":
            bounds = percentile_bounds(draws, level)
        else:
            left_out = (sums.sum() - sums) / (counts.sum() - counts)
            # Not quite 0: far from 0 a mean is itself rounded.
            center = float(sums.sum() / counts.sum())
            bounds = bca_bounds(center, draws, left_out, level, equal)
    return Interval(
        estimate=mean,
        low=None if bounds is None else mean + bounds[0],
        high=None if bounds is None else mean + bounds[1],
        level=float(level),
        n_resamples=len(draws) if len(sums) > 1 else 0,
        n_groups=len(sums),
        method=method,
        seed=resampling.seed if resampling.indices is None else None,
        too_few=bounds is None,
    )
