"""Rank tests: paired differences, or rows of scores, in; results of the tests out.

They describe and never decide. They ask whether differences are symmetric about 0, not whether
their mean is 0, so that many small losses outweigh a few large gains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.distributions import normal_cdf

# Counts of sign patterns are exact as doubles up to 2^50.
_MOST_EXACT: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRanks(JsonRecord):
    """Wilcoxon's signed-rank test of paired differences.

    Attributes
    ----------
    n : int
        Pairs whose difference is not 0. Zeros are left out before ranking (Wilcoxon 1945), unlike
        in Pratt's variant.
    rank_sum_better, rank_sum_worse : float
        Sums of the ranks of the positive and of the negative differences.
    p_two_sided : float or None
        From all sign patterns for at most 50 pairs without equal sizes, else by the normal
        approximation with the variance corrected for ties. None without pairs.
    rank_biserial : float or None
        The difference of the two sums divided by their total, from -1 to 1: matched-pairs
        rank-biserial correlation (Kerby 2014). None without pairs.
    exact : bool
        Whether the p value is from all sign patterns.
    """

    n: int = 0
    rank_sum_better: float = 0.0
    rank_sum_worse: float = 0.0
    p_two_sided: float | None = None
    rank_biserial: float | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FriedmanTest(JsonRecord):
    """Friedman's test of several systems, with Nemenyi's critical difference.

    Attributes
    ----------
    n : int
        Rows.
    mean_ranks : tuple of float
        Per system, from 1 (best in every row) on; equal scores share a rank.
    statistic : float or None
        Friedman's chi-square, corrected for ties; None without rows, or if all scores are equal.
    p_value : float or None
        By the chi-square distribution with k - 1 degrees of freedom.
    critical_difference : float or None
        Mean ranks of two systems that are further apart differ at the level of the test.
    """

    n: int
    mean_ranks: tuple[float, ...]
    statistic: float | None
    p_value: float | None
    critical_difference: float | None


def friedman_test(scores: npt.ArrayLike, *, level: float = 0.95) -> FriedmanTest:
    """Friedman's test of the ranks of systems within rows.

    Parameters
    ----------
    scores : array_like, shape (R, k)
        Higher is better; no NaN.
    level : float
        1 less the significance level of the critical difference.

    Returns
    -------
    FriedmanTest

    References
    ----------
    Friedman, The use of ranks to avoid the assumption of normality (1937).
    Demšar, Statistical comparisons of classifiers (2006), for Nemenyi's critical difference.
    """
    from scipy.special import chdtrc
    from scipy.stats import rankdata, studentized_range

    rows = np.asarray(scores, np.float64)
    n, k = rows.shape
    if not n:
        return FriedmanTest(
            n=0,
            mean_ranks=(math.nan,) * k,
            statistic=None,
            p_value=None,
            critical_difference=None,
        )
    ranks = rankdata(-rows, axis=1)
    means = ranks.mean(axis=0)
    # The variance of the ranks of a row, which ties make smaller than k (k + 1) / 12.
    spread = float(np.square(ranks - (k + 1) / 2).sum()) / (n * (k - 1))
    statistic = n * float(np.square(means - (k + 1) / 2).sum()) / spread if spread else None
    width = float(studentized_range.ppf(level, k, np.inf)) / math.sqrt(2)
    return FriedmanTest(
        n=n,
        mean_ranks=tuple(means.tolist()),
        statistic=statistic,
        p_value=None if statistic is None else float(chdtrc(k - 1, statistic)),
        critical_difference=width * math.sqrt(k * (k + 1) / (6 * n)),
    )


def signed_ranks(differences: npt.ArrayLike) -> SignedRanks:
    """Wilcoxon's signed-rank test and its effect size.

    Parameters
    ----------
    differences : array_like, shape (R,)
        Positive is better; NaN where a pair lacks a score.

    Returns
    -------
    SignedRanks

    References
    ----------
    Wilcoxon, Individual comparisons by ranking methods (1945).
    Kerby, The simple difference formula: an approach to teaching nonparametric correlation (2014).
    """
    column = np.asarray(differences, np.float64)
    moved = column[~np.isnan(column) & (column != 0)]
    if not len(moved):
        return SignedRanks()
    ranks, tie_counts = _ranks(np.abs(moved))
    better, worse = float(ranks[moved > 0].sum()), float(ranks[moved < 0].sum())
    exact = len(moved) <= _MOST_EXACT and int(tie_counts.max()) == 1
    smaller = min(better, worse)
    p = _exact_p(int(smaller), len(moved)) if exact else _normal_p(smaller, len(moved), tie_counts)
    return SignedRanks(
        n=len(moved),
        rank_sum_better=better,
        rank_sum_worse=worse,
        p_two_sided=p,
        rank_biserial=(better - worse) / (better + worse),
        exact=exact,
    )


def _ranks(sizes: Floats) -> tuple[Floats, Whole]:
    """Ranks from 1 on, the mean of them for equal sizes; how many share each size."""
    _, places, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[places], counts


def _exact_p(smaller: int, n: int) -> float:
    """Twice the share of sign patterns whose rank sum is at most the smaller one."""
    patterns = np.zeros(n * (n + 1) // 2 + 1)
    patterns[0] = 1.0
    for rank in range(1, n + 1):
        patterns[rank:] += patterns[:-rank].copy()
    return min(1.0, 2.0 * float(patterns[: smaller + 1].sum()) / 2.0**n)


def _normal_p(smaller: float, n: int, tie_counts: Whole) -> float:
    mean = n * (n + 1) / 4
    ties = tie_counts.astype(np.float64)
    variance = n * (n + 1) * (2 * n + 1) / 24 - float(np.sum(ties**3 - ties)) / 48
    return 2.0 * normal_cdf((smaller - mean) / math.sqrt(variance))
