"""Effect sizes and signed ranks: against their definitions and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from rag_eval.stats import cliffs_delta, cohens_d_z, hedges_g, hedges_g_z, signed_ranks
from tests.tables import every_row


def test_d_z_is_the_mean_over_the_spread() -> None:
    assert cohens_d_z([1.0, 2.0, 3.0, math.nan]) == 2.0
    assert cohens_d_z([-1.0, -2.0, -3.0]) == -2.0


def test_g_z_is_smaller_by_the_bias_of_d_z() -> None:
    differences = np.random.default_rng(0).normal(0.3, 1, 12)
    d_z = cohens_d_z(differences)
    n_free = 11
    factor = math.gamma(n_free / 2) / (math.sqrt(n_free / 2) * math.gamma((n_free - 1) / 2))
    assert d_z is not None
    assert hedges_g_z(differences) == pytest.approx(d_z * factor, abs=1e-12)
    assert factor == pytest.approx(1 - 3 / (4 * n_free - 1), abs=1e-3)


def test_g_of_independent_runs_is_over_the_pooled_spread() -> None:
    left, right = [1.0, 2.0, 3.0, 4.0], [3.0, 5.0, 7.0, math.nan]
    pooled = math.sqrt((3 * np.var(left, ddof=1) + 2 * np.var(right[:3], ddof=1)) / 5)
    factor = math.gamma(2.5) / (math.sqrt(2.5) * math.gamma(2))
    assert hedges_g(left, right) == pytest.approx(2.5 / pooled * factor, abs=1e-12)


def test_effects_without_a_spread_or_rows_are_undefined() -> None:
    assert cohens_d_z([0.1] * 10) is None  # whose mean is rounded
    assert cohens_d_z([0.5]) is None
    assert cohens_d_z([]) is None
    assert hedges_g_z([0.1, 0.2]) is None
    assert hedges_g([0.1, 0.1], [0.2, 0.2]) is None
    assert hedges_g([0.1, 0.3], [0.2]) is None
    assert cliffs_delta([], [0.1]) is None
    assert cliffs_delta([math.nan], [0.1]) is None


def test_cliffs_delta_is_the_chance_of_more_less_that_of_less() -> None:
    generator = np.random.default_rng(2)
    left, right = generator.integers(0, 5, 30) / 4, generator.integers(1, 6, 20) / 4
    pairs = np.sign(right[:, np.newaxis] - left)
    assert cliffs_delta(left, right) == pytest.approx(pairs.mean(), abs=1e-12)
    assert cliffs_delta([0, 0], [1]) == 1.0
    assert cliffs_delta([1], [0, 0]) == -1.0
    assert cliffs_delta([1, 1], [1]) == 0.0


# -------------------------------------------------------------------------------- signed ranks


@every_row("n", [1, 2, 5, 20, 50])
def test_few_distinct_differences_are_ranked_exactly(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.3, 1, n)
    result = signed_ranks(differences)
    theirs = scipy.stats.wilcoxon(differences, method="exact")
    assert result.exact
    assert result.p_two_sided == pytest.approx(theirs.pvalue, abs=1e-12)
    assert min(result.rank_sum_better, result.rank_sum_worse) == theirs.statistic


@every_row("decimals", [0, 1, 6])
def test_many_or_equal_differences_are_approximated(decimals: int) -> None:
    differences = np.random.default_rng(3).normal(0.2, 1, 70).round(decimals)
    result = signed_ranks(np.append(differences, [math.nan, 0.0]))
    moved = differences[differences != 0]
    theirs = scipy.stats.wilcoxon(moved, method="asymptotic", correction=False)
    assert not result.exact
    assert result.n == len(moved)
    assert result.p_two_sided == pytest.approx(theirs.pvalue, abs=1e-12)
    assert min(result.rank_sum_better, result.rank_sum_worse) == theirs.statistic


def test_equal_differences_are_approximated_however_few() -> None:
    assert not signed_ranks([0.1, 0.1, -0.2]).exact
    assert signed_ranks([0.1, 0.3, -0.2]).exact


def test_rank_biserial_is_the_share_of_gains_less_that_of_losses() -> None:
    assert signed_ranks([0.1, 0.3, -0.2]).rank_biserial == pytest.approx((4 - 2) / 6)
    assert signed_ranks([-0.1, -0.3]).rank_biserial == -1.0


def test_where_nothing_moved_there_are_no_ranks() -> None:
    assert signed_ranks([0.0, math.nan]).to_dict() == {
        "n": 0,
        "rankSumBetter": 0.0,
        "rankSumWorse": 0.0,
        "pTwoSided": None,
        "rankBiserial": None,
        "exact": False,
    }
