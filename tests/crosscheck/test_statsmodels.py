"""Paired tests, adjusted p values and planning against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest

from rag_eval.stats import (
    benjamini_hochberg,
    holm,
    mcnemar_test,
    minimum_detectable_effect,
    rows_needed,
)

pytestmark = pytest.mark.crosscheck

contingency_tables = pytest.importorskip(
    "statsmodels.stats.contingency_tables", reason="make crosscheck installs statsmodels"
)
multitest = pytest.importorskip("statsmodels.stats.multitest")
power = pytest.importorskip("statsmodels.stats.power")


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_adjusted_p_values_are_those_of_multipletests(n: int) -> None:
    p_values = np.random.default_rng(n).random(n).round(2) ** 2
    for adjust, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        theirs = multitest.multipletests(p_values, method=method)[1]
        assert adjust(p_values.tolist()) == pytest.approx(tuple(theirs), abs=1e-12)


@pytest.mark.parametrize(("n_worse", "n_better"), [(1, 0), (12, 4), (3, 3), (0, 9), (400, 340)])
def test_mcnemar_is_the_exact_one(n_worse: int, n_better: int) -> None:
    theirs = contingency_tables.mcnemar([[50, n_worse], [n_better, 20]], exact=True)
    assert mcnemar_test(n_worse, n_better).p_two_sided == pytest.approx(theirs.pvalue, abs=1e-10)


@pytest.mark.parametrize("n", [5, 20, 200, 2000])
@pytest.mark.parametrize(("one_sided", "alternative"), [(True, "larger"), (False, "two-sided")])
def test_the_smallest_effect_is_that_of_the_paired_t_test(
    n: int, one_sided: bool, alternative: str
) -> None:
    theirs = power.TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8, alternative=alternative)
    ours = minimum_detectable_effect(0.2, n, one_sided=one_sided)
    # Theirs is off by 2e-5 for two sides and 2,000 pairs: numerical integration sides with ours.
    assert ours == pytest.approx(0.2 * theirs, rel=1e-4)


@pytest.mark.parametrize("effect", [0.02, 0.05, 0.2])
def test_rows_needed_are_those_of_the_paired_t_test(effect: float) -> None:
    theirs = power.TTestPower().solve_power(
        effect_size=effect / 0.25, alpha=0.05 / 7, power=0.9, alternative="larger"
    )
    assert rows_needed(effect, 0.25, alpha=0.05 / 7, power=0.9) == int(np.ceil(theirs))
