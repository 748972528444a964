"""Krippendorff's alpha against its definition, the package of that name, and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.krippendorff import (
    MEASUREMENTS,
    Measurement,
    alpha_with_interval,
    krippendorff_alpha,
)
from tests.tables import every_row

Table = list[list[float | None]]


def alpha_by_definition(ratings: Table, measurement: Measurement) -> float | None:
    """One less observed by expected disagreement, pair by pair."""
    units = [[value for value in unit if value is not None] for unit in zip(*ratings, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]

    def apart(left: float, right: float) -> float:
        if left == right:
            return 0
        if measurement == "nominal":
            return 1
        if measurement == "interval":
            return (left - right) ** 2
        if measurement == "ratio":
            return ((left - right) / (left + right)) ** 2
        low, high = sorted((left, right))
        between = sum(low <= value <= high for value in values)
        return (between - (values.count(low) + values.count(high)) / 2) ** 2

    observed = sum(
        sum(apart(*pair) for pair in permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / (len(values) or 1)
    expected = sum(apart(*pair) for pair in permutations(values, 2))
    if not expected:
        return None
    return 1 - observed / (expected / (len(values) * (len(values) - 1)))


CELLS = st.sampled_from([None, None, 0.0, 0.25, 0.5, 1.0, 3.0])
TABLES = st.tuples(st.integers(2, 5), st.integers(1, 8)).flatmap(
    lambda shape: st.lists(
        st.lists(CELLS, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    )
)


@given(TABLES, st.sampled_from(MEASUREMENTS))
def test_alpha_is_what_the_definition_says(ratings: Table, measurement: Measurement) -> None:
    found = krippendorff_alpha(ratings, measurement=measurement)
    expected = alpha_by_definition(ratings, measurement)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@every_row("measurement", MEASUREMENTS)
@every_row("seed", range(5))
def test_alpha_is_that_of_the_package(seed: int, measurement: Measurement) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.integers(1, 6, 40)
    noise = generator.integers(-1, 2, (4, 40))
    ratings = np.clip(truth + noise, 1, 5).astype(np.float64)
    ratings[generator.random((4, 40)) < 0.3] = np.nan
    expected = krippendorff.alpha(ratings, level_of_measurement=measurement)
    found = krippendorff_alpha(ratings, measurement=measurement)
    assert found == pytest.approx(expected, rel=1e-12)


@given(TABLES, st.sampled_from(MEASUREMENTS))
def test_who_rated_makes_no_difference(ratings: Table, measurement: Measurement) -> None:
    found = krippendorff_alpha(ratings, measurement=measurement)
    turned = krippendorff_alpha(ratings[::-1], measurement=measurement)
    assert (found is None) == (turned is None)
    assert found is None or found == pytest.approx(turned, rel=1e-12, abs=1e-12)


@every_row(
    "ratings",
    [
        [[], []],
        [[1.0, 2.0, 3.0]],
        [[1.0, None], [None, 2.0]],
        [[0.1, 0.1, 0.1], [0.1, 0.1, 0.1]],
        [[5.0, 5.0, 1.0], [5.0, 5.0, None]],
    ],
    ids=["no units", "one coder", "no unit rated twice", "all the same", "the other one is alone"],
)
@every_row("measurement", MEASUREMENTS)
def test_without_variety_there_is_no_alpha(ratings: Table, measurement: Measurement) -> None:
    assert krippendorff_alpha(ratings, measurement=measurement) is None
    assert alpha_with_interval(ratings) is None


@every_row(
    ("ratings", "message"),
    [
        ([[1, 2], [1]], "ratings must be numbers, with the same number of ratings for each coder"),
        (
            [["a", "b"], ["a", "b"]],
            "ratings must be numbers, with the same number of ratings for each coder",
        ),
        ([1, 2, 3], "a row for each coder and a column for each unit"),
        ([[1, math.inf], [1, 2]], "ratings must be finite"),
        ([[1, -1], [1, 2]], "needs ratings of at least 0"),
    ],
)
def test_what_is_no_table_of_ratings_is_refused(
    ratings: Sequence[Sequence[float]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        krippendorff_alpha(ratings, measurement="ratio")


def test_an_unknown_measurement_is_refused() -> None:
    with pytest.raises(InputError, match="measurement must be one of 'nominal', 'ordinal'"):
        krippendorff_alpha([[1], [1]], measurement="metric")  # type: ignore[arg-type]


def test_ratings_are_not_changed() -> None:
    ratings = np.array([[1.0, 2.0, np.nan], [2.0, 2.0, 4.0]])
    before = ratings.copy()
    krippendorff_alpha(ratings, measurement="ordinal")
    alpha_with_interval(ratings, resampling=Resampling(n_resamples=10))
    assert np.array_equal(ratings, before, equal_nan=True)


@every_row("measurement", MEASUREMENTS)
def test_the_interval_is_that_of_units_put_together_one_by_one(measurement: Measurement) -> None:
    generator = np.random.default_rng(4)
    ratings = np.clip(generator.integers(0, 6, 30) + generator.integers(-1, 2, (3, 30)), 0, 6) / 2
    ratings[generator.random((3, 30)) < 0.2] = np.nan
    ratings = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    n_units = ratings.shape[1]
    drawn = np.random.default_rng(9).integers(n_units, size=(100, n_units))
    copied = [krippendorff_alpha(ratings[:, units], measurement=measurement) for units in drawn]
    found = alpha_with_interval(
        ratings, measurement=measurement, resampling=Resampling(seed=9, n_resamples=100, level=0.8)
    )
    assert found is not None
    assert found.estimate == krippendorff_alpha(ratings, measurement=measurement)
    assert [found.low, found.high] == pytest.approx(np.quantile(copied, [0.1, 0.9]), rel=1e-9)
    assert (found.level, found.n_resamples, found.n_groups) == (0.8, 100, n_units)
    assert found.n_undefined == 0


@every_row("measurement", MEASUREMENTS)
def test_the_interval_of_values_that_are_all_different(measurement: Measurement) -> None:
    """More values than are looked at together."""
    generator = np.random.default_rng(7)
    ratings = generator.random(700) + generator.random((2, 700)) / 10
    drawn = np.random.default_rng(1).integers(700, size=(5, 700))
    copied = [krippendorff_alpha(ratings[:, units], measurement=measurement) for units in drawn]
    found = alpha_with_interval(
        ratings,
        measurement=measurement,
        resampling=Resampling(level=0.5, indices=[drawn[:2], drawn[2:]]),
    )
    assert found is not None
    assert [found.low, found.high] == pytest.approx(np.quantile(copied, [0.25, 0.75]), rel=1e-9)
    assert found.n_resamples == 5


@every_row("measurement", MEASUREMENTS)
def test_many_resamples_without_variety_leave_no_interval(measurement: Measurement) -> None:
    found = alpha_with_interval(
        [[0.1, 0.1, 0.7], [0.1, 0.1, 0.3]],
        measurement=measurement,
        resampling=Resampling(n_resamples=400),
    )
    assert found is not None
    assert found.estimate == krippendorff_alpha(
        [[0.1, 0.1, 0.7], [0.1, 0.1, 0.3]], measurement=measurement
    )
    assert (found.low, found.high) == (None, None)
    assert 60 < found.n_undefined < 180  # (2/3)**3 of them lack the third unit
    assert found.n_resamples + found.n_undefined == 400
    assert found.to_dict()["nUndefined"] == found.n_undefined


@every_row("measurement", MEASUREMENTS)
def test_a_few_resamples_without_variety_are_left_out(measurement: Measurement) -> None:
    """The squares of 0.1, ten times, do not quite cancel: an alpha of thousands came of it."""
    left, right = [0.1] * 10 + [0.7, 0.7, 0.9, 0.8], [0.1] * 10 + [0.3, 0.7, 0.8, 0.9]
    found = alpha_with_interval(
        [left, right], measurement=measurement, resampling=Resampling(n_resamples=2000)
    )
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= found.high <= 1
    assert 0 < found.n_undefined <= 100
    assert found.n_resamples + found.n_undefined == 2000


def test_degenerate_resamples_are_counted_to_the_edge_of_what_is_allowed() -> None:
    ratings = [[1.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0]]
    sound, flat = [0, 1, 2, 3], [0, 1, 1, 0]
    for n_flat, has_bounds in ((5, True), (6, False)):
        drawn = np.array([flat] * n_flat + [sound] * (100 - n_flat))
        found = alpha_with_interval(ratings, resampling=Resampling(indices=[drawn]))
        assert found is not None
        assert found.n_undefined == n_flat
        assert (found.low is not None) is has_bounds
