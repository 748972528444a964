"""Agreement of scores with labels, and its 95 % interval by resampling whole groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]
Labels: TypeAlias = npt.NDArray[np.bool_]
Measure: TypeAlias = Callable[[Labels, Floats], float]

SEED: Final = 7
_MAX_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and the same figure under each resample, which makes differences paired.

    A draw is NaN where the resample has no such figure.
    """

    value: float
    draws: Floats

    @property
    def low(self) -> float:
        """Lower end of the 95 % percentile interval."""
        return float(np.nanpercentile(self.draws, 2.5))

    @property
    def high(self) -> float:
        """Upper end of the 95 % percentile interval."""
        return float(np.nanpercentile(self.draws, 97.5))

    def __sub__(self, other: Estimate) -> Estimate:
        return Estimate(self.value - other.value, self.draws - other.draws)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Plain mean over sets, which are resampled independently of each other."""
    value = float(np.mean([estimate.value for estimate in estimates]))
    return Estimate(value, np.mean([estimate.draws for estimate in estimates], axis=0))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a scorer agrees with the labels of one trial.

    Attributes
    ----------
    auroc : Estimate
        Chance that a random good case is scored above a random bad one, ties counting half.
    precision : Estimate
        Average precision of finding the good; by chance it is the share of the good.
    balanced : Estimate or None
        Balanced accuracy at a default threshold, where the scorer has one.
    n_null : int
        Cases without a score, which count as 0: a gate would not let them pass.
    within : Estimate or None
        Mean over lists of chunks of the average precision inside the list.
    """

    auroc: Estimate
    precision: Estimate
    balanced: Estimate | None
    n_null: int
    within: Estimate | None = None


# ------------------------------------------------------------------------------------ measures


def auroc(good: Labels, scores: Floats) -> float:
    """Area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(good, scores))


def average_precision(good: Labels, scores: Floats) -> float:
    """Area under the precision-recall curve in steps; tied scores are one step."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(good, scores))


def balanced_accuracy(good: Labels, scores: Floats, threshold: float) -> float:
    """Mean of the shares of good cases at or above the threshold and of bad ones below."""
    from sklearn.metrics import balanced_accuracy_score

    return float(balanced_accuracy_score(good, scores >= threshold))


# ---------------------------------------------------------------------------------- resampling


def resamples(
    good: Sequence[bool], groups: Sequence[str], n_draws: int, seed: int = SEED
) -> list[Indices]:
    """``n_draws`` index arrays: as many groups as there are, with replacement, whole.

    A draw with one class only has no AUROC and is drawn again; the same seed gives every scorer
    of a trial the same draws.
    """
    labels = np.asarray(good, bool)
    numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
    rng = np.random.default_rng(seed)
    draws: list[Indices] = []
    for _ in range(n_draws * _MAX_TRIES):
        if len(draws) == n_draws:
            return draws
        picked = rng.integers(0, len(members), len(members))
        indices = np.concatenate([members[i] for i in picked])
        if labels[indices].any() and not labels[indices].all():
            draws.append(indices)
    raise ValueError("nearly every resample holds one class only: too few groups")


def precision_within(
    good: Sequence[bool],
    scores: Sequence[float] | Floats,
    groups: Sequence[str],
    draws: Sequence[Indices],
) -> Estimate | None:
    """Mean over groups of the average precision inside the group.

    A group whose cases are all alike ranks nothing and stays out; None if all are so. Each case
    carries the figure of its group and a weight of one over the size of the group, so that a drawn
    group counts once.
    """
    labels, given = np.asarray(good, bool), np.nan_to_num(np.asarray(scores, float))
    numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    figures, weights = np.zeros(len(labels)), np.zeros(len(labels))
    for number in range(numbers.max() + 1):
        members = numbers == number
        if labels[members].any() and not labels[members].all():
            figures[members] = average_precision(labels[members], given[members])
            weights[members] = 1 / members.sum()
    if not weights.any():
        return None
    drawn = [
        np.average(figures[indices], weights=weights[indices]) if weights[indices].any() else np.nan
        for indices in draws
    ]
    return Estimate(float(np.average(figures, weights=weights)), np.array(drawn))


def _estimate(measure: Measure, good: Labels, scores: Floats, draws: Sequence[Indices]) -> Estimate:
    drawn = [measure(good[indices], scores[indices]) for indices in draws]
    return Estimate(measure(good, scores), np.array(drawn))


def agreement(
    good: Sequence[bool],
    scores: Sequence[float] | Floats,
    draws: Sequence[Indices],
    threshold: float | None = None,
) -> Agreement:
    """All figures of one scorer on one trial."""
    labels, given = np.asarray(good, bool), np.asarray(scores, float)
    if given.shape != labels.shape:
        raise ValueError(f"{len(given)} scores for {len(labels)} cases")
    missing = np.isnan(given)
    filled = np.where(missing, 0.0, given)
    balanced = None
    if threshold is not None:
        balanced = _estimate(lambda y, s: balanced_accuracy(y, s, threshold), labels, filled, draws)
    return Agreement(
        _estimate(auroc, labels, filled, draws),
        _estimate(average_precision, labels, filled, draws),
        balanced,
        int(missing.sum()),
    )
