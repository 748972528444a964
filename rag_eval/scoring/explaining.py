"""One row -> its result with explanations and signals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.sample_fields import fields_of
from rag_eval.judge.asking import Tally
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.grounded_settings import GroundedSettings
from rag_eval.kernels.languages import LISTED
from rag_eval.kernels.overlap_settings import OverlapSettings
from rag_eval.kernels.snowball import snowball_stems
from rag_eval.metrics.contract import Fields, Scored
from rag_eval.metrics.registry import judged_rule
from rag_eval.metrics.seven import metric_numbers
from rag_eval.options.cascade import unjudged_scores
from rag_eval.options.plan import Plan
from rag_eval.options.signature import signature_of
from rag_eval.results import words_grounded as grounded
from rag_eval.results import words_overlap as overlap
from rag_eval.results.judged import JudgedRowScores, JudgedScore
from rag_eval.results.row import (
    ByMetric,
    CostTracker,
    EvalResult,
    EvalSignal,
    MetricResult,
    Severity,
    cost_of,
)
from rag_eval.results.verdicts import judge_rows, passes
from rag_eval.samples import MetricId, NullReason
from rag_eval.scoring.scorer_columns import find

_NO_COST: Final = CostTracker()
# Failed checks that people are shown; the details hold all.
_MOST_SIGNALS: Final = 10
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
    judged: JudgedRowScores | None = None,
    fields: Fields | None = None,
) -> EvalResult:
    """Score the row at ``place`` of a batch and explain each score.

    ``scored`` is the row's number and scores when it has been scored before, ``judged`` what a
    judge said about it then. ``fields`` are those that scorers read, where the sample does not have
    them all.

    Raises
    ------
    InputError
        When the sample has changed since it was scored.
    """
    metrics = np.array(metric_numbers(plan.native_columns), np.int64)
    judged = judged or {}
    if isinstance(plan.settings, OverlapSettings):
        opened = _open_overlap(batch, place, plan.settings, metrics)
    else:
        opened = _open_grounded(batch, place, plan.settings, metrics)
    native: dict[MetricId, _Computed] = {
        metric: _Native(opened, metric, number)
        for metric, number in zip(plan.native_columns, metrics.tolist(), strict=True)
    }
    if plan.scorers:
        found = fields_of(sample, plan.scorer_fields) if fields is None else fields
        for metric, chosen in plan.scorers.items():
            native[metric] = _Found(metric, find(chosen, found))
    scores = np.array([_column_score(metric, native, judged, plan) for metric in plan.columns])
    if scored is not None and not np.array_equal(scores, scored[1], equal_nan=True):
        raise InputError(f"row {scored[0]} gives other scores than before: its sample was changed")
    verdicts = judge_rows(scores.reshape(1, -1), plan)
    composite = float(verdicts.composite[0])
    results = {
        metric: _judged_result(metric, judged[metric], native.get(metric), plan)
        if metric in judged
        else _explained(metric, native[metric], float(score), plan)
        for metric, score in zip(plan.columns, scores, strict=True)
    }
    return EvalResult(
        sample=sample,
        metrics=ByMetric(results),
        cost=row_cost(judged) if judged else _NO_COST,
        composite_score=None if math.isnan(composite) else composite,
        passed=bool(verdicts.passed[0]),
        evaluated_at=evaluated_at,
        signature=signature_of(plan),
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


class _Computed(Protocol):
    """One metric of the row, as whoever computes it sees it."""

    reason: NullReason

    @property
    def score(self) -> float: ...

    def words(self) -> _Words: ...


class _Native:
    """One metric of the row, as the kernels see it."""

    def __init__(self, opened: _Opened, metric: MetricId, number: int) -> None:
        self._explain = opened.explain
        self._metric = metric
        self._value = opened.scores[number]
        self.reason = NullReason(opened.reasons[number])

    @property
    def score(self) -> float:
        """NaN where null."""
        return math.nan if self.reason else self._value

    def words(self) -> _Words:
        """Explanation, signals and evidence."""
        return self._explain(self._metric, self._value)


class _Found:
    """One metric of the row, as a scorer sees it."""

    def __init__(self, metric: MetricId, found: Scored) -> None:
        self._metric = metric
        self._found = found
        self.reason = found.null_reason

    @property
    def score(self) -> float:
        """NaN where null."""
        return math.nan if self._found.score is None else self._found.score

    def words(self) -> _Words:
        """Explanation, a signal per failed check, and all findings."""
        found = self._found
        failed = [detail for detail in found.details if detail.get("passed") is False]
        signals = [_check_signal(self._metric, detail) for detail in failed[:_MOST_SIGNALS]]
        explanation = found.explanation or f"{self._metric} is {self.score:.4g}."
        if len(failed) > _MOST_SIGNALS:
            explanation += f" (+ {len(failed) - _MOST_SIGNALS} more that failed)"
        return explanation, tuple(signals), {"details": tuple(found.details)}


def _check_signal(metric: MetricId, detail: Mapping[str, Any]) -> EvalSignal:
    check = str(detail.get("check", "check"))
    actual = detail.get("actual")
    return EvalSignal(
        id=f"{metric}-{check}",
        metric_id=metric,
        severity="warning",
        message=str(detail.get("message") or f"{check} failed"),
        evidence=None if actual is None else str(actual),
    )


def _column_score(
    metric: MetricId, native: Mapping[MetricId, _Computed], judged: JudgedRowScores, plan: Plan
) -> float:
    """The score of a column, on its scale; NaN where null."""
    if metric in judged:
        score = judged[metric].score
        return math.nan if score is None else score
    found = native[metric].score
    judging = plan.judging
    if judging is not None and judging.is_cascade and metric in judging.judged:
        return float(unjudged_scores(plan, metric, np.array([found]))[0])
    return found


def _explained(metric: MetricId, native: _Computed, score: float, plan: Plan) -> MetricResult:
    explanation, signals, details = native.words()
    value = None if math.isnan(score) else score
    calibration = plan.calibrations.get(metric)
    return MetricResult(
        metric_id=metric,
        score=value,
        passed=passes(value, metric, plan),
        threshold=plan.thresholds[metric],
        explanation=explanation,
        signals=signals,
        null_reason=native.reason,
        probability=None
        if calibration is None
        else calibration.probability(None if native.reason else native.score),
        **details,
    )


def _judged_result(
    metric: MetricId, found: JudgedScore, native: _Computed | None, plan: Plan
) -> MetricResult:
    calibration = plan.calibrations.get(metric)
    explanation, signals, details = _judged_words(metric, found, native, plan)
    return MetricResult(
        metric_id=metric,
        score=found.score,
        passed=passes(found.score, metric, plan),
        threshold=plan.thresholds[metric],
        explanation=explanation,
        signals=(*signals, *_judge_signals(metric, found)),
        null_reason=found.null_reason,
        mode=found.mode,
        llm_calls=found.tally.llm_calls,
        probability=None
        if calibration is None or native is None
        else calibration.probability(None if native.reason else native.score),
        judged=found,
        **details,
    )


def _judged_words(
    metric: MetricId, found: JudgedScore, native: _Computed | None, plan: Plan
) -> _Words:
    stands_in = native if found.mode == "heuristic" else None
    said = found.explanation or found.message
    if metric not in plan.scorers:
        return (said, (), {}) if stands_in is None else stands_in.words()
    if stands_in is None:
        return _Found(metric, Scored(found.score, found.null_reason, said, found.details)).words()
    explanation, signals, details = stands_in.words()
    stand_in = dict(judged_rule(metric).stand_in)
    return explanation, signals, {"details": (*details["details"], stand_in)}


# Verdicts that a reader should look at first; digits are ratings.
_BAD: Final[Mapping[str, Severity]] = {
    "contradicted": "critical",
    "unsupported": "critical",
    "partial": "warning",
    "no": "warning",
    "1": "critical",
    "2": "warning",
}


def _judge_signals(metric: MetricId, found: JudgedScore) -> tuple[EvalSignal, ...]:
    """One signal per verdict that speaks against the row, and one for a failure."""
    signals = [
        EvalSignal(
            id=f"{metric}-{verdict['verdict']}-{place}",
            metric_id=metric,
            severity=_BAD[verdict["verdict"]],
            message=verdict.get("reason") or f"the judge says {verdict['verdict']}",
            evidence=verdict.get("text"),
            context_chunk_index=verdict.get("chunk"),
        )
        for place, verdict in enumerate(found.details)
        if verdict.get("verdict") in _BAD
    ]
    if found.failed:
        stand_in = "; the native score stands in" if found.is_fallback else ""
        signals.append(
            EvalSignal(
                id=f"{metric}-{found.failure.name.lower().replace('_', '-')}",
                metric_id=metric,
                severity="warning",
                message=f"the judge failed: {found.message}{stand_in}",
            )
        )
    return tuple(signals)


def row_cost(judged: JudgedRowScores) -> CostTracker:
    """What judging a row took, all metrics together."""
    tally = Tally()
    for found in judged.values():
        tally.add(found.tally)
    return cost_of(tally)
