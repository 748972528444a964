"""Leaderboards beside statsmodels' and scikit-posthocs' comparisons of all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rag_eval.stats.all_pairs import all_pairs
from rag_eval.stats.rank_tests import friedman_test

pytestmark = pytest.mark.crosscheck
pytest.importorskip("statsmodels", reason="make crosscheck installs it")
pytest.importorskip("scikit_posthocs", reason="make crosscheck installs it")


def test_intervals_are_tukeys_where_his_conditions_hold() -> None:
    """Normal scores of one spread, independent also within rows."""
    from statsmodels.stats.multicomp import pairwise_tukeyhsd

    n, k = 2_000, 5
    scores = np.random.default_rng(0).normal(size=(n, k))
    [found] = all_pairs([scores], n_resamples=99_999)
    theirs = pairwise_tukeyhsd(scores.T.ravel(), np.repeat(np.arange(k), n))
    for (a, b), (low, high) in zip(combinations(range(k), 2), theirs.confint, strict=True):
        width = (found.high[b, a] - found.low[b, a]) / (high - low)
        assert width == pytest.approx(1, abs=0.05)
        assert found.differences[b, a] == pytest.approx((low + high) / 2, abs=1e-9)


def test_critical_differences_are_those_at_which_nemenyis_p_value_is_five_percent() -> None:
    from scikit_posthocs import posthoc_nemenyi_friedman

    generator = np.random.default_rng(1)
    for k in (3, 5, 8):
        scores = generator.normal(size=(30, k)) + np.linspace(0, 1.5, k)
        found = friedman_test(scores)
        assert found.critical_difference is not None
        p_values = posthoc_nemenyi_friedman(scores).to_numpy()
        ranks = np.array(found.mean_ranks)
        apart = np.abs(ranks[:, np.newaxis] - ranks) > found.critical_difference
        # Without the pairs so close to the limit that the tables of both differ.
        clear = np.abs(p_values - 0.05) > 0.002
        assert (apart == (p_values < 0.05))[clear].all()
        assert apart.any()
