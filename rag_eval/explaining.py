"""One row -> its result with explanations and signals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval import kernels
from rag_eval.columns import SampleBatch
from rag_eval.errors import InputError
from rag_eval.metrics.overlap import RowFacts, explain
from rag_eval.metrics.registry import OVERLAP_METRICS, metric_numbers
from rag_eval.options import Plan
from rag_eval.results import ByMetric, EvalResult, MetricResult
from rag_eval.samples import NullReason
from rag_eval.signature import Signature
from rag_eval.verdicts import judge_rows


def explain_row(
    sample: Any,
    batch: SampleBatch,
    place: int,
    plan: Plan,
    evaluated_at: str,
    scored: tuple[int, npt.NDArray[np.float64]] | None = None,
) -> EvalResult:
    """Score the row at ``place`` of a batch and explain each score.

    ``scored`` is the row's number and scores when it has been scored before.

    Raises
    ------
    InputError
        When the sample has changed since it was scored.
    """
    details = kernels.overlap_details(
        batch, place, plan.settings, np.array(metric_numbers(plan.columns), np.int64)
    )
    scores = np.array(
        [
            math.nan if details.reasons[number] else details.scores[number]
            for number in metric_numbers(plan.columns)
        ]
    )
    if scored is not None and not np.array_equal(scores, scored[1], equal_nan=True):
        raise InputError(f"row {scored[0]} gives other scores than before: its sample was changed")
    facts = RowFacts(
        details=details,
        settings=plan.settings,
        answer=batch.answer.text_bytes(place),
        n_contexts=int(batch.row_contexts[place + 1] - batch.row_contexts[place]),
        has_ground_truth=bool(
            batch.ground_truth.offsets[place + 1] > batch.ground_truth.offsets[place]
        ),
    )
    verdicts = judge_rows(scores.reshape(1, -1), plan)
    composite = float(verdicts.composite[0])
    return EvalResult(
        sample=sample,
        metrics=ByMetric({metric: _explained(metric, facts, plan) for metric in plan.columns}),
        composite_score=None if math.isnan(composite) else composite,
        passed=bool(verdicts.passed[0]),
        evaluated_at=evaluated_at,
        signature=Signature.of(plan.columns, plan.settings),
    )


def _explained(metric: Any, facts: RowFacts, plan: Plan) -> MetricResult:
    number = OVERLAP_METRICS[metric].number
    reason = NullReason(facts.details.reasons[number])
    score = facts.details.scores[number]
    threshold = plan.thresholds[metric]
    explanation, signals = explain(metric, facts, score)
    return MetricResult(
        metric_id=metric,
        score=None if reason else score,
        passed=None if reason else score >= threshold,
        threshold=threshold,
        explanation=explanation,
        signals=signals,
        null_reason=reason,
    )
