"""What rows without a score could do to a mean: counts and a mean in, its bounds out."""

from __future__ import annotations

from dataclasses import dataclass

from rag_eval.errors import InputError
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.stats.moment_intervals import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCaseMean(JsonRecord):
    """Range of the mean of all rows, for any scores of the rows without one.

    Attributes
    ----------
    low, high : float
        The mean if all nulls were at the lower bound, and at the upper one. It is about these rows
        only; the confidence interval is about others.
    n, n_rows : int
        Number of rows with a score, and of all rows.
    """

    low: float
    high: float
    n: int
    n_rows: int


def worst_case_mean(n: int, n_rows: int, mean: float, bounds: Bounds = (0.0, 1.0)) -> WorstCaseMean:
    """The smallest and largest possible mean of all rows, including nulls.

    Parameters
    ----------
    n, n_rows : int
        Number of rows with a score, and of all rows (at least 1).
    mean : float
        Mean of the rows with a score; ignored if there are none.
    bounds : (float, float)
        Smallest and largest possible score.

    Raises
    ------
    InputError
        For more scores than rows, no rows, or a mean out of bounds.

    References
    ----------
    Manski, Partial Identification of Probability Distributions (2003), chapter 1.
    """
    if not 0 <= n <= n_rows or not n_rows:
        raise InputError(f"n must be from 0 to n_rows (at least 1), got {n} of {n_rows}")
    low, high = bounds
    if n and not low <= mean <= high:
        raise InputError(f"mean must be from {low:g} to {high:g} (bounds), got {mean:g}")
    total, n_null = (n * mean if n else 0.0), n_rows - n
    return WorstCaseMean(
        low=(total + n_null * low) / n_rows,
        high=(total + n_null * high) / n_rows,
        n=n,
        n_rows=n_rows,
    )
