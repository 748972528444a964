"""Wilcoxon's signed-rank test: paired differences in, how the ranks of gains and losses lie out.

It describes and never decides: it asks whether differences are symmetric about 0, not whether their
mean is 0, so that many small losses outweigh a few large gains.
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
        Sums of the ranks of positive and of negative differences.
    p_two_sided : float or None
        From all sign patterns for at most 50 pairs without equal sizes, else by the normal
        approximation with the variance corrected for ties. None without pairs.
    rank_biserial : float or None
        The first sum less the second over both, between -1 and 1: matched-pairs rank-biserial
        correlation (Kerby 2014). None without pairs.
    exact : bool
        Whether the p value is from all sign patterns.
    """

    n: int = 0
    rank_sum_better: float = 0.0
    rank_sum_worse: float = 0.0
    p_two_sided: float | None = None
    rank_biserial: float | None = None
    exact: bool = False


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
