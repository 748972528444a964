"""Holm and Benjamini-Hochberg: against their definitions, scipy, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from rag_eval.errors import InputError
from rag_eval.stats import benjamini_hochberg, holm
from tests.tables import every_row


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_an_adjusted_p_value_is_never_below_that_of_a_smaller_one() -> None:
    assert holm([0.011, 0.010, 0.011]) == pytest.approx((0.03, 0.03, 0.03))
    assert holm([0.5, 0.9]) == (1.0, 1.0)


def test_holm_rejects_what_its_steps_reject() -> None:
    generator = np.random.default_rng(0)
    for _ in range(200):
        p_values = generator.random(6) ** 3
        rejected = set()
        for step, test in enumerate(np.argsort(p_values)):
            if p_values[test] > 0.05 / (6 - step):
                break
            rejected.add(int(test))
        adjusted = holm(p_values.tolist())
        assert {test for test, p in enumerate(adjusted) if p is not None and p <= 0.05} == rejected


def test_benjamini_hochberg_agrees_with_scipy() -> None:
    for n in (1, 2, 17):
        p_values = np.random.default_rng(n).random(n).round(1)
        theirs = scipy.stats.false_discovery_control(p_values)
        assert benjamini_hochberg(p_values.tolist()) == pytest.approx(tuple(theirs))


@every_row("adjust", [holm, benjamini_hochberg])
def test_tests_that_could_not_be_made_are_not_in_the_family(adjust: object) -> None:
    assert callable(adjust)
    with_gaps = adjust([None, 0.01, math.nan, 0.04])
    alone = adjust([0.01, 0.04])
    assert with_gaps == (None, alone[0], None, alone[1])
    assert adjust([]) == ()
    assert adjust([None]) == (None,)
    assert adjust([0.04]) == (0.04,)


@every_row("wrong", [-0.1, 1.1, math.inf, "0.05", True])
def test_what_is_no_p_value_is_named(wrong: object) -> None:
    with pytest.raises(InputError, match="p value 1 must be between 0 and 1, got"):
        holm([0.5, wrong])  # type: ignore[list-item]


def test_holm_holds_any_false_alarm_and_bh_does_not() -> None:
    """Half of 20 tests have something to find."""
    generator = np.random.default_rng(1)
    wrong = {holm: 0, benjamini_hochberg: 0}
    found = generator.normal(np.repeat([0.0, 3.0], 10), 1, (1000, 20))
    for p_values in scipy.stats.norm.sf(found):
        for adjust in wrong:
            adjusted = adjust(p_values.tolist())
            wrong[adjust] += any(p is not None and p <= 0.05 for p in adjusted[:10])
    assert wrong[holm] / 1000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert wrong[benjamini_hochberg] / 1000 > 0.1
