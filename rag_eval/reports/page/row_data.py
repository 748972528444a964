"""What an opened row shows, as JSON values that the script of the page makes elements of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from rag_eval.reports.figures import limit_text, score_text, shown_name
from rag_eval.reports.page.nearest import least_supported, nearest_part
from rag_eval.reports.page.passages import kept_ranges, windows_by_chunk
from rag_eval.reports.page.row_detail import (
    OF_SENTENCES,
    Limits,
    RowTexts,
    finding,
    named,
    said_without_score,
    without_score,
)
from rag_eval.reports.page.templating import whole_share
from rag_eval.reports.page.visible_text import cut, short
from rag_eval.results.row import EvalResult, MetricResult, Severity
from rag_eval.results.words_overlap import Said, SaidSignal, filled
from rag_eval.scoring.explaining import LazyMetrics, MetricScore
from rag_eval.views.findings import gravest_first
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.sentences import LEVELS, RowSentences, SentenceView
from rag_eval.views.texts import null_text

_Shown: TypeAlias = str | tuple[str, int]
"""A text, or its beginning and the number of characters that follow."""

# Characters around a passage that are shown with it.
_AROUND: Final = 90
_ENCODER: Final = msgspec.json.Encoder()


def encoded(value: Any) -> bytes:
    """JSON; NaN and infinities are null."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, UnicodeEncodeError):  # a subclass of str, or a lone surrogate
        return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


AnyScore: TypeAlias = MetricResult | MetricScore


def scores_of(result: EvalResult) -> Sequence[AnyScore]:
    """The metrics of a row, without explanations where there are none yet."""
    metrics = result.metrics
    return metrics.scored() if isinstance(metrics, LazyMetrics) else tuple(metrics.values())


def row_data(
    row: ViewedRow,
    scores: Sequence[AnyScore],
    texts: RowTexts,
    sentences: RowSentences,
    limits: Limits,
    old: Mapping[str, float],
    n_known: int,
) -> tuple[Any, ...]:
    """The row as ``opened`` in ``row.js`` takes it apart.

    Parameters
    ----------
    scores : sequence
        As :func:`scores_of` has them.
    old : mapping
        The scores of the row in the baseline.
    n_known : int
        Texts of up to this many characters are already on the page, for the search.
    """
    told = [
        _told(views, texts.contexts, limits, limits.text)
        for views in (sentences.answer, sentences.truth)
    ]
    result, has_sentences = row.result, any(told)
    known = min(n_known, limits.text)
    truths, truth = texts.truths, texts.truth
    others = [text for text in truths if text != truth]
    return (
        None if len(texts.question) <= known else _shown(texts.question, limits.text),
        None if len(texts.answer) <= known else _shown(texts.answer, limits.text),
        None
        if len(truth) <= known and (not truths or truth == truths[0])
        else _shown(truth, limits.text),
        [_clipped(text, limits.value) for text in others[: limits.n_findings]],
        len(texts.contexts),
        _contexts(texts.contexts, sentences, limits),
        [_sentence(view) for view in sentences.answer],
        [_sentence(view) for view in sentences.truth],
        told,
        None if result.refusal is None else 1 + result.refusal.answerable,
        _metrics(result, scores, limits, old, has_sentences),
        _named(texts.metadata, limits),
        _named(texts.others, limits),
        None if row.old_answer is None else _shown(row.old_answer, limits.text),
    )


def _shown(text: str, limit: int) -> _Shown:
    return text if len(text) <= limit else (text[:limit], len(text) - limit)


def _clipped(text: str, limit: int) -> _Shown:
    return text if len(text) <= limit else cut(text, limit)


def _contexts(
    texts: Sequence[str], sentences: RowSentences, limits: Limits
) -> list[str | tuple[int, list[tuple[int, str]]]]:
    """Texts, or the lengths of long ones and the parts of them that are shown."""
    shown = texts[: limits.n_chunks]
    if max(map(len, shown), default=0) <= limits.chunk:
        return list(shown)
    windows = [windows_by_chunk(sentences.answer, "a"), windows_by_chunk(sentences.truth, "t")]
    found: list[str | tuple[int, list[tuple[int, str]]]] = []
    for number, text in enumerate(shown):
        if len(text) <= limits.chunk:
            found.append(text)
            continue
        spans = [
            (one.begin, one.end)
            for by_chunk in windows
            for one in by_chunk.get(number, ())
            if 0 <= one.begin < one.end <= len(text)
        ]
        kept = kept_ranges(len(text), spans, limits.chunk)
        found.append((len(text), [(begin, text[begin:end]) for begin, end in kept]))
    return found


