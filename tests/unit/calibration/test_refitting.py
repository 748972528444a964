"""Refitted weights: the minimum, the fallback, and the interval of the gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from rag_eval.calibration.refitting import (
    Refit,
    WeighableRows,
    _FoldPairs,
    _least_cost,
    fitted_line,
    refit_weights,
    weighted_scores,
)
from rag_eval.errors import InputError
from rag_eval.kernels.settings import SHIPPED_WEIGHTS
from rag_eval.stats.index_sources import Resampling

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def labelled(n: int = 200, seed: int = 0, weights: Any = None) -> tuple[Floats, Flags]:
    """Losses, and labels that follow other weights than the shipped ones."""
    generator = np.random.default_rng(seed)
    losses = generator.random((n, 8))
    losses[:, 6:] = losses[:, 6:] < 0.3
    weights = [0, 0, 0.2, 0.8, 0, 0, 0, 0] if weights is None else weights
    noise = generator.normal(0, 0.1, n)
    deducted = losses @ np.array(weights, np.float64) + noise
    return losses, deducted < np.median(deducted)


def refitted(losses: Floats, good: Flags, groups: Any = None, **options: Any) -> Refit:
    numbers = np.arange(len(good)) if groups is None else np.asarray(groups)
    return refit_weights(losses, good, numbers, Resampling(**{"n_resamples": 50, **options}))


# ------------------------------------------------------------------------------------ the minimum


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 8), st.floats(0.01, 5))
def test_no_other_factors_cost_less(seed: int, n: int, d: int, size: float) -> None:
    """Another solver, and steps in every direction, find nothing lower."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n, d))
    good = generator.random(n) < 0.5
    good[:2] = [True, False]
    prior = size * generator.random(d)
    side = np.where(good, 1, -1)
    shares = np.where(good, 0.5 / good.sum(), 0.5 / (~good).sum())

    def cost(at: Floats) -> float:
        margins = side * (at[-1] + features @ at[:-1])
        penalty = 0.1 * ((at[:-1] - prior) ** 2).sum()
        return float((shares * np.log1p(np.exp(-margins))).sum() + penalty)

    factors, level = _least_cost(features, good, prior)
    assert (factors >= 0).all()
    least = cost(np.append(factors, level))
    bounds = [(0, None)] * d + [(None, None)]
    other = minimize(cost, np.append(prior, 0), method="L-BFGS-B", bounds=bounds)
    assert least <= other.fun + 1e-12
    for place in range(d + 1):
        for step in (1e-4, -1e-4):
            at = np.append(factors, level)
            at[place] += step
            if place == d or at[place] >= 0:
                assert cost(at) > least - 1e-14


def test_classes_weigh_the_same_whatever_their_sizes() -> None:
    losses, good = labelled()
    rows = np.concatenate([np.flatnonzero(good), np.repeat(np.flatnonzero(~good), 3)])
    once = _least_cost(losses, good, np.ones(8))
    thrice = _least_cost(losses[rows], good[rows], np.ones(8))
    assert thrice[0] == pytest.approx(once[0], abs=1e-9)
    assert thrice[1] == pytest.approx(once[1], abs=1e-9)


def test_labels_that_losses_separate_still_have_a_minimum() -> None:
    losses = np.zeros((60, 8))
    losses[30:, 0] = 1
    line = fitted_line(losses, np.arange(60) < 30)
    assert line is not None
    assert np.isfinite([*line.weights, line.slope, line.intercept]).all()
    assert line.weights[:6].sum() == pytest.approx(1, abs=1e-12)


def test_costs_that_rounding_alone_tells_apart() -> None:
    """Regression: the last step to the minimum was never taken, as no cost seemed to fall."""
    random = np.random.default_rng(42947)  # of 60,000 the one that did so
    features = random.normal(size=(40, 1))
    good = random.random(40) < 0.9
    factors, level = _least_cost(features, good, np.array([0.4]))
    assert factors.tolist() == [0]
    assert level == pytest.approx(0, abs=1e-8)  # both classes weigh the same


# -------------------------------------------------------------------------- weights and scores


def test_weights_follow_the_labels() -> None:
    losses, good = labelled()
    found = refitted(losses, good)
    assert found.used
    assert found.weights[3] > 0.3 > SHIPPED_WEIGHTS[3]
    assert min(found.weights) >= 0
    assert sum(found.weights[:6]) == pytest.approx(1, abs=1e-12)
    assert found.refitted_auroc > found.shipped_auroc
    assert found.gain.estimate == pytest.approx(found.refitted_auroc - found.shipped_auroc)
    assert found.gain.low is not None
    assert found.gain.high is not None
    assert 0 < found.gain.low < found.gain.estimate < found.gain.high
    assert refitted(losses, good) == found


def test_the_probability_is_of_rows_as_likely_good_as_those_labelled() -> None:
    losses, good = labelled()
    few = np.concatenate([np.flatnonzero(good), np.flatnonzero(~good)[:20]])
    even, many_good = refitted(losses, good), refitted(losses[few], good[few])
    for found, rows in ((even, np.arange(200)), (many_good, few)):
        scores = weighted_scores(losses[rows], found.weights)
        mean = found.probability_map(scores).mean()
        assert mean == pytest.approx(good[rows].mean(), abs=0.05)


