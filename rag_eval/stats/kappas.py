"""Cohen's kappa, plain and weighted: two columns and row weights in, one number per weighting out.

A kappa is 1 minus the observed disagreement divided by that of raters with the same habits who are
paired by chance. Values count by how far they are apart, not by their place in a list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import numpy as np

from rag_eval.stats.arrays import Floats
from rag_eval.stats.correlations import Weights, varies

Disagreement: TypeAlias = Literal["nominal", "linear", "quadratic"]
"""What of two values counts: that they differ, how far they are apart, or its square."""


def kappas(left: Floats, right: Floats, weights: Weights, disagreement: Disagreement) -> Floats:
    """Cohen's kappa of two raters under each weighting, shape (B,).

    Parameters
    ----------
    left, right : float64, shape (R,)
        Without NaN; numbers of categories, or scores.
    weights : int64, shape (B, R)
    disagreement : {"nominal", "linear", "quadratic"}

    Returns
    -------
    float64, shape (B,)
        At most 1; NaN where both raters say one and the same of all rows.

    References
    ----------
    Cohen, Weighted kappa (1968).
    """
    apart = _APART[disagreement](left, right)
    observed = weights @ apart / weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = 1 - observed / _BY_CHANCE[disagreement](left, right, weights)
    found[~varies(np.minimum(left, right), np.maximum(left, right), weights)] = np.nan
    return found


_APART: Final[dict[Disagreement, Callable[[Floats, Floats], Floats]]] = {
    "nominal": lambda left, right: (left != right).astype(np.float64),
    "linear": lambda left, right: np.abs(left - right),
    "quadratic": lambda left, right: (left - right) ** 2,
}


def _nominal_by_chance(left: Floats, right: Floats, weights: Weights) -> Floats:
    distinct = np.union1d(left, right)
    same = _shares(left, distinct, weights) * _shares(right, distinct, weights)
    return np.asarray(1 - same.sum(axis=1), np.float64)


def _linear_by_chance(left: Floats, right: Floats, weights: Weights) -> Floats:
    """Mean distance of two independent draws: of each step between values, how often it is met."""
    distinct = np.union1d(left, right)
    below_left = np.cumsum(_shares(left, distinct, weights), axis=1)[:, :-1]
    below_right = np.cumsum(_shares(right, distinct, weights), axis=1)[:, :-1]
    met = below_left * (1 - below_right) + below_right * (1 - below_left)
    return np.asarray(met @ np.diff(distinct), np.float64)


def _quadratic_by_chance(left: Floats, right: Floats, weights: Weights) -> Floats:
    """Mean square of the distance: both variances and the square of the means' distance."""
    n = weights.sum(axis=1)
    # Centred, so that the squares do not cancel.
    middle = (left.mean() + right.mean()) / 2
    left_mean, right_mean = weights @ (left - middle) / n, weights @ (right - middle) / n
    squares = weights @ ((left - middle) ** 2 + (right - middle) ** 2) / n
    return np.asarray(squares - 2 * left_mean * right_mean, np.float64)


_BY_CHANCE: Final[dict[Disagreement, Callable[[Floats, Floats, Weights], Floats]]] = {
    "nominal": _nominal_by_chance,
    "linear": _linear_by_chance,
    "quadratic": _quadratic_by_chance,
}


def _shares(values: Floats, distinct: Floats, weights: Weights) -> Floats:
    """How much of each weighting has each value, shape (B, V)."""
    order = np.argsort(values, kind="stable")
    counted = np.zeros((len(weights), len(values) + 1), np.int64)
    np.cumsum(weights[:, order], axis=1, out=counted[:, 1:])
    bounds = np.searchsorted(values[order], distinct, "left")
    ends = np.searchsorted(values[order], distinct, "right")
    found = (counted[:, ends] - counted[:, bounds]) / counted[:, -1:]
    return np.asarray(found, np.float64)
