"""The door to the kernel that gives verdicts: what it reads of a plan, and what it fills."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag_eval._native import score_columns
from rag_eval.metrics.contract import Metric
from rag_eval.samples import MetricId


class Limit(IntEnum):
    """What scores of a metric are compared with."""

    NONE = 0
    AT_LEAST = 1
    AT_MOST = 2


class Need(IntEnum):
    """What a row needs, besides metrics that pass, to pass itself."""

    NEVER = 0
    COMPOSITE = 1
    LIMITED_SCORE = 2
    ANY_SCORE = 3
    NOTHING = 4


class VerdictRule(NamedTuple):
    """How scores become verdicts, for M columns and the N metrics of the composite score.

    Attributes
    ----------
    limits : float64, shape (M,)
        0 where there is none.
    kinds : uint8, shape (M,)
        A :class:`Limit` each.
    reads_truth : uint8, shape (M,)
        1 for metrics that read the ground truth.
    composed : int64, shape (N,)
        Column of each metric of the composite score; one that is named twice is there twice.
    weights : float64, shape (N,)
    need : Need
    composite_limit : float
        NaN if there is none.
    """

    limits: npt.NDArray[np.float64]
    kinds: npt.NDArray[np.uint8]
    reads_truth: npt.NDArray[np.uint8]
    composed: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    need: Need
    composite_limit: float

    @classmethod
    def of(
        cls,
        metrics: Sequence[MetricId],
        columns: Sequence[MetricId],
        thresholds: Mapping[MetricId, float | None],
        weights: Mapping[MetricId, float],
        composite_limit: float | None,
        specs: Mapping[MetricId, Metric],
    ) -> VerdictRule:
        """That of a plan with these attributes."""
        limits = [thresholds[metric] for metric in columns]
        kinds = [
            Limit.NONE
            if limit is None
            else Limit.AT_LEAST
            if specs[metric].higher_is_better
            else Limit.AT_MOST
            for metric, limit in zip(columns, limits, strict=True)
        ]
        # A scorer takes part by a weight of its own.
        is_composed = any(specs[one].in_composite or weights[one] != 0 for one in metrics)
        if not metrics:
            need = Need.NEVER
        elif is_composed and composite_limit is not None:
            need = Need.COMPOSITE
        elif any(kinds):
            need = Need.LIMITED_SCORE
        else:
            # Where no metric can fail a row, any score will do; and none where all are diagnostics.
            need = Need.ANY_SCORE if is_composed else Need.NOTHING
        return cls(
            np.array([limit or 0.0 for limit in limits], np.float64),
            np.array(kinds, np.uint8),
            np.array(["ground_truth" in specs[metric].fields for metric in columns], np.uint8),
            np.array([columns.index(metric) for metric in metrics], np.int64),
            np.array([weights[metric] for metric in metrics], np.float64),
            need,
            math.nan if composite_limit is None else composite_limit,
        )


class Verdicts(NamedTuple):
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


def verdicts_of(
    scores: npt.NDArray[np.float64],
    rule: VerdictRule,
    null_reasons: npt.NDArray[np.uint8] | None = None,
) -> Verdicts:
    """Verdicts on a score matrix of shape (R, M), and null reasons of the same shape.

    Without the reasons no answer counts as a refusal.
    """
    n_rows, n_columns = scores.shape
    if n_columns != len(rule.kinds) or (
        null_reasons is not None and null_reasons.shape != scores.shape
    ):
        raise ValueError("scores and null reasons must have the columns of the plan")
    composite = np.empty(n_rows)
    metric_passed = np.empty((n_rows, n_columns), np.uint8)
    passed = np.empty(n_rows, np.uint8)
    score_columns.give_verdicts(scores, null_reasons, *rule, composite, metric_passed, passed)
    return Verdicts(composite, metric_passed.view(np.bool_), passed.view(np.bool_))
