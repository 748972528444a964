"""Intervals of means: by the formulas, at the edges, and how often they hold the mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.statistics.coverage import Coverage, clustered_coverage
from benchmarks.statistics.populations import (
    BINARY,
    LONG_TAIL,
    LUMPS,
    NEAR_EDGE,
    POPULATIONS,
    ZEROS,
    PairedPopulation,
    Population,
    cluster_numbers,
)
from rag_eval import BatchEvalResult, evaluate_batch
from rag_eval.errors import InputError
from rag_eval.runs.metric_intervals import mean_intervals
from rag_eval.runs.run_files import run_of_result
from rag_eval.stats.bootstrap import bootstrap_intervals
from rag_eval.stats.clustered import clustered_mean
from rag_eval.stats.intervals import Interval, wilson_interval
from rag_eval.stats.mean_intervals import mean_interval
from rag_eval.stats.moment_intervals import interval_of_moments
from tests.tables import every_row

Column = npt.NDArray[np.float64]
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def ends(found: Interval) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


# --------------------------------------------------------------------------- which method


def test_verdicts_have_the_interval_of_their_share() -> None:
    found = mean_interval([1.0, 0.0] * 4 + [math.nan])
    assert found == wilson_interval(4, 8)


@every_row(
    ("n_events", "n", "mean_of_poisson"), [(1, 50, 0.05129), (2, 50, 0.35536), (3, 60, 0.8177)]
)
def test_few_verdicts_of_a_kind_have_poisson_bounds(
    n_events: int, n: int, mean_of_poisson: float
) -> None:
    """Of 0.27 % of ones, 1 sample of 50 in 8 has one: Wilson's bound is above that share."""
    column = [1.0] * n_events + [0.0] * (n - n_events)
    low, high = ends(mean_interval(column))
    assert low == pytest.approx(mean_of_poisson / n, rel=1e-4)
    assert high == wilson_interval(n_events, n).high
    assert ends(mean_interval([1 - value for value in column])) == pytest.approx(
        (1 - high, 1 - low)
    )
    assert ends(mean_interval(column + [1.0] * 3))[0] == wilson_interval(n_events + 3, n + 3).low


def test_skewed_scores_have_longer_intervals_on_their_side() -> None:
    """Johnson's correction: a few large scores say that there may be more of them."""
    column = np.concatenate([np.full(90, 0.05) + np.arange(90) / 2000, np.full(4, 1.0)])
    low, high = ends(mean_interval(column))
    mean, error = column.mean(), column.std() / math.sqrt(len(column))
    assert high - mean > 1.3 * (mean - low)
    assert high > mean + 2.2 * error
    mirrored = ends(mean_interval(1 - column))
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_scores_that_are_close_have_narrow_intervals() -> None:
    """A row at a bound that was not seen took 0.116 in place of Student's 0.065 at 20 rows."""
    column = np.random.default_rng(1).normal(0.5, 0.07, 20)
    low, high = ends(mean_interval(column))
    student = ends(mean_interval(column, method="t"))
    assert 1 < (high - low) / (student[1] - student[0]) < 1.35


@every_row("column", [[1.0] * 30, [0.0] * 7, [1.0]])
def test_a_constant_column_at_the_edge_is_all_or_nothing(column: list[float]) -> None:
    assert mean_interval(column) == wilson_interval(int(sum(column)), len(column))


def test_a_constant_column_inside_says_too_little() -> None:
    found = mean_interval([0.3] * 50)
    assert found.too_few
    # Wider than that of as many verdicts: nothing is known of the spread.
    low, high = ends(found)
    assert low < wilson_interval(15, 50).low < wilson_interval(15, 50).high < high  # type: ignore[operator]


def test_rows_that_differ_are_counted_from_the_most_frequent_score() -> None:
    for n_others, too_few in ((2, True), (3, False)):
        assert mean_interval([1.0] * 20 + [0.4] * n_others).too_few is too_few
        assert mean_interval([0.2] * 20 + [0.4] * n_others).too_few is too_few


