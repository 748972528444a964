"""Two raters of the same rows: their values in, how far they agree and with what interval out."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias

import numpy as np

from rag_eval.errors import InputError
from rag_eval.stats.arrays import Flags, Floats
from rag_eval.stats.bootstrap import checked_bootstrap
from rag_eval.stats.concordance import kendall_taus
from rag_eval.stats.correlations import Weights, correlations, mid_ranks, one_each
from rag_eval.stats.groups import group_numbers
from rag_eval.stats.index_sources import Indices, Resampling
from rag_eval.stats.intervals import Interval
from rag_eval.stats.kappas import kappas

Coefficient: TypeAlias = Literal[
    "cohen_kappa", "linear_kappa", "quadratic_kappa", "pearson", "spearman", "kendall"
]

Column: TypeAlias = Sequence[float | None] | Floats
"""A number per row; None or NaN where the rater gave none."""


def _spearman(left: Floats, right: Floats, weights: Weights) -> Floats:
    return correlations(mid_ranks(left, weights), mid_ranks(right, weights), weights)


_COEFFICIENTS: Final[dict[Coefficient, Callable[[Floats, Floats, Weights], Floats]]] = {
    "cohen_kappa": partial(kappas, disagreement="nominal"),
    "linear_kappa": partial(kappas, disagreement="linear"),
    "quadratic_kappa": partial(kappas, disagreement="quadratic"),
    "pearson": correlations,
    "spearman": _spearman,
    "kendall": kendall_taus,
}

COEFFICIENTS: Final[tuple[Coefficient, ...]] = tuple(_COEFFICIENTS)


def cohen_kappa(left: Sequence[Hashable], right: Sequence[Hashable]) -> float | None:
    """Cohen's kappa: agreement on categories beyond that of raters paired by chance.

    Parameters
    ----------
    left, right : sequence of str, int, bool or anything else that is hashable
        The category of each row; rows in which either is None or NaN are left out.

    Returns
    -------
    float or None
        1 for perfect agreement, 0 for chance; None without rows, or if both raters give the same
        single category to all.

    References
    ----------
    Cohen, A coefficient of agreement for nominal scales (1960).
    """
    numbers: dict[Hashable, int] = {}

    def numbered(column: Sequence[Hashable]) -> list[float | None]:
        return [
            None if value is None or value != value else numbers.setdefault(value, len(numbers))
            for value in column
        ]

    return _found("cohen_kappa", numbered(left), numbered(right))


def weighted_kappa(
    left: Column, right: Column, *, weights: Literal["linear", "quadratic"] = "quadratic"
) -> float | None:
    """Cohen's kappa weighted by the distance of two values, or by its square.

    Parameters
    ----------
    left, right : sequence of float or None
        Scores or category numbers; the distance is that of the values, so 1 and 3 are twice as far
        apart as 1 and 2 even if no rating is 2.
    weights : {"quadratic", "linear"}

    Returns
    -------
    float or None
        None in the same cases as for :func:`cohen_kappa`.

    References
    ----------
    Cohen, Weighted kappa (1968).
    """
    if weights not in ("linear", "quadratic"):
        raise InputError(f"weights must be 'linear' or 'quadratic', got {weights!r}")
    return _found("linear_kappa" if weights == "linear" else "quadratic_kappa", left, right)


def pearson(left: Column, right: Column) -> float | None:
    """Pearson's correlation; None for fewer than two rows or a constant column."""
    return _found("pearson", left, right)


def spearman(left: Column, right: Column) -> float | None:
    """Spearman's rank correlation, ties at their middle rank; None as for :func:`pearson`."""
    return _found("spearman", left, right)


def kendall(left: Column, right: Column) -> float | None:
    """Kendall's tau-b, which allows for ties; None as for :func:`pearson`."""
    return _found("kendall", left, right)


def agreement_intervals(
    left: Column,
    right: Column,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
    *,
    groups: Iterable[object] | None = None,
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
    indices: Indices | None = None,
) -> dict[Coefficient, Interval | None]:
    """Agreement coefficients of two raters, with intervals from the same resamples of rows.

    Parameters
    ----------
    left, right : sequence of float or None
        Ratings; rows in which either is None or NaN are left out.
    coefficients : sequence of str
        Among ``cohen_kappa`` (of numbers as categories), ``linear_kappa``, ``quadratic_kappa``,
        ``pearson``, ``spearman`` and ``kendall``.
    groups : iterable, optional
        The group of each row; whole groups are resampled.
    seed, n_resamples, level, indices
        As for :func:`rag_eval.stats.group_bootstrap`.

    Returns
    -------
    dict
        An Interval by name; None if the coefficient is undefined. ``n_undefined`` counts the
        resamples on which it is undefined; above 5 % there are no bounds.
    """
    resampling = Resampling(seed=seed, n_resamples=n_resamples, level=level, indices=indices)
    return coefficient_intervals(left, right, coefficients, resampling, groups=groups)


def coefficient_intervals(
    left: Column,
    right: Column,
    coefficients: Sequence[Coefficient],
    resampling: Resampling,
    *,
    groups: Iterable[object] | None = None,
) -> dict[Coefficient, Interval | None]:
    """The intervals of :func:`agreement_intervals`."""
    for name in coefficients:
        if name not in _COEFFICIENTS:
            known = ", ".join(map(repr, COEFFICIENTS))
            raise InputError(f"a coefficient must be one of {known}, got {name!r}")
    x, y, kept = _both(left, right)
    numbers = np.arange(len(kept)) if groups is None else group_numbers(groups)
    if len(numbers) != len(kept):
        raise InputError(
            f"groups must have one value for each of {len(kept)} rows, got {len(numbers)}"
        )
    if len(x) < 1 or not coefficients:
        return dict.fromkeys(coefficients)

    def all_of_them(weights: Weights) -> Floats:
        return np.stack([_COEFFICIENTS[name](x, y, weights) for name in coefficients], axis=1)

    found = checked_bootstrap(all_of_them, numbers[kept], resampling)
    return {
        name: None if math.isnan(one.estimate) else one
        for name, one in zip(coefficients, found, strict=True)
    }


def _found(name: Coefficient, left: Column, right: Column) -> float | None:
    x, y, _ = _both(left, right)
    if not len(x):
        return None
    (found,) = _COEFFICIENTS[name](x, y, one_each(len(x))).tolist()
    return None if math.isnan(found) else float(found)


def _both(left: Column, right: Column) -> tuple[Floats, Floats, Flags]:
    """The rows that both raters rated, and their places."""
    if len(left) != len(right):
        raise InputError(f"two raters must have rated the same rows, got {len(left)}, {len(right)}")
    try:
        columns = np.array([left, right], np.float64)
    except (TypeError, ValueError):
        raise InputError("ratings must be numbers, or None") from None
    if columns.ndim != 2 or np.isinf(columns).any():
        raise InputError("ratings must be finite numbers, or None")
    kept = np.asarray(~np.isnan(columns).any(axis=0), np.bool_)
    return columns[0, kept], columns[1, kept], kept
