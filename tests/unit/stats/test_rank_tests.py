"""Friedman's test and Nemenyi's critical difference, against scipy and a published table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from rag_eval.stats.rank_tests import friedman_test
from tests.tables import every_row


@every_row("k, digits", [(3, 6), (3, 1), (5, 1), (8, 6)])
def test_friedman_is_that_of_scipy_with_and_without_ties(k: int, digits: int) -> None:
    scores = np.round(np.random.default_rng(k).random((40, k)), digits)
    found, expected = friedman_test(scores), friedmanchisquare(*scores.T)
    assert found.statistic == pytest.approx(float(expected.statistic))
    assert found.p_value == pytest.approx(float(expected.pvalue))


def test_the_critical_difference_is_that_of_the_published_table() -> None:
    # Demšar (2006), table 5: q is 2.569 for four systems at 0.05; his example has 14 data sets.
    found = friedman_test(np.random.default_rng(0).random((14, 4)))
    assert found.critical_difference == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=2e-3)


def test_the_best_system_has_the_lowest_mean_rank() -> None:
    assert friedman_test([[3, 2, 1], [3, 1, 2]]).mean_ranks == (1.0, 2.5, 2.5)


def test_nothing_to_rank() -> None:
    empty, equal = friedman_test(np.empty((0, 3))), friedman_test(np.ones((5, 3)))
    assert (empty.statistic, empty.critical_difference) == (None, None)
    assert (equal.statistic, equal.p_value, equal.mean_ranks) == (None, None, (2.0, 2.0, 2.0))
