"""A row of a result file in; the result that it holds, or an error that names the field, out.

Files of rag-eval-node-ts have fewer fields: no signature, no reason for a null.
"""

from __future__ import annotations

import math
from typing import Final, get_args

from rag_eval.errors import InputError
from rag_eval.judge.failures import JUDGE_FAILURES
from rag_eval.metrics.registry import metric_of_file
from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.json_fields import Fields
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.judged import JudgedScore
from rag_eval.results.regressions import MetricRegression
from rag_eval.results.row import (
    ByMetric,
    CostTracker,
    EvalResult,
    EvalSignal,
    Losses,
    MetricResult,
    Refusal,
    SentenceEvidence,
    Severity,
)
from rag_eval.samples import NULL_REASONS, MetricId, NullReason, null_reason_named

_SEVERITIES: Final = get_args(Severity)


def result_of(row: Fields, signature: Signature | None) -> EvalResult:
    """The result of a row that was made under ``signature``.

    Raises
    ------
    InputError
        For a field that is not what it has to be.
    """
    metrics = {}
    for name, entry in row.needed("metrics").items():
        metric = metric_or_none(name)
        if metric is not None:
            metrics[metric] = _metric_result(metric, entry)
    row.require("compositeScore", "a number or null")
    sample = row.get("sample")
    return EvalResult(
        sample={} if sample is None else _checked_sample(row),
        metrics=ByMetric(metrics),
        composite_score=row.number_or_none("compositeScore"),
        passed=row.flag("passed"),
        cost=cost_of(row.inner("cost")),
        duration_ms=row.count("durationMs"),
        evaluated_at=row.text("evaluatedAt"),
        signature=signature,
        language=row.text_or_none("language"),
        refusal=_refusal(row),
    )


def signature_of(row: Fields) -> Signature | None:
    """That of a row or a file; None if it has none."""
    found = row.get("signature")
    return None if found is None else Signature.from_dict(found)


def settings_of(file: Fields) -> VerdictSettings | None:
    """Thresholds and weights of a file; None if it has none."""
    found = file.get("settings")
    return None if found is None else VerdictSettings.from_dict(found)


def regressions_of(file: Fields) -> list[MetricRegression] | None:
    """The comparison of each metric with a baseline in a run; None without a baseline."""
    if file.get("regressions") is None:
        return None
    found = file.each("regressions", _regression)
    return [regression for regression in found if regression is not None]


def cost_of(entry: Fields) -> CostTracker:
    """The cost of a judge; all 0 if it is not stored."""
    return CostTracker(**{name: entry.count(camel_case(name)) for name in CostTracker.__slots__})


def metric_or_none(name: str) -> MetricId | None:
    """The metric of that name; None for unknown names."""
    try:
        return metric_of_file(name)
    except InputError:
        return None


def _regression(entry: Fields) -> MetricRegression | None:
    metric = metric_or_none(entry.text("metricId"))
    if metric is None:
        return None
    return MetricRegression(
        metric_id=metric,
        baseline_mean=_mean(entry, "baselineMean"),
        current_mean=_mean(entry, "currentMean"),
        delta=_mean(entry, "delta"),
        regressed=entry.flag("regressed"),
        not_comparable=entry.flag_or_none("notComparable") is True,
    )


def _mean(entry: Fields, name: str) -> float:
    found = entry.number_or_none(name)
    return math.nan if found is None else float(found)


def _checked_sample(row: Fields) -> object:
    row.inner("sample")
    return row.get("sample")


def _metric_result(metric: MetricId, entry: Fields) -> MetricResult:
    entry.require("score", "a number or null")
    score = entry.number_or_none("score")
    reason = _null_reason(entry, score)
    has_evidence = entry.get("evidence") is not None
    has_details = entry.get("details") is not None
    return MetricResult(
        metric_id=metric,
        score=score,
        passed=entry.flag_or_none("passed"),
        threshold=entry.number_or_none("threshold"),
        explanation=entry.text("explanation"),
        signals=entry.each("signals", lambda signal: _signal(metric, signal)),
        null_reason=reason,
        probability=entry.number_or_none("probability"),
        chunk_scores=entry.numbers_or_none("chunkScores"),
        evidence=entry.each("evidence", _sentence_evidence) if has_evidence else None,
        losses=_losses(entry),
        mode=entry.text("mode", "heuristic"),  # type: ignore[arg-type]  # another tool's is shown
        llm_calls=entry.count("llmCalls"),
        duration_ms=entry.count("durationMs"),
        details=entry.objects("details") if has_details else None,
        judged=_judged(entry, score, reason),
    )


