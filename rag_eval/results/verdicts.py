"""Scores and thresholds -> composite scores and who passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.options.plan import Plan
from rag_eval.samples import MetricId

NOT_JUDGED: Final = -1
"""In the place of a verdict: there is none, or a file does not say."""


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
        No metric failed (a null does not fail), and the composite reaches its threshold. Where no
        metric has a part in the composite, one that has a threshold was measured, if any has one.
    """

    composite: npt.NDArray[np.float64]
    metric_passed: npt.NDArray[np.bool_]
    passed: npt.NDArray[np.bool_]


def judge_rows(scores: npt.NDArray[np.float64], plan: Plan) -> Verdicts:
    """Verdicts on a score matrix of shape (R, M), columns as in ``plan.columns``."""
    measured = ~np.isnan(scores)
    metric_passed = _metric_passed(scores, measured, plan)
    composite = _composite(scores, measured, plan)
    reached = composite >= plan.composite_threshold
    if plan.metrics and not any(_in_composite(metric, plan) for metric in plan.metrics):
        reached = _any_measured(measured, plan)
    return Verdicts(composite, metric_passed, (metric_passed | ~measured).all(axis=1) & reached)


def _any_measured(measured: npt.NDArray[np.bool_], plan: Plan) -> npt.NDArray[np.bool_]:
    """Whether a row has a score that could have failed; True where no metric can fail a row."""
    gating = [plan.thresholds[metric] is not None for metric in plan.columns]
    if not any(gating):
        return np.ones(len(measured), np.bool_)
    return np.asarray(measured[:, gating].any(axis=1), np.bool_)


def _in_composite(metric: MetricId, plan: Plan) -> bool:
    # A scorer takes part by a weight of its own.
    return plan.specs[metric].in_composite or plan.weights[metric] != 0


def _metric_passed(
    scores: npt.NDArray[np.float64], measured: npt.NDArray[np.bool_], plan: Plan
) -> npt.NDArray[np.bool_]:
    passed = measured.copy()
    with np.errstate(invalid="ignore"):
        for column, metric in enumerate(plan.columns):
            threshold = plan.thresholds[metric]
            if threshold is None:
                continue
            if plan.specs[metric].higher_is_better:
                passed[:, column] = scores[:, column] >= threshold
            else:
                passed[:, column] = scores[:, column] <= threshold
    return passed


def _composite(
    scores: npt.NDArray[np.float64], measured: npt.NDArray[np.bool_], plan: Plan
) -> npt.NDArray[np.float64]:
    composite = np.full(len(scores), np.nan)
    if not plan.metrics:
        return composite
    columns = [plan.columns.index(metric) for metric in plan.metrics]
    weights = np.where(measured[:, columns], [plan.weights[m] for m in plan.metrics], 0.0)
    # Summed one after the other, metric by metric: the bits of a plain loop.
    weighted = np.where(measured, scores, 0.0)[:, columns] * weights
    total = np.add.accumulate(weighted, axis=1)[:, -1]
    weight_sum = np.add.accumulate(weights, axis=1)[:, -1]
    np.divide(total, weight_sum, out=composite, where=weight_sum > 0)
    return composite
