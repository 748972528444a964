"""Several tests at once: p values in, p values adjusted for their number out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import is_number, whole_from_one
from rag_eval.stats.arrays import Floats


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjusted p values that control the probability of any false alarm in the family.

    A test rejects at ``alpha`` if its adjusted p value is at most ``alpha``. Valid for any
    dependence between the tests.

    Parameters
    ----------
    p_values : sequence of float or None
        Between 0 and 1. None and NaN mark tests that could not be made; they are not in the family.

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
    return _adjusted(
        p_values,
        lambda p: np.maximum.accumulate(np.minimum(1.0, p * np.arange(len(p), 0, -1))),
    )


def benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjusted p values that control the expected share of false alarms among the rejections.

    For exploring many numbers, not for decisions. Valid for tests that are independent or
    positively dependent.

    Parameters, result and errors are those of :func:`holm`.

    References
    ----------
    Benjamini and Hochberg, Controlling the false discovery rate (1995); adjusted p values as in
    Benjamini and Yekutieli (2001).
    """
    return _adjusted(
        p_values,
        lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1],
    )


def spending_level(alpha: float, number: int) -> float:
    """The level of one test in a sequence that has no planned end.

    Test number k has the level ``alpha / sqrt(k) - alpha / sqrt(k + 1)``. The first k tests have
    ``alpha * (1 - 1 / sqrt(k + 1))`` together, so the chance of any false alarm in all of them is
    at most ``alpha``, whatever the dependence between the tests.

    Parameters
    ----------
    alpha : float
        Between 0 and 1.
    number : int
        Of this test, from 1.

    References
    ----------
    Alpha spending as of Foster and Stine, Alpha-investing (2008), and Tian and Ramdas, Online
    control of the familywise error rate (2021); the levels fall like ``k ** -1.5``.
    """
    k = whole_from_one(number, "number")
    return alpha * (1 / math.sqrt(k) - 1 / math.sqrt(k + 1))


def _adjusted(
    p_values: Sequence[float | None], adjust: Callable[[Floats], Floats]
) -> tuple[float | None, ...]:
    """The tests that could be made, adjusted in the order of their p values."""
    family = []
    for test, p in enumerate(p_values):
        if p is None or (isinstance(p, float) and math.isnan(p)):
            continue
        if not is_number(p) or not 0 <= p <= 1:
            raise InputError(f"p value {test} must be between 0 and 1, got {p!r}")
        family.append((float(p), test))
    family.sort()
    found: list[float | None] = [None] * len(p_values)
    for (_, test), p in zip(family, adjust(np.array([p for p, _ in family])).tolist(), strict=True):
        found[test] = p
    return tuple(found)
