"""Statistics of a column: exact sums against fractions, the rest against ``statistics``."""

from __future__ import annotations

import dataclasses
import math
import random
import statistics
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval.kernels.exact_moments import ExactMoments
from rag_eval.results.aggregates import (
    ScoreStatistics,
    aggregate_composite,
    aggregate_metric,
)
from rag_eval.stats.intervals import Interval, wilson_interval
from rag_eval.stats.mean_intervals import mean_interval
from tests.tables import every_row

Column = npt.NDArray[np.float64]

LARGEST = 1.7976931348623157e308
TINIEST = 5e-324
# Both signs, subnormals, huge ones, and scores as they are.
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1),
    st.floats(-1e-300, 1e-300),
    st.sampled_from([0.0, -0.0, 1.0, 1 / 3, TINIEST, -TINIEST, 2.2250738585072014e-308, LARGEST]),
)
COLUMNS = st.lists(NUMBERS | st.just(math.nan), max_size=40)
SCORES = st.lists(st.floats(0, 1) | st.just(math.nan), max_size=40)


def column(values: list[float]) -> Column:
    return np.array(values, np.float64)


def measured(values: list[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def moments(values: list[float]) -> ExactMoments:
    gathered = ExactMoments()
    gathered.add(column(values))
    return gathered


def state(gathered: ExactMoments) -> tuple[int, int, int]:
    return gathered.count, gathered.total, gathered.squares


@given(COLUMNS)
@example([LARGEST] * 40)
@example([TINIEST, -TINIEST, LARGEST, -LARGEST, math.nan])
@example([2.225073858507201e-308, 2.2250738585072014e-308])
def test_sums_are_exact(values: list[float]) -> None:
    gathered, scores = moments(values), measured(values)
    assert gathered.count == len(scores)
    assert Fraction(gathered.total, 2**1074) == sum(map(Fraction, scores))
    assert Fraction(gathered.squares, 2**2148) == sum(Fraction(value) ** 2 for value in scores)


@given(COLUMNS)
@example([LARGEST] * 3)
@example([TINIEST] * 3)
@example([1.0, 1e-17, 1e-17, 1e-17])
def test_the_mean_is_correctly_rounded(values: list[float]) -> None:
    scores = measured(values)
    mean = moments(values).mean
    if scores:
        assert mean == float(sum(map(Fraction, scores)) / len(scores))
    else:
        assert math.isnan(mean)


def assert_near(found: float, wanted: float) -> None:
    """Equal up to two units in the last place: both take a root of an exactly known number."""
    assert abs(found - wanted) <= 2 * math.ulp(wanted), (found, wanted)


def test_near_is_near() -> None:
    assert_near(0.1, math.nextafter(0.1, 1))
    for wrong in (0.1 * (1 + 1e-15), 0.0, math.nan):
        with pytest.raises(AssertionError):
            assert_near(wrong, 0.1)


@given(COLUMNS)
@example([LARGEST, -LARGEST])  # its variance is past the largest double
@example([0.0, 1e-200])  # and this one's below the least
@example([0.0, TINIEST])
@example([0.1] * 10)  # sums in doubles give 1.4e-17, not 0
@example([1e16, 1e16 + 2])
def test_the_standard_deviation_is_that_of_statistics(values: list[float]) -> None:
    scores = measured(values)
    deviation = moments(values).standard_deviation
    if scores:
        assert_near(deviation, statistics.pstdev(scores))
    else:
        assert math.isnan(deviation)


@given(st.lists(COLUMNS, max_size=5), st.randoms(use_true_random=False))
def test_merging_is_free_of_order(parts: list[list[float]], choose: random.Random) -> None:
    whole = moments([value for part in parts for value in part])
    pieces = [moments(part) for part in parts]
    choose.shuffle(pieces)
    merged = ExactMoments()
    for piece in pieces:
        merged.merge(piece)
    assert state(merged) == state(whole)
    added = ExactMoments()
    for part in sorted(parts, key=len):
        added.add(column(part))
    assert state(added) == state(whole)


def test_more_rows_than_are_added_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.1 * i for i in range(50)] + [math.nan] * 3
    wanted = state(moments(values))
    monkeypatch.setattr("rag_eval.kernels.exact_moments._FLUSH_ROWS", 7)
    assert state(moments(values)) == wanted


def test_columns_of_a_matrix_are_read_in_strides() -> None:
    matrix = np.arange(12, dtype=np.float64).reshape(4, 3)
    gathered = ExactMoments()
    gathered.add(matrix[:, 1])
    assert gathered.mean == 5.5
    gathered.add(matrix[::-2, 2])
    assert gathered.count == 6


@given(st.lists(st.floats(-8e307, 8e307) | st.just(math.nan), max_size=40))
def test_statistics_of_a_column(values: list[float]) -> None:
    found, scores = ScoreStatistics.of(column(values)), measured(values)
    assert found.n == len(scores)
    if not scores:
        return
    assert found.median == statistics.median(scores)
    assert found.min == min(scores)
    assert found.max == max(scores)
    assert found.mean == moments(values).mean
    assert found.std_dev == moments(values).standard_deviation
    assert found.n_modal == max(scores.count(min(scores)), scores.count(max(scores)))
    assert all(type(value) is float for value in dataclasses.astuple(found)[1:-1])


@every_row("values", [[], [math.nan], [math.nan] * 5])
def test_statistics_of_nothing_are_nan(values: list[float]) -> None:
    found = dataclasses.astuple(ScoreStatistics.of(column(values)))
    assert found[0] == found[-1] == 0
    assert all(map(math.isnan, found[1:-1]))


@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(values: list[float], choose: random.Random) -> None:
    # Scores are never -0.0, of which min and max would keep the first.
    positive = [value + 0.0 for value in values]
    shuffled = positive[:]
    choose.shuffle(shuffled)

    def bits(scores: list[float]) -> bytes:
        return column(list(dataclasses.astuple(ScoreStatistics.of(column(scores))))).tobytes()

    assert bits(shuffled) == bits(positive)


def test_a_mean_that_a_plain_sum_misses() -> None:
    values = [1e100, 1.0, -1e100]
    total = 0.0
    for value in values:  # sum() compensates from Python 3.12 on
        total += value
    assert total == 0.0
    assert moments(values).mean == 1 / 3


def test_input_is_not_changed() -> None:
    scores = column([3.0, math.nan, 1.0, 2.0])
    before = scores.tobytes()
    scores.flags.writeable = False
    ScoreStatistics.of(scores)
    assert scores.tobytes() == before


# ------------------------------------------------------------------------------ aggregates


def test_a_metric_counts_all_rows_in_its_rates() -> None:
    scores = column([0.9, math.nan, 0.5, 0.7])
    found = aggregate_metric("faithfulness", scores, np.array([True, False, False, True]))
    assert (found.n, found.n_rows) == (3, 4)
    assert (found.pass_rate, found.null_rate) == (0.5, 0.25)
    assert found.mean == float((Fraction(0.9) + Fraction(0.5) + Fraction(0.7)) / 3)
    assert (found.median, found.min, found.max) == (0.7, 0.5, 0.9)
    assert found.interval is not None
    assert found.to_dict() == {
        "metricId": "faithfulness",
        "mean": found.mean,
        "median": 0.7,
        "min": 0.5,
        "max": 0.9,
        "stdDev": found.std_dev,
        "passRate": 0.5,
        "nullRate": 0.25,
        "meanInterval": {
            "low": found.interval.low,
            "high": found.interval.high,
            "level": 0.95,
            "method": "bounded",
            "tooFew": True,
        },
        "passRateInterval": shown_bounds(wilson_interval(2, 4)),
    }


@pytest.mark.parametrize(("n_rows", "null_rate"), [(0, 0.0), (3, 1.0)])
def test_a_metric_without_scores_is_nan_here_and_0_in_files(n_rows: int, null_rate: float) -> None:
    nothing = column([math.nan] * n_rows)
    found = aggregate_metric("context_recall", nothing, np.zeros(n_rows, bool))
    assert (found.n, found.n_rows, found.pass_rate, found.null_rate) == (0, n_rows, 0.0, null_rate)
    assert math.isnan(found.mean)
    assert math.isnan(found.std_dev)
    assert found.to_dict() == {
        "metricId": "contextRecall",
        "mean": 0,
        "median": 0,
        "min": 0,
        "max": 0,
        "stdDev": 0,
        "passRate": 0.0,
        "nullRate": null_rate,
        "meanInterval": None,
        "passRateInterval": shown_bounds(wilson_interval(0, n_rows)) if n_rows else None,
    }


def test_the_composite_passes_those_who_passed() -> None:
    # Of diagnostics alone there is no composite score, and samples may pass without.
    nothing = aggregate_composite(column([math.nan, math.nan]), np.array([True, False]))
    assert (nothing.n, nothing.n_rows, nothing.pass_rate) == (0, 2, 0.5)
    some = aggregate_composite(column([0.5, math.nan, 1.0]), np.array([False, False, True]))
    assert (some.n, some.n_rows, some.pass_rate) == (2, 3, 1 / 3)
    assert some.to_dict() == {
        "mean": 0.75,
        "median": 0.75,
        "min": 0.5,
        "max": 1.0,
        "stdDev": 0.25,
        "passRate": 1 / 3,
        "meanInterval": {**shown_bounds(mean_interval([0.5, 1.0])), "tooFew": True},
        "passRateInterval": shown_bounds(wilson_interval(1, 3)),
    }


def shown_bounds(interval: Interval) -> dict[str, object]:
    return {
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "method": interval.method,
    }


# ------------------------------------------------------------------------------- intervals


@given(SCORES)
@example([1.0] * 5)
@example([0.0, 1.0, 1.0, math.nan])
@example([0.3] * 7)
@example([0.0, 0.5314677241645581] * 3)
@example([0.0, 0.6021105715711802, 2.2250738585072014e-308, 2.2250738585072014e-308])
def test_an_aggregate_has_the_interval_of_its_rows(values: list[float]) -> None:
    found = aggregate_metric("faithfulness", column(values), np.zeros(len(values), bool)).interval
    if not measured(values):
        assert found is None
        return
    wanted = mean_interval(column(values))
    assert found is not None
    assert (found.method, found.too_few) == (wanted.method, wanted.too_few)
    assert (found.low is None) == (wanted.low is None)
    if wanted.low is not None:
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-6)


def test_a_score_without_an_end_has_the_interval_of_t() -> None:
    """No range is known of a metric that nobody registered here."""
    values = [3.0, 4.0, 8.0, 9.0, 11.0]
    found = aggregate_metric("somebody.elses", column(values), np.zeros(5, bool)).interval
    assert found is not None
    wanted = scipy.stats.t.interval(0.95, 4, statistics.fmean(values), scipy.stats.sem(values))
    assert (found.low, found.high) == pytest.approx(wanted)
    assert found.method == "t"


def test_numbers_beyond_all_doubles_have_no_interval() -> None:
    found = aggregate_metric("somebody.elses", column([-LARGEST, LARGEST, 0.0]), np.zeros(3, bool))
    assert found.interval is None