def _sentence(view: SentenceView) -> tuple[Any, ...]:
    (begin, end), window = view.span, view.window
    support, level = _score(view.support), LEVELS[view.level]
    if window is None:
        return begin, end, support, level, view.chunk
    return begin, end, support, level, view.chunk, window[0], window[1]


def _score(value: float) -> str:
    """As :func:`score_text`, sooner for a share: rows have dozens."""
    return f"{value:.2f}" if 0 <= value <= 1 else score_text(value)


def _scores(values: Sequence[float]) -> list[str]:
    # Of contexts, so nearly all are shares.
    return [f"{one:.2f}" if 0 <= one <= 1 else score_text(one) for one in values]


def _told(
    views: Sequence[SentenceView], contexts: Sequence[str], limits: Limits, n_shown: int
) -> list[Any] | None:
    """How many sentences are not supported, and the first of them."""
    found = least_supported(views)
    if not found:
        return None
    told: list[Any] = [len(found)]
    for place, view in found[: limits.n_sentences]:
        told.append(
            (
                place,
                *(_remarks(view) if view[_LACKING] != _LACKS_NOTHING else _NO_REMARKS),
                _far_passage(view, contexts, limits),
                view.text if view.span[1] > n_shown else None,
            )
        )
    return told


_LACKING: Final = slice(SentenceView._fields.index("missing_numbers"), None)
_LACKS_NOTHING: Final = SentenceView("", (0, 0), 0.0, "weak")[_LACKING]


def _remarks(view: SentenceView) -> tuple[list[str], list[str], str]:
    """What contexts contradict or lack, the texts that they lack, and what they have instead."""
    own, other = view.contradiction or ("", "")
    return [short(text, 200) for text in view.remarks], [*view.missing, own], other


_NO_REMARKS: Final = _remarks(SentenceView("", (0, 0), 0.0, "weak"))


def _far_passage(
    view: SentenceView, contexts: Sequence[str], limits: Limits
) -> tuple[str, int, int, int, int] | None:
    """The nearest passage of a context that is not shown as a whole, with what is around it.

    Its text, its begin and its end there, the place of the text in the context, and the length of
    that; None if the script finds the passage by itself.
    """
    if view.chunk is None or not 0 <= view.chunk < len(contexts):
        return None
    text = contexts[view.chunk]
    if view.chunk < limits.n_chunks and len(text) <= limits.chunk:
        return None
    part = nearest_part(view, contexts, {})
    if part is None:
        return None
    low, high = max(0, part.begin - _AROUND), min(len(text), part.end + _AROUND)
    return text[low:high], part.begin - low, part.end - low, low, len(text)


def _metrics(
    result: EvalResult,
    scores: Sequence[AnyScore],
    limits: Limits,
    old: Mapping[str, float],
    has_sentences: bool,
) -> list[tuple[Any, ...]]:
    """The metrics with their evidence, as ``_metric`` of ``row_detail`` has them."""
    metrics = result.metrics
    said = metrics.said() if isinstance(metrics, LazyMetrics) else None
    if said is None:
        return [_metric(one, limits, old, has_sentences) for one in metrics.values()]
    return [
        _said_metric(one, words, limits, old, has_sentences)
        for one, words in zip(scores, said, strict=True)
    ]


def _metric(
    found: MetricResult, limits: Limits, old: Mapping[str, float], has_sentences: bool
) -> tuple[Any, ...]:
    score, most = found.score, limits.n_findings
    name, notes = _heading(found.metric_id, found.threshold)
    if found.metric_id in old:
        notes = (_baseline(old[found.metric_id]), *notes)
    if found.probability is not None:
        notes = (*notes, f"probability of good {whole_share(found.probability)}")
    if found.mode != "heuristic":
        notes = (*notes, found.mode)
    signals = _signals(found, has_sentences)
    return (
        name,
        null_text(found) if score is None else score_text(score),
        found.passed,
        notes,
        _clipped(without_score(found.explanation, score), 2000),
        signals[:most],
        None if found.chunk_scores is None else _scores(found.chunk_scores),
        _findings(found, limits, len(signals) - most)
        if found.details or found.judged is not None or len(signals) > most
        else None,
    )


