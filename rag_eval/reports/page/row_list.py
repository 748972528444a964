"""The HTML of the rows, worst first, within a byte budget."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rag_eval.reports.page.passages import (
    ChunkPiece,
    chunk_pieces,
    sentence_pieces,
    windows_by_chunk,
)
from rag_eval.reports.page.templating import rendered
from rag_eval.reports.page.visible_text import short
from rag_eval.results.row import EvalResult, MetricResult
from rag_eval.views.findings import gravest_first
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.sentences import SentenceView, answer_sentences, shown_truth, truth_sentences
from rag_eval.views.texts import contexts_of, fields_of, null_text, text_of, truths_of

if TYPE_CHECKING:
    from markupsafe import Markup

RowStatus: TypeAlias = Literal["passed", "failed", "unmeasured"]

MOST_ROWS: Final = 5_000
ROW_BUDGET: Final = 12_000_000
"""Bytes of all rows; a browser reads this much in one to two seconds."""

# The part of it for table lines, which come before any details.
_LINE_BUDGET: Final = 8_000_000
_LARGE_DETAIL: Final = 1_000_000
_FIRST_PAGE: Final = 100
_ID_LIMIT: Final = 200
_STANDARD: Final = frozenset({"id", "question", "answer", "contexts", "groundTruth", "metadata"})
_RANKS: Final[dict[RowStatus, int]] = {"failed": 0, "unmeasured": 1, "passed": 2}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many characters of each kind of text and how many items of each kind are shown."""

    text: int = 20_000
    chunk: int = 8_000
    n_chunks: int = 100
    value: int = 2_000
    n_findings: int = 50
    n_fields: int = 60


_TIGHT: Final = Limits(text=2_000, chunk=500, n_chunks=20, value=200, n_findings=10, n_fields=10)


@dataclass(frozen=True, slots=True)
class RowList:
    """The rows of the page.

    Attributes
    ----------
    rows : tuple of ViewedRow
        In page order.
    bodies : list of Markup
        One table body per row.
    n_closed : int
        Rows without details, to keep the page small.
    """

    rows: tuple[ViewedRow, ...]
    bodies: Sequence[Markup]
    n_closed: int


def row_list(
    rows: Sequence[ViewedRow], metrics: Sequence[str], budget: int = ROW_BUDGET
) -> RowList:
    """As many rows, and details of rows, as fit, starting with the worst."""
    ordered = sorted(rows, key=_rank)[:MOST_ROWS]
    lines: list[Markup] = []
    left = min(budget, _LINE_BUDGET)
    for row in ordered:
        line = _line(row, metrics)
        left -= _size(line)
        if left < 0:
            break
        lines.append(line)
    shown = ordered[: len(lines)]
    left = budget - sum(map(_size, lines))
    bodies = []
    n_closed = 0
    for place, (row, line) in enumerate(zip(shown, lines, strict=True)):
        detail = _detail(row, left) if left > 0 else None
        if detail is None:
            n_closed += 1
        body = rendered(
            "row.html.j2",
            number=row.number,
            id="" if row.id is None else row.id[:_ID_LIMIT],
            anchor=row_anchor(row),
            status=_status(row.result),
            is_shown=place < _FIRST_PAGE,
            line=line,
            detail=detail,
            answer=text_of(row.result, "answer"),
            command=show_command(row),
            n_columns=len(metrics) + 5,
        )
        left -= _size(body) - _size(line)
        bodies.append(body)
    return RowList(tuple(shown), bodies, n_closed)


def _status(result: EvalResult) -> RowStatus:
    """``unmeasured`` if no metric has a score."""
    if all(metric.score is None for metric in result.metrics.values()):
        return "unmeasured"
    return "passed" if result.passed else "failed"


def _rank(row: ViewedRow) -> tuple[int, float, int]:
    """Failed rows first, then rows without scores; each group by composite score."""
    score = row.result.composite_score
    return _RANKS[_status(row.result)], math.inf if score is None else score, row.number


def _line(row: ViewedRow, metrics: Sequence[str]) -> Markup:
    return rendered(
        "row_line.html.j2",
        row=row,
        name=row.name if row.id is None else row.id,
        question=text_of(row.result, "question"),
        cells=[(name, row.result.metrics.get(name)) for name in metrics],
        null_text=null_text,
        status=_status(row.result),
    )


def _detail(row: ViewedRow, left: int) -> Markup | None:
    """The details of a row, shortened if they are large; None if there is no room."""
    for limits in (Limits(), _TIGHT):
        detail = rendered("row_detail.html.j2", limits=limits, **_parts(row, limits))
        if _size(detail) <= min(left, _LARGE_DETAIL):
            return detail
    return None


def _size(text: str) -> int:
    return len(text.encode())


def row_anchor(row: ViewedRow) -> str:
    """Made from the number, because ids are data."""
    return f"row-{row.number}"


