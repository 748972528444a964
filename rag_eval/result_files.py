"""Result files: batches as JSON and JSON lines, in the schema of rag-eval-node-ts.

Written part by part, so that no file has to be held in memory, and put in place only when complete.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_eval import json_text
from rag_eval.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.batch_results import BatchEvalResult
from rag_eval.durable_files import atomic_file
from rag_eval.errors import InputError
from rag_eval.judge.failures import JUDGE_FAILURES
from rag_eval.judged_scores import JudgedScore
from rag_eval.option_values import is_number
from rag_eval.results import (
    ByMetric,
    CostTracker,
    EvalResult,
    EvalSignal,
    MetricResult,
    SentenceEvidence,
)
from rag_eval.samples import MetricId, NullReason, camel_case, metric_of_file
from rag_eval.signature import Signature
from rag_eval.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable


# ------------------------------------------------------------------------------------- writing


def row_json(result: EvalResult, row: int, details: bool = False) -> bytes:
    """One row's result as JSON; what cannot be written is named with its sample."""
    try:
        return json_text.dumps(result.to_dict(details))
    except (ValueError, TypeError) as error:
        sample = result.sample
        name = sample.get("id") if isinstance(sample, Mapping) else getattr(sample, "id", None)
        shown = f"sample {row}" if name is None else f'sample {row} ("{name}")'
        raise InputError(f"{shown} cannot be written as JSON: {error}") from None


def json_parts(rows: Iterable[bytes], summary: Callable[[], Mapping[str, Any]]) -> Iterator[bytes]:
    """The parts of a result file: its rows, then its summary, which may need all rows first."""
    yield b'{"results":['
    for index, row in enumerate(rows):
        yield b",\n" if index else b"\n"
        yield row
    yield b"\n]," + json_text.dumps(summary())[1:] + b"\n"


def batch_json_parts(batch: BatchEvalResult, details: bool = False) -> Iterator[bytes]:
    """The parts of a batch's result file; opens every row, one at a time."""
    rows = (row_json(result, row, details) for row, result in enumerate(batch.results))
    return json_parts(rows, batch.summary_dict)


def jsonl_parts(results: Iterable[EvalResult], details: bool = False) -> Iterator[bytes]:
    """One line of JSON per row."""
    for row, result in enumerate(results):
        yield row_json(result, row, details) + b"\n"


def write_or_return(parts: Iterable[bytes], path: str | Path | None) -> str | None:
    """Write the parts to a file, or give them as text when no path is named."""
    if path is None:
        return b"".join(parts).decode()
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)
    return None


# ------------------------------------------------------------------------------------- reading


def read_batch(source: str | bytes | Path) -> BatchEvalResult:
    """Read a result file, or its text when ``source`` is bytes or begins with a brace.

    A file of rag-eval-node-ts has no signature: ``signature`` is None then.

    Raises
    ------
    InputError
        When it is no result file.
    """
    name, text = _text_of(source)
    try:
        value = json_text.loads(text)
    except ValueError as error:
        raise InputError(f"{name} is not JSON: {error}") from None
    if not isinstance(value, Mapping) or not isinstance(value.get("aggregates"), Mapping):
        raise InputError(f"{name} is no batch result: it has no aggregates")
    try:
        return _batch(value)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name} is no batch result: {error!r}") from None


def read_row(row: Mapping[str, Any]) -> EvalResult:
    """One row of a result file, with the signature that it has itself.

    Raises
    ------
    InputError
        When it is none.
    """
    signed = row.get("signature")
    try:
        result = _result(row, None if signed is None else Signature.from_dict(signed))
        numbers = [result.composite_score]
        for metric in result.metrics.values():
            numbers += [metric.score, metric.threshold, metric.probability]
            numbers += metric.chunk_scores or ()
            for found in metric.evidence or ():
                numbers += [found.support, *found.span, found.chunk, *(found.window or ())]
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(f"is no row of a result: {error!r}") from None
    for number in numbers:
        if number is not None and not is_number(number):
            raise InputError(f"is no row of a result: wanted a number, got {number!r:.80}")
    return result


