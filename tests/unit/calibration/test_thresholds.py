"""Thresholds against their definition, tried one after the other in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, precision_score

from rag_eval.calibration.thresholds import LabelledScores, balanced_accuracies

# Few different values, so that ties are common; a weight of 0 leaves the row out.
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12
)
PRECISIONS = st.sampled_from([None, 0.2, 0.5, 2 / 3, 0.75, 1.0])
Row = tuple[int, bool, int]


def labelled(rows: list[Row]) -> LabelledScores:
    return LabelledScores(
        np.array([score / 5 for score, _, _ in rows]), np.array([good for _, good, _ in rows])
    )


def weights(rows: list[Row]) -> np.ndarray:
    return np.array([[weight for _, _, weight in rows]], np.int64)


def chosen(rows: list[Row], precision: float | None) -> float:
    """The definition: every score that is there is tried, the lowest of the best is taken."""
    copies = [(score / 5, good) for score, good, weight in rows for _ in range(weight)]
    n_good = sum(good for _, good in copies)
    best, found = -1, math.nan
    for threshold in sorted({score for score, _ in copies}):
        passing = [good for score, good in copies if score >= threshold]
        if precision is not None:
            if sum(passing) / len(passing) >= precision:
                return threshold
            continue
        n_bad = len(copies) - n_good
        right_bad = n_bad - (len(passing) - sum(passing))
        merit = sum(passing) * n_bad + right_bad * n_good
        if n_good and n_bad and merit > best:
            best, found = merit, threshold
    return found


@given(ROWS, PRECISIONS)
def test_thresholds(rows: list[Row], precision: float | None) -> None:
    found = labelled(rows).thresholds(weights(rows), precision)
    np.testing.assert_array_equal(found, [chosen(rows, precision)])


@given(ROWS, ROWS, PRECISIONS)
def test_weightings_do_not_touch_one_another(
    rows: list[Row], others: list[Row], precision: float | None
) -> None:
    n = min(len(rows), len(others))
    both = np.concatenate([weights(rows)[:, :n], weights(others)[:, :n]])
    scores = labelled(rows[:n])
    found = scores.thresholds(both, precision)
    for row in range(2):
        np.testing.assert_array_equal(
            found[row : row + 1], scores.thresholds(both[row : row + 1], precision)
        )


@given(ROWS)
def test_highest_precision(rows: list[Row]) -> None:
    scores = labelled(rows)
    highest, threshold = scores.highest_precision()
    assert threshold in scores.scores
    assert highest == precision_score(scores.good, scores.scores >= threshold, zero_division=0)
    for other in scores.scores:
        reached = precision_score(scores.good, scores.scores >= other, zero_division=0)
        assert reached < highest or (reached == highest and threshold <= other)


@given(ROWS, st.integers(0, 6))
def test_balanced_accuracy(rows: list[Row], threshold: int) -> None:
    scores = labelled(rows)
    (found,) = scores.balanced_accuracies(scores.one_each(), threshold / 5)
    if scores.good.all() or not scores.good.any():
        assert math.isnan(found)
    else:
        passes = scores.scores >= threshold / 5
        assert found == pytest.approx(balanced_accuracy_score(scores.good, passes), rel=1e-15)


def test_ties_are_not_broken_by_rounding() -> None:
    """Equal shares, 7/10 + 6/10 and 5/10 + 8/10, of which the second is more as floats."""
    assert 0.7 + 0.6 < 0.5 + 0.8
    scores = np.array([0.0] * 3 + [0.4] * 2 + [0.6] * 5 + [0.0] * 6 + [0.4] * 2 + [0.6] * 2)
    found = LabelledScores(scores, np.arange(20) < 10)
    assert found.thresholds(found.one_each(), None).tolist() == [0.4]


def test_accuracies_of_many_weightings() -> None:
    found = balanced_accuracies(
        np.array([[1, 1, 1, 1], [3, 1, 1, 1], [1, 1, 0, 0]]),
        np.array([True, False, False, True]),
        np.array([True, True, False, False]),
    )
    np.testing.assert_array_equal(found, [0.5, 0.625, math.nan])