def _said_metric(
    found: AnyScore, said: Said, limits: Limits, old: Mapping[str, float], has_sentences: bool
) -> tuple[Any, ...]:
    """As :func:`_metric`, of words whose values are not in their places yet."""
    words, values, about, parts = said
    score = found.score
    name, notes = _heading(found.metric_id, found.threshold)
    if found.metric_id in old:
        notes = (_baseline(old[found.metric_id]), *notes)
    signals = _said_signals(about, score, has_sentences) if about else _NO_SIGNALS
    most = limits.n_findings
    return (
        name,
        null_text(found) if score is None else _score(score),
        found.passed,
        notes,
        _clipped(said_without_score(words, values, score), 2000),
        signals[:most],
        None if parts is None or parts[0] is None else _scores(parts[0]),
        None if len(signals) <= most else _more_signals(len(signals) - most),
    )


@lru_cache(1000)
def _heading(metric: str, threshold: float | None) -> tuple[str, tuple[str, ...]]:
    """The name of a metric, and a note on its threshold."""
    notes = () if threshold is None else (f"threshold {limit_text(threshold)}",)
    return shown_name(metric), notes


def _baseline(score: float) -> str:
    return f"baseline {score_text(score)}"


class _Signal(NamedTuple):
    severity: Severity
    message: _Shown
    evidence: str | None


_NO_SIGNALS: Final[list[_Signal]] = []


def _signals(found: MetricResult, has_sentences: bool) -> list[_Signal]:
    """The most severe first; those about sentences only if these do not stand above."""
    score = found.score
    return [
        _Signal(
            one.severity,
            _clipped(without_score(one.message, score) or one.message, 1000),
            short(one.evidence, 300) if one.evidence else None,
        )
        for one in gravest_first(found.signals)
        if not (has_sentences and one.id.startswith(OF_SENTENCES))
    ]


def _said_signals(
    said: Sequence[SaidSignal], score: float | None, has_sentences: bool
) -> list[_Signal]:
    """As :func:`_signals`, without evidence."""
    signals = []
    for kind, values, *_ in said:
        if has_sentences and kind.id.startswith(OF_SENTENCES):
            continue
        message = said_without_score(kind.message, values, score) or filled(kind.message, values)
        signals.append(_Signal(kind.severity, _clipped(message, 1000), None))
    return signals if len(signals) == 1 else gravest_first(signals)


def _more_signals(n: int) -> dict[str, Any]:
    return {"moreSignals": max(0, n)}


def _findings(found: MetricResult, limits: Limits, n_more_signals: int) -> dict[str, Any]:
    """What scorers and a judge found, which most metrics do not have."""
    most = limits.n_findings
    shown = _more_signals(n_more_signals)
    if found.details:
        failed = [one for one in found.details if one.get("passed") is False]
        others = [one for one in found.details if one.get("passed") is not False]
        shown["failed"] = [_finding(one, limits) for one in failed[:most]]
        shown["others"] = [_finding(one, limits) for one in others[:most]]
        shown["moreFindings"] = max(0, len(failed) - most) + max(0, len(others) - most)
    if found.judged is not None:
        judged = found.judged
        shown["judged"] = (
            None if judged.judge_score is None else score_text(judged.judge_score),
            None if judged.native_score is None else score_text(judged.native_score),
            bool(judged.flaky),
            bool(judged.failed),
            _clipped(judged.message, 1000),
            [_finding(one, limits) for one in judged.details[:most]],
        )
    return shown


def _finding(found: Mapping[str, Any], limits: Limits) -> tuple[bool | None, list[Any]]:
    passed, fields = finding(found, limits)
    return passed, _clipped_fields(fields, limits)


def _named(values: Mapping[Any, Any], limits: Limits) -> list[Any]:
    return _clipped_fields(named(values, limits), limits) if values else []


def _clipped_fields(fields: Sequence[tuple[str, str]], limits: Limits) -> list[Any]:
    return [(name, _clipped(value, limits.value)) for name, value in fields]


def number(value: float | None) -> float | None:
    """A number for the script, to six decimals where that does not change how it is shown."""
    if value is None or not math.isfinite(value):
        return None
    # What is nearly halfway between two numbers of two decimals may end up on its other side.
    if abs(value * 100 % 1 - 0.5) < 1e-3:
        return value
    scaled = abs(value) * 1e6
    # round(value, 6) goes by way of a text and takes three times as long. The product of a share is
    # exact to nine decimals, so only what is nearly a tie needs it.
    if scaled > 1e6 or abs(scaled % 1 - 0.5) < 1e-6:
        return round(value, 6)
    return math.copysign(round(scaled) / 1e6, value)