def _text_of(source: str | bytes | Path) -> tuple[str, str | bytes]:
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip()[:1] == "{"):
        return "the text given", source
    path = Path(source)
    try:
        data = path.read_bytes()
        return str(path), gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}") from None


def _batch(value: Mapping[str, Any]) -> BatchEvalResult:
    signed = value.get("signature")
    signature = None if signed is None else Signature.from_dict(signed)
    results = [_result(row, signature) for row in value.get("results", ())]
    found = {_metric_or_none(name): entry for name, entry in value["aggregates"].items()}
    metrics = tuple(metric for metric in found if metric is not None)
    scores, reasons = _matrices(results, metrics)
    composites = [row.composite_score for row in results]
    return BatchEvalResult(
        metrics=metrics,
        n_rows=len(results),
        n_passed=sum(row.passed for row in results),
        scores=scores,
        null_reasons=reasons,
        composite_scores=np.array([math.nan if c is None else c for c in composites], np.float64),
        sample_passed=np.array([row.passed for row in results], np.bool_),
        results=results,
        aggregates=ByMetric(
            {metric: _aggregate(metric, found[metric], len(results)) for metric in metrics}
        ),
        composite_aggregate=_composite(value.get("compositeAggregate") or {}, composites),
        passed=bool(value.get("passed")),
        total_cost=_cost(value.get("totalCost")),
        total_duration_ms=int(value.get("totalDurationMs", 0)),
        evaluated_at=str(value.get("evaluatedAt", "")),
        signature=signature,
        notes=list(value.get("notes", ())),
    )


def _metric_or_none(name: str) -> MetricId | None:
    try:
        return metric_of_file(name)
    except InputError:
        return None


def _matrices(results: list[EvalResult], metrics: tuple[MetricId, ...]) -> tuple[Any, Any]:
    scores = np.full((len(results), len(metrics)), np.nan)
    reasons = np.full(scores.shape, NullReason.SKIPPED, np.uint8)
    for row, result in enumerate(results):
        for column, metric in enumerate(metrics):
            if metric in result.metrics:
                found = result.metrics[metric]
                reasons[row, column] = found.null_reason
                if found.score is not None:
                    scores[row, column] = found.score
    return scores, reasons


_STATISTICS = {"mean": "mean", "median": "median", "min": "min", "max": "max", "std_dev": "stdDev"}


def _numbers(entry: Mapping[str, Any], n: int) -> dict[str, Any]:
    return {
        # Columns of verdicts have null for them.
        name: math.nan if not n or entry.get(key) is None else float(entry[key])
        for name, key in _STATISTICS.items()
    }


def _aggregate(metric: MetricId, entry: Mapping[str, Any], n_rows: int) -> MetricAggregate:
    null_rate = float(entry.get("nullRate", 0))
    # A summary may come without its rows: then only "some" and "none" can be told apart.
    n = round((1 - null_rate) * n_rows) if n_rows else int(null_rate < 1)
    return MetricAggregate(
        metric_id=metric,
        n=n,
        n_rows=n_rows,
        pass_rate=float(entry.get("passRate", 0)),
        null_rate=null_rate,
        interval=_interval(entry, n if n_rows else 0),
        **_numbers(entry, n),
    )


def _composite(entry: Mapping[str, Any], composites: list[float | None]) -> CompositeAggregate:
    n = sum(score is not None for score in composites)
    return CompositeAggregate(
        n=n,
        n_rows=len(composites),
        pass_rate=float(entry.get("passRate", 0)),
        interval=_interval(entry, n),
        **_numbers(entry, n),
    )


def _interval(entry: Mapping[str, Any], n: int) -> Interval | None:
    """That of the mean, which files of other tools and of earlier versions do not have."""
    found = entry.get("meanInterval")
    if not n or not isinstance(found, Mapping):
        return None
    ends = (found.get("low"), found.get("high"))
    if not all(end is None or is_number(end) for end in ends) or not is_number(found.get("level")):
        return None
    low, high = (None if end is None else float(end) for end in ends)
    method = found.get("method")
    return Interval(
        estimate=_numbers(entry, n)["mean"],
        low=low,
        high=high,
        level=float(found["level"]),
        n_resamples=0,
        n_groups=n,
        method=method if isinstance(method, str) else None,
        too_few=found.get("tooFew") is True,
    )


