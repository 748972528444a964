"""Prediction-powered means: scores of all rows and labels of a sample in, the mean label out.

The sample corrects the errors of the scores, and the scores add information on unlabelled rows: the
mean is that of the labels, whatever the scores are, and the interval gets narrower the better the
two agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import number, one_of, seed_number
from rag_eval.plumbing.spelling import counted
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.groups import group_numbers
from rag_eval.stats.intervals import Interval, checked_level
from rag_eval.stats.ppi_inputs import LabelSample, label_sample
from rag_eval.stats.ppi_intervals import (
    FEW_CLUSTERS,
    FEW_INFORMATIVE,
    MeanEstimate,
    mean_label_interval,
    n_informative,
)
from rag_eval.stats.ppi_results import PpiEstimate, Target

TARGETS: Final = ("rows", "population")
FEW_LABELS: Final = 50
"""With fewer labels, the interval is only indicative."""
_N_FOLDS: Final = 5
# A row with more leverage would choose the weight by itself. Scores alone say so: a rule that
# looked at labels would bend the estimate.
_MOST_LEVERAGE: Final = 0.5


def ppi_mean(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    labelled_rows: npt.ArrayLike,
    *,
    probabilities: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    target: Target = "rows",
    weight: float | None = None,
    cross_fit: bool = False,
    level: float = 0.95,
    clusters: npt.ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    seed: int = 0,
) -> PpiEstimate:
    """Estimate the mean label of all rows from all scores and the labels of a random sample.

    With weights w that sum to 1 (inverse inclusion probabilities over their sum, as Hájek has it)
    the estimate is ``weight * mean(scores) + sum(w * (labels - weight * scores))``.

    Parameters
    ----------
    scores : array-like of float, shape (N,)
        On any scale. Null scores (NaN) are replaced by the mean of the others, which causes no
        bias.
    labels : array-like of float or bool, shape (n,)
    labelled_rows : array-like of int, shape (n,)
        The row of each label, each once. They must have been drawn at random without replacement:
        rows that were chosen by their scores, or for convenience, give a biased estimate.
    probabilities : array-like of float, shape (n,) or (N,), optional
        Inclusion probability of each labelled row (or of each row), in (0, 1]. By default equal for
        all rows, ``n / N``, or equal within a stratum.
    strata : array-like of int, shape (n,), optional
        The stratum of each labelled row, if a fixed number of rows was drawn from each.
    target : {"rows", "population"}
        Whether to estimate the mean of exactly these N rows (with a finite population correction),
        or that of the population they came from.
    weight : float, optional
        Weight of the scores. By default tuned by least squares on the labelled rows. Since these
        are used twice, the estimate has a bias of order 1/n, which is negligible beside its
        standard error of order 1/sqrt(n).
    cross_fit : bool
        Choose the weight for each fifth of the labels from the others, which avoids that bias and
        gives a slightly wider interval.
    level : float
        In (0, 1).
    clusters : array-like, shape (N,), optional
        The cluster of each row, only for the population. Strata are not used then, which gives
        wider intervals.
    bounds : (float, float), optional
        Smallest and largest possible label; by default 0 and 1 if all labels are in that range,
        else none.
    seed : int
        Of the folds.

    Returns
    -------
    PpiEstimate
        Without bounds for constant labels inside the range, and below five clusters.

    Raises
    ------
    InputError

    Notes
    -----
    The standard error is that of the corrected labels, by leverage (HC2), with the quantile of a t
    distribution. With bounded labels the interval is Wilson's for as many rows as would give a
    share that standard error, so that it stays in range and covers near the edges.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Prediction-powered inference (2023);
    Angelopoulos, Duchi and Zrnic, PPI++ (2023); Särndal, Swensson and Wretman, Model assisted
    survey sampling (1992), chapter 6; Deville, Variance estimation for complex statistics and
    estimators (1999).
    """
    sample = label_sample(scores, labels, labelled_rows, probabilities, strata, bounds)
    numbers = _cluster_numbers(clusters, target, len(sample.scores))
    plan = _Plan(target, weight, cross_fit, level, numbers, seed)
    return _estimate(sample, plan)


def ppi_difference(
    scores_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    labels_a: npt.ArrayLike,
    labels_b: npt.ArrayLike,
    labelled_rows: npt.ArrayLike,
    *,
    probabilities: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    target: Target = "rows",
    weight: float | None = None,
    cross_fit: bool = False,
    level: float = 0.95,
    clusters: npt.ArrayLike | None = None,
    seed: int = 0,
) -> PpiEstimate:
    """Estimate the mean label of system a minus that of system b, on the same rows.

    This estimates the mean of the differences row by row, so the difficulty of the rows cancels.
    Parameters and result are those of :func:`ppi_mean`, except that labels have no bounds.

    Parameters
    ----------
    scores_a, scores_b : array-like of float, shape (N,)
    labels_a, labels_b : array-like of float, shape (n,)
    labelled_rows : array-like of int, shape (n,)
        The same for both.
    """
    first = label_sample(scores_a, labels_a, labelled_rows, probabilities, strata, None)
    other = label_sample(scores_b, labels_b, labelled_rows, probabilities, strata, None)
    if len(first.scores) != len(other.scores):
        raise InputError(
            f"scores_a and scores_b must have the same rows, got {len(first.scores)} and "
            f"{len(other.scores)}"
        )
    sample = replace(
        first,
        scores=first.scores - other.scores,
        labels=first.labels - other.labels,
        bounds=None,
        n_null_scores=first.n_null_scores + other.n_null_scores,
    )
    numbers = _cluster_numbers(clusters, target, len(sample.scores))
    plan = _Plan(target, weight, cross_fit, level, numbers, seed)
    return _estimate(sample, plan)


# ----------------------------------------------------------------------------------- checking


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a mean is estimated, checked; ``clusters`` are of all rows."""

    target: Target
    weight: float | None
    cross_fit: bool
    level: float
    clusters: Whole | None
    seed: int

    def __post_init__(self) -> None:
        one_of(self.target, "target", TARGETS)
        if self.weight is not None:
            if self.cross_fit:
                raise InputError(
                    "cross_fit and weight exclude each other: cross_fit chooses the weight"
                )
            number(self.weight, "weight")
        checked_level(self.level)
        seed_number(self.seed)


