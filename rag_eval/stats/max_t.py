"""Several tests on one draw of signs: statistics of every pattern in, adjusted p values out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rag_eval.stats.arrays import Floats

# Statistics have variance 1 over the patterns: those that are equal but for rounding are closer.
_ROUNDING = 1e-9


def max_t(statistics: Sequence[Floats], p_values: Sequence[float]) -> list[float]:
    """Adjusted p values that control the probability of any false alarm in the family.

    Step-down: the largest statistic is compared with the largest of all tests in each pattern, the
    next with the largest of all but the first, and so on. Tests that rise and fall together are
    compared with little more than one of them would be, where Holm's rule counts each.

    Parameters
    ----------
    statistics : sequence of float64, shape (P,) each
        Of each test under the same sign patterns; the first pattern is the one found. High
        values are extreme, and all tests have about the same spread.
    p_values : sequence of float
        Of the tests alone. Where one is larger than the share of patterns at least as extreme, such
        as one raised for skewness, its test counts as extreme as a pattern with that p value.

    Returns
    -------
    list of float
        None below the p value of the test alone.

    References
    ----------
    Westfall and Young, Resampling-based multiple testing (1993), algorithm 2.8.
    Romano and Wolf, Exact and approximate stepdown methods for multiple hypothesis testing (2005).
    """
    found = [_found(one, p) for one, p in zip(statistics, p_values, strict=True)]
    order = sorted(range(len(found)), key=lambda test: (-found[test], test))
    adjusted = [1.0] * len(found)
    largest = np.full(len(statistics[0]) if statistics else 0, -np.inf)
    for test in reversed(order):
        np.maximum(largest, statistics[test], out=largest)
        share = int(np.count_nonzero(largest >= found[test] - _ROUNDING)) / len(largest)
        adjusted[test] = max(share, float(p_values[test]))
    least = 0.0
    for test in order:
        least = adjusted[test] = max(least, adjusted[test])
    return adjusted


def critical_t(statistics: Sequence[Floats], alpha: float) -> float:
    """The statistic that a single test needs for an adjusted p value of ``alpha``."""
    largest = np.sort(np.maximum.reduce(list(statistics)))
    return float(largest[-max(1, math.floor(alpha * len(largest)))])


def _found(statistics: Floats, p_value: float) -> float:
    """The observed statistic, or the one with this p value if that is less extreme."""
    n_patterns = len(statistics)
    rank = min(n_patterns, max(1, math.ceil(p_value * n_patterns - _ROUNDING)))
    at_p = np.partition(statistics, n_patterns - rank)[n_patterns - rank]
    return float(min(statistics[0], at_p))