def test_scores_stay_between_0_and_1() -> None:
    nothing, everything = np.zeros((1, 8)), np.ones((1, 8))
    losses, good = labelled()
    for weights in (SHIPPED_WEIGHTS, refitted(losses, good).weights):
        assert weighted_scores(nothing, weights) == 1
        assert weighted_scores(everything, weights) == 0


def test_without_a_gain_the_shipped_weights_stay() -> None:
    """Labels of coins: what a refit learns of them does not hold for rows held out."""
    losses, _ = labelled(60)
    good = np.random.default_rng(2).random(60) < 0.5
    found = refitted(losses, good)
    assert not found.used
    assert found.weights == SHIPPED_WEIGHTS
    assert found.gain.estimate <= 0
    assert found.slope >= 0


def test_losses_that_never_vary() -> None:
    """Those of a corpus without numbers and names; and of one where nothing differs."""
    losses, good = labelled()
    losses[:, 3:] = 0
    line = fitted_line(losses, good)
    assert line is not None
    rates = line.weights * line.slope
    assert rates[3:] == pytest.approx(7 * np.array(SHIPPED_WEIGHTS[3:]))
    found = refitted(np.full((40, 8), 0.5), np.arange(40) < 10)
    assert (found.used, found.slope) == (False, 0)
    assert found.probability_map(np.array([0.2])) == pytest.approx(0.25)


def test_no_share_keeps_a_weight() -> None:
    """Good answers lose more than bad ones: no weights that may not be negative fit that."""
    losses, good = labelled(400)
    losses = np.where(good[:, np.newaxis], 1, 0) * np.ones((400, 8)) + losses / 100
    assert fitted_line(losses, good) is None
    found = refitted(losses, good)
    assert not found.used
    assert found.weights == SHIPPED_WEIGHTS


def test_scores_of_all_rows_by_weights_of_some() -> None:
    losses, good = labelled()
    losses[5] = np.nan  # 0 by rule, whatever the weights
    rows = WeighableRows(np.nan_to_num(weighted_scores(losses, SHIPPED_WEIGHTS)), good, losses)
    kept = np.arange(0, 100)
    known = kept[kept != 5]
    line = fitted_line(losses[known], good[known])
    assert line is not None
    found = rows.scores_fitted_to(kept)
    expected = weighted_scores(losses, line.weights)
    assert found[5] == 0
    assert (np.delete(found, 5) == np.delete(expected, 5)).all()
    # Of one class alone nothing can be learnt.
    assert (rows.scores_fitted_to(np.flatnonzero(good)) == rows.shipped).all()


# ----------------------------------------------------------------------------- cross-validation


def test_rows_of_a_group_are_held_out_together() -> None:
    """Each label is that of a coin, and a group's rows are the same: apart, they give it away."""
    generator = np.random.default_rng(0)
    losses = np.repeat(generator.random((60, 8)), 4, axis=0)
    good = np.repeat(generator.random(60) < 0.5, 4)
    alone, together = refitted(losses, good), refitted(losses, good, np.repeat(np.arange(60), 4))
    assert alone.refitted_auroc > together.refitted_auroc + 0.02
    assert together.gain.n_groups == 60


def test_one_group_gives_no_gain() -> None:
    losses, good = labelled()
    found = refitted(losses, good, np.zeros(200, np.int64))
    # Nothing was fitted without its rows.
    assert (found.used, found.gain.estimate, found.gain.low) == (False, 0, None)


def test_chances_are_counted_inside_folds() -> None:
    generator = np.random.default_rng(3)
    scores, good = generator.random(100).round(1), generator.random(100) < 0.5
    folds = np.arange(100) % 5
    inside = [(folds == fold) for fold in range(5)]
    pairs = [good[rows].sum() * (~good[rows]).sum() for rows in inside]
    expected = np.average([roc_auc_score(good[r], scores[r]) for r in inside], weights=pairs)
    weights = np.ones((1, 100), np.int64)
    assert _FoldPairs(good, folds).aurocs(scores, weights) == pytest.approx(expected)
    # A weighting is as good as rows that are there so many times.
    drawn = generator.integers(0, 3, 100)
    rows = np.repeat(np.arange(100), drawn)
    again = _FoldPairs(good[rows], folds[rows]).aurocs(
        scores[rows], np.ones((1, len(rows)), np.int64)
    )
    assert _FoldPairs(good, folds).aurocs(scores, drawn[np.newaxis]) == pytest.approx(again[0])
    assert np.isnan(_FoldPairs(good, np.where(good, 0, 1)).aurocs(scores, weights)).all()


@pytest.mark.parametrize(("n_good", "n_bad"), [(15, 14), (100, 7), (7, 100)])
def test_too_few_labels(n_good: int, n_bad: int) -> None:
    good = np.arange(n_good + n_bad) < n_good
    with pytest.raises(InputError, match="a refit takes 30 labelled rows, 8 of each class"):
        refitted(np.zeros((len(good), 8)), good)
