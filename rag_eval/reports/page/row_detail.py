"""One opened row: why it fails, the sentences behind that, its texts and all its scores."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from rag_eval.plumbing.javascript_numbers import three_decimals
from rag_eval.reports.page.nearest import Part, Unsupported, unsupported
from rag_eval.reports.page.passages import (
    ChunkPiece,
    chunk_pieces,
    sentence_pieces,
    windows_by_chunk,
)
from rag_eval.reports.page.visible_text import short
from rag_eval.results.row import EvalResult, MetricResult
from rag_eval.results.words_overlap import SENTENCE_SIGNALS, filled
from rag_eval.views.findings import gravest_first
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.sentences import RowSentences, SentenceView, shown_truth
from rag_eval.views.texts import contexts_in, fields_of, null_text, truths_in

_STANDARD: Final = frozenset({"id", "question", "answer", "contexts", "groundTruth", "metadata"})
OF_SENTENCES: Final = tuple(signal for signal, _ in SENTENCE_SIGNALS.values())
"""Beginnings of the ids of signals about sentences."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) ")
# What explanations write before and after the score, and what stays of it.
_NAMED_SCORES: Final = (
    (" (score=", ")", ""),
    (", score=", ")", ")"),
    (", average: ", ".", "."),
    (": score=", ".", "."),
)
_SCORE_WORDS: Final = ((": ", ".", "."), (": ", " (", " ("))


@dataclass(frozen=True, slots=True)
class Limits:
    """How many characters of each kind of text and how many items of each kind are shown."""

    text: int = 20_000
    chunk: int = 8_000
    n_chunks: int = 100
    value: int = 2_000
    n_findings: int = 50
    n_fields: int = 60
    n_sentences: int = 10


LONG: Final = Limits()
SHORT: Final = Limits(
    text=2_000, chunk=500, n_chunks=20, value=200, n_findings=10, n_fields=10, n_sentences=3
)


class RowTexts(NamedTuple):
    """The texts of a row; ``truth`` is the ground truth that is shown first."""

    question: str
    answer: str
    truth: str
    truths: Sequence[str]
    contexts: Sequence[str]
    metadata: Mapping[str, Any]
    others: Mapping[str, Any]

    @classmethod
    def of(cls, result: EvalResult) -> RowTexts:
        """Those of the sample of a result."""
        fields = fields_of(result)
        question, answer, metadata = map(fields.get, ("question", "answer", "metadata"))
        truths = truths_in(fields)
        return cls(
            question if isinstance(question, str) else "",
            answer if isinstance(answer, str) else "",
            truths[0] if len(truths) == 1 else shown_truth(result),
            truths,
            contexts_in(fields),
            metadata if isinstance(metadata, Mapping) else {},
            {name: value for name, value in fields.items() if name not in _STANDARD},
        )


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """One context; ``relevances`` are its scores by metric."""

    number: int
    anchor: str
    pieces: Sequence[ChunkPiece]
    relevances: Sequence[tuple[str, float]]


