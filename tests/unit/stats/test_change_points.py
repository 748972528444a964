"""Change points: where they are found, how rarely by chance, and what has none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.stats.change_points import change_points
from tests.tables import every_row


def some_noise(n: int, seed: int) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).normal(0, 0.01, n)]


def test_changes_are_found_where_they_are_with_the_means_between_them() -> None:
    levels = [0.8] * 10 + [0.7] * 10 + [0.9] * 10
    values = np.array(levels) + some_noise(30, 1)
    first, second = change_points(values)
    assert (first.place, second.place) == (10, 20)
    assert first.before == pytest.approx(values[:10].mean())
    assert first.after == second.before == pytest.approx(values[10:20].mean())
    assert second.after == pytest.approx(values[20:].mean())
    assert max(first.p_value, second.p_value) <= 0.05


@every_row("n, expected", [(3, 0), (4, 1)])
def test_a_change_without_noise_needs_eight_numbers(n: int, expected: int) -> None:
    # Of all orders of six, one in ten has its cut in the middle as clean; of eight, one in 35.
    assert len(change_points([0.5] * n + [0.6] * n)) == expected


@every_row("values", [[], [0.5], [0.5] * 40, [0.1 + 0.2, 0.3] * 10, [0, 1, 0, 1, 0, 1, 0, 1]])
def test_no_change(values: list[float]) -> None:
    assert change_points(values) == []


def test_chance_alone_is_found_as_rarely_as_stated() -> None:
    found = [bool(change_points(some_noise(12, seed), n_resamples=199)) for seed in range(300)]
    # Two Monte-Carlo errors above 0.05.
    assert sum(found) / len(found) <= 0.075


def test_the_same_numbers_give_the_same_points_and_a_shift_changes_nothing_else() -> None:
    values = [0.8] * 6 + [0.7] * 6 + some_noise(0, 0)
    again = change_points(values)
    shifted = change_points([value - 100 for value in values])
    assert change_points(values) == again
    assert [(one.place, one.p_value) for one in shifted] == [
        (one.place, one.p_value) for one in again
    ]


def test_numbers_must_be_finite() -> None:
    with pytest.raises(InputError, match="numbers of a sequence must be finite"):
        change_points([0.0, math.nan])
