"""Krippendorff's alpha: ratings of the same units by several coders in, reliability out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, Literal, TypeAlias

import numpy as np

from rag_eval.errors import InputError
from rag_eval.stats.arrays import Floats
from rag_eval.stats.bootstrap import checked_bootstrap
from rag_eval.stats.correlations import Weights, mid_ranks, one_each, varies
from rag_eval.stats.index_sources import USUAL, Resampling
from rag_eval.stats.intervals import Interval

Measurement: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
"""What of two values counts: that they differ, how many values lie between them, how far they are
apart, or how far in relation to their size."""

MEASUREMENTS: Final[tuple[Measurement, ...]] = ("nominal", "ordinal", "interval", "ratio")

_VALUES_AT_ONCE: Final = 512

Ratings: TypeAlias = Sequence[Sequence[float | None]] | Floats
"""A row per coder, a column per unit; None or NaN where a coder gave none."""


def krippendorff_alpha(ratings: Ratings, *, measurement: Measurement = "interval") -> float | None:
    """How far coders agree beyond chance, whatever their number and with gaps in their ratings.

    Parameters
    ----------
    ratings : sequence of sequences or float64 of shape (coders, units)
        Numbers; None or NaN where a coder gave none. Units with fewer than two ratings count
        nowhere.
    measurement : {"interval", "nominal", "ordinal", "ratio"}
        Interval for scores, nominal for verdicts and labels written as numbers.

    Returns
    -------
    float or None
        1 if all agree, 0 if they agree as by chance, less if they avoid each other. None if all
        ratings that can be compared are the same, or there are none: without variety there is
        nothing to be reliable about.

    References
    ----------
    Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D.
    """
    if measurement not in MEASUREMENTS:
        known = ", ".join(map(repr, MEASUREMENTS))
        raise InputError(f"measurement must be one of {known}, got {measurement!r}")
    values = _comparable(_matrix(ratings, measurement))
    given = ~np.isnan(values)
    known_values = values[given]
    if not len(known_values) or known_values.min() == known_values.max():
        return None
    if measurement == "ordinal":
        # The values between two are the difference of their mid-ranks, squared as an interval is.
        values[given] = mid_ranks(known_values, one_each(len(known_values)))[0]
        known_values = values[given]
    observed = float(_disagreements(values, measurement).sum())
    return 1 - observed * (len(known_values) - 1) / _all_differences(known_values, measurement)


def alpha_with_interval(
    ratings: Ratings, *, measurement: Measurement = "interval", resampling: Resampling = USUAL
) -> Interval | None:
    """Krippendorff's alpha and its interval over the units.

    Parameters
    ----------
    ratings, measurement
        As for :func:`krippendorff_alpha`.
    resampling : Resampling
        Resampling of the units. Ordinal ratings are ranked again in each resample.

    Returns
    -------
    Interval or None
        Its ``n_groups`` are the units with two ratings or more. Resamples without variety have no
        alpha: they are counted in ``n_undefined``, and above 5 % of them there are no bounds. None
        where there is no alpha.
    """
    estimate = krippendorff_alpha(ratings, measurement=measurement)
    if estimate is None:
        return None
    values = _comparable(_matrix(ratings, measurement))
    given = ~np.isnan(values)
    largest = np.where(given, values, -np.inf).max(axis=0)
    smallest = np.where(given, values, np.inf).min(axis=0)
    parts = _PARTS[measurement](values)

    def alphas(weights: Weights) -> Floats:
        n = weights @ given.sum(axis=0)
        observed, expected = parts(weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = 1 - observed * (n - 1) / expected
        # Rounding can leave differences where there are none.
        found[~varies(smallest, largest, weights)] = np.nan
        return found[:, np.newaxis]

    units = np.arange(values.shape[1], dtype=np.int64)
    (found,) = checked_bootstrap(alphas, units, resampling)
    # To the last digit what the definition gives.
    return replace(found, estimate=estimate)


# ------------------------------------------------------------ disagreements under each weighting

_Parts: TypeAlias = Callable[[Weights], tuple[Floats, Floats]]
"""Observed disagreement of each weighting of the units, and that of all its ordered pairs."""


def _interval_parts(values: Floats) -> _Parts:
    given = ~np.isnan(values)
    # Centred, so that the squares below do not cancel.
    centred = np.where(given, values - values[given].mean(), 0.0)
    per_unit = np.stack(
        [
            _disagreements(values, "interval"),
            given.sum(axis=0),
            centred.sum(axis=0),
            (centred**2).sum(axis=0),
        ],
        axis=1,
    )

    def parts(weights: Weights) -> tuple[Floats, Floats]:
        observed, n, sums, squares = (weights.astype(np.float64) @ per_unit).T
        return observed, 2 * (n * squares - sums**2)

    return parts


def _ordinal_parts(values: Floats) -> _Parts:
    """Squared differences of mid-ranks, which every resample has of its own."""
    units, coders = np.nonzero(~np.isnan(values.T))
    ratings = values.T[units, coders]
    n_coders = np.bincount(units)
    starts = np.cumsum(n_coders) - n_coders

    def parts(weights: Weights) -> tuple[Floats, Floats]:
        each = weights[:, units]
        n = each.sum(axis=1)
        # Centred: a rank is at most n, and its square would cost the digits of small differences.
        ranks = mid_ranks(ratings, each) - n[:, np.newaxis] / 2
        sums = np.add.reduceat(ranks, starts, axis=1)
        squares = np.add.reduceat(ranks**2, starts, axis=1)
        observed = 2 * (weights * (n_coders * squares - sums**2) / (n_coders - 1)).sum(axis=1)
        all_sums, all_squares = (weights * sums).sum(axis=1), (weights * squares).sum(axis=1)
        return observed, 2 * (n * all_squares - all_sums**2)

    return parts


def _nominal_parts(values: Floats) -> _Parts:
    observed, (_, counts) = _disagreements(values, "nominal"), _value_counts(values)

    def parts(weights: Weights) -> tuple[Floats, Floats]:
        each = weights.astype(np.float64)
        totals = each @ counts
        return each @ observed, totals.sum(axis=1) ** 2 - (totals**2).sum(axis=1)

    return parts


def _ratio_parts(values: Floats) -> _Parts:
    observed, (distinct, counts) = _disagreements(values, "ratio"), _value_counts(values)

    def parts(weights: Weights) -> tuple[Floats, Floats]:
        each = weights.astype(np.float64)
        totals = each @ counts
        expected = np.zeros(len(weights))
        # Some values at a time: a table of all pairs would not fit into memory.
        for begin in range(0, len(distinct), _VALUES_AT_ONCE):
            some = slice(begin, begin + _VALUES_AT_ONCE)
            apart = _difference(distinct[:, np.newaxis], distinct[np.newaxis, some], "ratio")
            expected += ((totals @ apart) * totals[:, some]).sum(axis=1)
        return each @ observed, expected

    return parts


_PARTS: Final[dict[Measurement, Callable[[Floats], _Parts]]] = {
    "nominal": _nominal_parts,
    "ordinal": _ordinal_parts,
    "interval": _interval_parts,
    "ratio": _ratio_parts,
}


def _value_counts(values: Floats) -> tuple[Floats, Floats]:
    """The distinct values, and how often each unit has each of them, shape (U, V)."""
    units, coders = np.nonzero(~np.isnan(values.T))
    distinct, places = np.unique(values.T[units, coders], return_inverse=True)
    counts = np.zeros((values.shape[1], len(distinct)))
    np.add.at(counts, (units, places), 1.0)
    return distinct, counts


# ------------------------------------------------------------------------------- one table as it is


def _matrix(ratings: Ratings, measurement: Measurement) -> Floats:
    try:
        values = np.array(ratings, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "ratings must be numbers, with the same number of ratings for each coder"
        ) from None
    if values.ndim != 2:
        raise InputError("ratings must have a row for each coder and a column for each unit")
    if np.isinf(values).any():
        raise InputError("ratings must be finite")
    if measurement == "ratio" and (values < 0).any():
        raise InputError("measurement 'ratio' needs ratings of at least 0; use 'interval'")
    return values


def _comparable(values: Floats) -> Floats:
    """The units that two coders or more have rated."""
    return values[:, (~np.isnan(values)).sum(axis=0) > 1]


def _difference(left: Floats, right: Floats, measurement: Measurement) -> Floats:
    if measurement == "nominal":
        return np.where(np.isnan(left + right), np.nan, left != right)
    apart = left - right
    if measurement == "ratio":
        with np.errstate(invalid="ignore"):
            # Two zeros do not differ.
            apart = np.where(apart == 0, 0.0, apart / (left + right))
    return np.asarray(apart**2, np.float64)


def _disagreements(values: Floats, measurement: Measurement) -> Floats:
    """Per unit, the differences of its ordered pairs by the partners that each rating has."""
    summed = np.zeros(values.shape[1])
    for left, right in combinations(values, 2):
        summed += 2 * np.nan_to_num(_difference(left, right, measurement))
    return np.asarray(summed / ((~np.isnan(values)).sum(axis=0) - 1), np.float64)


def _all_differences(values: Floats, measurement: Measurement) -> float:
    """The differences of all ordered pairs of values, of whatever units."""
    if measurement == "ratio":
        distinct, counts = np.unique(values, return_counts=True)
        return float(
            sum(
                count * (counts @ _difference(distinct, np.full_like(distinct, value), "ratio"))
                for value, count in zip(distinct, counts, strict=True)
            )
        )
    if measurement == "nominal":
        _, counts = np.unique(values, return_counts=True)
        return float(len(values) ** 2 - (counts**2).sum())
    return float(2 * len(values) * ((values - values.mean()) ** 2).sum())
