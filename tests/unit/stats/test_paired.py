"""Paired tests: which patterns count, what leaves p values alone, how often they are wrong."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from benchmarks.statistics.families import N_RESAMPLES, worse_p_values
from rag_eval.errors import InputError
from rag_eval.stats import mcnemar_test, sign_flip_test, sign_flip_tests
from rag_eval.stats.paired import SignFlipResult
from rag_eval.stats.sign_patterns import SignPatterns
from tests.tables import every_row

Floats = npt.NDArray[np.float64]


def some_differences(n: int, seed: int = 1, mean: float = -0.2) -> Floats:
    return np.random.default_rng(seed).normal(mean, 1, n)


def p_values(result: SignFlipResult) -> tuple[float, float, float]:
    return result.p_worse, result.p_better, result.p_two_sided


# -------------------------------------------------------------------------- all sign patterns


@every_row("n", [2, 7, 12])
def test_few_rows_agree_with_scipy_over_all_patterns(n: int) -> None:
    differences = some_differences(n)
    ours = sign_flip_test(differences)
    assert ours.exact
    assert ours.n_resamples == 2**n
    for p, alternative in zip(p_values(ours), ("less", "greater", "two-sided"), strict=True):
        theirs = scipy.stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", alternative=alternative
        )
        assert p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_the_studentised_statistic_orders_patterns_as_the_sum_does() -> None:
    differences = some_differences(10)

    def t_of(column: Floats) -> float:
        return float(column.mean() / (column.std(ddof=1) / math.sqrt(len(column))))

    signs = np.array(list(itertools.product((-1, 1), repeat=10)))
    patterns = np.array([t_of(pattern * differences) for pattern in signs])
    p_worse = np.mean(patterns <= t_of(differences) + 1e-9)
    assert sign_flip_test(differences).p_worse == pytest.approx(float(p_worse), abs=1e-12)


def test_patterns_that_tie_with_the_one_found_count_as_extreme() -> None:
    # 0.1 + 0.2 - 0.3 is not 0 in doubles; 4 of 8 patterns sum to no more than what was found.
    assert sign_flip_test([0.1, 0.2, -0.3]).p_worse == 5 / 8
    assert sign_flip_test([-0.1, -0.2, 0.3]).p_better == 5 / 8
    assert sign_flip_test([0.1, 0.2, -0.3]).p_two_sided == 1.0


def test_all_losses_have_the_smallest_p_value() -> None:
    result = sign_flip_test([-0.1] * 6)
    assert p_values(result) == (1 / 64, 1.0, 1 / 32)
    assert result.smallest_p == 1 / 64


def test_better_and_worse_change_places_with_the_sign() -> None:
    for n in (9, 60):
        result, mirrored = sign_flip_test(some_differences(n)), sign_flip_test(-some_differences(n))
        assert result.mean == -mirrored.mean
        assert result.p_worse == mirrored.p_better
        assert result.p_two_sided == mirrored.p_two_sided


# ----------------------------------------------------------------------------- drawn patterns


def test_drawn_patterns_give_the_exact_p_value_within_their_error() -> None:
    differences = some_differences(15)
    exact = sign_flip_test(differences, n_resamples=1 << 15)
    drawn = sign_flip_test(differences, n_resamples=8000)
    assert (exact.exact, drawn.exact) == (True, False)
    for p, q in zip(p_values(exact), p_values(drawn), strict=True):
        assert abs(p - q) < 4 * math.sqrt(p * (1 - p) / 8000)


def test_the_pattern_found_is_one_of_those_drawn() -> None:
    differences = some_differences(30)
    result = sign_flip_test(differences, n_resamples=500, seed=3)
    # What they do to the rows of the unit matrix are the signs.
    signs = SignPatterns.drawn(30, 500, 3).sums(np.eye(30))
    sums = signs @ differences
    found = differences.sum()
    assert result.p_worse == np.mean(sums <= found + 1e-9)
    assert result.p_better == np.mean(sums >= found - 1e-9)
    assert result.p_two_sided == np.mean(np.abs(sums) >= abs(found) - 1e-9)
    assert (result.n_resamples, result.seed) == (512, 3)
    assert sign_flip_test([-1.0] * 30, n_resamples=500).smallest_p == 1 / 512
    assert sign_flip_test([-1.0] * 30, n_resamples=500).p_worse == 1 / 512


def test_patterns_are_listed_where_they_are_no_more_than_those_to_draw() -> None:
    listed = [sign_flip_test([-1.0] * n, n_resamples=64).exact for n in (5, 6, 7)]
    assert listed == [True, True, False]
    assert not sign_flip_test([-1.0] * 17, n_resamples=1 << 17).exact


def test_a_column_has_the_same_p_values_beside_others() -> None:
    columns = np.random.default_rng(5).normal(-0.1, 1, (40, 5))
    columns[::3, 1] = np.nan
    columns[4:, 2] = 0.0
    together = sign_flip_tests(columns, margins=(0, 0.1, 0, 0, 0.2), n_resamples=300, seed=9)
    alone = [
        sign_flip_test(column, margin=margin, n_resamples=300, seed=9)
        for column, margin in zip(columns.T, (0, 0.1, 0, 0, 0.2), strict=True)
    ]
    assert together == tuple(alone)
    assert [result.exact for result in together] == [False, False, True, False, False]


def test_the_simulation_of_many_columns_is_that_of_single_tests() -> None:
    blocks = np.random.default_rng(2).normal(0, 1, (6, 25, 3)).round(0)
    clusters = np.repeat(np.arange(9), 3)[:25]
    for known in (None, clusters):
        found = worse_p_values(blocks, known, 0.1, seed=4)
        for replicate, metric in itertools.product(range(6), range(3)):
            alone = sign_flip_test(
                blocks[replicate, :, metric],
                clusters=known,
                margin=0.1,
                n_resamples=N_RESAMPLES,
                seed=4,
                skew_guard=True,
            )
            assert found[replicate, metric] == pytest.approx(alone.p_worse, abs=1e-12)


# ---------------------------------------------------------- zeros, missing scores, clusters


def test_zeros_stay_in_the_mean_and_leave_the_p_values_alone() -> None:
    differences = some_differences(8)
    with_zeros = np.concatenate([np.zeros(50), differences])
    result, beside = sign_flip_test(differences), sign_flip_test(with_zeros)
    assert p_values(beside) == p_values(result)
    assert (beside.n, beside.n_informative, beside.n_flipped) == (58, 8, 8)
    assert beside.mean == pytest.approx(result.mean * 8 / 58)


def test_what_rounding_leaves_is_no_difference() -> None:
    repeats = (0.1 + 0.2 + 0.3) / 3 - (0.3 + 0.2 + 0.1) / 3
    assert repeats != 0
    result = sign_flip_test([repeats, -0.5, -0.5])
    assert (result.n, result.n_informative, result.smallest_p) == (3, 2, 0.25)
    at_margin = sign_flip_test([0.79 - 0.8, -0.5, 0.0], margin=0.01)
    assert (at_margin.n_informative, at_margin.n_flipped) == (2, 2)


def test_a_pair_without_a_score_is_left_out() -> None:
    differences = some_differences(9)
    with_gaps = np.insert(differences, [0, 4, 9], np.nan)
    result, whole = sign_flip_test(with_gaps, margin=0.1), sign_flip_test(differences, margin=0.1)
    assert p_values(result) == p_values(whole)
    assert (result.n, result.n_flipped) == (9, 9)
    assert result.mean == pytest.approx(whole.mean)


def test_a_margin_tests_the_mean_against_its_negative() -> None:
    differences = some_differences(11)
    result = sign_flip_test(differences, margin=0.25)
    assert p_values(result) == p_values(sign_flip_test(differences + 0.25))
    assert result.mean == pytest.approx(float(differences.mean()))
    assert result.margin == 0.25
    # A margin makes it harder to be worse.
    assert result.p_worse > sign_flip_test(differences).p_worse


def test_clusters_flip_as_one() -> None:
    rows = some_differences(24)
    clusters = [f"topic {row % 6}" for row in range(24)]
    result = sign_flip_test(rows, clusters=clusters)
    sums = rows.reshape(4, 6).sum(axis=0)
    assert p_values(result) == pytest.approx(p_values(sign_flip_test(sums)), abs=1e-12)
    assert (result.n, result.n_clusters, result.n_flipped) == (24, 6, 6)
    assert result.mean == pytest.approx(float(rows.mean()))
    # The margin is one of each row, so that large clusters are shifted further.
    shifted = sign_flip_test(rows, clusters=clusters, margin=0.1)
    assert p_values(shifted) == pytest.approx(p_values(sign_flip_test(sums + 0.4)), abs=1e-12)


def test_cluster_numbers_and_names_give_the_same() -> None:
    rows, numbers = some_differences(120), np.random.default_rng(0).integers(0, 40, 120)
    named = sign_flip_test(rows, clusters=[str(number) for number in numbers], n_resamples=200)
    assert sign_flip_test(rows, clusters=numbers, n_resamples=200) == named
    assert named.n_clusters == len(set(numbers.tolist()))


def test_a_cluster_whose_pairs_all_lack_scores_is_not_counted() -> None:
    result = sign_flip_test([math.nan, math.nan, -1, -1], clusters=["a", "a", "b", "c"])
    assert (result.n, result.n_clusters, result.n_flipped) == (2, 2, 2)


# --------------------------------------------------------------------------- too few, nothing


def test_four_rows_that_moved_are_too_few_and_five_are_not() -> None:
    assert sign_flip_test([-1.0] * 4 + [0.0] * 1000).too_few
    assert not sign_flip_test([-1.0] * 5).too_few
    assert mcnemar_test(4, 0).too_few
    assert not mcnemar_test(5, 0).too_few


@every_row("differences", [[], [math.nan], [0.0, 0.0]])
def test_nothing_that_moved_is_no_evidence(differences: list[float]) -> None:
    result = sign_flip_test(differences)
    assert p_values(result) == (1.0, 1.0, 1.0)
    assert result.too_few
    as_json = result.to_dict()
    assert as_json["mean"] == (0.0 if len(differences) == 2 else None)
    json.dumps(as_json, allow_nan=False)


def test_results_are_json_in_camel_case() -> None:
    assert sign_flip_test([-1, -1, 0.0]).to_dict() == {
        "mean": -2 / 3,
        "margin": 0.0,
        "n": 3,
        "nInformative": 2,
        "nClusters": None,
        "nFlipped": 2,
        "pWorse": 0.25,
        "pBetter": 1.0,
        "pTwoSided": 0.5,
        "smallestP": 0.25,
        "exact": True,
        "nResamples": 4,
        "seed": 0,
        "tooFew": True,
    }
    assert mcnemar_test(1, 0).to_dict() == {
        "nWorse": 1,
        "nBetter": 0,
        "pWorse": 0.5,
        "pBetter": 1.0,
        "pTwoSided": 1.0,
        "smallestP": 0.5,
        "tooFew": True,
    }


# ---------------------------------------------------------------------------------- McNemar


@every_row(
    ("n_worse", "n_better"),
    [(0, 0), (1, 0), (0, 7), (3, 3), (12, 4), (400, 380), (30_000, 29_500), (600_000, 599_000)],
)
def test_mcnemar_agrees_with_scipys_binomial_test(n_worse: int, n_better: int) -> None:
    result = mcnemar_test(n_worse, n_better)
    n = n_worse + n_better
    if n == 0:
        assert (result.p_worse, result.p_better, result.p_two_sided) == (1.0, 1.0, 1.0)
        return
    for p, k, alternative in (
        (result.p_worse, n_worse, "greater"),
        (result.p_better, n_better, "greater"),
        (result.p_two_sided, n_worse, "two-sided"),
    ):
        theirs = scipy.stats.binomtest(k, n, 0.5, alternative).pvalue
        assert p == pytest.approx(theirs, rel=1e-9)


def test_mcnemar_keeps_the_digits_of_small_p_values() -> None:
    assert mcnemar_test(900, 100).p_worse == pytest.approx(
        sum(math.comb(1000, k) for k in range(900, 1001)) / 2**1000, rel=1e-10
    )
    assert mcnemar_test(1_000_000, 0).p_worse == 0.0


@every_row(("n_worse", "n_better"), [(1, 0), (4, 1), (7, 6), (0, 9), (5, 5)])
def test_mcnemar_is_the_sign_flip_test_of_verdicts(n_worse: int, n_better: int) -> None:
    flips = sign_flip_test([-1] * n_worse + [1] * n_better + [0] * 30)
    result = mcnemar_test(n_worse, n_better)
    expected = (result.p_worse, result.p_better, result.p_two_sided)
    assert p_values(flips) == pytest.approx(expected, abs=1e-12)
    assert flips.smallest_p == result.smallest_p


# -------------------------------------------------------------------------------- error rates


@every_row("tied", [0.0, 0.5, 0.9])
def test_runs_of_one_system_are_called_worse_no_more_often_than_stated(tied: float) -> None:
    generator = np.random.default_rng(11)
    scores = np.round(generator.beta(0.5, 0.3, (2, 30, 1500)), 1)
    differences = np.where(generator.random((30, 1500)) < tied, 0.0, scores[0] - scores[1])
    results = sign_flip_tests(differences, n_resamples=199, seed=1)
    share = np.mean([result.p_worse <= 0.05 for result in results])
    assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)
    if tied == 0:
        assert share > 0.03  # and not by never saying so


# ------------------------------------------------------------------------------------- errors


def test_what_cannot_be_tested_is_named() -> None:
    with pytest.raises(InputError, match="differences must be finite, or NaN"):
        sign_flip_test([0.1, math.inf])
    with pytest.raises(
        InputError, match="differences must be a one-dimensional array, got 2 dimensions"
    ):
        sign_flip_test([[0.1]])
    with pytest.raises(
        InputError, match="differences must be a two-dimensional array, got 1 dimensions"
    ):
        sign_flip_tests([0.1])
    with pytest.raises(InputError, match=r"margin must be at least 0, got -0\.1"):
        sign_flip_test([0.1], margin=-0.1)
    with pytest.raises(InputError, match=r"margins must be one per column \(2\), got 1"):
        sign_flip_tests([[0.1, 0.2]], margins=[0.0])
    with pytest.raises(InputError, match=r"clusters must have one value per row \(2\), got 1"):
        sign_flip_test([0.1, 0.2], clusters=["a"])
    with pytest.raises(
        InputError, match="group of row 1 is missing; it must be a name or a number"
    ):
        sign_flip_test([0.1, 0.2], clusters=["a", None])
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1, got 0"):
        sign_flip_test([0.1], n_resamples=0)
    with pytest.raises(InputError, match="seed must be a whole number of at least 0, got -1"):
        sign_flip_test([0.1], seed=-1)
    with pytest.raises(InputError, match="n_better must be a whole number of at least 0, got -1"):
        mcnemar_test(1, -1)
