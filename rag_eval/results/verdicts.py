"""Scores and thresholds -> composite scores and who passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.options.plan import Plan
from rag_eval.samples import MetricId, NullReason

NOT_JUDGED: Final = -1
"""In the place of a verdict: there is none, or a file does not say."""
_REFUSAL: Final = int(NullReason.REFUSAL)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdict on R rows.

    Attributes
    ----------
    composite : float64, shape (R,)
        Weighted mean of a row's scores, nulls left out; NaN where no weight above 0 is left.
    metric_passed : bool, shape (R, M)
        Score at or above the metric's threshold, or at or below where lower is better; any
        score where there is no threshold. False where null.
    passed : bool, shape (R,)
        No metric failed (a null does not fail), and the composite reaches its threshold. Where it
        has none, or no metric has a part in it, one that has a threshold was measured, if any has
        one; or all that have one are null because the answer claims nothing.
    """

    composite: npt.NDArray[np.float64]
    metric_passed: npt.NDArray[np.bool_]
    passed: npt.NDArray[np.bool_]


def judge_rows(
    scores: npt.NDArray[np.float64],
    plan: Plan,
    null_reasons: npt.NDArray[np.uint8] | None = None,
) -> Verdicts:
    """Verdicts on a score matrix of shape (R, M), columns as in ``plan.columns``.

    ``null_reasons``, of the same shape, tell rows whose answer declines from those that were not
    measured.
    """
    measured = ~np.isnan(scores)
    metric_passed = _metric_passed(scores, measured, plan)
    composite = _composite(scores, measured, plan)
    is_composed = any(_in_composite(metric, plan) for metric in plan.metrics)
    if not plan.metrics:
        reached = np.zeros(len(scores), np.bool_)
    elif is_composed and plan.composite_threshold is not None:
        reached = np.asarray(composite >= plan.composite_threshold, np.bool_)
    else:
        reached = _any_measured(measured, plan, is_composed)
        if null_reasons is not None:
            refused = null_reasons == _REFUSAL
            if refused.any():
                reached |= _only_refused(measured, refused, null_reasons, plan)
    return Verdicts(composite, metric_passed, (metric_passed | ~measured).all(axis=1) & reached)


def _any_measured(
    measured: npt.NDArray[np.bool_], plan: Plan, is_composed: bool
) -> npt.NDArray[np.bool_]:
    """Whether a row has a score that could have failed.

    Where no metric can fail a row, any score; and none where all are diagnostics.
    """
    gating = _gating(plan)
    if gating.any():
        return np.asarray(measured[:, gating].any(axis=1), np.bool_)
    if is_composed:
        return np.asarray(measured.any(axis=1), np.bool_)
    return np.ones(len(measured), np.bool_)


def _only_refused(
    measured: npt.NDArray[np.bool_],
    refused: npt.NDArray[np.bool_],
    null_reasons: npt.NDArray[np.uint8],
    plan: Plan,
) -> npt.NDArray[np.bool_]:
    """Rows that claim nothing which could fail: what could is null for a refusal.

    A ground truth that is not there takes nothing from it.
    """
    truths = np.array(["ground_truth" in plan.specs[metric].fields for metric in plan.columns])
    no_truth = (null_reasons == NullReason.MISSING_FIELD) & truths
    gating = _gating(plan)
    excused = (refused | no_truth)[:, gating].all(axis=1) & refused[:, gating].any(axis=1)
    return np.asarray(excused & ~measured[:, gating].any(axis=1), np.bool_)


@dataclass(slots=True)
class Refusals:
    """Answers that only decline, counted.

    Attributes
    ----------
    n_rows : int
    n_answerable : int
        Those where relevant contexts were retrieved and no ground truth declines as well, as far as
        the metrics of the plan tell.
    """

    n_rows: int = 0
    n_answerable: int = 0

    def add(
        self,
        scores: npt.NDArray[np.float64],
        null_reasons: npt.NDArray[np.uint8],
        plan: Plan,
    ) -> None:
        """Look at some rows."""
        reasons = dict(zip(plan.columns, null_reasons.T, strict=True))
        found = [reasons[name] == NullReason.REFUSAL for name in _OF_ANSWER if name in reasons]
        if not found or not found[0].any():
            return
        self.n_rows += int(found[0].sum())
        if "context_relevance" in reasons:
            relevant = scores[:, plan.columns.index("context_relevance")] > 0
            answerable = found[0] & relevant
            if "context_recall" in reasons:
                answerable &= reasons["context_recall"] != NullReason.REFUSAL
            self.n_answerable += int(answerable.sum())

    @property
    def notes(self) -> list[str]:
        """What to tell about a run that has any."""
        if not self.n_rows:
            return []
        if self.n_rows == 1:
            text, those = "1 answer is a refusal, so its faithfulness is null", "it"
        else:
            text = f"{self.n_rows:,} answers are refusals, so their faithfulness is null"
            those = f"{self.n_answerable:,} of them"
        if self.n_answerable:
            text += f"; relevant contexts were retrieved for {those}"
        return [text]


_OF_ANSWER: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate")


def _gating(plan: Plan) -> npt.NDArray[np.bool_]:
    """The columns that can fail a row."""
    return np.array([plan.thresholds[metric] is not None for metric in plan.columns], np.bool_)


def _in_composite(metric: MetricId, plan: Plan) -> bool:
    # A scorer takes part by a weight of its own.
    return plan.specs[metric].in_composite or plan.weights[metric] != 0


def _metric_passed(
    scores: npt.NDArray[np.float64], measured: npt.NDArray[np.bool_], plan: Plan
) -> npt.NDArray[np.bool_]:
    limits = [plan.thresholds[metric] for metric in plan.columns]
    with np.errstate(invalid="ignore"):
        passed = np.asarray(scores >= np.array(limits, np.float64), np.bool_)  # NaN for None
        for column, (metric, limit) in enumerate(zip(plan.columns, limits, strict=True)):
            if limit is None:
                passed[:, column] = measured[:, column]
            elif not plan.specs[metric].higher_is_better:
                passed[:, column] = scores[:, column] <= limit
    return passed


def _composite(
    scores: npt.NDArray[np.float64], measured: npt.NDArray[np.bool_], plan: Plan
) -> npt.NDArray[np.float64]:
    composite = np.full(len(scores), np.nan)
    if not plan.metrics:
        return composite
    if plan.metrics != plan.columns:
        columns = [plan.columns.index(metric) for metric in plan.metrics]
        scores, measured = scores[:, columns], measured[:, columns]
    weights = np.where(measured, [plan.weights[metric] for metric in plan.metrics], 0.0)
    # Summed one after the other, metric by metric: the bits of a plain loop.
    total = np.add.accumulate(np.where(measured, scores, 0.0) * weights, axis=1)[:, -1]
    weight_sum = np.add.accumulate(weights, axis=1)[:, -1]
    np.divide(total, weight_sum, out=composite, where=weight_sum > 0)
    return composite
