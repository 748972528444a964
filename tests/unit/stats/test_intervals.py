"""Intervals of shares and quantiles of t: against SciPy, at the edges, and by their own rules."""

from __future__ import annotations

import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from rag_eval.errors import InputError
from rag_eval.stats.distributions import student_quantile
from rag_eval.stats.intervals import Interval, normal_reach, score_bounds, wilson_interval
from rag_eval.stats.worst_case_means import worst_case_mean
from tests.tables import every_row

# ----------------------------------------------------------------------------------- intervals


def test_what_is_not_known_of_an_interval_is_left_out_of_its_json() -> None:
    plain = Interval(estimate=0.5, low=0.4, high=None, level=0.95, n_resamples=0, n_groups=3)
    assert plain.to_dict() == {
        "estimate": 0.5,
        "low": 0.4,
        "high": None,
        "level": 0.95,
        "nResamples": 0,
        "nGroups": 3,
    }
    full = Interval(
        estimate=math.nan,
        low=None,
        high=None,
        level=0.9,
        n_resamples=10,
        n_groups=0,
        method="bca",
        seed=0,
        too_few=True,
    )
    added = {"estimate": None, "method": "bca", "seed": 0, "tooFew": True}
    assert added.items() <= full.to_dict().items()


# -------------------------------------------------------------------------------------- wilson


@every_row("level", [0.8, 0.95, 0.999])
@every_row(("n_found", "n"), [(0, 5), (1, 3), (7, 20), (450, 500), (9, 9), (1, 1)])
def test_the_interval_of_a_share_is_that_of_scipy(n_found: int, n: int, level: float) -> None:
    found = wilson_interval(n_found, n, level)
    wanted = scipy.stats.binomtest(n_found, n).proportion_ci(level, method="wilson")
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert (found.estimate, found.method, found.n_groups) == (n_found / n, "wilson", n)


@every_row(("n_found", "n"), [(1, 0), (-1, 3), (4, 3)])
def test_a_share_of_more_than_all_is_refused(n_found: int, n: int) -> None:
    with pytest.raises(InputError, match="n_found must be from 0 to n_trials"):
        wilson_interval(n_found, n)


@every_row("level", [0.0, 1.0, math.nan, "0.95"])
def test_a_level_that_is_no_share_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="level must be"):
        wilson_interval(1, 2, level)


@given(st.floats(0, 1), st.floats(0.5, 1e9), st.floats(0.1, 50))
def test_bounds_of_a_share_are_shares_around_it(share: float, n: float, reach: float) -> None:
    low, high = score_bounds(share, n, reach)
    assert 0 <= low <= share * (1 + 1e-9) + 1e-12
    assert share * (1 - 1e-9) - 1e-12 <= high <= 1


@given(st.floats(0.05, 0.95), st.floats(2, 1e6), st.floats(0.5, 5))
def test_from_its_bounds_a_share_is_the_reach_away(share: float, n: float, reach: float) -> None:
    """The definition: standard errors are those of the bound, not of the share."""
    for bound in score_bounds(share, n, reach):
        error = math.sqrt(bound * (1 - bound) / n)
        assert abs(share - bound) == pytest.approx(reach * error, rel=1e-6)


def test_the_usual_reach() -> None:
    assert normal_reach(0.95) == pytest.approx(1.959963984540054)


# ------------------------------------------------------------------------------------------- t


@every_row("share", [0.6, 0.9, 0.975, 0.995, 0.9999])
@every_row("df", [1, 2, 2.1, 3, 7.5, 19, 49, 199, 999, 1000, 1001, 1e4, 1e6, 1e9])
def test_quantiles_of_t_are_those_of_scipy(share: float, df: float) -> None:
    wanted = special.stdtrit(df, share)
    if df == 1e9:  # that of SciPy has seven digits there
        wanted = special.ndtri(share)
    assert student_quantile(share, df) == pytest.approx(wanted, rel=1e-9 if df < 1e9 else 1e-8)


def test_the_middle_of_t_is_0() -> None:
    assert student_quantile(0.5, 3) == 0.0
    assert student_quantile(0.5, 3000) == 0.0


# --------------------------------------------------------------------------------------- nulls


def test_nulls_can_be_anything_between_the_bounds() -> None:
    found = worst_case_mean(8, 10, 0.5)
    assert found.to_dict() == {"low": 0.4, "high": 0.6, "n": 8, "nRows": 10}
    scaled = worst_case_mean(8, 10, 3.0, bounds=(1.0, 5.0))
    assert (scaled.low, scaled.high) == pytest.approx((2.6, 3.4))


def test_without_scores_the_mean_can_be_anything() -> None:
    found = worst_case_mean(0, 3, math.nan)
    assert (found.low, found.high) == (0.0, 1.0)


@every_row(
    ("n", "n_rows", "mean", "named"),
    [(4, 3, 0.5, "n must"), (0, 0, 0.5, "n must"), (1, 2, 1.5, "mean"), (1, 2, math.nan, "mean")],
)
def test_a_mean_that_cannot_be_is_refused(n: int, n_rows: int, mean: float, named: str) -> None:
    with pytest.raises(InputError, match=named):
        worst_case_mean(n, n_rows, mean)
