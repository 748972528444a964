"""Scores and a few labels -> a threshold, and how probably a score means a good row.

For faithfulness also weights, if the labels support it and the texts are available. Making a
calibration needs scikit-learn; using one does not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.calibration.inputs import (
    LabelledRows,
    Objective,
    ScoreColumn,
    check_choice,
    labelled_rows,
    score_column,
    wanted_precision,
)
from rag_eval.calibration.losses import NoLossesError, has_losses, losses_of, samples_of
from rag_eval.calibration.probabilities import FITS, Method, scikit_learn
from rag_eval.calibration.refitting import TOO_FEW, Places, WeighableRows, is_enough
from rag_eval.calibration.result import Calibration
from rag_eval.calibration.thresholds import LabelledScores, balanced_accuracies
from rag_eval.errors import InputError
from rag_eval.inputs.samples import SampleLike
from rag_eval.kernels.settings import FAITHFULNESS_WEIGHTS, weights_digest
from rag_eval.options.signature import Signature
from rag_eval.results.batch import BatchEvalResult
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.bootstrap import group_intervals
from rag_eval.stats.index_sources import Resampling

_FOLDS: Final = 5


class CalibrationWarning(UserWarning):
    """A calibration was made that should not be relied on."""


def calibrate(
    scores: BatchEvalResult | Iterable[float | None],
    labels: Iterable[Any],
    *,
    metric: str | None = None,
    method: Method | None = None,
    objective: Objective = "balanced_accuracy",
    precision: float | None = None,
    groups: Iterable[Any] | None = None,
    signature: Signature | None = None,
    refit: bool = True,
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
) -> Calibration:
    """Fit a threshold, and a map from scores to the probability of a good row, to labels.

    For faithfulness in the grounded profile the weights are refitted as well, if there are at least
    30 labels, 8 of each class, and ``scores`` is a result with its texts. They are used if they
    rank held-out groups better; see ``Calibration.refit``.

    Parameters
    ----------
    scores : BatchEvalResult or sequence of float
        Null scores (None, NaN) are left out and counted.
    labels : sequence of bool or of 0 and 1
        One per row: 1 if a person calls it good.
    metric : str, optional
        Required unless ``scores`` is a result with a single metric.
    method : {"isotonic", "logistic"}, optional
        Isotonic follows the labels and needs a few hundred; logistic assumes an S-shaped curve and
        needs fewer. By default logistic if weights were fitted, else isotonic.
    objective : {"balanced_accuracy", "precision"}
        What the threshold maximises. If several thresholds are equally good, the lowest is used.
    precision : float, optional
        In (0, 1]. Sets the objective to precision: the lowest threshold at which at least this
        share of the passing rows is good.
    groups : sequence, optional
        The group of each row, for example its question or document. Rows of a group are resampled
        and held out together. By default each row is a group.
    signature : Signature, optional
        The settings of the scores; a result has its own.
    refit : bool
        False keeps the shipped weights.
    seed : int
        Seed of resamples and folds.
    n_resamples, level
        Number of resamples of whole groups, and the confidence level of the intervals, which are
        percentiles of them.

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        For invalid scores or labels; also if all labels are equal, no row has a score, or no
        threshold reaches the precision.
    MissingExtraError
        If scikit-learn is not installed.

    Warns
    -----
    CalibrationWarning
        With fewer than 30 labels, or if the scores do not separate good rows from bad ones.
    """
    resampling = Resampling(seed=seed, n_resamples=n_resamples, level=level)
    column = score_column(scores, metric, signature)
    texts = None
    if refit and isinstance(scores, BatchEvalResult):
        texts = partial(samples_of, scores)
    wanted = wanted_precision(objective, precision)
    found, _ = calibrated(column, labels, groups, method, wanted, resampling, texts)
    for remark in found.remarks:
        warnings.warn(remark, CalibrationWarning, stacklevel=2)
    return found


def calibrated(
    column: ScoreColumn,
    labels: object,
    groups: object | None,
    method: Method | None,
    precision: float | None,
    resampling: Resampling,
    texts: Callable[[], Sequence[SampleLike]] | None,
) -> tuple[Calibration, list[str]]:
    """A calibration, and why weights were not fitted where they could have been.

    ``texts`` gives the samples of the column's rows; None where weights are not to be fitted.
    """
    if method is not None:
        check_choice("method", method, FITS)
    rows = labelled_rows(column, labels, groups)
    losses, notes = None, []
    if texts is not None and has_losses(column):
        try:
            losses = _losses(column, rows, texts)
        except NoLossesError as error:
            notes.append(f"the weights of {column.metric} were not refitted: {error}")
    return calibration_of(column, rows, losses, method, precision, resampling), notes


def _losses(
    column: ScoreColumn, rows: LabelledRows, texts: Callable[[], Sequence[SampleLike]]
) -> Floats:
    """Of the labelled rows, NaN where the score is 0 by rule."""
    good = rows.labelled.good
    if not is_enough(good):
        raise NoLossesError(TOO_FEW)
    losses = losses_of(texts(), column)[rows.scored]
    if not is_enough(good[~np.isnan(losses[:, 0])]):
        raise NoLossesError(TOO_FEW)
    return losses


def calibration_of(
    column: ScoreColumn,
    rows: LabelledRows,
    losses: Floats | None,
    method: Method | None,
    precision: float | None,
    resampling: Resampling,
) -> Calibration:
    labelled, signature, found = rows.labelled, column.signature, None

    def scores_by(kept: Places) -> Floats:
        return rows.labelled.scores

    if losses is not None:
        weighable = WeighableRows(labelled.scores, labelled.good, losses)
        found = weighable.refit(rows.groups, resampling)
        if found.used:
            labelled = LabelledScores(weighable.scores(found.weights), labelled.good)
            signature = _with_weights(signature, found.weights)
            scores_by = weighable.scores_fitted_to
    threshold = _chosen_threshold(labelled, precision)

    def statistic(weights: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        # The accuracy is that of the threshold chosen: chosen again, it would be the best of each
        # resample, and too high.
        accuracies = labelled.balanced_accuracies(weights, threshold)
        return np.stack([labelled.thresholds(weights, precision), accuracies], axis=1)

    threshold_interval, accuracy_interval = group_intervals(statistic, rows.groups, resampling)
    return Calibration(
        metric=column.metric,
        signature=signature,
        probability_map=found.probability_map
        if found is not None and method != "isotonic"
        else FITS[method or "isotonic"](labelled.scores, labelled.good),
        objective="balanced_accuracy" if precision is None else "precision",
        precision=precision,
        threshold_interval=threshold_interval,
        balanced_accuracy_interval=accuracy_interval,
        cross_validated_balanced_accuracy=_cross_validated(
            labelled.good, rows.groups, scores_by, precision, resampling.seed
        ),
        n_labels=len(labelled.scores),
        n_groups=threshold_interval.n_groups,
        n_null=rows.n_null,
        share_good=float(labelled.good.mean()),
        refit=found,
    )


def _with_weights(signature: Signature | None, weights: tuple[float, ...]) -> Signature | None:
    """The signature of scores that are made with these weights."""
    if signature is None:
        return None
    digest = {FAITHFULNESS_WEIGHTS: weights_digest(weights)}
    return replace(signature, options={**signature.options, **digest})


def _chosen_threshold(labelled: LabelledScores, precision: float | None) -> float:
    threshold = float(labelled.thresholds(labelled.one_each(), precision)[0])
    if math.isnan(threshold):
        highest, lowest = labelled.highest_precision()
        raise InputError(
            f"no threshold reaches precision {precision:g}: the highest is {highest:.3g}, "
            f"at threshold {lowest:.3g}"
        )
    return threshold


def _cross_validated(
    good: Flags,
    groups: Whole,
    scores_by: Callable[[Places], Floats],
    precision: float | None,
    seed: int,
) -> float | None:
    """Balanced accuracy of thresholds, and weights, chosen without the group they are applied to.

    ``scores_by`` gives the scores of all rows by what some of them say.
    """
    if min(len(np.unique(groups[good])), len(np.unique(groups[~good]))) < _FOLDS:
        return None
    folds = scikit_learn("model_selection").StratifiedGroupKFold(
        _FOLDS, shuffle=True, random_state=seed % 2**32
    )
    passes = np.zeros(len(good), np.bool_)
    for kept, held_out in folds.split(good, good, groups):
        scores = scores_by(kept)
        others = LabelledScores(scores[kept], good[kept])
        threshold = float(others.thresholds(others.one_each(), precision)[0])
        if math.isnan(threshold):
            return None  # the precision is out of reach without the rows held out
        passes[held_out] = scores[held_out] >= threshold
    return float(balanced_accuracies(np.ones((1, len(good)), np.int64), passes, good)[0])
