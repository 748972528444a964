"""Group bootstrap: what is resampled, what the interval is made of, how often it is right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from rag_eval import stats
from rag_eval.errors import InputError
from rag_eval.stats import Interval, bootstrap, group_bootstrap, group_numbers, wilson_interval
from rag_eval.stats.distributions import normal_cdf, normal_quantile, t_quantile
from tests.tables import every_row

Weights = npt.NDArray[np.int64]


def means_of(values: npt.ArrayLike) -> stats.Statistic:
    column = np.asarray(values, np.float64)

    def means(weights: Weights) -> npt.NDArray[np.float64]:
        return ((weights @ column) / weights.sum(axis=1))[:, np.newaxis]

    return means


# ------------------------------------------------------------------------------------- groups


def test_groups_are_numbered_in_the_order_they_come() -> None:
    assert group_numbers(["b", "a", "b", 7, "a"]).tolist() == [0, 1, 0, 2, 1]
    assert group_numbers([]).dtype == np.int64


@every_row("missing", [None, math.nan])
def test_a_row_without_a_group_is_named(missing: object) -> None:
    with pytest.raises(
        InputError, match="group of row 2 is missing; it must be a name or a number"
    ):
        group_numbers(["a", "b", missing])


def test_a_group_that_cannot_be_compared_is_named() -> None:
    with pytest.raises(InputError, match="group of row 1 must be a name or a number, got list"):
        group_numbers(["a", ["b"]])


# ---------------------------------------------------------------------------------- resamples


def test_resamples_draw_as_many_whole_groups_as_there_are() -> None:
    groups = group_numbers(["a", "a", "b", "c", "c", "c"])
    seen: list[Weights] = []

    def note(weights: Weights) -> npt.NDArray[np.float64]:
        seen.append(weights)
        return np.zeros((len(weights), 1))

    group_bootstrap(note, groups, n_resamples=50)
    assert seen[0].tolist() == [[1] * 6]
    resamples = np.concatenate(seen[1:])
    assert resamples.shape == (50, 6)
    for first, others in ((0, [1]), (3, [4, 5])):
        for other in others:
            assert (resamples[:, first] == resamples[:, other]).all()
    assert (resamples[:, [0, 2, 3]].sum(axis=1) == 3).all()
    assert len(np.unique(resamples, axis=0)) > 5


def test_the_interval_is_that_of_rows_put_together_one_by_one() -> None:
    """Weights stand for rows that were really copied."""
    generator = np.random.default_rng(3)
    values, groups = generator.random(40), np.repeat(np.arange(10), 4)
    members = [values[groups == group] for group in range(10)]
    drawn = np.random.default_rng(11).integers(10, size=(200, 10))
    copied = [float(np.mean(np.concatenate([members[g] for g in row]))) for row in drawn]
    (found,) = group_bootstrap(means_of(values), groups, seed=11, n_resamples=200, level=0.8)
    assert found.estimate == pytest.approx(values.mean(), rel=1e-15)
    assert [found.low, found.high] == pytest.approx(np.quantile(copied, [0.1, 0.9]), rel=1e-12)
    assert (found.level, found.n_resamples, found.n_groups) == (0.8, 200, 10)


def test_the_same_seed_gives_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values, groups = np.random.default_rng(0).random(30), np.arange(30) % 7
    first = group_bootstrap(means_of(values), groups, seed=5)
    assert group_bootstrap(means_of(values), groups, seed=5) == first
    unnamed = group_bootstrap(means_of(values), groups)
    assert unnamed == group_bootstrap(means_of(values), groups, seed=0, n_resamples=1000)
    assert group_bootstrap(means_of(values), groups, seed=6) != first
    monkeypatch.setattr(bootstrap, "_CELLS", 100)  # resamples in blocks of three
    assert group_bootstrap(means_of(values), groups, seed=5) == first
    unnamed = group_bootstrap(means_of(values), groups)
    assert unnamed == group_bootstrap(means_of(values), groups, seed=0, n_resamples=1000)


def test_several_numbers_come_from_the_same_resamples() -> None:
    values = np.random.default_rng(0).random(30)

    def twice(weights: Weights) -> npt.NDArray[np.float64]:
        means = means_of(values)(weights)
        return np.concatenate([means, 2 * means], axis=1)

    one, other = group_bootstrap(twice, np.arange(30))
    assert one.low is not None
    assert other.low == 2 * one.low


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Rows of a group are alike; resampled one by one they would promise far too much."""
    generator = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 5)
    held = {"groups": 0, "rows": 0}
    n_sets = 200
    for number in range(n_sets):
        values = np.repeat(generator.normal(size=40), 5) + generator.normal(size=200) / 4
        for kind, numbers in (("groups", groups), ("rows", np.arange(200))):
            (found,) = group_bootstrap(
                means_of(values), numbers, seed=number, n_resamples=300, level=0.9
            )
            assert found.low is not None
            assert found.high is not None
            held[kind] += found.low <= 0 <= found.high
    assert 0.83 <= held["groups"] / n_sets <= 0.95
    assert held["rows"] / n_sets < 0.7


