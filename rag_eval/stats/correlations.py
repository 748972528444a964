"""Correlations of columns: values and row weights in, one number per weighting out.

A weighting says how often each row counts, so that a resample is a weighting and all of them are
computed at once.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from rag_eval.stats.arrays import Flags, Floats, Whole

Weights: TypeAlias = Whole

# Of what a third column leaves unexplained; less is rounding of columns that say the same.
_NOTHING_LEFT: Final = 1e-12


def one_each(n_rows: int) -> Weights:
    """The weighting in which each row counts once, shape (1, R)."""
    return np.ones((1, n_rows), np.int64)


def mid_ranks(values: Floats, weights: Weights) -> Floats:
    """Rows that come before each row in order of value, and half of those that tie with it.

    Parameters
    ----------
    values : float64, shape (R,)
        Without NaN.
    weights : int64, shape (B, R)

    Returns
    -------
    float64, shape (B, R)
        Half a rank below the usual count from 1 on, which no correlation notices.
    """
    distinct, places = np.unique(values, return_inverse=True)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(len(distinct)))
    ties = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray((np.cumsum(ties, axis=1) - ties / 2)[:, places], np.float64)


def correlations(left: Floats, right: Floats, weights: Weights) -> Floats:
    """Pearson's correlation of two columns under each weighting, shape (B,).

    Parameters
    ----------
    left, right : float64, shape (R,) or (B, R)
        Without NaN.
    weights : int64, shape (B, R)

    Returns
    -------
    float64, shape (B,)
        Within -1 and 1; NaN where either column is constant.
    """
    x, y = _centred(left, weights), _centred(right, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = np.sqrt(_products(x, x, weights)) * np.sqrt(_products(y, y, weights))
        found: Floats = _products(x, y, weights) / lengths
    # With a rounded mean, a constant column would seem to vary.
    found[~varies(left, left, weights) | ~varies(right, right, weights)] = np.nan
    return np.clip(found, -1.0, 1.0)


def partial_correlations(left: Floats, right: Floats, given: Floats, weights: Weights) -> Floats:
    """Pearson's correlation of what a third column leaves unexplained in two others, shape (B,).

    NaN where a column is constant, or one of the two is a linear function of the third.

    References
    ----------
    Cramér, Mathematical Methods of Statistics (1946), section 23.4.
    """
    together = correlations(left, right, weights)
    left_given = correlations(left, given, weights)
    right_given = correlations(right, given, weights)
    left_rest, right_rest = 1 - left_given**2, 1 - right_given**2
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = (together - left_given * right_given) / np.sqrt(left_rest * right_rest)
    found[(left_rest < _NOTHING_LEFT) | (right_rest < _NOTHING_LEFT)] = np.nan
    return np.clip(found, -1.0, 1.0)


def varies(smallest: Floats, largest: Floats, weights: Weights) -> Flags:
    """Whether the rows drawn hold two different values, shape (B,), from each row's own range."""
    drawn = weights > 0
    top = np.where(drawn, largest, -np.inf).max(axis=1, initial=-np.inf)
    bottom = np.where(drawn, smallest, np.inf).min(axis=1, initial=np.inf)
    return np.asarray(top > bottom, np.bool_)


def _centred(values: Floats, weights: Weights) -> Floats:
    means = (weights * values).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(values - means[:, np.newaxis], np.float64)


def _products(left: Floats, right: Floats, weights: Weights) -> Floats:
    return np.asarray(np.einsum("br,br,br->b", weights, left, right), np.float64)
