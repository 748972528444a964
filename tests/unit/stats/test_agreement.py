"""Two raters: kappas, correlations and tables against their definitions, scipy and scikit-learn."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn import metrics as sklearn_metrics

from rag_eval.errors import InputError
from rag_eval.stats import (
    agreement_intervals,
    cohen_kappa,
    confusion_table,
    kendall,
    pearson,
    spearman,
    weighted_kappa,
    wilson_interval,
)
from rag_eval.stats.agreement import COEFFICIENTS, Coefficient
from rag_eval.stats.concordance import kendall_taus
from tests.tables import every_row

RATINGS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40).filter(
    lambda rows: len({value for row in rows for value in row}) > 1
)

FUNCTIONS = {
    "cohen_kappa": cohen_kappa,
    "linear_kappa": lambda x, y: weighted_kappa(x, y, weights="linear"),
    "quadratic_kappa": weighted_kappa,
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def columns(rows: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    left, right = zip(*rows, strict=True)
    return list(left), list(right)


def random_columns(seed: int, n: int = 60) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    left = generator.integers(1, 6, n)
    return left.astype(float), np.clip(left + generator.integers(-2, 3, n), 1, 5).astype(float)


# --------------------------------------------------------------------------------------- kappas


@given(RATINGS)
def test_kappas_are_those_of_scikit_learn(rows: list[tuple[int, int]]) -> None:
    left, right = columns(rows)
    score = sklearn_metrics.cohen_kappa_score
    assert cohen_kappa(left, right) == pytest.approx(score(left, right), abs=1e-12)
    for weights in ("linear", "quadratic"):
        # There a distance is one of places among the labels, so all places are given.
        expected = score(left, right, weights=weights, labels=range(1, 6))
        found = weighted_kappa(left, right, weights=weights)  # type: ignore[arg-type]
        assert found == pytest.approx(expected, abs=1e-12)


def test_a_distance_is_that_of_the_values() -> None:
    """Not of their places: nobody says 2, and 1 is still two away from 3."""
    left, right = [1, 3, 4, 4], [3, 3, 4, 1]
    apart = [[abs(x - y) for y in right] for x in left]
    expected = 1 - (2 + 3) / 4 / (sum(map(sum, apart)) / 16)
    assert weighted_kappa(left, right, weights="linear") == pytest.approx(expected, rel=1e-12)


def test_categories_may_be_texts_and_need_not_be_there_for_both() -> None:
    left, right = ["good", "bad", "good", "bad", None], ["good", "bad", "fair", "good", "bad"]
    expected = sklearn_metrics.cohen_kappa_score(left[:4], right[:4])
    assert cohen_kappa(left, right) == pytest.approx(expected, rel=1e-12)
    assert cohen_kappa(["a", math.nan], ["b", "b"]) == 0


@every_row("values", [[], [3.0], [3.0, 3.0, 3.0], [None, None]])
def test_raters_who_always_say_one_and_the_same_have_no_kappa(values: list[float | None]) -> None:
    assert cohen_kappa(values, values) is None
    assert weighted_kappa(values, values) is None
    assert weighted_kappa(values, values, weights="linear") is None


def test_scores_far_from_zero_lose_no_digits() -> None:
    left, right = random_columns(3)
    far = weighted_kappa(left + 1e7, right + 1e7)
    assert far == pytest.approx(weighted_kappa(left, right), rel=1e-6)


# --------------------------------------------------------------------------------- correlations


@every_row("seed", range(8))
@every_row("n", [3, 10, 127, 128])
def test_correlations_are_those_of_scipy(seed: int, n: int) -> None:
    left, right = random_columns(seed, n)
    if len(set(left)) < 2 or len(set(right)) < 2:
        left[0], right[0] = 9.0, 8.0
    for found, theirs in (
        (pearson, scipy_stats.pearsonr),
        (spearman, scipy_stats.spearmanr),
        (kendall, scipy_stats.kendalltau),
    ):
        assert found(left, right) == pytest.approx(theirs(left, right).statistic, abs=1e-12)


def tau_by_definition(left: Sequence[float], right: Sequence[float]) -> float:
    def sign(x: float) -> int:
        return int(x > 0) - int(x < 0)

    pairs = [(i, j) for i in range(len(left)) for j in range(i)]
    balance = sum(sign(left[i] - left[j]) * sign(right[i] - right[j]) for i, j in pairs)
    n_left = sum(left[i] != left[j] for i, j in pairs)
    n_right = sum(right[i] != right[j] for i, j in pairs)
    return balance / math.sqrt(n_left * n_right) if n_left and n_right else math.nan


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12
    )
)
def test_a_weight_is_so_many_copies_of_a_row(rows: list[tuple[int, int, int]]) -> None:
    left, right, weights = (np.array(column) for column in zip(*rows, strict=True))
    (found,) = kendall_taus(left.astype(float), right.astype(float), weights[np.newaxis])
    expected = tau_by_definition(np.repeat(left, weights), np.repeat(right, weights))
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@every_row("correlation", [pearson, spearman, kendall])
def test_a_constant_column_correlates_with_nothing(correlation: Any) -> None:
    assert correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert correlation([1.0], [2.0]) is None
    assert correlation([], []) is None
    assert correlation([1.0, None, 2.0], [1.0, 2.0, math.nan]) is None


# ------------------------------------------------------------------------------------ intervals


def test_intervals_are_those_of_rows_put_together_one_by_one() -> None:
    left, right = random_columns(5)
    drawn = np.random.default_rng(2).integers(60, size=(80, 60))
    found = agreement_intervals(left, right, seed=2, n_resamples=80, level=0.9)
    assert tuple(found) == COEFFICIENTS
    for name, one in found.items():
        assert one is not None
        function: Any = FUNCTIONS[name]
        copied = [function(left[rows], right[rows]) for rows in drawn]
        assert one.estimate == pytest.approx(function(left, right), rel=1e-12)
        assert [one.low, one.high] == pytest.approx(np.quantile(copied, [0.05, 0.95]), rel=1e-9)
        assert (one.level, one.n_resamples, one.n_groups) == (0.9, 80, 60)


def test_rows_of_a_group_are_drawn_together() -> None:
    left, right = random_columns(6)
    # Each row five times under one name says no more than once.
    alone = agreement_intervals(left, right, ["spearman"], seed=1)["spearman"]
    copies = agreement_intervals(
        np.tile(left, 5), np.tile(right, 5), ["spearman"], groups=list(range(60)) * 5, seed=1
    )["spearman"]
    assert alone is not None
    assert copies is not None
    assert copies.n_groups == 60
    assert (copies.low, copies.high) == pytest.approx((alone.low, alone.high), rel=1e-9)


def test_rows_that_lack_a_rating_are_left_out_with_their_groups() -> None:
    left: list[float | None] = [1, 2, None, 4, 5, 3]
    right: list[float | None] = [1, 3, 3, math.nan, 4, 3]
    found = agreement_intervals(left, right, ["pearson"], groups="aabbcd")["pearson"]
    assert found is not None
    assert found.estimate == pearson([1, 2, 5, 3], [1, 3, 4, 3])
    assert found.n_groups == 3


def test_a_coefficient_that_many_resamples_lack_has_no_interval() -> None:
    left, right = [0.0] * 19 + [1.0], [0.0] * 18 + [1.0, 1.0]
    found = agreement_intervals(left, right, ["pearson", "cohen_kappa"])
    for one in found.values():
        assert one is not None
        assert (one.low, one.high) == (None, None)
        assert one.n_resamples + one.n_undefined == 1000
    pearsons, kappas = found["pearson"], found["cohen_kappa"]
    assert pearsons is not None
    assert kappas is not None
    # Without the last row one column is constant: (19/20)**20 of the resamples.
    assert 300 < pearsons.n_undefined < 420
    assert 80 < kappas.n_undefined < 170


def test_what_is_not_defined_has_no_interval() -> None:
    assert agreement_intervals([], [], ["pearson"]) == {"pearson": None}
    found = agreement_intervals([1.0, 1.0], [1.0, 2.0], ["pearson", "quadratic_kappa"])
    assert found["pearson"] is None
    assert found["quadratic_kappa"] is not None


@every_row(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0]), "must have rated the same rows, got 1, 2"),
        (([math.inf], [1.0]), "must be finite numbers"),
        ((["a"], [1.0]), "must be numbers, or None"),
        (([1.0], [1.0], ["tau"]), "a coefficient must be one of 'cohen_kappa'"),
    ],
)
def test_what_is_no_pair_of_columns_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        agreement_intervals(*arguments)
    with pytest.raises(InputError, match="groups must have one value for each of 2 rows, got 1"):
        agreement_intervals([1, 2], [1, 2], groups=["a"])
    with pytest.raises(InputError, match="weights must be 'linear' or 'quadratic'"):
        weighted_kappa([1], [1], weights="cubic")  # type: ignore[arg-type]


def test_intervals_hold_the_true_correlation_about_as_often_as_they_say() -> None:
    """The 90 % interval of Spearman's correlation; in a normal pair the true one is known."""
    generator = np.random.default_rng(11)
    rho = 0.6
    truth = 6 / math.pi * math.asin(rho / 2)
    names: list[Coefficient] = ["spearman"]
    hits = 0
    for seed in range(60):
        left = generator.normal(size=80)
        right = rho * left + math.sqrt(1 - rho**2) * generator.normal(size=80)
        found = agreement_intervals(left, right, names, seed=seed, n_resamples=300, level=0.9)
        one = found["spearman"]
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        hits += one.low <= truth <= one.high
    assert 48 <= hits <= 60  # 54 are expected