def test_bounds_in_another_scale_give_the_same_interval_there() -> None:
    column = np.array([0.0, 0.2, 0.7, 0.9, 1.0, 1.0])
    low, high = ends(mean_interval(column))
    found = mean_interval(1 + 4 * column, bounds=(1, 5))
    assert ends(found) == pytest.approx((1 + 4 * low, 1 + 4 * high))
    assert found.method == "bounded"


def test_without_bounds_the_interval_is_that_of_t() -> None:
    column = np.array([3.0, 4.0, 8.0, 9.0, 11.0])
    found = mean_interval(column, bounds=None, level=0.9)
    wanted = scipy.stats.t.interval(0.9, 4, column.mean(), scipy.stats.sem(column))
    assert ends(found) == pytest.approx(wanted)
    assert found.method == "t"


def test_t_is_not_certain_of_a_constant_column() -> None:
    for column in ([0.3] * 9, [1.0] * 9):
        found = mean_interval(column, method="t")
        assert (found.low, found.high, found.too_few) == (None, None, True)


def test_bootstraps_are_had_by_name() -> None:
    column = np.random.default_rng(1).random(40)
    groups = np.arange(40) // 4
    for method in ("percentile", "bca"):
        found = mean_interval(column, groups=groups, method=method, seed=3, n_resamples=200)
        (wanted,) = bootstrap_intervals(
            column, groups=groups, method=method, seed=3, n_resamples=200
        )
        assert found == wanted


@every_row("least", [5e-324, 1e-300, 1e-160, 1e-80])
def test_scores_next_to_nothing_are_at_the_bound(least: float) -> None:
    """Regression: their variance was 0, and a division by it failed."""
    column = [0.0, least] * 10
    groups = np.arange(20) // 2
    assert ends(mean_interval(column))[1] < 0.4
    assert ends(mean_interval(column, groups=groups))[1] < 0.6


def test_one_row_inside_and_no_row_have_no_bounds() -> None:
    for column in ([0.5], [], [math.nan]):
        found = mean_interval(column)
        assert (found.low, found.high, found.too_few) == (None, None, True)


