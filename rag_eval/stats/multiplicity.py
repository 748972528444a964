"""Several tests at once: p values in, p values adjusted for their number out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import is_number


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjusted p values that hold the chance of even one false alarm in the family.

    A test is rejected at ``alpha`` when its adjusted p value is at most ``alpha``. Holds whatever
    the dependence between the tests.

    Parameters
    ----------
    p_values : sequence of float or None
        Between 0 and 1. None and NaN are tests that could not be made: they are not in the family.

    Returns
    -------
    tuple of float or None
        In the order given; None for a test that is not in the family.

    Raises
    ------
    InputError
        For a p value that is not between 0 and 1.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    family = _family(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for place, (p, test) in enumerate(family):
        largest = max(largest, min(1.0, p * (len(family) - place)))
        adjusted[test] = largest
    return tuple(adjusted)


def benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjusted p values that hold the expected share of false alarms among the rejections.

    For looking around in many numbers, not for deciding. Holds for tests that are independent or
    positively dependent.

    Parameters
    ----------
    p_values : sequence of float or None
        Between 0 and 1. None and NaN are tests that could not be made: they are not in the family.

    Returns
    -------
    tuple of float or None
        In the order given; None for a test that is not in the family.

    Raises
    ------
    InputError
        For a p value that is not between 0 and 1.

    References
    ----------
    Benjamini and Hochberg, Controlling the false discovery rate (1995); adjusted p values as in
    Benjamini and Yekutieli (2001).
    """
    family = _family(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    smallest = 1.0
    for rank in range(len(family), 0, -1):
        p, test = family[rank - 1]
        smallest = min(smallest, p * len(family) / rank)
        adjusted[test] = smallest
    return tuple(adjusted)


def _family(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    """The tests that could be made, smallest p value first, each with its place."""
    family = []
    for test, p in enumerate(p_values):
        if p is None or (isinstance(p, float) and math.isnan(p)):
            continue
        if not is_number(p) or not 0 <= p <= 1:
            raise InputError(f"p value {test} must be between 0 and 1, got {p!r}")
        family.append((float(p), test))
    return sorted(family)