def _cluster_numbers(clusters: npt.ArrayLike | None, target: Target, n_rows: int) -> Whole | None:
    """The cluster of each row; None if they do not matter, as for the rows themselves."""
    if clusters is None or target == "rows":
        return None
    numbers = group_numbers(np.asarray(clusters).tolist())
    if len(numbers) != n_rows:
        raise InputError(
            f"clusters must have one value for each of {n_rows} rows, got {len(numbers)}"
        )
    return numbers


# ---------------------------------------------------------------------------------- estimating


class _Fit(NamedTuple):
    """A mean of corrected labels."""

    weight: float
    estimate: float
    variance: float
    residuals: Floats


def _estimate(sample: LabelSample, plan: _Plan) -> PpiEstimate:
    centred = sample.scores - sample.scores.mean()
    alone = _fit(sample, centred, np.zeros(1), None, plan)
    weights, leverage, remarks = _weights(sample, centred, plan)
    fit = _fit(sample, centred, weights, leverage, plan)
    n_groups = sample.n_labels
    df = sample.n_free - sample.n_strata
    if plan.clusters is not None:
        n_groups = len(np.unique(plan.clusters[sample.rows]))
        df = n_groups - 1
    missed = float(sample.missed.mean()) if plan.target == "rows" else 1.0

    def interval(found: _Fit, df: int) -> Interval:
        figures = MeanEstimate(
            estimate=found.estimate,
            variance=found.variance,
            label_mean=alone.estimate,
            df=df,
            n_groups=n_groups,
            n_informative=n_informative(found.residuals),
            missed=missed,
            clustered=plan.clusters is not None,
        )
        return mean_label_interval(figures, sample.bounds, float(plan.level))

    found = interval(fit, df - (leverage is not None))
    return PpiEstimate(
        interval=found,
        labels_alone=interval(alone, df),
        target=plan.target,
        standard_error=math.sqrt(fit.variance),
        weight=fit.weight,
        correlation=_correlation(sample),
        n_labels=sample.n_labels,
        n_rows=len(sample.scores),
        n_null_scores=sample.n_null_scores,
        n_clusters=None if plan.clusters is None else n_groups,
        equivalent_labels=_equivalent_labels(sample, plan, fit.variance, alone.variance),
        n_informative=n_informative(fit.residuals),
        remarks=(*remarks, *_remarks(sample, plan, found)),
    )


def _fit(
    sample: LabelSample, centred: Floats, weights: Floats, leverage: Floats | None, plan: _Plan
) -> _Fit:
    """Estimate with given weights of scores: one, or one for each label."""
    design = sample.weights
    corrected = sample.labels - weights * centred[sample.rows]
    estimate = float(design @ corrected)
    weight = float(weights[0] if len(weights) == 1 else design @ weights)
    hat = sample.leverage if leverage is None else np.minimum(sample.leverage + leverage, 1)
    if plan.clusters is not None:
        residuals = _cleaned(corrected - estimate, corrected)
        variance = _clustered_variance(sample, centred * weight, residuals, hat, plan.clusters)
        return _Fit(weight, estimate, variance, residuals)
    residuals = _cleaned(corrected - sample.stratum_means(corrected), corrected)
    # A certain row has nothing to add; where it is alone in its stratum this would be 0 / 0.
    spread = np.where(sample.missed > 0, sample.missed / np.maximum(1 - hat, 1e-9), 0.0)
    variance = float(spread @ (design * residuals) ** 2)
    if plan.target == "population":
        variance += sample.label_variance / len(sample.scores)
    return _Fit(weight, estimate, variance, residuals)