def _result(row: Mapping[str, Any], signature: Signature | None) -> EvalResult:
    metrics = {_metric_or_none(name): entry for name, entry in row["metrics"].items()}
    return EvalResult(
        sample=row.get("sample"),
        metrics=ByMetric(
            {
                metric: _metric_result(metric, entry)
                for metric, entry in metrics.items()
                if metric is not None
            }
        ),
        composite_score=row["compositeScore"],
        passed=bool(row["passed"]),
        cost=_cost(row.get("cost")),
        duration_ms=int(row.get("durationMs", 0)),
        evaluated_at=str(row.get("evaluatedAt", "")),
        signature=signature,
        language=row.get("language"),
    )


def _cost(entry: object) -> CostTracker:
    found = entry if isinstance(entry, Mapping) else {}
    names = CostTracker.__slots__
    return CostTracker(**{name: int(found.get(camel_case(name), 0)) for name in names})


def _metric_result(metric: MetricId, entry: Mapping[str, Any]) -> MetricResult:
    reason = entry.get("nullReason")
    if reason is None:
        measured = entry["score"] is not None
        null_reason = NullReason.MEASURED if measured else NullReason.MISSING_FIELD
    else:
        null_reason = NullReason[reason.upper()]
    return MetricResult(
        metric_id=metric,
        score=entry["score"],
        passed=entry["passed"],
        threshold=entry["threshold"],
        explanation=entry["explanation"],
        signals=tuple(_signal(metric, signal) for signal in entry["signals"]),
        null_reason=null_reason,
        probability=entry.get("probability"),
        chunk_scores=None if "chunkScores" not in entry else tuple(entry["chunkScores"]),
        evidence=None
        if "evidence" not in entry
        else tuple(map(_sentence_evidence, entry["evidence"])),
        mode=entry.get("mode", "heuristic"),
        llm_calls=int(entry.get("llmCalls", 0)),
        duration_ms=int(entry.get("durationMs", 0)),
        details=None if "details" not in entry else tuple(entry["details"]),
        judged=_judged(entry, null_reason),
    )


def _judged(entry: Mapping[str, Any], null_reason: NullReason) -> JudgedScore | None:
    """What a judge said; how a judgement failed that the native score stands in for is lost."""
    found = entry.get("judge")
    if not isinstance(found, Mapping):
        return None
    failure = null_reason if null_reason in JUDGE_FAILURES else NullReason.MEASURED
    if found.get("fallback"):
        failure = NullReason.JUDGE_FAILED
    by_judge = found.get("byJudge") or [[found.get("score")]]
    return JudgedScore(
        score=entry["score"],
        null_reason=null_reason,
        mode=entry.get("mode", "llm"),
        failure=failure,
        message=str(found.get("message", "")),
        explanation=entry["explanation"],
        judge_score=found.get("score"),
        by_judge=tuple(tuple(repeats) for repeats in by_judge),
        native_score=found.get("nativeScore"),
        spread=found.get("spread"),
        flaky=bool(found.get("flaky")),
        is_audit="auditShare" in found,
        share=found.get("auditShare", 1.0),
        details=tuple(found.get("verdicts") or ()),
    )


def _sentence_evidence(entry: Mapping[str, Any]) -> SentenceEvidence:
    window = entry["window"]
    return SentenceEvidence(
        span=(entry["span"][0], entry["span"][1]),
        support=entry["support"],
        chunk=entry["chunk"],
        window=None if window is None else (window[0], window[1]),
        covered=entry["covered"],
        missing_numbers=tuple(entry["missingNumbers"]),
        missing_names=tuple(entry["missingNames"]),
    )


def _signal(metric: MetricId, entry: Mapping[str, Any]) -> EvalSignal:
    return EvalSignal(
        id=entry["id"],
        metric_id=metric,
        severity=entry["severity"],
        message=entry["message"],
        evidence=entry.get("evidence"),
        context_chunk_index=entry.get("contextChunkIndex"),
    )
