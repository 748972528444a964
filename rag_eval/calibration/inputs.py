"""What calibrate takes: scores, labels and groups of any kind, checked row by row, as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.calibration.thresholds import LabelledScores
from rag_eval.errors import InputError, suggestion
from rag_eval.kernels.settings import FAITHFULNESS_WEIGHTS
from rag_eval.metrics.registry import higher_is_better, to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.plumbing.checked_values import number
from rag_eval.plumbing.spelling import counted
from rag_eval.results.batch import BatchEvalResult
from rag_eval.samples import MetricId
from rag_eval.stats.groups import group_numbers

Objective: TypeAlias = Literal["balanced_accuracy", "precision"]

_OBJECTIVES: Final = ("balanced_accuracy", "precision")


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """Scores of one metric, NaN where null."""

    metric: MetricId
    signature: Signature | None
    scores: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows that have a score, the number of each one's group, and which of all rows they are."""

    labelled: LabelledScores
    groups: npt.NDArray[np.int64]
    scored: npt.NDArray[np.bool_]
    n_null: int


def score_column(scores: object, metric: str | None, signature: Signature | None) -> ScoreColumn:
    """The scores of a metric in a batch result, or those given with its name."""
    if isinstance(scores, BatchEvalResult):
        if signature is not None:
            raise InputError("the result has its own signature; leave out signature")
        name = calibrated_metric(_metric_of(scores, metric))
        column = scores.scores[:, scores.metrics.index(name)]
        return _column(name, scores.signature, column.tolist())
    if metric is None:
        raise InputError("metric must be named unless scores is a batch result")
    if signature is not None and not isinstance(signature, Signature):
        raise InputError(f"signature must be a Signature, got {type(signature).__name__}")
    name = calibrated_metric(to_metric_id(metric))
    return _column(name, signature, _listed(scores, "scores"))


def _column(metric: MetricId, signature: Signature | None, scores: Sequence[object]) -> ScoreColumn:
    # Labels were fitted already for such scores, and look better on the same rows than they are.
    if signature is not None and metric == "faithfulness":
        weights = signature.options.get(FAITHFULNESS_WEIGHTS)
        if weights is not None:
            raise InputError(
                f"the scores of {metric} were made with the weights of another calibration "
                f"({weights}); use scores that were made without a calibration"
            )
    return ScoreColumn(metric, signature, _finite(scores))


def calibrated_metric(metric: MetricId) -> MetricId:
    """The metric, refused where lower is better: calibrated scores pass from a threshold on."""
    if not higher_is_better(metric):
        raise InputError(f"{metric} cannot be calibrated: lower is better for this metric")
    return metric


def _metric_of(batch: BatchEvalResult, metric: str | None) -> MetricId:
    computed = ", ".join(batch.metrics)
    if metric is None:
        if len(batch.metrics) != 1:
            raise InputError(f"metric must be named: the result has {computed or 'none'}")
        return batch.metrics[0]
    name = to_metric_id(metric)
    if name not in batch.metrics:
        raise InputError(f"the result has no scores of {name}; it has {computed or 'none'}")
    return name


def _listed(values: object, name: str) -> list[Any]:
    """The values of a list, array, series or generator."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list or an array, got {type(values).__name__}")
    # Of an array Python's own numbers, which are quicker to look at.
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    if not isinstance(found, list):
        raise InputError(f"{name} must be a list or an array, got a single value")
    return found


def _finite(scores: Sequence[object]) -> npt.NDArray[np.float64]:
    for row, score in enumerate(scores):
        if score is None:
            continue
        if isinstance(score, bool) or not isinstance(score, Real):
            raise InputError(f"score of row {row} must be a number, got {type(score).__name__}")
        try:
            infinite = math.isinf(score)
        except OverflowError:  # an int beyond all doubles
            infinite = True
        if infinite:
            raise InputError(f"score of row {row} must be finite, got {score}")
    return np.array(scores, np.float64)


def _flags(labels: Sequence[object]) -> npt.NDArray[np.bool_]:
    for row, label in enumerate(labels):
        if label is None or (isinstance(label, float) and math.isnan(label)):
            raise InputError(f"label of row {row} is missing; it must be 0 or 1")
        if not isinstance(label, (Real, np.bool_)) or label not in (0, 1):
            raise InputError(f"label of row {row} must be 0 or 1, got {label!r:.80}")
    return np.array(labels, np.bool_)


def labelled_rows(column: ScoreColumn, labels: object, groups: object | None) -> LabelledRows:
    """The rows that have a score; some must be good and some bad."""
    scores = column.scores
    good = _flags(_listed(labels, "labels"))
    numbers = np.arange(len(scores)) if groups is None else group_numbers(_listed(groups, "groups"))
    for name, found in (("labels", good), ("groups", numbers)):
        if len(found) != len(scores):
            raise InputError(
                f"{name} has {counted(len(found), 'row')} and scores has {len(scores):,}; there "
                "must be one for each score"
            )
    scored = ~np.isnan(scores)
    if not scored.any():
        raise InputError(
            f"no row of {len(scores):,} has a score of {column.metric}; both good and bad rows "
            "are needed"
        )
    good = good[scored]
    if good.all() or not good.any():
        raise InputError(
            f"the labels of all {len(good):,} rows with a score are {int(good[0])}; both 0 and "
            "1 are needed"
        )
    n_null = int((~scored).sum())
    return LabelledRows(LabelledScores(scores[scored], good), numbers[scored], scored, n_null)


def wanted_precision(objective: object, precision: object | None) -> float | None:
    """The precision that is the objective; None where balanced accuracy is."""
    check_choice("objective", objective, _OBJECTIVES)
    if precision is None:
        if objective == "precision":
            raise InputError("objective 'precision' needs precision=, a number above 0 and up to 1")
        return None
    wanted = number(precision, "precision")
    if not 0 < wanted <= 1:
        raise InputError(f"precision must be above 0 and at most 1, got {wanted:g}")
    return wanted


def check_choice(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse an unknown value."""
    choices = list(known)
    if value not in choices:
        hint = suggestion(value, choices)
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}{hint}")
