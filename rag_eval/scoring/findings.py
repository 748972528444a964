"""What scorers and a judge found in one row -> scores, and words for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rag_eval.inputs.sample_fields import fields_of
from rag_eval.judge.replies import Tally
from rag_eval.metrics.contract import Fields, Scored
from rag_eval.metrics.registry import judged_rule
from rag_eval.options.cascade import unjudged_scores
from rag_eval.options.plan import Plan
from rag_eval.results.judged import JudgedRowScores, JudgedScore
from rag_eval.results.row import CostTracker, EvalSignal, Severity, Words, cost_of
from rag_eval.samples import MetricId
from rag_eval.scoring.explaining import ScoredRow
from rag_eval.scoring.scorer_columns import find

# Number of failed checks that are shown; the details have all.
_MOST_SIGNALS: Final = 10


def found_in(sample: Any, plan: Plan, fields: Fields | None) -> dict[MetricId, Scored]:
    """What the scorers of a plan find in a sample, or in fields that stand for it."""
    read = fields_of(sample, plan.scorer_fields) if fields is None else fields
    return {metric: find(chosen, read) for metric, chosen in plan.scorers.items()}


def judged_scores(
    plan: Plan, computed: Mapping[MetricId, float], judged: JudgedRowScores
) -> dict[MetricId, float]:
    """The scores of a row, each on the scale of its column, those of a judge among them."""
    scores = dict(computed)
    judging = plan.judging
    if judging is not None and judging.is_cascade:
        for metric in judging.judged:
            if metric not in judged:
                scores[metric] = float(
                    unjudged_scores(plan, metric, np.array([computed[metric]]))[0]
                )
    for metric, found in judged.items():
        scores[metric] = math.nan if found.score is None else found.score
    return scores


def words_of_row(row: ScoredRow) -> dict[MetricId, Words]:
    """The words for every column of a row that kernels did not score alone."""
    judged = row.judged
    words = row.native_words(
        metric
        for metric in row.plan.native_columns
        if metric not in judged or judged[metric].mode == "heuristic"
    )
    words |= {metric: _scorer_words(metric, found) for metric, found in row.found.items()}
    for metric, found in judged.items():
        explanation, signals, more = _judged_words(metric, found, words.get(metric), row.plan)
        words[metric] = (
            explanation,
            (*signals, *_judge_signals(metric, found)),
            {
                **more,
                "null_reason": found.null_reason,
                "mode": found.mode,
                "llm_calls": found.tally.llm_calls,
                "judged": found,
            },
        )
    return words


def _scorer_words(metric: MetricId, found: Scored) -> Words:
    """An explanation, a signal per failed check, and all findings."""
    failed = [detail for detail in found.details if detail.get("passed") is False]
    signals = [_check_signal(metric, detail) for detail in failed[:_MOST_SIGNALS]]
    score = math.nan if found.score is None else found.score
    explanation = found.explanation or f"{metric} is {score:.4g}."
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


def _judged_words(
    metric: MetricId, found: JudgedScore, computed: Words | None, plan: Plan
) -> Words:
    """The words for a judge's score, or for the native score that replaces it."""
    stands_in = computed if found.mode == "heuristic" else None
    said = found.explanation or found.message
    if metric not in plan.scorers:
        return stands_in or (said, (), {})
    if stands_in is None:
        judged = Scored(found.score, found.null_reason, said, found.details)
        return _scorer_words(metric, judged)
    explanation, signals, more = stands_in
    stand_in = dict(judged_rule(metric).stand_in)
    return explanation, signals, {"details": (*more["details"], stand_in)}


# Negative verdicts, which a reader should see first; digits are ratings.
_BAD: Final[Mapping[str, Severity]] = {
    "contradicted": "critical",
    "unsupported": "critical",
    "partial": "warning",
    "no": "warning",
    "1": "critical",
    "2": "warning",
}


def _judge_signals(metric: MetricId, found: JudgedScore) -> tuple[EvalSignal, ...]:
    """One signal per negative verdict, and one for a failure."""
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
        who = "the verifier" if found.mode == "verifier" else "the judge"
        stand_in = "; the native score is used instead" if found.is_fallback else ""
        signals.append(
            EvalSignal(
                id=f"{metric}-{found.failure.name.lower().replace('_', '-')}",
                metric_id=metric,
                severity="warning",
                message=f"{who} failed: {found.message}{stand_in}",
            )
        )
    return tuple(signals)


def cost_of_row(judged: JudgedRowScores) -> CostTracker:
    """The calls and tokens of judging a row, over all metrics."""
    tally = Tally()
    for found in judged.values():
        tally.add(found.tally)
    return cost_of(tally)