def _null_reason(entry: Fields, score: float | None) -> NullReason:
    if score is not None:
        return NullReason.MEASURED
    named = entry.text_or_none("nullReason")
    found = NullReason.MEASURED if named is None else null_reason_named(named)
    if found is None:
        entry.refuse("nullReason", f"one of {', '.join(list(NULL_REASONS)[1:])}")
    return found or NullReason.MISSING_FIELD


def _judged(entry: Fields, score: float | None, reason: NullReason) -> JudgedScore | None:
    """The judge's scores; the reason of a failure that the native score replaced is not stored."""
    if entry.get("judge") is None:
        return None
    found = entry.inner("judge")
    is_fallback = found.flag_or_none("fallback") is True
    failure = reason if reason in JUDGE_FAILURES else NullReason.MEASURED
    is_audit = found.get("auditShare") is not None
    judge_score = found.number_or_none("score")
    return JudgedScore(
        score=score,
        null_reason=reason,
        mode=entry.text("mode", "llm"),  # type: ignore[arg-type]  # as above
        failure=NullReason.JUDGE_FAILED if is_fallback else failure,
        message=found.text("message"),
        explanation=entry.text("explanation"),
        judge_score=judge_score,
        by_judge=_by_judge(found) or ((judge_score,),),
        native_score=found.number_or_none("nativeScore"),
        verifier_score=found.number_or_none("verifierScore"),
        verifier_message=found.text("verifierMessage"),
        spread=found.number_or_none("spread"),
        flaky=found.flag_or_none("flaky") is True,
        is_audit=is_audit,
        share=found.number("auditShare") if is_audit else 1.0,
        details=found.objects("verdicts"),
    )


def _by_judge(judge: Fields) -> tuple[tuple[float | None, ...], ...]:
    """The scores of each judge's repeats, null if one failed."""
    listed = judge.get("byJudge") or []
    if isinstance(listed, list) and all(
        isinstance(repeats, list) and all(one is None or is_number(one) for one in repeats)
        for repeats in listed
    ):
        return tuple(map(tuple, listed))
    return judge.refuse("byJudge", "a list of scores for each judge")


def _sentence_evidence(entry: Fields) -> SentenceEvidence:
    return SentenceEvidence(
        span=entry.span("span"),
        support=entry.number("support"),
        chunk=entry.place_or_none("chunk"),
        window=entry.span_or_none("window"),
        covered=entry.number("covered"),
        missing_numbers=entry.texts("missingNumbers"),
        missing_names=entry.texts("missingNames"),
        contradiction=_pair(entry, "contradiction"),
        far_names=_far_names(entry),
        no_claim=entry.flag_or_none("noClaim") is True,
        losses=_losses(entry),
    )


def _losses(entry: Fields) -> Losses | None:
    """None if a file does not say."""
    if entry.get("losses") is None:
        return None
    found = entry.inner("losses")
    return Losses.of([found.number(camel_case(name)) for name in Losses._fields])


def _pair(entry: Fields, name: str) -> tuple[str, str] | None:
    if entry.get(name) is None:
        return None
    found = entry.texts(name)
    if len(found) != 2:
        entry.refuse(name, "a list of two texts")
    return found[0], found[1]


def _far_names(entry: Fields) -> tuple[tuple[str, str], ...]:
    listed = entry.get("farNames") or []
    if isinstance(listed, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair)
        for pair in listed
    ):
        return tuple((left, right) for left, right in listed)
    return entry.refuse("farNames", "a list of pairs of texts")


def _refusal(row: Fields) -> Refusal | None:
    """None if the answer does not decline, or a file does not say."""
    if row.get("refusal") is None:
        return None
    found = row.inner("refusal")
    return Refusal(found.flag_or_none("only") is True, found.flag_or_none("answerable") is True)


def _signal(metric: MetricId, entry: Fields) -> EvalSignal:
    if entry.get("severity") not in _SEVERITIES:
        entry.refuse("severity", f"one of {', '.join(_SEVERITIES)}")
    return EvalSignal(
        id=entry.text("id"),
        metric_id=metric,
        severity=entry.get("severity"),
        message=entry.text("message"),
        evidence=entry.text_or_none("evidence"),
        context_chunk_index=entry.place_or_none("contextChunkIndex"),
    )