# ---------------------------------------------------------------------------------- confusion


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_a_table_of_two_categories_is_that_of_scikit_learn(rows: list[tuple[bool, bool]]) -> None:
    people, scores = (list(column) for column in zip(*rows, strict=True))
    found = confusion_table(people, scores, labels=[False, True])
    expected = sklearn_metrics.confusion_matrix(people, scores, labels=[False, True])
    assert [list(row) for row in found.counts] == expected.tolist()
    assert found.positive == "True"
    (bad, wrong), (lost, good) = expected.tolist()
    for rate, n_found, n in (
        (found.accuracy(), bad + good, len(rows)),
        (found.precision(), good, good + wrong),
        (found.recall(), good, good + lost),
        (found.specificity(), bad, bad + wrong),
    ):
        assert rate == (wilson_interval(n_found, n) if n else None)


def test_the_positive_category_may_be_the_first() -> None:
    people, scores = ["bad", "bad", "good", "good"], ["bad", "good", "bad", "bad"]
    found = confusion_table(people, scores, positive="bad")
    assert found.labels == ("bad", "good")
    precision, recall, specificity = found.precision(), found.recall(), found.specificity()
    assert precision is not None
    assert recall is not None
    assert specificity is not None
    assert (precision.estimate, recall.estimate) == (pytest.approx(1 / 3), 0.5)
    assert specificity.estimate == 0


def test_three_categories_have_no_precision() -> None:
    found = confusion_table(["a", "b", "c", None], ["a", "c", "c", "a"])
    assert found.counts == ((1, 0, 0), (0, 0, 1), (0, 0, 1))
    assert (found.positive, found.precision(), found.recall()) == (None, None, None)
    assert found.specificity() is None
    assert (found.n, found.n_left_out) == (3, 1)
    value = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert value["accuracy"]["estimate"] == pytest.approx(2 / 3)
    assert "precision" not in value


def test_no_rows_make_a_table_without_rates() -> None:
    found = confusion_table([], [], labels=[0, 1])
    assert (found.n, found.accuracy(), found.precision()) == (0, None, None)
    assert found.to_dict()["recall"] is None


@every_row(
    ("arguments", "options", "message"),
    [
        ((["a"], []), {}, "got 1 and 0"),
        ((["a"], ["b"]), {"labels": ["a"]}, "the category 'b' is not in labels"),
        ((["a"], ["b"]), {"positive": "c"}, "the positive category 'c' is not"),
    ],
)
def test_what_makes_no_table_is_refused(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        confusion_table(*arguments, **options)
