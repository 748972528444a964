"""Bootstrap intervals of means: scipy's on the same resamples, groups, nulls and injected draws."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from rag_eval.errors import InputError
from rag_eval.stats import (
    Interval,
    bootstrap,
    bootstrap_intervals,
    counted_indices,
    group_bootstrap,
    mulberry32_indices,
    numpy_indices,
)
from rag_eval.stats.bca import bca_bounds, percentile_bounds
from rag_eval.stats.resampling import drawn_places
from tests.tables import every_row

Numbers = npt.NDArray[np.float64]
METHODS = ("percentile", "bca")
# scipy's names.
THEIRS = {"percentile": "percentile", "bca": "BCa"}


def bounds(found: Interval) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def columns(n: int) -> Numbers:
    """Bounded scores with lumps at both ends, skewed ones, and numbers far from 0."""
    generator = np.random.default_rng(n)
    lumps = np.clip(generator.normal(0.7, 0.4, n), 0, 1)
    return np.stack([lumps, generator.exponential(size=n) ** 2, 1e9 + generator.random(n)], axis=1)


def of_scipy(values: Numbers, means: Numbers, method: str, level: float) -> tuple[float, float]:
    """What scipy makes of the same resampled means."""
    given: Any = SimpleNamespace(bootstrap_distribution=means)
    found = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=0,
        bootstrap_result=given,
        method=THEIRS[method],
        confidence_level=level,
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


@every_row("method", METHODS)
@every_row("level", [0.8, 0.95, 0.99])
@every_row("n", [5, 40, 200])
def test_bounds_are_those_of_scipy_from_the_same_resamples(
    method: Any, level: float, n: int
) -> None:
    values = columns(n)
    found = bootstrap_intervals(values, method=method, seed=3, n_resamples=999, level=level)
    places = drawn_places(n, 999, 3)
    for column, interval in enumerate(found):
        scores = values[:, column]
        center = float(scores.mean())
        # About the mean, as 1e9 leaves few digits for the rest. Resamples of each row once have the
        # very mean; rounding would put them on either side of it.
        above = scores - center
        means = above[places].mean(axis=1)
        means[np.abs(means - above.mean()) < 1e-12] = above.mean()
        wanted = of_scipy(above, means, method, level)
        assert interval.estimate == pytest.approx(center, rel=1e-15)
        got = [bound - interval.estimate for bound in bounds(interval)]
        tolerance = 2e-7 if column == 2 else 1e-14
        assert got == pytest.approx(wanted, rel=1e-12, abs=tolerance)
        assert (interval.method, interval.seed, interval.level) == (method, 3, level)
        assert (interval.n_resamples, interval.n_groups, interval.too_few) == (999, n, False)


@every_row("method", METHODS)
def test_bounds_are_near_those_of_scipys_own_resamples(method: Any) -> None:
    values = columns(60)[:, 1]
    (found,) = bootstrap_intervals(values, method=method, seed=1, n_resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method=THEIRS[method], batch=2000, random_state=2
    )
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert bounds(found) == pytest.approx(tuple(theirs.confidence_interval), abs=0.03 * width)


def test_bca_moves_towards_the_long_tail() -> None:
    values = np.random.default_rng(0).exponential(size=40) ** 2
    (plain,) = bootstrap_intervals(values, seed=1)
    (corrected,) = bootstrap_intervals(values, method="bca", seed=1)
    assert bounds(corrected)[0] > bounds(plain)[0]
    assert bounds(corrected)[1] > bounds(plain)[1]


@every_row("method", METHODS)
def test_groups_of_one_size_are_as_good_as_their_means(method: Any) -> None:
    values, groups = columns(60), np.repeat(np.arange(20)[::-1] * 7, 3)
    means = values.reshape(20, 3, 3).mean(axis=1)[::-1]
    found = bootstrap_intervals(values, groups=groups, method=method, seed=2)
    for of_rows, of_means in zip(
        found, bootstrap_intervals(means, method=method, seed=2), strict=True
    ):
        assert bounds(of_rows) == pytest.approx(bounds(of_means), rel=1e-12)
        assert of_rows.n_groups == of_means.n_groups == 20


@every_row("method", METHODS)
def test_groups_of_many_sizes_and_nulls_are_drawn_as_wholes(method: Any) -> None:
    """Against rows that were really copied, and means of what of them has a value."""
    generator = np.random.default_rng(4)
    groups = generator.integers(0, 12, 50)
    values = generator.random((50, 2))
    values[generator.random((50, 2)) < 0.3] = np.nan
    found = bootstrap_intervals(values, groups=groups, method=method, seed=6, n_resamples=400)
    members = [values[groups == group] for group in np.unique(groups)]
    for column, interval in enumerate(found):
        scores = [part[:, column] for part in members]
        draws = np.array(
            [
                np.nanmean(np.concatenate([scores[g] for g in row]))
                for row in drawn_places(12, 400, 6)
            ]
        )
        whole = np.nanmean(values[:, column])
        assert interval.estimate == pytest.approx(whole, rel=1e-14)
        if method == "percentile":
            wanted = percentile_bounds(draws, 0.95)
        else:
            rest = [
                np.nanmean(np.concatenate(scores[:g] + scores[g + 1 :]))
                for g in range(12)
                if not np.isnan(scores[g]).all()
            ]
            wanted = bca_bounds(float(whole), draws, np.array(rest), 0.95) or (math.nan, math.nan)
        assert bounds(interval) == pytest.approx(wanted, rel=1e-12)


def test_columns_share_one_draw_and_do_not_move_one_another() -> None:
    values = columns(30)[:, :2]
    values[3, 1] = np.nan
    together = bootstrap_intervals(values, seed=5)
    alone = [bootstrap_intervals(values[:, column], seed=5)[0] for column in range(2)]
    assert list(together) == alone
    twice = bootstrap_intervals(np.stack([values[:, 0], 2 * values[:, 0]], axis=1), seed=5)
    assert bounds(twice[1]) == pytest.approx([2 * bound for bound in bounds(twice[0])], rel=1e-14)


def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_eval.stats.resampling._CELLS_FOR_THREADS", 0)
    values = columns(100)
    one = bootstrap_intervals(values, seed=5, threads=1)
    assert bootstrap_intervals(values, seed=5, threads=3) == one
    assert bootstrap_intervals(values, seed=6, threads=3) != one


# ------------------------------------------------------------------------------- injected places


@every_row("method", METHODS)
def test_the_kernels_own_places_may_be_injected(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = columns(25)[:, :2]
    values[[2, 9], 1] = np.nan
    drawn = bootstrap_intervals(values, method=method, seed=8, n_resamples=300)
    monkeypatch.setattr(bootstrap, "_CELLS", 500)
    given = bootstrap_intervals(values, method=method, seed=99, indices=counted_indices(25, 300, 8))
    for one, other in zip(drawn, given, strict=True):
        assert bounds(one) == pytest.approx(bounds(other), rel=1e-12)
        assert (other.seed, other.n_resamples) == (None, 300)


def test_group_bootstrap_takes_the_same_places() -> None:
    values, groups = columns(24)[:, 0], np.arange(24) % 8 * 10

    def means(weights: npt.NDArray[np.int64]) -> Numbers:
        found: Numbers = ((weights @ values) / weights.sum(axis=1))[:, np.newaxis]
        return found

    (drawn,) = group_bootstrap(means, groups, seed=4, n_resamples=200)
    (again,) = group_bootstrap(means, groups, indices=numpy_indices(8, 200, 4))
    assert again == drawn
    (given,) = group_bootstrap(means, groups, indices=mulberry32_indices((8,), 200, 4))
    (other,) = bootstrap_intervals(values, groups=groups, indices=mulberry32_indices((8,), 200, 4))
    assert bounds(given) == pytest.approx(bounds(other), rel=1e-12)
    assert bounds(given) != bounds(drawn)


def test_places_of_the_caller_are_used_to_the_last_one() -> None:
    (found,) = bootstrap_intervals([1.0, 2.0, 6.0], indices=[np.array([[0, 0, 0], [2, 2, 2]])])
    assert bounds(found) == pytest.approx((1.125, 5.875), rel=1e-14)
    assert found.n_resamples == 2


# ------------------------------------------------------------------------------ too few to say


@every_row("method", METHODS)
@every_row(
    ("values", "estimate", "n_groups"),
    [
        ([0.1] * 7, 0.1, 7),
        ([1e9 + 0.1] * 7, 1e9 + 0.1, 7),
        ([0.0] * 3, 0.0, 3),
        ([0.3], 0.3, 1),
        ([0.3, math.nan, math.nan], 0.3, 1),
        ([math.nan, math.nan], math.nan, 0),
        ([], math.nan, 0),
    ],
)
def test_what_does_not_vary_has_no_bounds(
    method: Any, values: list[float], estimate: float, n_groups: int
) -> None:
    (found,) = bootstrap_intervals(values, method=method)
    assert found.estimate == pytest.approx(estimate, rel=1e-15, nan_ok=True)
    assert (found.low, found.high, found.too_few) == (None, None, True)
    assert found.n_groups == n_groups
    assert found.to_dict()["tooFew"] is True


def test_one_group_has_no_bounds() -> None:
    (found,) = bootstrap_intervals([0.1, 0.5, 0.9], groups=[4, 4, 4])
    assert (found.low, found.n_groups, found.too_few) == (None, 1, True)


def test_groups_of_equal_means_have_no_bounds() -> None:
    (found,) = bootstrap_intervals([0.1, 0.5, 0.5, 0.1, 0.3], groups=[0, 0, 1, 1, 2])
    assert found.estimate == pytest.approx(0.3)
    assert (found.low, found.too_few) == (None, True)


def test_bca_says_nothing_where_all_resamples_are_on_one_side() -> None:
    draws = np.array([1.0, 2.0, 3.0])
    for estimate in (0.0, 4.0):
        assert bca_bounds(estimate, draws, draws, 0.95) is None
    assert bca_bounds(1.0, draws, draws, 0.95) is not None
    (found,) = bootstrap_intervals(
        [0.0, 1.0, 2.0], method="bca", indices=[np.array([[2, 2, 2], [2, 2, 1]])]
    )
    assert (found.low, found.too_few, found.n_resamples) == (None, True, 2)


def test_a_jackknife_that_does_not_vary_has_no_acceleration() -> None:
    draws = np.array([-1.0, -0.5, 0.5, 1.0])
    found = bca_bounds(0.0, draws, np.zeros(5), 0.5)
    assert found == pytest.approx(percentile_bounds(draws, 0.5), rel=1e-12)


def test_the_acceleration_does_not_depend_on_the_unit() -> None:
    """Cubes of very small numbers are 0."""
    left_out, draws = np.array([1.0, 2.0, 9.0]), np.linspace(-1, 1.1, 50)
    wanted = bca_bounds(0.0, draws, left_out, 0.8)
    assert wanted is not None
    assert bca_bounds(0.0, draws, left_out * 2.0**-600, 0.8) == pytest.approx(wanted, rel=1e-12)
    assert wanted != pytest.approx(bca_bounds(0.0, draws, np.ones(3), 0.8), rel=1e-3)


def test_draws_that_differ_by_rounding_count_as_equal() -> None:
    draws, left_out = np.array([-1.0, 1e-17, -1e-17, 2.0]), np.array([1.0, 2.0, 4.0])
    exact = bca_bounds(0.0, np.array([-1.0, 0.0, 0.0, 2.0]), left_out, 0.9)
    assert bca_bounds(0.0, draws, left_out, 0.9, tolerance=1e-15) == pytest.approx(exact)


def test_resamples_without_a_value_are_not_counted() -> None:
    (found,) = bootstrap_intervals([0.2, 0.8, math.nan, math.nan], seed=1, n_resamples=2000)
    # (1/2)**4 of them hold nulls alone.
    assert 1825 < found.n_resamples < 1925
    assert bounds(found) == pytest.approx((0.2, 0.8))


@every_row(
    ("values", "options", "message"),
    [
        ([[[1.0]]], {}, "values must be a one- or two-dimensional array, got 3 dimensions"),
        ([math.inf], {}, "values must be finite or NaN, got an infinite value"),
        (
            [1.0, 2.0],
            {"groups": [0]},
            r"groups must have one value for each of 2 rows, got shape \(1,\)",
        ),
        ([1.0, 2.0], {"method": "BCa"}, "method must be 'percentile' or 'bca', got 'BCa'"),
        ([1.0, 2.0], {"level": 1}, "level must be between 0 and 1, got 1"),
        ([1.0, 2.0], {"n_resamples": 0}, "n_resamples must be a whole number of at least 1"),
        ([1.0, 2.0], {"seed": -3}, "seed must be a whole number of at least 0"),
        ([1.0, 2.0], {"indices": []}, "indices must have at least one resample"),
        ([1.0, 2.0], {"indices": [np.array([[0, 2]])]}, "indices must be from 0 to 1, got 0 to 2"),
    ],
)
def test_bad_options(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bootstrap_intervals(values, **options)


@every_row("n_groups", [0, 3])
def test_a_table_without_columns_has_no_intervals(n_groups: int) -> None:
    assert bootstrap_intervals(np.empty((n_groups, 0))) == ()
