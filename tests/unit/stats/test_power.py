"""Planning: against the noncentral t, exact binomial power and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from rag_eval.errors import InputError
from rag_eval.stats import minimum_detectable_effect, rows_needed, verdict_rows_needed
from tests.tables import every_row


def t_power(effect: float, sd: float, n: int, alpha: float, one_sided: bool) -> float:
    shift, n_free = effect / sd * math.sqrt(n), n - 1
    critical = scipy.stats.t.isf(alpha if one_sided else alpha / 2, n_free)
    return float(scipy.stats.nct.sf(critical, n_free, shift))


@every_row("n", [2, 3, 10, 50, 1000, 50_000])
@every_row(
    ("alpha", "power", "one_sided"), [(0.05, 0.8, True), (0.05, 0.9, False), (0.05 / 7, 0.5, True)]
)
def test_the_smallest_effect_is_found_with_its_power(
    n: int, alpha: float, power: float, one_sided: bool
) -> None:
    effect = minimum_detectable_effect(0.3, n, alpha=alpha, power=power, one_sided=one_sided)
    assert t_power(effect, 0.3, n, alpha, one_sided) == pytest.approx(power, abs=1e-6)


def test_large_samples_take_the_normal_without_a_step() -> None:
    effects = [minimum_detectable_effect(1, n) * math.sqrt(n) for n in (100_001, 100_002)]
    assert effects[0] == pytest.approx(effects[1], rel=1e-4)
    known = scipy.stats.norm.isf(0.05) + scipy.stats.norm.isf(0.2)
    assert minimum_detectable_effect(1, 10**8) == pytest.approx(known / 10**4, rel=1e-6)


@every_row("effect", [0.01, -0.05, 0.3, 2.0])
@every_row("one_sided", [True, False])
def test_rows_needed_are_the_fewest_with_the_power(effect: float, one_sided: bool) -> None:
    n = rows_needed(effect, 0.25, one_sided=one_sided)
    assert t_power(abs(effect), 0.25, n, 0.05, one_sided) >= 0.8
    assert n == 2 or t_power(abs(effect), 0.25, n - 1, 0.05, one_sided) < 0.8


def test_effect_and_rows_are_inverse() -> None:
    for n in (5, 80, 3000, 200_000):
        effect = minimum_detectable_effect(0.2, n)
        assert abs(rows_needed(effect * (1 + 1e-9), 0.2) - n) <= 1


def verdict_power(n: int, effect: float, discordant: float, alpha: float) -> float:
    """Exact power of McNemar's one-sided exact test."""
    moved = np.arange(n + 1)
    critical = scipy.stats.binom.isf(alpha, moved, 0.5) + 1
    worse = (discordant + effect) / 2 / discordant
    found = scipy.stats.binom.sf(critical - 1, moved, worse)
    return float(np.sum(scipy.stats.binom.pmf(moved, n, discordant) * found))


@every_row("effect", [0.02, 0.05, 0.1, 0.3])
@every_row("ratio", [1.0, 1.5, 3.0])
def test_verdict_rows_have_nearly_the_power_asked_for(effect: float, ratio: float) -> None:
    n = verdict_rows_needed(-effect, effect * ratio)
    assert 0.78 <= verdict_power(n, effect, effect * ratio, 0.05) <= 0.86


def test_nothing_is_promised_without_pairs_or_spread() -> None:
    assert minimum_detectable_effect(0.3, 0) == math.inf
    assert minimum_detectable_effect(0.3, 1) == math.inf
    assert math.isnan(minimum_detectable_effect(0.0, 100))


def test_options_out_of_range_are_named() -> None:
    with pytest.raises(InputError, match="sd_of_differences must be at least 0, got -1"):
        minimum_detectable_effect(-1, 10)
    with pytest.raises(InputError, match="n must be a whole number of at least 0, got -1"):
        minimum_detectable_effect(1, -1)
    with pytest.raises(InputError, match="alpha must be between 0 and 1, got 0"):
        minimum_detectable_effect(1, 10, alpha=0)
    with pytest.raises(InputError, match=r"power must be between alpha \(0.05\) and 1, got 0.04"):
        rows_needed(0.1, 1, power=0.04)
    with pytest.raises(InputError, match="effect must be above 0, got 0"):
        rows_needed(0, 1)
    with pytest.raises(InputError, match="effect 1e-08 is too small for a standard deviation of 1"):
        rows_needed(1e-8, 1)
    with pytest.raises(InputError, match="sd_of_differences must be above 0, got 0"):
        rows_needed(0.1, 0)
    with pytest.raises(InputError, match=r"discordant must be from the effect's size \(0.1\) to 1"):
        verdict_rows_needed(0.1, 0.05)
