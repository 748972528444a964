"""Scores and a few labels -> a threshold, and how probably a score means a good row.

For faithfulness also other weights, where labels say so and the texts are there. A calibration
belongs to one metric under one signature. Making one takes scikit-learn; using one does not.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
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
from rag_eval.calibration.probabilities import FITS, Method, ProbabilityMap, scikit_learn
from rag_eval.calibration.refitting import TOO_FEW, Places, Refit, WeighableRows, is_enough
from rag_eval.calibration.thresholds import LabelledScores, balanced_accuracies
from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.inputs.samples import SampleLike
from rag_eval.kernels.settings import FAITHFULNESS_WEIGHTS, LOSSES, weights_digest
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.plumbing import json_text
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.batch import BatchEvalResult
from rag_eval.samples import MetricId
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.bootstrap import group_intervals
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.intervals import Interval

FEW_LABELS: Final = 30
"""Below so many labels a calibration comes with a warning."""

FORMAT_VERSION: Final = 2
"""Of calibration files; goes up when an older reader would misread one."""

_FOLDS: Final = 5


class CalibrationWarning(UserWarning):
    """A calibration was made that should not be relied on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What labels say about the scores of one metric; made by :func:`calibrate`.

    Attributes
    ----------
    metric : MetricId
    signature : Signature or None
        The settings of the scores that it is for, refitted weights among them; None when they are
        not known.
    probability_map : IsotonicMap or LogisticMap
        From a score to the probability that a person would call the row good; never falling.
    objective : {"balanced_accuracy", "precision"}
    precision : float or None
        The precision asked for; None where balanced accuracy was the objective.
    threshold_interval : Interval
        Of the threshold, chosen anew on each resample.
    balanced_accuracy_interval : Interval
        Of the chosen threshold's balanced accuracy, on the rows it was chosen on.
    cross_validated_balanced_accuracy : float or None
        On groups held out while the threshold was chosen; None where either class has rows in
        fewer than five groups, or the precision is out of reach without the rows held out.
    n_labels, n_groups : int
        Rows with a score and a label, and the groups they are in.
    n_null : int
        Rows left out because their score is null.
    share_good : float
        Of the rows counted in ``n_labels``.
    refit : Refit or None
        Weights of faithfulness fitted to the labels, and what they gain; None where none were.
    """

    metric: MetricId
    signature: Signature | None
    probability_map: ProbabilityMap = field(repr=False)
    objective: Objective
    precision: float | None
    threshold_interval: Interval
    balanced_accuracy_interval: Interval
    cross_validated_balanced_accuracy: float | None
    n_labels: int
    n_groups: int
    n_null: int
    share_good: float
    refit: Refit | None = None

    @property
    def weights(self) -> dict[str, float] | None:
        """By loss the weights that scores are made with; None for the shipped ones."""
        if self.refit is None or not self.refit.used:
            return None
        return dict(zip(LOSSES, self.refit.weights, strict=True))

    @property
    def threshold(self) -> float:
        """A score passes from here on; one of the scores that were labelled."""
        return self.threshold_interval.estimate

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the shares of good rows that pass and of bad rows that do not.

        On the rows the threshold was chosen on, and so a little too high.
        """
        return self.balanced_accuracy_interval.estimate

    @property
    def method(self) -> Method:
        """The kind of map: isotonic or logistic."""
        return self.probability_map.method

    @property
    def profile(self) -> str | None:
        """The profile of the scores; None when it is not known."""
        return None if self.signature is None else self.signature.profile

    @property
    def digest(self) -> str:
        """Twelve hex digits that stand for its threshold and its map."""
        text = json_text.dumps({"threshold": self.threshold, **self.probability_map.to_dict()})
        return hashlib.sha256(text).hexdigest()[:12]

    @property
    def remarks(self) -> list[str]:
        """Why this calibration should not be relied on; empty where nothing speaks against it."""
        found = []
        if self.n_labels < FEW_LABELS:
            found.append(
                f"only {self.n_labels} labels: threshold and probabilities are rough; "
                f"{FEW_LABELS} and more are wanted"
            )
        if self.n_groups == 1:
            found.append("all labels are in one group: nothing can be said about other rows")
        if self.probability_map.is_flat:
            found.append(f"{self.metric} does not tell good rows from bad ones")
        return found

    def probabilities(self, scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The probability that a person would call each row good.

        Parameters
        ----------
        scores : array-like of float
            Of any shape; NaN and None stand for null.

        Returns
        -------
        float64, of the shape of ``scores``
            In 0..1; NaN where the score is.
        """
        try:
            values = np.array(scores, np.float64, order="C")
        except (TypeError, ValueError):
            raise InputError(f"scores must be numbers, got {scores!r:.80}") from None
        return np.asarray(self.probability_map(values))

    def probability(self, score: float | None) -> float | None:
        """The probability of one score; None where it is None or NaN."""
        found = float(self.probabilities(math.nan if score is None else score))
        return None if math.isnan(found) else found

    def check(self, metric: str, signature: Signature | None) -> str | None:
        """Refuse scores that this calibration says nothing about.

        Returns
        -------
        str or None
            A note where one of the two has no signature, so that nothing can be known.

        Raises
        ------
        InputError
            For another metric.
        SignatureMismatchError
            For other settings, naming each that differs.
        """
        if to_metric_id(metric) != self.metric:
            raise InputError(f"the calibration is of {self.metric}, not of {to_metric_id(metric)}")
        if self.signature is None or signature is None:
            unsigned = "calibration" if self.signature is None else "result"
            return f"the {unsigned} of {self.metric} has no signature: taken to fit, unverified"
        differences = signature.differences(self.signature, [self.metric])
        if differences:
            raise SignatureMismatchError(
                f"the calibration of {self.metric} was made for scores of other settings "
                f"({'; '.join(differences)}); calibrate again with scores of these settings"
            )
        return None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, in the style of result files."""
        return {
            "formatVersion": FORMAT_VERSION,
            "metricId": camel_case(self.metric),
            "signature": None if self.signature is None else self.signature.to_dict(),
            "method": self.method,
            "map": self.probability_map.to_dict(),
            "objective": self.objective,
            "precision": self.precision,
            "threshold": self.threshold_interval.to_dict(),
            "balancedAccuracy": self.balanced_accuracy_interval.to_dict(),
            "crossValidatedBalancedAccuracy": self.cross_validated_balanced_accuracy,
            "nLabels": self.n_labels,
            "nGroups": self.n_groups,
            "nNull": self.n_null,
            "shareGood": self.share_good,
            "refit": None if self.refit is None else self.refit.to_dict(),
        }

    @staticmethod
    def from_dict(value: object) -> Calibration:
        """Read back what :meth:`to_dict` wrote; InputError for anything else."""
        from rag_eval.calibration.files import calibration_from_dict

        return calibration_from_dict(value)

    def save(self, path: str | Path) -> None:
        """Write a JSON file; an older file of that name stays whole until this one is."""
        from rag_eval.calibration.files import write_calibrations

        write_calibrations(self, path)

    @staticmethod
    def load(path: str | Path) -> Calibration:
        """Read the file of one calibration.

        Raises
        ------
        InputError
            When it cannot be read, is not what :meth:`save` wrote, or holds several calibrations
            (:func:`rag_eval.calibration.files.read_calibrations` reads those).
        """
        from rag_eval.calibration.files import read_one

        return read_one(path)


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
    """Choose a threshold by labels, and learn how probably a score means a good row.

    Of faithfulness in the grounded profile the weights are refitted too, from 30 labels on, 8 of
    each class, when ``scores`` is a result with its texts. Held-out groups decide whether they are
    used; see ``refit`` of what is returned.

    Parameters
    ----------
    scores : BatchEvalResult or sequence of float
        Null scores (None, NaN) are left out and counted.
    labels : sequence of bool or of 0 and 1
        One per row: 1 where a person calls it good.
    metric : str, optional
        Needed unless ``scores`` is a result of a single metric.
    method : {"isotonic", "logistic"}, optional
        Isotonic follows the labels and needs some hundred of them; logistic assumes an S-shaped
        curve and does with fewer. By default logistic where weights were fitted, else isotonic.
    objective : {"balanced_accuracy", "precision"}
        What the threshold is chosen for. Of thresholds that do equally well the lowest is taken.
    precision : float, optional
        In (0, 1]. When given, the objective is precision: the lowest threshold is taken from which
        at least this share of the passing rows is good.
    groups : sequence, optional
        What each row belongs to, for example its question or document. Rows of one group are
        resampled and held out together. By default each row is a group.
    signature : Signature, optional
        Under what settings the scores were made; a result brings its own.
    refit : bool
        False leaves the weights as they are shipped.
    seed : int
        Of resamples and folds.
    n_resamples, level
        Of the intervals, which are percentiles of resamples of whole groups.

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        Naming the row, what was found and what was wanted; among others when all labels are equal,
        no row has a score, or no threshold reaches the precision.
    MissingExtraError
        Without scikit-learn.

    Warns
    -----
    CalibrationWarning
        With fewer than 30 labels, or when the scores do not tell good rows from bad ones.
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
    return _calibration(column, rows, losses, method, precision, resampling), notes


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


def _calibration(
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
        # The accuracy is that of the threshold chosen: chosen anew, it would be the best of each
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
