"""Labelled scores -> the threshold from which a row should pass.

Only scores that were seen are candidates, and a row passes from the threshold on. Everything is
computed for many weightings of the rows at once: a resample is a weighting.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class _Passing(NamedTuple):
    """Weights of rows that pass from each candidate on, (B, K), and of all rows, (B, 1)."""

    good: npt.NDArray[np.int64]
    bad: npt.NDArray[np.int64]
    all_good: npt.NDArray[np.int64]
    all_bad: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_]


class LabelledScores:
    """Scores and whether people called their rows good.

    Parameters
    ----------
    scores : float64, shape (R,)
        Finite.
    good : bool, shape (R,)
    """

    def __init__(self, scores: npt.NDArray[np.float64], good: npt.NDArray[np.bool_]) -> None:
        self.scores = scores
        self.good = good
        self._order = np.argsort(scores, kind="stable")
        self._candidates, self._starts = np.unique(scores[self._order], return_index=True)
        self._sorted_good = good[self._order]

    def one_each(self) -> npt.NDArray[np.int64]:
        """The weights of the rows as they are, shape (1, R)."""
        return np.ones((1, len(self.scores)), np.int64)

    def thresholds(
        self, weights: npt.NDArray[np.int64], precision: float | None
    ) -> npt.NDArray[np.float64]:
        """The threshold of each weighting, shape (B,); NaN where there is none.

        Without ``precision`` it is the one of the highest balanced accuracy, else the lowest whose
        passing rows are good in at least that share. Of equals the lowest is taken.
        """
        passing = self._passing(weights)
        if precision is None:
            # Balanced accuracy in integers, times 2 * all_good * all_bad and less all_bad: ties
            # stay ties.
            merit = passing.good * passing.all_bad - passing.bad * passing.all_good
            eligible = passing.present & (passing.all_good * passing.all_bad > 0)
            best = np.where(eligible, merit, np.iinfo(np.int64).min)
        else:
            eligible = passing.present & (_precision(passing) >= precision)
            best = eligible
        chosen = self._candidates[np.argmax(best, axis=1)]
        return np.where(eligible.any(axis=1), chosen, math.nan)

    def balanced_accuracies(
        self, weights: npt.NDArray[np.int64], threshold: float
    ) -> npt.NDArray[np.float64]:
        """The balanced accuracy of one threshold under each weighting, shape (B,)."""
        return balanced_accuracies(weights, self.scores >= threshold, self.good)

    def highest_precision(self) -> tuple[float, float]:
        """The highest precision that a threshold reaches, and the lowest such threshold."""
        precisions = _precision(self._passing(self.one_each()))[0]
        best = int(np.argmax(precisions))
        return float(precisions[best]), float(self._candidates[best])

    def _passing(self, weights: npt.NDArray[np.int64]) -> _Passing:
        in_order = weights[:, self._order]
        all_below = _sums_before(in_order, self._starts)
        good_below = _sums_before(in_order * self._sorted_good, self._starts)
        all_rows = in_order.sum(axis=1, keepdims=True)
        all_good = (in_order * self._sorted_good).sum(axis=1, keepdims=True)
        # A score that a resample does not hold is not one of its candidates.
        present = np.diff(all_below, append=all_rows, axis=1) > 0
        return _Passing(
            good=all_good - good_below,
            bad=all_rows - all_good - (all_below - good_below),
            all_good=all_good,
            all_bad=all_rows - all_good,
            present=present,
        )


def _sums_before(
    values: npt.NDArray[np.int64], places: npt.NDArray[np.intp]
) -> npt.NDArray[np.int64]:
    """Sum of each row of ``values`` before each place."""
    sums = np.zeros((len(values), values.shape[1] + 1), np.int64)
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums[:, places]


def _precision(passing: _Passing) -> npt.NDArray[np.float64]:
    """Share of good rows among those that pass; -1 if none does."""
    passed = passing.good + passing.bad
    return np.where(passed > 0, passing.good / np.maximum(passed, 1), -1.0)


def balanced_accuracies(
    weights: npt.NDArray[np.int64],
    passes: npt.NDArray[np.bool_],
    good: npt.NDArray[np.bool_],
) -> npt.NDArray[np.float64]:
    """Mean of the share of good rows that pass and of bad rows that do not, per weighting.

    NaN where a class has no rows.
    """
    all_good, all_bad = weights @ good, weights @ ~good
    right_good, right_bad = weights @ (good & passes), weights @ ~(good | passes)
    shares = right_good / np.maximum(all_good, 1) + right_bad / np.maximum(all_bad, 1)
    return np.where((all_good > 0) & (all_bad > 0), shares / 2, math.nan)
