"""Sign patterns that are a group, and tests adjusted by the largest statistic of each."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.comparing.metric_tests import FlippedTest, paired_tests, row_signs
from rag_eval.comparing.run_comparison import ComparisonOptions
from rag_eval.stats import holm
from rag_eval.stats.max_t import critical_t, max_t
from rag_eval.stats.sign_patterns import SignPatterns
from tests.oracle.max_t import adjusted_p_worse
from tests.tables import every_row

Floats = npt.NDArray[np.float64]
WHOLE = st.integers(-3, 3).map(float)


def family(columns: Floats, clusters: list[str | None] | None = None) -> list[FlippedTest]:
    options, margins = ComparisonOptions(), [0.0] * columns.shape[1]
    signs = row_signs(columns, margins, clusters, options)
    verdicts = np.asarray(np.isin(columns, (-1, 0, 1)).all(axis=0), np.bool_)
    found = paired_tests(columns, verdicts, margins, signs, options)
    return [one for one in found if one is not None]


def adjusted(tests: list[FlippedTest]) -> list[float]:
    return max_t([one.worse for one in tests], [one.test.p_worse for one in tests])


# ------------------------------------------------------------------------------------- patterns


@every_row(("n_groups", "n_resamples"), [(1, 1), (3, 7), (40, 100), (300, 63), (500, 9999)])
def test_sums_are_those_of_the_signs(n_groups: int, n_resamples: int) -> None:
    signs = SignPatterns.drawn(n_groups, n_resamples, 5)
    assert n_resamples < signs.n_patterns <= 2 * n_resamples
    values = np.random.default_rng(0).normal(size=(n_groups, 3))
    patterns = np.arange(signs.n_patterns)[:, np.newaxis] & signs.codes
    negative = np.array([[code.bit_count() % 2 for code in row] for row in patterns.tolist()])
    assert np.allclose(signs.sums(values), (1 - 2.0 * negative) @ values, atol=1e-10)


def test_patterns_are_closed_and_balanced() -> None:
    signs = SignPatterns.drawn(30, 63, 1).sums(np.eye(30))
    rows = {tuple(row) for row in signs.tolist()}
    assert len(rows) == 64
    assert tuple([1.0] * 30) in rows
    for one, other in itertools.product(signs[::7], signs[::5]):
        assert tuple((one * other).tolist()) in rows
    # Any two groups are as often of one sign as of two.
    assert np.array_equal(signs.T @ signs, 64 * np.eye(30))


def test_codes_depend_on_seed_and_place_alone() -> None:
    few, many = SignPatterns.drawn(90, 9999, 3).codes, SignPatterns.drawn(40_000, 9999, 3).codes
    assert np.array_equal(few, many[:90])
    # All codes are used once before any is used again, and then about as often as each other.
    assert sorted(many[: 2**14 - 1].tolist()) == list(range(1, 2**14))
    assert np.bincount(many).max() < 12
    assert not np.array_equal(few, SignPatterns.drawn(90, 9999, 4).codes)


# ------------------------------------------------------------------------------------ step-down


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.lists(st.lists(WHOLE, min_size=n, max_size=n), min_size=1, max_size=4)
    )
)
def test_few_rows_have_the_p_values_of_all_patterns(rows: list[list[float]]) -> None:
    # Not verdicts: McNemar's test is of another column, and adds up another way.
    columns = np.array(rows).T * 2
    expected = [float(p) for p in adjusted_p_worse(columns.T.tolist())]
    assert adjusted(family(columns)) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(20, 60), st.integers(1, 6))
def test_adjusted_p_values_are_between_those_alone_and_the_sum(
    seed: int, n_rows: int, n_columns: int
) -> None:
    draw = np.random.default_rng(seed)
    columns = draw.normal(-0.2, 1, (n_rows, n_columns)).round(1)
    columns[draw.random(columns.shape) < 0.3] = np.nan
    columns[:, 0] = np.sign(np.nan_to_num(columns[:, 0]))
    tests = family(columns)
    found, alone = adjusted(tests), [one.test.p_worse for one in tests]
    assert all(p >= q for p, q in zip(found, alone, strict=True))
    assert max(found) <= 1
    # The order of columns is nothing to them, and nor is one that is there twice.
    turned = adjusted(family(columns[:, ::-1]))
    assert turned == found[::-1]
    twice = adjusted(family(np.concatenate([columns, columns], axis=1)))
    assert twice == found + found


def test_metrics_that_move_together_cost_no_more_than_one() -> None:
    rows = np.random.default_rng(1).normal(-0.3, 1, (60, 1))
    (alone,) = adjusted(family(rows))
    together = adjusted(family(np.repeat(rows, 7, axis=1) * [1, 2, 3, 0.1, 5, 1e-3, 40]))
    assert together == pytest.approx([alone] * 7, abs=1e-12)
    assert holm([alone] * 7)[0] == pytest.approx(7 * alone)


def test_a_p_value_that_is_raised_is_raised_in_the_family_too() -> None:
    """The guard against skewness holds for the family: not only the test alone is held back."""
    rows = np.random.default_rng(2).normal(size=(80, 4)) - [0.4, 0, 0, 0]
    tests = family(rows)
    statistics = [one.worse for one in tests]
    alone = [one.test.p_worse for one in tests]
    before = max_t(statistics, alone)
    raised = max_t(statistics, [0.02, *alone[1:]])
    assert before[0] < 0.02
    assert raised[0] > 0.04  # of four tests that hardly correlate
    assert max_t(statistics, [1.0] * 4) == [1.0] * 4


def test_a_family_of_verdicts_and_means_has_one_draw() -> None:
    draw = np.random.default_rng(3)
    losses = (draw.random(90) < 0.25) * -1.0
    columns = np.stack([losses, losses * 0.3, losses * draw.random(90)], axis=1)
    tests = family(columns)
    assert [one.test.name for one in tests] == ["mcnemar", "sign-flip", "sign-flip"]
    # Rows that all lose have one pattern of signs like theirs, whichever the test.
    assert adjusted(tests) == pytest.approx([1 / 2**14] * 3)


def test_clusters_have_one_sign() -> None:
    draw = np.random.default_rng(4)
    sums = draw.normal(-0.5, 1, (9, 2))
    rows = np.repeat(sums / 5, 5, axis=0)
    clusters: list[str | None] = [f"c{row // 5}" for row in range(45)]
    assert adjusted(family(rows, clusters)) == pytest.approx(adjusted(family(sums)), abs=1e-12)


def test_the_limit_of_one_test_is_its_quantile() -> None:
    (one,) = family(np.random.default_rng(5).normal(size=(400, 1)))
    assert critical_t([one.worse], 0.05) == pytest.approx(1.645, abs=0.05)


def test_any_false_alarm_is_as_rare_as_stated() -> None:
    """Half of the metrics got worse: those that did not are called worse in 5 % at most."""
    draw = np.random.default_rng(6)
    wrong = found = 0
    for _ in range(400):
        shared = draw.normal(size=(30, 1))
        rows = np.sqrt(0.5) * (shared + draw.normal(size=(30, 6))) - [2, 2, 2, 0, 0, 0]
        signs = SignPatterns.drawn(30, 255, 0).sums(rows)
        statistics = list(-(signs / np.sqrt(np.square(rows).sum(axis=0))).T)
        p_values = max_t(statistics, [0.0] * 6)
        wrong += min(p_values[3:]) <= 0.05
        found += max(p_values[:3]) <= 0.05
    assert wrong / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5
    assert wrong / 400 > 0.02  # and not by never saying so
    assert found == 400