def test_resamples_without_the_number_are_not_counted() -> None:
    def sometimes(weights: Weights) -> npt.NDArray[np.float64]:
        return np.where(weights[:, :1] > 0, 1.0, math.nan)

    (found,) = group_bootstrap(sometimes, np.arange(3), n_resamples=500)
    assert (found.low, found.high) == (1, 1)
    assert 250 < found.n_resamples < 450  # (2/3)**3 of them lack the first row


def test_one_group_has_no_interval() -> None:
    (found,) = group_bootstrap(means_of([1.0, 3.0]), np.zeros(2, np.int64))
    assert found == Interval(estimate=2, low=None, high=None, level=0.95, n_resamples=0, n_groups=1)
    assert found.to_dict() == {
        "estimate": 2.0,
        "low": None,
        "high": None,
        "level": 0.95,
        "nResamples": 0,
        "nGroups": 1,
    }


@every_row(
    ("option", "message"),
    [
        ({"level": 1}, "level must be between 0 and 1, got 1"),
        ({"level": 0}, "level must be between 0 and 1, got 0"),
        ({"level": "x"}, "level must be a number, got str"),
        ({"level": math.nan}, "level must be finite, got nan"),
        ({"n_resamples": 0}, "n_resamples must be a whole number of at least 1, got 0"),
        ({"n_resamples": 2.5}, "n_resamples must be a whole number of at least 1, got 2.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": True}, "seed must be a whole number of at least 0, got True"),
        ({"seed": "x"}, "seed must be a whole number of at least 0, got 'x'"),
    ],
)
def test_bad_options(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        group_bootstrap(means_of([1.0, 2.0]), np.arange(2), **option)


@every_row(("n_found", "n_trials"), [(0, 1), (1, 1), (0, 40), (3, 40), (40, 40)])
@every_row("level", [0.8, 0.95])
def test_the_interval_of_a_share_is_wilsons(n_found: int, n_trials: int, level: float) -> None:
    found = wilson_interval(n_found, n_trials, level)
    oracle = scipy.stats.binomtest(n_found, n_trials).proportion_ci(level, method="wilson")
    assert found.estimate == n_found / n_trials
    assert found.low == pytest.approx(oracle.low, abs=1e-12)
    assert found.high == pytest.approx(oracle.high, abs=1e-12)
    assert found.n_groups == n_trials


def test_quantiles_of_student_and_of_the_normal_distribution() -> None:
    for probability in (1e-6, 0.025, 0.5, 0.9, 0.999):
        assert normal_quantile(probability) == pytest.approx(
            scipy.stats.norm.ppf(probability), abs=1e-12
        )
        for df in (0.5, 1, 4.7, 200):
            wanted = scipy.stats.t.ppf(probability, df)
            assert t_quantile(probability, df) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert normal_cdf(-30) == pytest.approx(scipy.stats.norm.cdf(-30), rel=1e-12)
    for wrong in (0, 1, math.nan):
        with pytest.raises(InputError, match="probability must be above 0 and below 1"):
            t_quantile(wrong, 3)