def show_command(row: ViewedRow) -> str:
    """The command that shows the row on a terminal."""
    if row.id is None or not row.id.isprintable() or len(row.id) > _ID_LIMIT:
        return "rag-eval show RESULT"
    return f"rag-eval show RESULT {shlex.quote(row.id)}"


def anchors_by_id(rows: Sequence[ViewedRow]) -> dict[str, str]:
    """The anchor of each id's row; the first one for repeated ids."""
    return {row.id: row_anchor(row) for row in reversed(rows) if row.id is not None}


# -------------------------------------------------------------------------------- the opened row


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """One context; ``relevances`` are its scores by metric."""

    number: int
    anchor: str
    pieces: Sequence[ChunkPiece]
    relevances: Sequence[tuple[str, float]]


def _parts(row: ViewedRow, limits: Limits) -> dict[str, Any]:
    """The details of a row, under the names that the template uses."""
    result = row.result
    sentences, covering = answer_sentences(result), truth_sentences(result)
    contexts = contexts_of(result)
    by_side = {"a": sentences, "t": covering}
    chunks, targets = _chunks(result, contexts, by_side, row_anchor(row), limits)
    truth = shown_truth(result)
    fields = fields_of(result)
    metadata = fields.get("metadata")
    others = [text for text in truths_of(result) if text != truth]

    def passage(text: str, side: str) -> tuple[Any, int]:
        pieces = sentence_pieces(text, by_side.get(side, ()), limits.text, side, targets)
        return pieces, max(0, len(text) - limits.text)

    return {
        "question": passage(text_of(result, "question"), "q"),
        "answer": passage(text_of(result, "answer"), "a"),
        "refusal": result.refusal,
        "truth": passage(truth, "t"),
        "n_covered": sum(view.level == "supported" for view in covering),
        "n_truth_sentences": len(covering),
        "other_truths": others[: limits.n_findings],
        "chunks": chunks,
        "n_more_chunks": len(contexts) - len(chunks),
        "metrics": [_metric(found, limits) for found in result.metrics.values()],
        "metadata": _named(metadata if isinstance(metadata, Mapping) else {}, limits),
        "others": _named({k: v for k, v in fields.items() if k not in _STANDARD}, limits),
    }


def _chunks(
    result: EvalResult,
    contexts: Sequence[str],
    by_side: Mapping[str, Sequence[SentenceView]],
    anchor: str,
    limits: Limits,
) -> tuple[list[ChunkPart], dict[str, str]]:
    """The contexts with their windows, and the anchor for each sentence."""
    found = [windows_by_chunk(views, side) for side, views in by_side.items()]
    parts = []
    targets: dict[str, str] = {}
    for number, text in enumerate(contexts[: limits.n_chunks]):
        windows = [window for by_chunk in found for window in by_chunk.get(number, ())]
        name = f"{anchor}-chunk-{number}"
        pieces, anchors = chunk_pieces(text, windows, limits.chunk, name)
        parts.append(ChunkPart(number, name, pieces, _relevances(result, number)))
        targets.update(anchors)
    for side, views in by_side.items():
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


def _metric(found: MetricResult, limits: Limits) -> dict[str, Any]:
    """One metric with its evidence, the most severe signals first."""
    details, most = found.details or (), limits.n_findings
    failed = [one for one in details if one.get("passed") is False]
    others = [one for one in details if one.get("passed") is not False]
    verdicts = () if found.judged is None else found.judged.details
    return {
        "found": found,
        "null_reason": null_text(found) if found.score is None else "",
        "signals": gravest_first(found.signals)[:most],
        "n_more_signals": max(0, len(found.signals) - most),
        "failed": [_finding(one, limits) for one in failed[:most]],
        "others": [_finding(one, limits) for one in others[:most]],
        "n_more_findings": max(0, len(failed) - most) + max(0, len(others) - most),
        "verdicts": [_finding(one, limits) for one in verdicts[:most]],
    }


def _finding(found: Mapping[str, Any], limits: Limits) -> tuple[bool | None, list[tuple[str, str]]]:
    """A finding of a scorer or a judge: whether it passed, and its fields."""
    passed = found.get("passed")
    fields = {name: value for name, value in found.items() if name != "passed"}
    return passed if isinstance(passed, bool) else None, _named(fields, limits)


def _named(values: Mapping[Any, Any], limits: Limits) -> list[tuple[str, str]]:
    shown = [
        (short(str(name), 80), value_text(value))
        for name, value in list(values.items())[: limits.n_fields]
        if value is not None
    ]
    more = len(values) - limits.n_fields
    return [*shown, ("…", f"{more:,} more")] if more > 0 else shown


def value_text(value: Any) -> str:
    """A text unchanged; anything else as JSON, or by its ``repr``."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):
        return repr(type(value))
