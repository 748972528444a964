"""Which rows of two runs have a score in; whether scores went missing out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from rag_eval.comparing.pairing import RowTable
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.stats.arrays import Floats
from rag_eval.stats.paired import mcnemar_test

LARGE_RISE: Final = 0.01
"""A larger rise of the share of nulls is reported, whatever the test says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NullChange(JsonRecord):
    """How many rows of both runs have no score.

    Attributes
    ----------
    n_rows : int
        Rows in both runs.
    n_old, n_new : int
        Of these, rows without a score in the old and in the new run, in at least one repeat.
    n_lost, n_gained : int
        Rows with a score before and none now, and the reverse. Repeated rows count where the
        share of their repeats without a score rose, or fell.
    p_worse : float
        McNemar's exact test, one-sided, of "as many scores were gained as were lost".
    flagged : bool
        The test rejects, or the share rose by more than :data:`LARGE_RISE`: the two means may
        cover different rows.
    """

    n_rows: int
    n_old: int
    n_new: int
    n_lost: int
    n_gained: int
    p_worse: float
    flagged: bool


def null_change(table: RowTable, name: str, alpha: float) -> NullChange:
    """The nulls of one metric in the rows of both runs."""
    both = table.in_both
    old, new = (shares[both] for shares in table.nulls(name))
    n_rows, n_lost, n_gained = len(old), int((new > old).sum()), int((new < old).sum())
    p_worse = mcnemar_test(n_lost, n_gained).p_worse
    rise = float((new - old).mean()) if n_rows else 0.0
    return NullChange(
        n_rows=n_rows,
        n_old=int((old > 0).sum()),
        n_new=int((new > 0).sum()),
        n_lost=n_lost,
        n_gained=n_gained,
        p_worse=p_worse,
        flagged=p_worse <= alpha or rise > LARGE_RISE,
    )


def worst_case_difference(
    table: RowTable, name: str, low: float, high: float
) -> tuple[float, float]:
    """Smallest and largest possible mean difference of the rows in both runs.

    Every null takes the lower or the upper bound of the metric, whichever moves the mean further.
    This assumes nothing about why scores are missing. Without nulls both are the mean difference.

    References
    ----------
    Manski, Partial Identification of Probability Distributions (2003), chapter 1.
    """
    both = table.in_both
    old, new = (scores[both] for scores in table.column(name))
    if not len(old):
        return float("nan"), float("nan")
    least = _filled(new, low) - _filled(old, high)
    largest = _filled(new, high) - _filled(old, low)
    return float(least.mean()), float(largest.mean())


def _filled(scores: Floats, value: float) -> Floats:
    return np.where(np.isnan(scores), value, scores)
