"""Kendall's tau-b: two columns and row weights in, one number per weighting out.

Which pairs of rows agree in order is the same in every resample, only their weights differ. So the
sorting is done once, and a resample of R rows costs O(R log R).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag_eval.stats.arrays import Flags, Floats
from rag_eval.stats.correlations import Weights


def kendall_taus(left: Floats, right: Floats, weights: Weights) -> Floats:
    """Kendall's tau-b of two columns under each weighting, shape (B,).

    Parameters
    ----------
    left, right : float64, shape (R,)
        Without NaN.
    weights : int64, shape (B, R)
        How often each row counts; copies of a row tie with each other.

    Returns
    -------
    float64, shape (B,)
        Within -1 and 1; NaN where either column is constant.

    References
    ----------
    Kendall, The treatment of ties in ranking problems (1945).
    """
    n_pairs = _pairs(weights.sum(axis=1))
    left_ties, right_ties = _tied_pairs(left, weights), _tied_pairs(right, weights)
    # Rows of a complex number are compared by both parts.
    both_ties = _tied_pairs(left + 1j * right, weights)
    untied = n_pairs - left_ties - right_ties + both_ties
    balance = 2 * _rising_pairs(left, right, weights) - untied
    with np.errstate(invalid="ignore", divide="ignore"):
        roots = np.sqrt((n_pairs - left_ties).astype(np.float64))
        found: Floats = balance / (roots * np.sqrt((n_pairs - right_ties).astype(np.float64)))
    found[(n_pairs == left_ties) | (n_pairs == right_ties)] = np.nan
    return np.clip(found, -1.0, 1.0)


def _pairs(n: Weights) -> Weights:
    return n * (n - 1) // 2


def _tied_pairs(values: npt.NDArray[np.inexact], weights: Weights) -> Weights:
    _, places = np.unique(values, return_inverse=True)
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    groups = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray(_pairs(groups).sum(axis=1), np.int64)


def _rising_pairs(left: Floats, right: Floats, weights: Weights) -> Weights:
    """Pairs of rows where one is larger than the other in both columns."""
    # Ties on the left are in falling order, so that only rising pairs rise in this order.
    order = np.lexsort((-right, left))
    found = np.zeros(len(weights), np.int64)
    for places, is_first, starts in _merges(right[order]):
        merged = weights[:, order[places]]
        firsts = np.zeros((len(weights), len(left) + 1), np.int64)
        np.cumsum(np.where(is_first, merged, 0), axis=1, out=firsts[:, 1:])
        # Those of a row's own block alone: a pair of two blocks is met when they are merged.
        smaller = firsts[:, :-1] - firsts[:, starts]
        found += (np.where(is_first, 0, merged) * smaller).sum(axis=1)
    return found


class _Merge(NamedTuple):
    """Blocks of two halves, each sorted: the places of its rows, first halves, block starts."""

    places: npt.NDArray[np.intp]
    is_first: Flags
    starts: npt.NDArray[np.intp]


def _merges(values: Floats) -> Iterator[_Merge]:
    """Blocks of 2, 4, 8 rows and so on, in the order of their values."""
    rows = np.arange(len(values))
    size = 1
    while size < len(values):
        second = (rows // size) % 2
        blocks = rows // (2 * size)
        # Of equal values the second half comes first, so that none of the first is below it.
        places = np.lexsort((1 - second, values, blocks))
        yield _Merge(places, second[places] == 0, blocks * (2 * size))
        size *= 2
