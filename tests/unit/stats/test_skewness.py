"""The t test corrected for skewness: what it adds to sign flips, and what it leaves."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from rag_eval.comparing import compare
from rag_eval.stats.paired import sign_flip_tests
from rag_eval.stats.skewness import skewed_p_values
from tests.scored_runs import scored_run
from tests.tables import every_row


def rare_gains(n_rows: int, n_gains: int) -> np.ndarray:
    """Many rows lose a little, and a few gain a lot."""
    rows = np.zeros(n_rows)
    rows[: n_rows // 5] = -0.05
    rows[-n_gains:] = 0.25
    return rows


def test_without_skewness_it_is_the_t_test() -> None:
    rows = np.array([-0.3, -0.1, 0.1, 0.3, 0.0, 0.2, 0.4, -0.2, 0.5, -0.3, 0.1, 0.1]) + 0.02
    rows = np.concatenate([rows, 2 * rows.mean() - rows])
    n = len(rows)
    worse, better, either = skewed_p_values(rows[:, np.newaxis])[:, 0]
    # That of the library divides by n - 1 and not by n.
    t = scipy.stats.ttest_1samp(rows, 0).statistic * math.sqrt(n / (n - 1))
    assert worse == pytest.approx(scipy.stats.t.cdf(t, n - 1), abs=1e-12)
    assert better == pytest.approx(scipy.stats.t.sf(t, n - 1), abs=1e-12)
    assert either == pytest.approx(2 * min(worse, better), abs=1e-12)


def test_the_transformation_is_halls() -> None:
    rows = np.random.default_rng(8).exponential(0.3, (40, 1)) - 0.35
    n, column = len(rows), rows[:, 0]
    size, skewness = column.mean() / column.std(), scipy.stats.skew(column)
    # As a difference of cubes, which is how its inverse is found.
    cubes = ((1 + skewness * size / 3) ** 3 - 1) / skewness + skewness / (6 * n)
    wanted = scipy.stats.t.cdf(math.sqrt(n) * cubes, n - 1)
    worse, better, _ = skewed_p_values(rows)[:, 0]
    assert worse == pytest.approx(wanted, abs=1e-12)
    assert better == pytest.approx(1 - wanted, abs=1e-12)


def test_what_is_compared_is_guarded() -> None:
    rows = rare_gains(200, 3)
    old = scored_run("old", {"faithfulness": [0.5] * len(rows)})
    new = scored_run("new", {"faithfulness": (0.5 + rows).tolist()})
    test = compare(old, new).change("faithfulness").test
    assert test is not None
    (plain,) = sign_flip_tests(rows[:, np.newaxis])
    assert test.p_worse > 1.5 * plain.p_worse


def test_a_long_tail_of_gains_makes_a_loss_less_certain() -> None:
    rows = rare_gains(200, 3)[:, np.newaxis]
    (plain,), (guarded,) = sign_flip_tests(rows), sign_flip_tests(rows, skew_guard=True)
    assert plain.mean < 0
    assert guarded.p_worse > 1.5 * plain.p_worse
    # A mirror has the same to say about gains.
    (mirrored,) = sign_flip_tests(-rows, skew_guard=True)
    assert mirrored.p_better == pytest.approx(guarded.p_worse, abs=0.01)


@every_row("seed", range(5))
def test_the_guard_only_ever_raises(seed: int) -> None:
    rows = np.random.default_rng(seed).beta(0.5, 2.0, size=(60, 4)) - 0.2
    for plain, guarded in zip(
        sign_flip_tests(rows), sign_flip_tests(rows, skew_guard=True), strict=True
    ):
        assert guarded.p_worse >= plain.p_worse
        assert guarded.p_better >= plain.p_better
        assert guarded.p_two_sided >= plain.p_two_sided


def test_sums_that_are_all_equal_are_left_to_flips() -> None:
    rows = np.full((40, 1), -0.1)
    assert skewed_p_values(rows).max() == 0
    (found,) = sign_flip_tests(rows, skew_guard=True)
    assert found.p_worse == 1 / 2**14


def test_rows_without_a_score_leave_a_column_as_it_is() -> None:
    """Each column's p values are those it has by itself, whatever rows others have."""
    rows = np.array([0.01 * (number % 7) - 0.05 for number in range(16)] + [0.3])
    gaps = np.concatenate([rows, np.full(500, np.nan)])[:, np.newaxis]
    known = ~np.isnan(gaps)
    p_values = skewed_p_values(np.nan_to_num(gaps), known)
    assert p_values == pytest.approx(skewed_p_values(rows[:, np.newaxis]), abs=1e-14)
    clusters = [number // 2 for number in range(len(gaps))]
    for groups in (None, clusters):
        (found,) = sign_flip_tests(gaps, clusters=groups, skew_guard=True)
        (alone,) = sign_flip_tests(
            rows[:, np.newaxis],
            clusters=None if groups is None else groups[: len(rows)],
            skew_guard=True,
        )
        assert found.p_worse == pytest.approx(alone.p_worse, abs=1e-14)
        assert found.p_better == pytest.approx(alone.p_better, abs=1e-14)
        assert found.n_clusters == (None if groups is None else 9) == alone.n_clusters


@every_row("scale", [1e-150, 1e200])
def test_no_size_of_scores_is_too_much(scale: float) -> None:
    rows = rare_gains(200, 3)[:, np.newaxis]
    assert skewed_p_values(rows * scale) == pytest.approx(skewed_p_values(rows), abs=1e-12)