def _cleaned(residuals: Floats, values: Floats) -> Floats:
    """Residuals, with zeros where only rounding is left: it must not pass for a spread."""
    return np.where(np.abs(residuals) > 1e-12 * np.abs(values).max(), residuals, 0.0)


def _clustered_variance(
    sample: LabelSample, predicted: Floats, residuals: Floats, hat: Floats, clusters: Whole
) -> float:
    """Of sums over whole clusters: what their rows predict, and what their labels correct."""
    n_clusters = int(clusters.max()) + 1
    labelled = clusters[sample.rows]
    sums = np.bincount(clusters, predicted / len(predicted), n_clusters)
    sums += np.bincount(labelled, sample.weights * residuals, n_clusters)
    leverage = np.minimum(np.bincount(labelled, hat, n_clusters), 0.9)
    return float((sums**2 / (1 - leverage)).sum())


def _weights(
    sample: LabelSample, centred: Floats, plan: _Plan
) -> tuple[Floats, Floats | None, list[str]]:
    """Weights of scores; the leverage they have where labels chose them; what there is to say."""
    if plan.weight is not None:
        return np.array([float(plan.weight)]), None, []
    found = centred[sample.rows]
    deviations = found - sample.stratum_means(found)
    # The weights of the variance that is to be least.
    q = sample.missed * sample.weights**2
    squares = q * deviations**2
    total = squares.sum()
    if not total > 1e-12 * (q @ found**2) or sample.n_free < FEW_INFORMATIVE + sample.n_strata:
        return (
            np.zeros(1),
            None,
            ["all labelled rows have the same score, so the scores were not used"],
        )
    leverage = squares / total
    if leverage.max() > _MOST_LEVERAGE:
        return (
            np.zeros(1),
            None,
            ["a single row determines the weight of the scores, so the scores were not used"],
        )
    products = q * deviations * (sample.labels - sample.stratum_means(sample.labels))
    if not plan.cross_fit:
        return np.array([products.sum() / total]), leverage, []
    folds = _folds(sample, plan)
    others = total - np.bincount(folds, squares, _N_FOLDS)
    slopes = (products.sum() - np.bincount(folds, products, _N_FOLDS)) / np.maximum(
        others, 1e-12 * total
    )
    return slopes[folds], None, []


def _folds(sample: LabelSample, plan: _Plan) -> Whole:
    """A fold for each label; labels of a cluster share theirs."""
    units = np.arange(sample.n_labels) if plan.clusters is None else plan.clusters[sample.rows]
    known, places = np.unique(units, return_inverse=True)
    order = np.random.default_rng(plan.seed).permutation(len(known))
    return np.asarray((order % _N_FOLDS)[places], np.int64)


# ------------------------------------------------------------------------------------- figures


def _correlation(sample: LabelSample) -> float | None:
    w = sample.weights
    scores, labels = sample.scores[sample.rows], sample.labels
    x, y = scores - w @ scores, labels - w @ labels
    square = float((w @ x**2) * (w @ y**2))
    return float(w @ (x * y)) / math.sqrt(square) if square > 0 else None


def _equivalent_labels(
    sample: LabelSample, plan: _Plan, variance: float, variance_alone: float
) -> float | None:
    if not (variance > 0 and variance_alone > 0):
        return None
    n, n_rows = sample.n_labels, len(sample.scores)
    if plan.target == "population":
        return n * variance_alone / variance
    # Each further label also leaves fewer rows unknown.
    return 1 / (variance / variance_alone * (1 / n - 1 / n_rows) + 1 / n_rows)


def _remarks(sample: LabelSample, plan: _Plan, interval: Interval) -> list[str]:
    found = []
    if sample.n_labels < FEW_LABELS:
        found.append(
            f"only {counted(sample.n_labels, 'label')}: the interval is only indicative; use 100 "
            "to 300"
        )
    if plan.clusters is not None and interval.n_groups < FEW_CLUSTERS:
        found.append(
            f"only {counted(interval.n_groups, 'cluster')} with a label: an interval needs at "
            f"least {FEW_CLUSTERS}"
        )
    elif interval.too_few and sample.n_labels >= FEW_LABELS:
        found.append(
            "too few labelled rows differ (rare labels, or scores that are wrong in only one or "
            "two rows) to determine the width of the interval"
        )
    if sample.n_null_scores:
        were = "was" if sample.n_null_scores == 1 else "were"
        nulls = counted(sample.n_null_scores, "null score")
        found.append(f"{nulls} {were} replaced by the mean of the others")
    return found
