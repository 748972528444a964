"""Weighted ranks and correlations: weights stand for rows that were really copied."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from rag_eval.stats.correlations import (
    correlations,
    mid_ranks,
    one_each,
    partial_correlations,
    varies,
)
from tests.tables import every_row

Floats = npt.NDArray[np.float64]


def tied(generator: np.random.Generator, n_rows: int) -> Floats:
    return generator.integers(0, 5, n_rows) / 4


@every_row("seed", range(20))
def test_weights_count_as_copies_do(seed: int) -> None:
    generator = np.random.default_rng(seed)
    columns = [tied(generator, 12), generator.random(12), tied(generator, 12)]
    weights = generator.integers(0, 4, (5, 12))
    together = correlations(columns[0], columns[1], weights)
    given = partial_correlations(*columns, weights)
    for number, counts in enumerate(weights):
        x, y, z = (np.repeat(column, counts) for column in columns)
        ranks = mid_ranks(columns[0], weights)[number]
        assert np.repeat(ranks, counts).tolist() == (stats.rankdata(x) - 0.5).tolist()
        assert together[number] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
        unexplained = [residuals(column, z) for column in (x, y)]
        assert given[number] == pytest.approx(stats.pearsonr(*unexplained).statistic, abs=1e-9)


def residuals(column: Floats, given: Floats) -> Floats:
    """What a straight line through the third column leaves."""
    design = np.stack([np.ones(len(given)), given], axis=1)
    coefficients, *_ = np.linalg.lstsq(design, column, rcond=None)
    return np.asarray(column - design @ coefficients, np.float64)


def test_a_constant_column_has_no_correlation() -> None:
    """The mean of three times 0.1 is not 0.1: what is left of it must not correlate."""
    constant, other = np.full(3, 0.1), np.array([0.1, 0.2, 0.4])
    assert np.isnan(correlations(constant, other, one_each(3))).all()
    assert np.isnan(correlations(other, constant, one_each(3))).all()
    drawn = np.array([[3, 0, 0], [1, 1, 1]])
    assert np.isnan(correlations(other, other, drawn)).tolist() == [True, False]
    assert varies(other, other, drawn).tolist() == [False, True]


def test_correlations_stay_in_their_range() -> None:
    for n in range(2, 60):
        column = np.sqrt(np.arange(n) + 0.1)
        (up,) = correlations(column, 3 * column, one_each(n))
        (down,) = correlations(column, -7 * column, one_each(n))
        assert up == pytest.approx(1, abs=1e-12)
        assert down == pytest.approx(-1, abs=1e-12)
        assert down >= -1
        assert up <= 1


def test_what_the_third_column_says_already_leaves_nothing_to_correlate() -> None:
    column, other = np.array([1.0, 2, 4, 7, 3]), np.array([2.0, 1, 5, 3, 3])
    weights = one_each(5)
    assert math.isnan(partial_correlations(column, other, 2 * column - 1, weights)[0])
    assert math.isnan(partial_correlations(other, column, 2 * column - 1, weights)[0])
    assert not math.isnan(partial_correlations(column, other, column**2, weights)[0])


@every_row("seed", range(20))
def test_rounding_leaves_nothing_to_correlate(seed: int) -> None:
    """A line through numbers that binary cannot hold is not quite straight."""
    generator = np.random.default_rng(seed)
    column, other = generator.random(9), generator.random(9)
    line, weights = column * 0.3 + 0.1, one_each(9)
    assert np.isnan(partial_correlations(column, other, line, weights)).all()
    assert np.isnan(partial_correlations(other, column, line, weights)).all()
