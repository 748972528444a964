"""Losses of labelled answers -> weights for faithfulness, drawn towards the shipped ones.

The losses are what the kernels deduct from a support of 1; a refit fits their weights to the
labels, and is used if it ranks held-out rows better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.calibration.probabilities import LogisticMap
from rag_eval.errors import InputError
from rag_eval.kernels.settings import LOSSES, SHIPPED_WEIGHTS
from rag_eval.plumbing.spelling import camel_case
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.bootstrap import group_intervals
from rag_eval.stats.groups import cluster_numbers
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.intervals import Interval

Places: TypeAlias = npt.NDArray[np.intp]

LEAST_ROWS: Final = 30
"""Labelled rows from which weights are refitted."""
LEAST_OF_CLASS: Final = 8
"""Good rows, and bad ones, that this takes."""
N_SHARES: Final = 6
"""Losses whose weights add up to 1; the others are flags, deducted from what these leave."""
TOO_FEW: Final = f"a refit takes {LEAST_ROWS} labelled rows, {LEAST_OF_CLASS} of each class"

# Log-odds of a good row per unit of the shipped score, as they typically are.
_SLOPE: Final = 7.0
_PENALTY: Final = 0.1
# Of a component of the projected gradient; weights are then known to ten digits.
_TOLERANCE: Final = 1e-10
_MOST_STEPS: Final = 200
_FOLDS: Final = 5
# Standard deviation below which a loss is the same in all rows.
_CONSTANT: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """Weights of faithfulness fitted to labels, and their gain.

    Attributes
    ----------
    weights : tuple of float
        The weights in use, in the order of :data:`~rag_eval.kernels.settings.LOSSES`: the shipped
        ones if the refit is not used. The first six add up to 1.
    used : bool
        Whether the refit ranks held-out rows better than the shipped weights do.
    slope, intercept : float
        Log-odds that a row is good: ``intercept + slope * score``.
    shipped_auroc, refitted_auroc : float
        Probability that a good row ranks above a bad row of its fold, with the shipped weights and
        with weights fitted without the fold. Folds hold whole groups.
    gain : Interval
        ``refitted_auroc`` minus ``shipped_auroc``, with an interval from resamples of whole groups.
    """

    weights: tuple[float, ...]
    used: bool
    slope: float
    intercept: float
    shipped_auroc: float
    refitted_auroc: float
    gain: Interval

    @property
    def probability_map(self) -> LogisticMap:
        """Maps a score under these weights to the probability that its row is good.

        Losses of more than 1 leave a score of 0 and its probability: results hold no more of a row.
        """
        return LogisticMap(self.slope, self.intercept)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "used": self.used,
            "weights": {
                camel_case(name): weight for name, weight in zip(LOSSES, self.weights, strict=True)
            },
            "slope": self.slope,
            "intercept": self.intercept,
            "shippedAuroc": self.shipped_auroc,
            "refittedAuroc": self.refitted_auroc,
            "gain": self.gain.to_dict(),
        }


class FittedLine(NamedTuple):
    """Weights, and the log-odds of a good row by the score that they give."""

    weights: Floats
    slope: float
    intercept: float


def weighted_scores(losses: Floats, weights: Sequence[float] | Floats) -> Floats:
    """What remains of 1 after the weighted losses (R, 8), from 0 to 1; the bits of the kernels."""
    return np.clip(1.0 - _deductions(losses, weights), 0.0, 1.0)


def refit_weights(losses: Floats, good: Flags, groups: Whole, resampling: Resampling) -> Refit:
    """Fit weights to labels, and decide by rows held out whether to use them.

    Parameters
    ----------
    losses : float64, shape (R, 8)
        Pooled losses of answers, in the order of :data:`~rag_eval.kernels.settings.LOSSES`.
    good : bool, shape (R,)
    groups : int64, shape (R,)
        Rows of one group are held out, and drawn, together.
    resampling : Resampling
        Of the interval of the gain.

    Raises
    ------
    InputError
        For fewer than 30 rows, or fewer than 8 good or 8 bad ones.
    """
    if not is_enough(good):
        raise InputError(TOO_FEW)
    numbers = cluster_numbers(groups, len(good))
    assert numbers is not None
    folds = numbers % _FOLDS
    shipped = weighted_scores(losses, SHIPPED_WEIGHTS)
    held_out = _held_out_scores(losses, good, folds, shipped)
    pairs = _FoldPairs(good, folds)

    def aurocs(weights: Whole) -> Floats:
        found = [pairs.aurocs(scores, weights) for scores in (shipped, held_out)]
        return np.stack([*found, found[1] - found[0]], axis=1)

    before, after, gain = group_intervals(aurocs, groups, resampling)
    if math.isnan(gain.estimate):  # no fold has rows of both classes
        before, after, gain = (
            replace(one, estimate=level)
            for one, level in ((before, 0.5), (after, 0.5), (gain, 0.0))
        )
    line = fitted_line(losses, good)
    used = line is not None and gain.estimate > 0
    if line is None or not used:
        line = _shipped_line(losses, good)
    return Refit(
        weights=tuple(line.weights.tolist()),
        used=used,
        slope=line.slope,
        intercept=line.intercept,
        shipped_auroc=before.estimate,
        refitted_auroc=after.estimate,
        gain=gain,
    )


@dataclass(frozen=True, slots=True)
class WeighableRows:
    """Labelled rows whose scores follow from their losses and some weights.

    Attributes
    ----------
    shipped : float64, shape (R,)
        Scores under the shipped weights.
    good : bool, shape (R,)
    losses : float64, shape (R, 8)
        NaN where a score is 0 by rule, whatever the weights.
    """

    shipped: Floats
    good: Flags
    losses: Floats

    def refit(self, groups: Whole, resampling: Resampling) -> Refit:
        """As :func:`refit_weights`, of the rows that have losses."""
        some = self._measured
        return refit_weights(self.losses[some], self.good[some], groups[some], resampling)

    def scores(self, weights: Sequence[float] | Floats) -> Floats:
        """The scores of all rows under some weights."""
        return np.where(self._measured, weighted_scores(self.losses, weights), self.shipped)

    def scores_fitted_to(self, kept: Places) -> Floats:
        """The scores of all rows under weights fitted to some of them."""
        some = kept[self._measured[kept]]
        line = fitted_line(self.losses[some], self.good[some])
        return self.shipped if line is None else self.scores(line.weights)

    @property
    def _measured(self) -> Flags:
        return ~np.isnan(self.losses[:, 0])


def is_enough(good: Flags) -> bool:
    """Whether there are enough rows of each class for a refit."""
    n_good = int(good.sum())
    return len(good) >= LEAST_ROWS and min(n_good, len(good) - n_good) >= LEAST_OF_CLASS


def fitted_line(losses: Floats, good: Flags) -> FittedLine | None:
    """Weights fitted to all rows; None if no share keeps a weight, or a class has no row."""
    if good.all() or not good.any():
        return None
    means, spreads = losses.mean(axis=0), losses.std(axis=0)
    varies = spreads >= _CONSTANT
    rates = _SLOPE * np.array(SHIPPED_WEIGHTS)
    spread = spreads[varies]
    standardised = (means[varies] - losses[:, varies]) / spread
    factors, level = _least_cost(standardised, good, rates[varies] * spread)
    rates[varies] = factors / spread
    slope = float(rates[:N_SHARES].sum())
    if slope <= _CONSTANT:
        return None
    intercept = level + rates @ means - slope + _log_odds(good)
    return FittedLine(rates / slope, slope, float(intercept))


# -------------------------------------------------------------------------------------- fitting


def _shipped_line(losses: Floats, good: Flags) -> FittedLine:
    """The shipped weights, with the log-odds fitted to their scores alone."""
    weights = np.array(SHIPPED_WEIGHTS)
    scores = 1.0 - _deductions(losses, SHIPPED_WEIGHTS)
    # Along the shipped weights the penalty is that of one feature, as long as all of them.
    length = float(np.linalg.norm(_SLOPE * weights * losses.std(axis=0)))
    if length < _CONSTANT:
        return FittedLine(weights, 0.0, _log_odds(good))
    rate, center = _SLOPE / length, float(scores.mean())
    feature = rate * (scores - center)[:, np.newaxis]
    (factor,), level = _least_cost(feature, good, np.array([length]))
    slope = rate * float(factor)
    return FittedLine(weights, slope, level - slope * center + _log_odds(good))


def _least_cost(features: Floats, good: Flags, prior: Floats) -> tuple[Floats, float]:
    """The factors, none negative, and the constant of least penalised logistic loss.

    Both classes weigh the same, and the penalty draws the factors towards ``prior``. The loss is
    strictly convex, so that any solver ends there; each step of this one is the bounded least
    squares problem that has the loss's gradient and curvature.
    """
    from scipy.optimize import lsq_linear
    from scipy.special import expit

    side = np.where(good, 1.0, -1.0)[:, np.newaxis]
    signed = side * np.column_stack([features, np.ones(len(features))])
    shares = np.where(good, 0.5 / good.sum(), 0.5 / (~good).sum())
    pull = np.append(np.full(len(prior), _PENALTY), 0.0)
    goal = np.append(prior, 0.0)
    bounds = np.append(np.zeros(len(prior)), -np.inf), np.inf

    def cost(at: Floats) -> float:
        penalty = pull @ (at - goal) ** 2
        return float(shares @ np.logaddexp(0.0, -(signed @ at)) + penalty)

    at = goal
    for _ in range(_MOST_STEPS):
        wrong = expit(-(signed @ at))
        gradient = 2.0 * pull * (at - goal) - (shares * wrong) @ signed
        # At its bound a factor can only grow.
        open_gradient = np.where(at > bounds[0], gradient, np.minimum(gradient, 0.0))
        if np.abs(open_gradient).max() < _TOLERANCE:
            return at[:-1], float(at[-1])
        curvature = (shares * wrong * (1.0 - wrong))[:, np.newaxis] * signed
        root = np.linalg.cholesky(signed.T @ curvature + np.diag(2.0 * pull)).T
        wanted = root @ at - np.linalg.solve(root.T, gradient)
        nearest = lsq_linear(root, wanted, bounds, "bvls", tol=1e-15, max_iter=_MOST_STEPS)
        step = nearest.x - at
        length, before, fall = 1.0, cost(at), float(gradient @ step)
        # Near the minimum the cost is known less closely than its gradient.
        rounding = 1e-14 * max(1.0, before)
        while cost(at + length * step) > before + 1e-4 * length * fall + rounding:
            length /= 2.0
        at = np.maximum(at + length * step, bounds[0])
    raise ArithmeticError("the refit of weights did not converge")


def _deductions(losses: Floats, weights: Sequence[float] | Floats) -> Floats:
    # Column by column: a matrix product adds in another order, and the kernels add in this one.
    total = np.zeros(len(losses))
    for column, weight in zip(losses.T, weights, strict=True):
        total += weight * column
    return total


def _log_odds(good: Flags) -> float:
    return float(np.log(good.sum() / (~good).sum()))


# ----------------------------------------------------------------------------- cross-validation


def _held_out_scores(losses: Floats, good: Flags, folds: Whole, shipped: Floats) -> Floats:
    """Scores of each fold by weights fitted to the others; the shipped ones where none can be."""
    scores = shipped.copy()
    for fold in range(_FOLDS):
        held_out = folds == fold
        line = fitted_line(losses[~held_out], good[~held_out])
        if line is not None:
            scores[held_out] = weighted_scores(losses[held_out], line.weights)
    return scores


class _FoldPairs:
    """Pairs of a good and a bad row of one fold: scores of different fits are never compared."""

    def __init__(self, good: Flags, folds: Whole) -> None:
        self._good = good
        self._folds = [np.flatnonzero(folds == fold) for fold in range(_FOLDS)]

    def aurocs(self, scores: Floats, weights: Whole) -> Floats:
        """Share of pairs in which the good row scores higher, per weighting (B, R) of the rows.

        A tie counts one half; NaN where there is no pair.
        """
        ranked, pairs = np.zeros((2, len(weights)))
        for rows in self._folds:
            order = rows[np.argsort(scores[rows], kind="stable")]
            if not len(order):
                continue
            _, starts = np.unique(scores[order], return_index=True)
            in_order, good = weights[:, order], self._good[order]
            goods = np.add.reduceat(in_order * good, starts, axis=1)
            bads = np.add.reduceat(in_order * ~good, starts, axis=1)
            below = np.cumsum(bads, axis=1) - bads
            ranked += (goods * (below + bads / 2)).sum(axis=1)
            pairs += goods.sum(axis=1) * bads.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return ranked / pairs