def detail_parts(
    row: ViewedRow,
    texts: RowTexts,
    views: RowSentences,
    limits: Limits,
    anchor: str,
    old: Mapping[str, float],
) -> dict[str, Any]:
    """The details of a row, under the names that its template uses.

    ``anchor`` is that of the row, ``old`` its scores in the baseline.
    """
    result, contexts = row.result, texts.contexts
    sentences, covering = views
    by_side = {"a": sentences, "t": covering}
    chunks, targets = _chunks(result, contexts, by_side, anchor, limits)
    others = [text for text in texts.truths if text != texts.truth]
    cut: dict[int, list[Part]] = {}
    told = [
        _Group(kind, len(views), sum(view.level != "supported" for view in views), some)
        for kind, side, views in (("answer", "a", sentences), ("ground truth", "t", covering))
        if (some := unsupported(views, contexts, targets, side, limits.n_sentences, cut))
    ]
    metrics = [_metric(one, limits, old, bool(told)) for one in result.metrics.values()]

    def passage(text: str, side: str) -> tuple[Any, int]:
        pieces = sentence_pieces(text, by_side.get(side, ()), limits.text, side, targets)
        return pieces, max(0, len(text) - limits.text)

    return {
        "question": passage(texts.question, "q"),
        "answer": passage(texts.answer, "a"),
        "old_answer": None if row.old_answer is None else passage(row.old_answer, "q"),
        "refusal": result.refusal,
        "truth": passage(texts.truth, "t"),
        "n_covered": sum(view.level == "supported" for view in covering),
        "n_truth_sentences": len(covering),
        "other_truths": others[: limits.n_findings],
        "chunks": chunks,
        "n_more_chunks": len(contexts) - len(chunks),
        "told": told,
        "failing": [one for one in metrics if one["found"].passed is False],
        "metrics": [one for one in metrics if one["found"].passed is not False],
        "metadata": named(texts.metadata, limits),
        "others": named(texts.others, limits),
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


@dataclass(frozen=True, slots=True)
class _Group:
    """Sentences of the answer or of the ground truth that are not supported."""

    kind: str
    n_sentences: int
    n_unsupported: int
    sentences: Sequence[Unsupported]


def _metric(
    found: MetricResult, limits: Limits, old: Mapping[str, float], has_sentences: bool
) -> dict[str, Any]:
    """One metric with its evidence, the most severe signals first.

    Without signals about sentences, if these stand above.
    """
    details, most = found.details or (), limits.n_findings
    signals = [
        signal
        for signal in gravest_first(found.signals)
        if not (has_sentences and signal.id.startswith(OF_SENTENCES))
    ]
    failed = [one for one in details if one.get("passed") is False]
    others = [one for one in details if one.get("passed") is not False]
    verdicts = () if found.judged is None else found.judged.details
    return {
        "found": found,
        "null_reason": null_text(found) if found.score is None else "",
        "old": old.get(found.metric_id),
        "explanation": without_score(found.explanation, found.score),
        "signals": [
            (one, without_score(one.message, found.score) or one.message) for one in signals[:most]
        ],
        "n_more_signals": max(0, len(signals) - most),
        "failed": [finding(one, limits) for one in failed[:most]],
        "others": [finding(one, limits) for one in others[:most]],
        "n_more_findings": max(0, len(failed) - most) + max(0, len(others) - most),
        "verdicts": [finding(one, limits) for one in verdicts[:most]],
    }


def without_score(text: str, score: float | None) -> str:
    """A text about a metric without its score, which stands beside the name of the metric."""
    if score is None or (shown := three_decimals(score)) not in text:
        return text
    found = _without_named(text, shown)
    if found is not None:
        return found
    return " ".join(one for one in _SENTENCE_END.split(text) if not _has_number(one, shown))


def _without_named(text: str, score: str) -> str | None:
    """A text without its score and the words that only name it; None if no such words are there."""
    is_named = "score=" in text or "average: " in text
    for before, after, rest in (*_NAMED_SCORES, *_SCORE_WORDS) if is_named else _SCORE_WORDS:
        if (whole := f"{before}{score}{after}") in text:
            return text.replace(whole, rest, 1)
    return None


def said_without_score(words: str, values: tuple[object, ...], score: float | None) -> str:
    """:func:`without_score` of words with values in their places.

    In a third of the time where the score is the last value, as it mostly is: what remains of the
    words is known then.
    """
    if values and values[-1] == score and type(values[-1]) is float:
        remaining = _words_without_score(words, len(values) - 1)
        if remaining is not None:
            return filled(remaining, values[:-1]) if len(values) > 1 else remaining
    return without_score(filled(words, values), score)


@lru_cache(1_000)
def _words_without_score(words: str, n_others: int) -> str | None:
    """Words without the last of their values; None if no words name it."""
    score = next(one for one in ("0.123", "0.456") if one not in words)
    if n_others:
        words = words.replace("%%", "%%%%")
    return _without_named(words % (*["%s"] * n_others, score), score)


def _has_number(text: str, number: str) -> bool:
    begin = text.find(number)
    while begin >= 0:
        before, after = text[max(begin - 1, 0) : begin], text[begin + len(number) :][:1]
        if not (before.isdigit() or before == "." or after.isdigit()):
            return True
        begin = text.find(number, begin + 1)
    return False


def finding(found: Mapping[str, Any], limits: Limits) -> tuple[bool | None, list[tuple[str, str]]]:
    """A finding of a scorer or a judge: whether it passed, and its fields."""
    passed = found.get("passed")
    fields = {name: value for name, value in found.items() if name != "passed"}
    return passed if isinstance(passed, bool) else None, named(fields, limits)


def named(values: Mapping[Any, Any], limits: Limits) -> list[tuple[str, str]]:
    """Names and values as texts; at most as many as are shown."""
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
