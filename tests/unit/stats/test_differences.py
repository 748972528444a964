"""Intervals of mean paired differences: which method when, against formulas and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from benchmarks.statistics.differences import coverage
from benchmarks.statistics.paired_draws import Draws, RareChanges, lumps, rare_losses
from rag_eval.errors import InputError
from rag_eval.stats import difference_interval, difference_lower_bound
from rag_eval.stats.skewness import skewed_lower_bounds, skewed_p_values
from tests.tables import every_row


def test_rows_get_a_gain_and_a_loss_more() -> None:
    differences = np.array([0.2, -0.5, 0.0, 0.1, 0.0, -0.3])
    more = np.append(differences, [0.5, -0.5])
    interval = difference_interval(differences, level=0.9)
    reach = scipy.stats.t.ppf(0.95, 5) * more.std() / math.sqrt(8)
    assert interval.low == pytest.approx(more.mean() - reach, abs=1e-12)
    assert interval.high == pytest.approx(more.mean() + reach, abs=1e-12)
    assert interval.estimate == pytest.approx(differences.mean())
    assert (interval.method, interval.n_groups, interval.level) == ("plus_two", 6, 0.9)


def test_verdicts_have_bonett_and_prices_interval() -> None:
    n, n_better, n_worse = 80, 9, 15
    interval = difference_interval([1] * n_better + [-1] * n_worse + [0] * (n - 24))
    gained, lost = (n_better + 1) / (n + 2), (n_worse + 1) / (n + 2)
    reach = scipy.stats.t.ppf(0.975, n - 1) * math.sqrt(
        (gained + lost - (gained - lost) ** 2) / (n + 2)
    )
    assert interval.low == pytest.approx(gained - lost - reach, abs=1e-12)
    assert interval.high == pytest.approx(gained - lost + reach, abs=1e-12)


def test_equal_clusters_have_the_t_interval_of_their_means() -> None:
    rows = np.random.default_rng(1).normal(0.1, 1, (7, 4))
    interval = difference_interval(rows.T.ravel(), clusters=list("abcdefg") * 4)
    expected = scipy.stats.ttest_1samp(rows.mean(axis=1), 0).confidence_interval()
    assert interval.low == pytest.approx(expected.low, abs=1e-12)
    assert interval.high == pytest.approx(expected.high, abs=1e-12)
    assert (interval.method, interval.n_groups) == ("cluster_jackknife", 7)


def test_unequal_clusters_are_left_out_one_at_a_time() -> None:
    rows = [np.random.default_rng(size).normal(0, 1, size) for size in (1, 2, 3, 5, 8, 13)]
    names = [name for name, part in enumerate(rows) for _ in part]
    means = [np.concatenate(rows[:k] + rows[k + 1 :]).mean() for k in range(6)]
    mean = np.concatenate(rows).mean()
    reach = scipy.stats.t.ppf(0.975, 5) * math.sqrt(5 / 6 * np.sum((np.array(means) - mean) ** 2))
    interval = difference_interval(np.concatenate(rows), clusters=names)
    assert interval.low == pytest.approx(mean - reach, abs=1e-12)
    assert interval.high == pytest.approx(mean + reach, abs=1e-12)


@every_row("n_moved", [0, 1, 2])
def test_where_next_to_nothing_moved_the_number_of_rows_that_did_is_all_that_is_known(
    n_moved: int,
) -> None:
    interval = difference_interval([-0.01] * n_moved + [0.0] * (300 - n_moved))
    share = scipy.stats.binomtest(n_moved, 300).proportion_ci(0.95, "exact").high
    assert (interval.low, interval.high) == pytest.approx((-share, share), abs=1e-9)
    assert (interval.method, interval.too_few) == ("share_moved", False)
    halved = difference_interval([-0.01] * n_moved + [0.0] * (300 - n_moved), largest=0.5)
    assert halved.low == pytest.approx(-share / 2, abs=1e-9)


def test_the_method_changes_with_the_third_row_and_the_fifth_cluster() -> None:
    assert difference_interval([0.1, 0.1, 0.2, 0.0]).method == "plus_two"
    assert difference_interval([0.1, 0.1, 0.0, 0.0]).method == "share_moved"
    names = list("aabbccddeeff")
    four = [0.1, 0, 0.1, 0, -0.1, 0, 0, 0.2, 0, 0, 0, 0]
    assert difference_interval(four, clusters=names).method == "share_moved"
    five = [*four[:-1], 0.1]
    assert difference_interval(five, clusters=names).method == "cluster_jackknife"


def test_rows_of_a_moved_cluster_could_all_move_and_clusters_differ_in_size() -> None:
    names = ["a"] * 4 + list("bcdefg")
    interval = difference_interval([0.0] * 10, clusters=names)
    share = scipy.stats.binomtest(0, 7).proportion_ci(0.95, "exact").high
    assert interval.high == pytest.approx(share * 4 / (10 / 7), abs=1e-9)


def test_all_rows_moved_and_still_too_few_for_a_spread() -> None:
    assert difference_interval([0.5, 0.5]).high == 1.0


@every_row(
    ("differences", "clusters", "largest"),
    [
        ([], None, 1.0),
        ([math.nan, math.nan], None, 1.0),
        ([0.1, 0.0], None, None),
        ([3.0, 0.0], None, 1.0),  # larger than differences are said to be
        ([0.1, 0.2, 0.3, 0.4, 0.1], list("abcda"), 1.0),
    ],
)
def test_too_few_to_say_has_no_bounds(
    differences: list[float], clusters: list[str] | None, largest: float | None
) -> None:
    interval = difference_interval(differences, clusters=clusters, largest=largest)
    assert (interval.low, interval.high, interval.too_few) == (None, None, True)
    assert interval.method is None
    assert interval.to_dict()["tooFew"] is True
    assert difference_lower_bound(differences, clusters=clusters, largest=largest) is None


def test_pairs_without_a_score_are_left_out_with_their_clusters() -> None:
    rows = np.random.default_rng(3).normal(0, 1, 12)
    names = [row // 2 for row in range(12)]
    with_gaps = np.append(rows, [math.nan, math.nan])
    found = difference_interval(with_gaps, clusters=[*names, 99, 0])
    assert found == difference_interval(rows, clusters=names)


def test_the_lower_bound_leaves_its_error_on_one_side() -> None:
    """With as many far gains as losses or more: the end of the interval of twice the error."""
    rows = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.1, 0.4] * 6)
    assert difference_lower_bound(rows) == difference_interval(rows, level=0.9).low
    by_name = np.repeat(np.arange(12) ** 3 / 1000.0, 5)
    names = np.repeat(np.arange(12), 5).tolist()
    bound = difference_lower_bound(by_name, clusters=names, alpha=0.01)
    assert bound == difference_interval(by_name, clusters=names, level=0.98).low


def test_the_lower_bound_is_lower_where_few_rows_move_and_for_the_worse() -> None:
    rows = np.array([-0.4, -0.5, -0.6, -0.3, -0.5, -0.2, -0.45, 0.1] + [0.0] * 192)
    bound, interval = difference_lower_bound(rows), difference_interval(rows, level=0.9)
    assert bound is not None
    assert interval.low is not None
    assert 1.05 < (interval.estimate - bound) / (interval.estimate - interval.low) < 1.3
    assert difference_lower_bound(-rows) == difference_interval(-rows, level=0.9).low
    names = [row % 40 for row in range(200)]
    clustered = difference_lower_bound(rows, clusters=names)
    jackknife = difference_interval(rows, clusters=names, level=0.9)
    assert jackknife.method == "cluster_jackknife"
    assert clustered is not None
    assert jackknife.low is not None
    assert clustered < jackknife.low - 0.001


def test_the_bound_is_the_least_margin_that_the_skewed_test_rejects() -> None:
    rows = np.array([-0.4, -0.5, -0.6, -0.3, -0.5, -0.2, -0.45, 0.1] + [0.0] * 192)
    bound = difference_lower_bound(rows)
    with_two = np.append(rows, [0.6, -0.6])
    assert skewed_p_values((with_two - bound)[:, np.newaxis])[1, 0] == pytest.approx(0.05)
    assert skewed_lower_bounds(np.full((5, 1), 0.25), 0.05)[0] == 0.25


@every_row(
    ("draws", "n"),
    [
        (Draws(name="most tie", population=lumps(0.9, -0.02, n_metrics=1)), 50),
        (Draws(name="most tie, a drop", population=lumps(0.9, -0.05, n_metrics=1)), 200),
        (Draws(name="skewed", population=lumps(0.5, n_metrics=1, skewed=True)), 50),
        (Draws(name="clusters", population=lumps(0.5, n_metrics=1), n_clusters=8), 80),
    ],
)
def test_intervals_cover(draws: Draws, n: int) -> None:
    found = coverage(draws, n, 500, np.random.default_rng(5))
    assert found.covered >= 0.93 - 0.02
    assert found.above <= 0.05 + 0.02
    assert found.width < 0.7


def test_few_clusters_that_move_do_not_make_the_lower_bound_too_high() -> None:
    """It was above the mean in 7 % of samples: their sums are skewed."""
    draws = Draws(name="few move", population=lumps(0.9, -0.02, n_metrics=1), n_clusters=30)
    assert coverage(draws, 200, 1_000, [2]).above <= 0.06


def test_samples_without_the_large_changes_are_counted() -> None:
    """So many miss the mean, whatever is computed of them: no threshold can be asked."""
    rare = Draws(name="rare", population=rare_losses(1))
    assert rare.hidden(50) == pytest.approx(0.96**50)
    samples = rare.population.differences(np.random.default_rng(1), 4_000, 50)  # type: ignore[union-attr]
    assert (samples.min(axis=1) > -0.2).mean() == pytest.approx(rare.hidden(50), abs=0.02)
    balanced = RareChanges(shares=(0.1, 0.1), changes=(-1, 1), n_metrics=1)
    assert Draws(name="balanced", population=balanced).hidden(20) == 0
    assert Draws(name="lumps", population=lumps(0.9)).hidden(20) == 0


def test_clusters_that_all_have_one_mean_are_not_certain_of_it() -> None:
    rows, names = np.full(60, -0.1), [row // 5 for row in range(60)]
    found = difference_interval(rows, clusters=names)
    assert found.method == "plus_two"
    means = difference_interval(np.full(12, -0.1))
    assert (found.low, found.high) == pytest.approx((means.low, means.high))
    assert found.low is not None
    assert found.low < -0.101
    bound = difference_lower_bound(rows, clusters=names)
    assert bound is not None
    assert bound < -0.101


@every_row("size", [-0.1, 0.1])
@every_row("level", [0.1, 0.5, 0.95])
def test_an_interval_holds_its_estimate_at_any_level(level: float, size: float) -> None:
    found = difference_interval(np.full(40, size), level=level)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.estimate <= found.high


@every_row("clusters", [None, [row // 2 for row in range(20)]])
def test_no_size_of_scores_is_too_much(clusters: list[int] | None) -> None:
    rows = np.cos(np.arange(20.0))
    found, large = (
        difference_interval(rows * scale, clusters=clusters, largest=None) for scale in (1, 1e200)
    )
    assert found.low is not None
    assert large.low == pytest.approx(found.low * 1e200, rel=1e-12)


def test_options_out_of_range_are_named() -> None:
    with pytest.raises(InputError, match="level must be between 0 and 1, got 1"):
        difference_interval([0.1], level=1)
    with pytest.raises(InputError, match="largest must be above 0, got 0"):
        difference_interval([0.1], largest=0)
    with pytest.raises(InputError, match="differences must be one column of finite numbers"):
        difference_interval([0.1, math.inf])
    with pytest.raises(InputError, match=r"clusters must have one value per row \(1\), got 2"):
        difference_interval([0.1], clusters=["a", "b"])
    with pytest.raises(InputError, match=r"alpha must be above 0 and below 0.5, got 0.5"):
        difference_lower_bound([0.1], alpha=0.5)
