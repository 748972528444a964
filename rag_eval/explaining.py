"""One row -> its result with explanations and signals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval import kernels
from rag_eval.columns import SampleBatch
from rag_eval.errors import InputError
from rag_eval.grounded_settings import GroundedSettings
from rag_eval.languages import LISTED
from rag_eval.metrics import grounded, overlap
from rag_eval.metrics.registry import metric_numbers
from rag_eval.options import Plan
from rag_eval.overlap_settings import OverlapSettings
from rag_eval.results import ByMetric, EvalResult, EvalSignal, MetricResult
from rag_eval.samples import MetricId, NullReason
from rag_eval.signature import Signature
from rag_eval.snowball import snowball_stems
from rag_eval.verdicts import judge_rows, passes

_Words: TypeAlias = tuple[str, tuple[EvalSignal, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Opened:
    """Scores and null reasons by metric number, and the words for a metric's score."""

    scores: Sequence[float]
    reasons: Sequence[int]
    explain: Callable[[MetricId, float], _Words]
    language: str | None = None


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
    metrics = np.array(metric_numbers(plan.columns), np.int64)
    if isinstance(plan.settings, OverlapSettings):
        opened = _open_overlap(batch, place, plan.settings, metrics)
    else:
        opened = _open_grounded(batch, place, plan.settings, metrics)
    values, reasons = opened.scores, opened.reasons
    scores = np.array([math.nan if reasons[number] else values[number] for number in metrics])
    if scored is not None and not np.array_equal(scores, scored[1], equal_nan=True):
        raise InputError(f"row {scored[0]} gives other scores than before: its sample was changed")
    verdicts = judge_rows(scores.reshape(1, -1), plan)
    composite = float(verdicts.composite[0])
    return EvalResult(
        sample=sample,
        metrics=ByMetric(
            {
                metric: _explained(
                    metric,
                    None if reasons[number] else values[number],
                    NullReason(reasons[number]),
                    opened.explain(metric, values[number]),
                    plan,
                )
                for metric, number in zip(plan.columns, metrics, strict=True)
            }
        ),
        composite_score=None if math.isnan(composite) else composite,
        passed=bool(verdicts.passed[0]),
        evaluated_at=evaluated_at,
        signature=Signature.of(plan.columns, plan.settings),
        language=opened.language,
    )


def _open_overlap(
    batch: SampleBatch, place: int, settings: OverlapSettings, metrics: npt.NDArray[np.int64]
) -> _Opened:
    details = kernels.overlap_details(batch, place, settings, metrics)
    truth = batch.ground_truth.offsets
    facts = overlap.RowFacts(
        details=details,
        settings=settings,
        answer=batch.answer.text_bytes(place),
        n_contexts=int(batch.row_contexts[place + 1] - batch.row_contexts[place]),
        has_ground_truth=bool(truth[place + 1] > truth[place]),
    )
    return _Opened(
        details.scores,
        details.reasons,
        lambda metric, score: (*overlap.explain(metric, facts, score), {}),
    )


def _open_grounded(
    batch: SampleBatch, place: int, settings: GroundedSettings, metrics: npt.NDArray[np.int64]
) -> _Opened:
    # Of the row alone: the stems of a whole batch would be found anew for every row.
    batch, place = batch.row(place), 0
    details = kernels.grounded_details(
        batch, place, settings, metrics, snowball_stems(batch, settings)
    )
    facts = grounded.RowFacts(
        details=details,
        answer=batch.answer.text(place),
        truths=batch.row_truth_texts(place),
        n_chunks=int(batch.row_contexts[1]),
    )
    return _Opened(
        details.scores,
        details.reasons,
        lambda metric, score: grounded.explain(metric, facts, score),
        LISTED[details.language],
    )


def _explained(
    metric: MetricId, score: float | None, reason: NullReason, words: _Words, plan: Plan
) -> MetricResult:
    explanation, signals, details = words
    calibration = plan.calibrations.get(metric)
    return MetricResult(
        metric_id=metric,
        score=score,
        passed=passes(score, metric, plan),
        threshold=plan.thresholds[metric],
        explanation=explanation,
        signals=signals,
        null_reason=reason,
        probability=None if calibration is None else calibration.probability(score),
        **details,
    )