@every_row(
    ("values", "options", "named"),
    [
        ([0.5, 1.5], {}, "values must be from 0 to 1 .bounds., got 1.5"),
        ([0.5, -0.1], {}, "got -0.1"),
        ([0.5, math.inf], {"bounds": None}, "finite"),
        ([[0.5]], {}, "one column"),
        ([0.5], {"bounds": (1, 0)}, "bounds"),
        ([0.5], {"level": 1.0}, "level"),
        ([0.5], {"method": "jackknife"}, "method"),
        ([0.5, 1.0], {"method": "wilson"}, "wilson"),
        ([0.5, 1.0], {"method": "bounded", "bounds": None}, "bounds"),
        ([0.5, 1.0], {"groups": ["a"]}, "groups must have one value for each of 2 rows, got 1"),
        (
            [0.5, 1.0],
            {"groups": ["a", None]},
            "group of row 1 is missing; it must be a name or a number",
        ),
    ],
)
def test_what_does_not_fit_is_named(values: Any, options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        mean_interval(values, **options)


# ------------------------------------------------------------------------------- formulas


@given(SCORES)
def test_intervals_stay_inside_the_bounds_and_hold_their_mean(values: list[float]) -> None:
    found = mean_interval(values)
    if found.low is not None:
        low, high = ends(found)
        assert 0 <= low <= found.estimate <= high <= 1


@given(SCORES)
# The lower bound was a rounding, and greater at the higher level.
@example([0.0, 0.0, 0.0, 5.692038748222122e-25, 5.692038748222122e-25])
def test_more_certain_intervals_are_wider(values: list[float]) -> None:
    narrow, wide = mean_interval(values, level=0.8), mean_interval(values, level=0.99)
    if narrow.low is not None:
        assert wide.low <= narrow.low  # type: ignore[operator]
        assert wide.high >= narrow.high  # type: ignore[operator]


@given(SCORES)
def test_the_mirror_of_scores_has_the_mirror_of_the_interval(values: list[float]) -> None:
    column = np.round(values, 6)
    found, mirrored = mean_interval(column), mean_interval(1 - column)
    if found.low is not None:
        low, high = ends(found)
        assert ends(mirrored) == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_the_interval_of_many_rows_is_that_of_t() -> None:
    column = LUMPS.draw(np.random.default_rng(4), 1, 100_000)[0]
    wanted = scipy.stats.t.interval(0.95, 99_999, column.mean(), scipy.stats.sem(column))
    assert ends(mean_interval(column)) == pytest.approx(wanted, abs=1e-5)


def test_moments_stand_for_rows() -> None:
    column = LONG_TAIL.draw(np.random.default_rng(2), 1, 60)[0]
    n_modal = max(int((column == end).sum()) for end in (column.min(), column.max()))
    third = float(((column - column.mean()) ** 3).mean())
    mean, spread = float(column.mean()), float(column.std())
    found = interval_of_moments(60, mean, spread, n_modal=n_modal, third=third)
    assert ends(found) == pytest.approx(ends(mean_interval(column)), rel=1e-12)
    assert found.too_few == mean_interval(column).too_few
    # Without the third moment nothing is known of the skewness.
    short = interval_of_moments(60, mean, spread, n_modal=n_modal)
    assert ends(short)[1] < ends(found)[1]
    unknown = interval_of_moments(3, 0.9, 0.1)
    assert (unknown.method, unknown.too_few) == ("bounded", False)


@every_row("method", ["percentile", "bca"])
def test_moments_have_no_bootstrap(method: Any) -> None:
    with pytest.raises(InputError, match="needs all rows"):
        interval_of_moments(3, 0.9, 0.1, method=method)


# ------------------------------------------------------------------------------- clusters


def test_the_variance_of_clusters_is_that_of_the_matrices() -> None:
    """Bell and McCaffrey's adjustment and degrees of freedom, with matrices written out."""
    generator = np.random.default_rng(8)
    sizes = [1, 2, 3, 5, 8, 13]
    clusters = cluster_numbers(sizes)
    values = generator.random(len(clusters))
    n = len(values)
    residuals = values - values.mean()
    hat = np.full((n, n), 1 / n)
    total, columns = 0.0, []
    for cluster in range(len(sizes)):
        mine = clusters == cluster
        block = np.eye(n)[np.ix_(mine, mine)] - hat[np.ix_(mine, mine)]
        roots, vectors = np.linalg.eigh(block)
        adjusted = vectors @ np.diag(roots**-0.5) @ vectors.T
        weights = adjusted @ np.ones(mine.sum()) / n
        total += float(weights @ residuals[mine]) ** 2
        columns.append((np.eye(n) - hat)[:, mine] @ weights)
    gram = np.array(columns) @ np.array(columns).T
    found = clustered_mean(values, clusters)
    assert found.variance == pytest.approx(total)
    assert found.df == pytest.approx(np.trace(gram) ** 2 / (gram**2).sum())


def test_clusters_of_one_size_have_one_degree_of_freedom_less_than_there_are() -> None:
    values = np.random.default_rng(1).random(40)
    found = clustered_mean(values, np.arange(40) // 5)
    means = values.reshape(8, 5).mean(axis=1)
    assert found.df == pytest.approx(7)
    assert found.variance == pytest.approx(means.var(ddof=1) / 8)
    low, high = ends(mean_interval(values, groups=np.arange(40) // 5, method="t"))
    wanted = scipy.stats.t.interval(0.95, 7, means.mean(), scipy.stats.sem(means))
    assert (low, high) == pytest.approx(wanted)


def test_copies_of_rows_make_no_interval_narrower() -> None:
    column = np.array([0.1, 0.4, 0.5, 0.8, 0.9, 1.0, 1.0, 0.0])
    once = mean_interval(column, groups=np.arange(8))
    copied = mean_interval(np.repeat(column, 50), groups=np.repeat(np.arange(8), 50))
    assert ends(copied)[0] == pytest.approx(ends(once)[0], abs=0.02)
    assert ends(copied)[1] == pytest.approx(ends(once)[1], abs=0.02)
    alone = mean_interval(np.repeat(column, 50))
    assert ends(alone)[0] > ends(copied)[0] + 0.1


def test_below_five_groups_there_is_no_interval() -> None:
    column = np.tile([0.1, 0.4, 0.5, 0.8], 5)
    for method in (None, "t", "percentile"):
        found = mean_interval(column, groups=np.repeat(list("abcd"), 5), method=method)
        assert (found.low, found.high, found.too_few, found.n_groups) == (None, None, True, 4)
    assert mean_interval(column, groups=np.repeat(list("abcde"), 4)).low is not None


def test_groups_that_all_have_the_usual_score_say_nothing_of_the_spread() -> None:
    column = np.ones(100)
    column[:4] = 0.5  # of one group
    found = mean_interval(column, groups=np.arange(100) // 10)
    assert found.too_few
    assert found.method == "bounded-clustered"
    assert mean_interval(column).too_few is False


def test_rows_without_a_score_go_with_their_groups() -> None:
    column = np.array([0.1, 0.4, 0.5, 0.8, 0.9, 1.0, math.nan, math.nan])
    groups = ["a", "b", "c", "d", "e", "e", "f", "g"]
    found = mean_interval(column, groups=groups)
    assert found == mean_interval(column[:6], groups=groups[:6])
    assert found.n_groups == 5


# ------------------------------------------------------------------------------- coverage


def share_of(population: Population, n_rows: int, n_replicates: int) -> float:
    rows = population.draw(np.random.default_rng([7, n_rows]), n_replicates, n_rows)
    return Coverage.of(map(mean_interval, rows), population.mean).share


@every_row("population", POPULATIONS, ids=lambda one: one.name)
def test_intervals_hold_the_true_mean_as_often_as_they_say(population: Population) -> None:
    """Small editions of the page in benchmarks/statistics; 0.02 is three Monte-Carlo errors."""
    for n_rows, bar in ((20, 0.90), (50, 0.93)):
        assert share_of(population, n_rows, 1_000) >= bar - 0.02


@every_row(
    ("population", "n_clusters", "n_rows"),
    [(LONG_TAIL, 10, 10), (NEAR_EDGE, 20, 50), (ZEROS, 20, 50)],
)
def test_intervals_of_skewed_clusters_hold_the_mean(
    population: Population, n_clusters: int, n_rows: int
) -> None:
    """Two of them held it in 0.91 of samples: clusters that were not seen were left out."""
    groups = cluster_numbers([n_rows] * n_clusters)
    generator = np.random.default_rng(11)
    rows = population.draw_clustered(generator, 600, [n_rows] * n_clusters, 0.3)
    found = Coverage.of([mean_interval(row, groups=groups) for row in rows], population.mean)
    assert found.share >= 0.93
    assert found.unmarked <= 0.06


def test_a_few_small_scores_do_not_exclude_large_ones() -> None:
    """Of 97 % zeros and 1 % ones, 200 rows have no one in 13 % of samples; 0.014 is the mean."""
    column = np.zeros(200)
    column[:4] = 0.05, 0.1, 0.2, 0.3
    found = mean_interval(column)
    assert found.too_few
    assert ends(found)[1] > 0.014
    assert share_of(ZEROS, 200, 1_000) >= 0.94


def test_clusters_that_are_not_told_make_an_interval_too_narrow() -> None:
    found = clustered_coverage(LUMPS, [10] * 20, 0.3, 300, seed=5)
    assert found["default"].share > 0.92
    assert found["no groups"].share < 0.85


# ----------------------------------------------------------------------------- populations


@every_row("population", POPULATIONS, ids=lambda one: one.name)
def test_populations_have_the_mean_they_say(population: Population) -> None:
    generator = np.random.default_rng(6)
    error = 5 * population.std_dev
    assert population.draw(generator, 100, 400).mean() == pytest.approx(
        population.mean, abs=error / 200
    )
    clustered = population.draw_clustered(generator, 400, [10] * 10, 0.3)
    assert clustered.mean() == pytest.approx(population.mean, abs=error / math.sqrt(4000))


def test_rows_of_a_cluster_correlate_as_much_as_they_say() -> None:
    for population in (BINARY[1], LUMPS):
        rows = population.draw_clustered(np.random.default_rng(3), 2_000, [2] * 20, 0.3)
        pairs = rows.reshape(-1, 2) - population.mean
        found = pairs.prod(axis=1).mean() / population.std_dev**2
        assert found == pytest.approx(0.3, abs=0.03)


@every_row("skewed", [False, True])
def test_pairs_differ_by_the_shift_they_say(skewed: bool) -> None:
    for shift in (0.0, -0.05, 0.05):
        known = 0.0 if skewed else shift
        population = PairedPopulation(scores=LUMPS, tied=0.6, shift=known, skewed=skewed)
        old, new = population.draw(np.random.default_rng(2), 500, 200)
        assert (new - old).mean() == pytest.approx(population.shift, abs=0.004)
        assert (new == old).all(axis=2).mean() == pytest.approx(0.6, abs=0.03)


# -------------------------------------------------------------------------------- of runs


def of_documents(n_documents: int, n_rows: int) -> BatchEvalResult:
    """Answers about a document are all grounded, or none of them."""
    samples = [
        {
            "id": f"{document}-{row}",
            "question": "When does it ship?",
            "answer": "It ships on Tuesday." if document % 2 else "Nobody knows that.",
            "contexts": ["It ships on Tuesday."],
            "metadata": {"document": document},
        }
        for document in range(n_documents)
        for row in range(n_rows)
    ]
    return evaluate_batch(samples, metrics=["faithfulness"])


def test_a_result_knows_what_its_rows_belong_to() -> None:
    result = of_documents(8, 20)
    found = result.mean_intervals(cluster_by="document")
    assert list(found) == ["faithfulness", "composite"]
    column = result.scores[:, 0]
    assert found["faithfulness"] == mean_interval(column, groups=np.repeat(np.arange(8), 20))
    assert found["faithfulness"].n_groups == 8
    assert result.mean_intervals(cluster_by=np.repeat(np.arange(8), 20).tolist()) == found
    alone = result.mean_intervals()["faithfulness"]
    assert ends(alone) == pytest.approx(ends(result.aggregates["faithfulness"].interval))  # type: ignore[arg-type]
    assert ends(alone)[0] > ends(found["faithfulness"])[0] + 0.1


def test_a_scored_run_has_the_intervals_of_its_result() -> None:
    result = of_documents(8, 20)
    run = run_of_result(result, columns=["document"])
    assert mean_intervals(run, cluster_by="document") == result.mean_intervals(
        cluster_by="document"
    )
    with pytest.raises(InputError, match=r"without the column user \(columns: document\)"):
        mean_intervals(run, cluster_by="user")


def test_a_row_without_the_field_is_named() -> None:
    with pytest.raises(
        InputError, match="group of row 0 is missing; it must be a name or a number"
    ):
        of_documents(2, 2).mean_intervals(cluster_by="user")


@every_row(
    ("n_clusters", "failing", "width", "too_few"),
    [
        (20, (1, 1, 1, 1), 0.05, True),  # rows of four clusters differ
        (20, (20, 1, 1, 1, 1), 0.30, True),  # nearly all of them are of one
        (20, (20,) * 6, 0.53, False),
        (10, (20,) * 5, 0.67, False),
    ],
)
def test_clusters_are_too_few_where_one_of_them_is_most_of_the_spread(
    n_clusters: int, failing: tuple[int, ...], width: float, too_few: bool
) -> None:
    """Few clusters that pass or fail as a whole say enough: their interval is wide."""
    scores = np.ones((n_clusters, 20))
    for cluster, n_failing in enumerate(failing):
        scores[cluster, :n_failing] = 0
    found = mean_interval(scores.ravel(), groups=np.repeat(np.arange(n_clusters), 20))
    assert found.too_few is too_few
    low, high = ends(found)
    assert high - low > width


def test_scores_so_small_that_their_squares_are_nothing_have_an_interval() -> None:
    found = mean_interval([0.0, 7e-301, 2e-175, 8e-301, 1e-200])
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.estimate <= found.high < 1e-50
