"""Simultaneous intervals of all pairs: their formula, what leaves them alone, and what has none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.stats.all_pairs import PairIntervals, all_pairs
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.sign_patterns import SignPatterns
from tests.tables import every_row

SYSTEMS = st.tuples(st.integers(2, 4), st.integers(8, 30), st.integers(0, 10_000))


def some_scores(k: int, n: int, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    return np.round(generator.beta(2, 1, (n, 1)) + generator.normal(0, 0.2, (n, k)), 3)


def one(scores: Floats, **options: object) -> PairIntervals:
    [found] = all_pairs([scores], **{"n_resamples": 199, **options})  # type: ignore[arg-type]
    return found


def by_hand(
    scores: Floats, clusters: Whole | None, level: float, n_resamples: int
) -> dict[tuple[int, int], tuple[float, float]]:
    """The t of each pair in each draw, one at a time."""
    n, k = scores.shape
    groups = np.arange(n) if clusters is None else clusters
    names = np.unique(groups)
    # The signs of a pattern: what happens to each group alone.
    signs = SignPatterns.drawn(len(names), n_resamples, 0).sums(np.eye(len(names)))
    largest = []
    pairs = [(a, b) for a in range(k) for b in range(a)]
    deviations = {}
    for a, b in pairs:
        difference = scores[:, a] - scores[:, b]
        centred = difference - difference.mean()
        deviations[a, b] = np.array([centred[groups == name].sum() for name in names])
    for pattern in signs:
        found = []
        for values in deviations.values():
            flipped = pattern * values
            error = flipped.std(ddof=1) / math.sqrt(len(flipped))
            found.append(abs(flipped.mean()) / error)
        largest.append(max(found))
    quantile = sorted(largest)[math.ceil(len(signs) * level) - 1]
    intervals = {}
    for (a, b), values in deviations.items():
        mean = float((scores[:, a] - scores[:, b]).mean())
        error = math.sqrt(len(values) * float(np.square(values).sum()) / (len(values) - 1)) / n
        intervals[a, b] = mean - quantile * error, mean + quantile * error
    return intervals


@every_row("clustered, level", [(False, 0.95), (True, 0.95), (False, 0.8)])
def test_they_are_those_of_the_formula(clustered: bool, level: float) -> None:
    scores = some_scores(4, 60, 3)
    clusters = np.arange(60) % 20 if clustered else None
    found = one(scores, clusters=clusters, level=level)
    for (a, b), (low, high) in by_hand(scores, clusters, level, 199).items():
        assert found.low[a, b] == pytest.approx(low, rel=1e-9)
        assert found.high[a, b] == pytest.approx(high, rel=1e-9)


@given(SYSTEMS)
def test_the_order_of_systems_and_a_common_shift_change_nothing(
    shape: tuple[int, int, int],
) -> None:
    scores = some_scores(*shape)
    found = one(scores)
    turned = one(scores[:, ::-1] + np.arange(len(scores))[:, np.newaxis])
    for before, after in ((found.low, turned.low), (found.high, turned.high)):
        np.testing.assert_allclose(after[::-1, ::-1], before, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.low, -found.high.T)


def test_a_wider_family_has_wider_intervals() -> None:
    scores = some_scores(3, 60, 1)
    alone = one(scores)
    together, _ = all_pairs([scores, some_scores(3, 60, 2)], n_resamples=199)
    wider = together.high - together.low > alone.high - alone.low
    assert wider[~np.eye(3, dtype=np.bool_)].all()


def test_rows_that_any_system_lacks_are_left_out() -> None:
    scores = some_scores(3, 40, 1)
    lacking = scores.copy()
    lacking[30:, 1] = np.nan
    found = one(lacking)
    assert found.n == 30
    np.testing.assert_allclose(found.differences, one(scores[:30]).differences)


def test_too_few_rows_that_differ_have_no_interval_and_equal_systems_have_an_exact_one() -> None:
    scores = np.repeat(some_scores(1, 60, 1), 3, axis=1)
    scores[:6, 2] += 0.5
    found = one(scores)
    assert found.too_few.tolist() == [
        [False, False, True],
        [False, False, True],
        [True, True, False],
    ]
    assert (found.low[0, 1], found.high[0, 1], found.differences[0, 1]) == (0.0, 0.0, 0.0)
    assert found.n_differ[0, 2] == 6
    assert not found.apart.any()
    # 2 ** (1 - 7) is below 0.05 / 3.
    scores[6, 2] += 0.5
    assert not one(scores).too_few.any()


def test_no_rows_and_infinite_scores() -> None:
    empty = one(np.full((5, 2), np.nan))
    assert empty.n == 0
    assert np.isnan(empty.differences).all()
    assert not empty.apart.any()
    with pytest.raises(InputError, match="scores must be finite"):
        one(np.array([[0.0, math.inf]]))
