"""A row in; what a page shows of it, cut to size and with its anchors, out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.reports.page.passages import (
    ChunkPiece,
    SentencePiece,
    chunk_pieces,
    sentence_pieces,
    windows_by_chunk,
)
from rag_eval.reports.page.visible_text import cut, short
from rag_eval.results.judged import JudgedScore
from rag_eval.results.row import EvalResult, EvalSignal, MetricResult
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.sentences import SentenceView, answer_sentences, shown_truth, truth_sentences
from rag_eval.views.texts import contexts_of, fields_of, null_text, text_of, truths_of

RowStatus: TypeAlias = Literal["passed", "failed", "unmeasured"]

_STANDARD: Final = frozenset({"id", "question", "answer", "contexts", "groundTruth", "metadata"})
_RANKS: Final[dict[RowStatus, int]] = {"failed": 0, "unmeasured": 1, "passed": 2}
_SEVERITIES: Final[dict[str, int]] = {"critical": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many characters of each kind of text, and how many of each kind of thing, are shown."""

    text: int = 20_000
    chunk: int = 8_000
    n_chunks: int = 100
    value: int = 2_000
    n_findings: int = 50
    n_fields: int = 60


TIGHT: Final = Limits(text=2_000, chunk=500, n_chunks=20, value=200, n_findings=10, n_fields=10)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text in pieces, and how many characters are left out at its end."""

    pieces: Sequence[SentencePiece]
    n_left_out: int = 0


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """One context: ``relevances`` are the scores that metrics gave it."""

    number: int
    anchor: str
    pieces: Sequence[ChunkPiece]
    relevances: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A thing found by a scorer or said by a judge, as names and texts."""

    passed: bool | None
    fields: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPart:
    """One metric of a row with what stands behind it; the worst signals come first."""

    result: MetricResult
    null_reason: str
    signals: Sequence[EvalSignal]
    n_more_signals: int
    failed: Sequence[Finding]
    others: Sequence[Finding]
    n_more_findings: int
    judged: JudgedScore | None
    verdicts: Sequence[Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowParts:
    """What stands in the opened row."""

    anchor: str
    question: Passage
    answer: Passage
    truth: Passage
    n_covered: int
    n_truth_sentences: int
    other_truths: Sequence[str]
    chunks: Sequence[ChunkPart]
    n_more_chunks: int
    metrics: Sequence[MetricPart]
    metadata: Sequence[tuple[str, str]]
    others: Sequence[tuple[str, str]]


def row_anchor(row: ViewedRow) -> str:
    """Made of the number alone: ids are data."""
    return f"row-{row.number}"


def row_status(result: EvalResult) -> RowStatus:
    """Unmeasured where no metric has a score."""
    if all(metric.score is None for metric in result.metrics.values()):
        return "unmeasured"
    return "passed" if result.passed else "failed"


def worst_first(rows: Sequence[ViewedRow]) -> list[ViewedRow]:
    """Failed rows, then those without scores, then the others; each by composite score."""

    def rank(row: ViewedRow) -> tuple[int, float, int]:
        score = row.result.composite_score
        return _RANKS[row_status(row.result)], math.inf if score is None else score, row.number

    return sorted(rows, key=rank)


def row_parts(row: ViewedRow, limits: Limits) -> RowParts:
    """All that is shown of a row when it is opened."""
    result = row.result
    anchor = row_anchor(row)
    sentences, covering = answer_sentences(result), truth_sentences(result)
    contexts = contexts_of(result)
    chunks, targets = _chunks(result, contexts, sentences, covering, anchor, limits)
    truth = shown_truth(result)
    fields = fields_of(result)
    metadata = fields.get("metadata")
    return RowParts(
        anchor=anchor,
        question=_passage(text_of(result, "question"), (), "q", {}, limits),
        answer=_passage(text_of(result, "answer"), sentences, "a", targets, limits),
        truth=_passage(truth, covering, "t", targets, limits),
        n_covered=sum(view.level == "supported" for view in covering),
        n_truth_sentences=len(covering),
        other_truths=_other_truths(result, truth, limits),
        chunks=chunks,
        n_more_chunks=len(contexts) - len(chunks),
        metrics=[_metric(found, limits) for found in result.metrics.values()],
        metadata=_named(metadata if isinstance(metadata, Mapping) else {}, limits),
        others=_named({k: v for k, v in fields.items() if k not in _STANDARD}, limits),
    )


def _passage(
    text: str, views: Sequence[SentenceView], side: str, targets: dict[str, str], limits: Limits
) -> Passage:
    pieces = sentence_pieces(text, views, limits.text, side, targets)
    return Passage(pieces, max(0, len(text) - limits.text))


def _other_truths(result: EvalResult, shown: str, limits: Limits) -> list[str]:
    others = [text for text in truths_of(result) if text != shown]
    return [_cut_text(text, limits.value) for text in others[: limits.n_findings]]


def _chunks(
    result: EvalResult,
    contexts: Sequence[str],
    sentences: Sequence[SentenceView],
    covering: Sequence[SentenceView],
    anchor: str,
    limits: Limits,
) -> tuple[list[ChunkPart], dict[str, str]]:
    """The contexts with their windows, and the anchor that each sentence leads to."""
    of_answer, of_truth = windows_by_chunk(sentences, "a"), windows_by_chunk(covering, "t")
    parts = []
    targets: dict[str, str] = {}
    for number, text in enumerate(contexts[: limits.n_chunks]):
        windows = [*of_answer.get(number, ()), *of_truth.get(number, ())]
        name = f"{anchor}-chunk-{number}"
        pieces, anchors = chunk_pieces(text, windows, limits.chunk, name)
        parts.append(ChunkPart(number, name, pieces, _relevances(result, number)))
        targets.update(anchors)
    for side, views in (("a", sentences), ("t", covering)):
        for place, view in enumerate(views):
            if view.chunk is not None and 0 <= view.chunk < len(parts):
                targets.setdefault(f"{side}{place}", parts[view.chunk].anchor)
    return parts, targets


def _relevances(result: EvalResult, number: int) -> list[tuple[str, float]]:
    return [
        (name, metric.chunk_scores[number])
        for name, metric in result.metrics.items()
        if metric.chunk_scores is not None and number < len(metric.chunk_scores)
    ]


def _metric(result: MetricResult, limits: Limits) -> MetricPart:
    signals = sorted(result.signals, key=lambda signal: _SEVERITIES.get(signal.severity, 0))
    details = result.details or ()
    failed = [found for found in details if found.get("passed") is False]
    others = [found for found in details if found.get("passed") is not False]
    most = limits.n_findings
    judged = result.judged
    return MetricPart(
        result=result,
        null_reason=null_reason_text(result),
        signals=signals[:most],
        n_more_signals=max(0, len(signals) - most),
        failed=[_finding(found, limits) for found in failed[:most]],
        others=[_finding(found, limits) for found in others[:most]],
        n_more_findings=max(0, len(failed) - most) + max(0, len(others) - most),
        judged=judged,
        verdicts=() if judged is None else [_finding(v, limits) for v in judged.details[:most]],
    )


def null_reason_text(result: MetricResult) -> str:
    """``nothing to measure``; empty for a score."""
    return null_text(result) if result.score is None else ""


def _finding(found: Mapping[str, Any], limits: Limits) -> Finding:
    passed = found.get("passed")
    fields = {name: value for name, value in found.items() if name != "passed"}
    return Finding(passed if isinstance(passed, bool) else None, _named(fields, limits))


def _named(values: Mapping[Any, Any], limits: Limits) -> list[tuple[str, str]]:
    shown = [
        (short(str(name), 80), _cut_text(value_text(value), limits.value))
        for name, value in list(values.items())[: limits.n_fields]
        if value is not None
    ]
    more = len(values) - limits.n_fields
    return [*shown, ("…", f"{more:,} more")] if more > 0 else shown


def value_text(value: Any) -> str:
    """A text as it is, anything else as JSON, or as Python writes it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):
        return repr(type(value))


def _cut_text(text: str, limit: int) -> str:
    shown, n_more = cut(text, limit)
    return f"{shown}… {n_more:,} more characters" if n_more else shown
