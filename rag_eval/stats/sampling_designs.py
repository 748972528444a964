"""Rows to be drawn without replacement: a size and a seed in, rows and their probabilities out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import seed_number, whole_from_one
from rag_eval.stats.arrays import Floats, Whole

LEAST_PER_STRATUM: Final = 2
"""Two rows are the fewest that tell a spread."""
_LEAST_SPREAD: Final = 0.25


@dataclass(frozen=True, slots=True)
class RowDraw:
    """Rows that were drawn.

    Attributes
    ----------
    rows : int64, shape (n,)
        Ascending.
    probabilities : float64, shape (n,)
        Exact inclusion probability of each row.
    strata : int64, shape (n,), or None
    """

    rows: Whole = field(repr=False)
    probabilities: Floats = field(repr=False)
    strata: Whole | None = field(default=None, repr=False)


def uniform_draw(n_rows: int, n_drawn: int, *, seed: int) -> RowDraw:
    """Draw rows with equal probabilities, n / N.

    Parameters
    ----------
    n_rows, n_drawn : int
    seed : int
    """
    generator = _generator(n_rows, n_drawn, seed)
    rows = np.sort(generator.choice(n_rows, n_drawn, replace=False, shuffle=False))
    return RowDraw(rows.astype(np.int64), np.full(n_drawn, n_drawn / n_rows))


def inclusion_probabilities(sizes: npt.ArrayLike, n_drawn: int) -> Floats:
    """Probabilities in proportion to sizes, none above 1, that add up to the number drawn.

    Parameters
    ----------
    sizes : array-like of float, shape (N,)
        Above 0.
    n_drawn : int

    Returns
    -------
    float64, shape (N,)
        Rows that would get more than 1 get 1, and the others the rest in proportion.
    """
    found = np.asarray(sizes, np.float64)
    if found.ndim != 1 or not np.all(np.isfinite(found) & (found > 0)):
        raise InputError("sizes must be finite numbers above 0")
    whole_from_one(n_drawn, "the number of rows to draw")
    if n_drawn > len(found):
        raise InputError(f"cannot draw {n_drawn:,} of {len(found):,} rows")
    shares = np.ones(len(found))
    open_rows = np.arange(len(found))
    while len(open_rows):
        n_left = n_drawn - (len(found) - len(open_rows))
        shares[open_rows] = found[open_rows] / found[open_rows].sum() * n_left
        certain = shares[open_rows] >= 1
        if not certain.any():
            break
        shares[open_rows[certain]] = 1.0
        open_rows = open_rows[~certain]
    return shares


def proportional_draw(sizes: npt.ArrayLike, n_drawn: int, *, seed: int) -> RowDraw:
    """Draw rows with probabilities proportional to sizes: systematic sampling in random order.

    The rows are laid along a line in random order, each as long as its probability; those at a
    random start and at every whole step from it are drawn. This keeps each row's probability
    exactly, and the number of rows is fixed.

    Parameters
    ----------
    sizes : array of float
        A number above 0 for each row.
    n_drawn : int
    seed : int

    References
    ----------
    Goodman and Kish, Controlled selection (1950); Hartley and Rao, Sampling with unequal
    probabilities and without replacement (1962).
    """
    probabilities = inclusion_probabilities(sizes, n_drawn)
    generator = _generator(len(probabilities), n_drawn, seed)
    order = generator.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    ends *= n_drawn / ends[-1]  # rounding must not lose the last one
    steps = generator.random() + np.arange(n_drawn)
    places = np.minimum(np.searchsorted(ends, steps, side="right"), len(order) - 1)
    rows = np.sort(order[places]).astype(np.int64)
    return RowDraw(rows, probabilities[rows])


def neyman_allocation(n_rows: Sequence[int], spreads: Sequence[float], n_drawn: int) -> list[int]:
    """Number of rows to draw from each stratum, in proportion to its rows times its spread.

    Parameters
    ----------
    n_rows : sequence of int, shape (H,)
        Number of rows in each stratum.
    spreads : sequence of float, shape (H,)
        Standard deviation of labels in each stratum, assumed or from a pilot; 0 or more.
    n_drawn : int

    Returns
    -------
    list of int
        At least two rows of each stratum, or all if it has fewer.

    Raises
    ------
    InputError
        If there are too few rows to draw, or to draw from.

    References
    ----------
    Neyman, On the two different aspects of the representative method (1934); Wright, The
    equivalence of Neyman optimum allocation for sampling and equal proportions (2012).
    """
    least = [min(LEAST_PER_STRATUM, n) for n in n_rows]
    if not sum(least) <= n_drawn <= sum(n_rows):
        raise InputError(
            f"cannot draw {n_drawn:,} of {sum(n_rows):,} rows in {len(n_rows)} strata with at "
            f"least {LEAST_PER_STRATUM} rows each"
        )
    if len(spreads) != len(n_rows) or not all(0 <= s < float("inf") for s in spreads):
        raise InputError(
            f"spreads must be {len(n_rows)} numbers of at least 0, got {spreads!r:.80}"
        )
    sizes = [n * spread for n, spread in zip(n_rows, spreads, strict=True)]
    drawn = list(least)
    # One by one to where a row takes most off the variance: whole numbers at once (Wright).
    for _ in range(n_drawn - sum(least)):
        open_strata = [h for h, n in enumerate(n_rows) if drawn[h] < n]
        best = max(open_strata, key=lambda h: (_priority(sizes[h], drawn[h]), n_rows[h] - drawn[h]))
        drawn[best] += 1
    return drawn


def _priority(size: float, drawn: int) -> float:
    return size / math.sqrt(drawn * (drawn + 1))


def stratified_draw(
    strata: npt.ArrayLike, spreads: Sequence[float], n_drawn: int, *, seed: int
) -> RowDraw:
    """Draw rows from each stratum, as many as :func:`neyman_allocation` gives.

    Parameters
    ----------
    strata : array-like of int, shape (N,)
        The stratum of each row, from 0 to H - 1; no stratum may be empty.
    spreads : sequence of float, shape (H,)
    n_drawn, seed : int
    """
    numbers = np.asarray(strata, np.int64)
    generator = _generator(len(numbers), n_drawn, seed)
    n_rows = np.bincount(numbers).tolist()
    allocation = neyman_allocation(n_rows, spreads, n_drawn)
    parts = [
        generator.choice(np.flatnonzero(numbers == stratum), n, replace=False)
        for stratum, n in enumerate(allocation)
    ]
    rows = np.sort(np.concatenate(parts)).astype(np.int64)
    shares = np.array([n / total for n, total in zip(allocation, n_rows, strict=True)])
    return RowDraw(rows, shares[numbers[rows]], numbers[rows])


def score_strata(scores: npt.ArrayLike, n_strata: int) -> Whole:
    """Cut rows into strata of about as many rows each, by their scores.

    Rows of one score share a stratum, so that there may be fewer strata, but at least two where
    there are two scores. Rows without a score (NaN) are a stratum of their own, the last one.
    """
    values = np.asarray(scores, np.float64)
    whole_from_one(n_strata, "the number of strata")
    null = np.isnan(values)
    found = np.zeros(len(values), np.int64)
    if not null.all():
        edges = np.quantile(values[~null], np.arange(1, n_strata) / n_strata)
        known = values[~null]
        places = np.searchsorted(edges, known, side="right")
        # Where most rows have the lowest score, all edges are that one.
        if len(np.unique(places)) == 1:
            places = (known > known.min()).astype(np.int64)
        found[~null] = places
    found[null] = n_strata
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def assumed_spreads(scores: npt.ArrayLike) -> Floats:
    """How far labels of 0 and 1 may spread at each score, if scores are like their probability.

    Parameters
    ----------
    scores : array-like of float
        In 0..1; what is outside is taken as the nearest, NaN as 0.5.

    Returns
    -------
    float64, of the shape of ``scores``
        ``sqrt(score * (1 - score))``, at least a quarter: a score that is sure of itself may be
        wrong all the same, so no row is drawn less than half as probably as any other.
    """
    found = np.clip(np.nan_to_num(np.asarray(scores, np.float64), nan=0.5), 0.0, 1.0)
    return np.asarray(np.maximum(np.sqrt(found * (1 - found)), _LEAST_SPREAD))


def _generator(n_rows: int, n_drawn: int, seed: int) -> np.random.Generator:
    whole_from_one(n_drawn, "the number of rows to draw")
    if n_drawn > n_rows:
        raise InputError(f"cannot draw {n_drawn:,} of {n_rows:,} rows")
    return np.random.default_rng(seed_number(seed))
