"""The HTML that a notebook shows for a result.

It has no script, style sheet or URL, and its size is bounded whatever the result holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from rag_eval.metrics.registry import bounds_of
from rag_eval.reports import notebook_elements as html
from rag_eval.reports.figures import score_text
from rag_eval.reports.notebook_elements import Content
from rag_eval.reports.page.passages import joined_spans
from rag_eval.results.row import EvalResult, EvalSignal, MetricResult
from rag_eval.views.findings import gravest_first
from rag_eval.views.sentences import SentenceView, answer_sentences
from rag_eval.views.texts import contexts_of, text_of

MOST_METRICS: Final = 20
_MOST_SIGNALS: Final = 10
_MOST_CHUNKS: Final = 5
_MOST_SENTENCES: Final = 40
_QUESTION_LIMIT: Final = 300
_ANSWER_LIMIT: Final = 2_500
_CHUNK_LIMIT: Final = 500
_LINE_LIMIT: Final = 160
_BAR_WIDTH: Final = 90
_TINTS: Final = {"supported": html.GREEN, "weak": html.AMBER, "unsupported": html.RED}
# Levels can be told apart without colours.
_EDGES: Final = {"supported": "none", "weak": "2px dotted", "unsupported": "2px dashed"}


def result_html(result: EvalResult) -> str:
    """The scores of one sample, its answer with the support of each sentence, and its signals."""
    sentences = answer_sentences(result)
    about = f"composite {score_text(result.composite_score)}"
    if result.signature is not None:
        about += f" · {html.line_text(result.signature.profile, _LINE_LIMIT)} profile"
    parts: list[Content] = [html.element("div", "", html.badge(result.passed), f" {about}")]
    question, answer = text_of(result, "question"), text_of(result, "answer")
    if question:
        parts += [html.heading("Question"), html.prose(html.block_text(question, _QUESTION_LIMIT))]
    if answer:
        parts += [html.heading("Answer"), _answer(answer, sentences)]
        parts.append(_legend() if sentences else None)
    parts.append(_scores(tuple(result.metrics.values())))
    found = [signal for metric in result.metrics.values() for signal in metric.signals]
    if found:
        parts += [html.heading("Signals"), _findings(found)]
    if chunks := contexts_of(result):
        parts.append(_chunks(chunks, sentences))
    return html.shown(*parts)


def _answer(answer: str, sentences: Sequence[SentenceView]) -> Element:
    """The answer, with each sentence tinted by its level of support."""
    parts: list[Content] = []
    end = 0
    for sentence in sentences[:_MOST_SENTENCES]:
        begin, until = sentence.span
        if until > _ANSWER_LIMIT:
            break
        parts += [html.block_text(answer[end:begin], _ANSWER_LIMIT), _sentence(answer, sentence)]
        end = until
    parts.append(html.block_text(answer[end:], _ANSWER_LIMIT - end))
    return html.prose(*parts)


def _sentence(answer: str, sentence: SentenceView) -> Element:
    look = f"background:{_TINTS[sentence.level]};border-bottom:{_EDGES[sentence.level]}"
    text = html.block_text(answer[slice(*sentence.span)], _ANSWER_LIMIT)
    chunk = None if sentence.chunk is None else html.element("sup", "", f" {sentence.chunk}")
    return html.element("span", look, text, chunk, title=_about(sentence))


def _about(sentence: SentenceView) -> str:
    """The support of a sentence, on one line."""
    text = f"{sentence.level}, support {score_text(sentence.support)}"
    if sentence.chunk is not None:
        text += f", best match in context {sentence.chunk}"
    text += "".join(f"; {remark}" for remark in sentence.remarks)
    return html.line_text(text, _LINE_LIMIT)


def _legend() -> Element:
    parts: list[Content] = ["Sentences: "]
    for level in _TINTS:
        look = f"background:{_TINTS[level]};border-bottom:{_EDGES[level]};padding:0 4px"
        parts += [html.element("span", look, level), " "]
    parts.append("; the small number is the best-matching context")
    return html.element("div", "font-size:90%;margin:4px 0", *parts)


def _scores(metrics: Sequence[MetricResult]) -> Element:
    rows = [_score_row(metric) for metric in metrics[:MOST_METRICS]]
    heads = ("metric", "score", "", "threshold", "verdict", "why")
    made = html.table(heads, rows, frozenset({0, 2, 4, 5}))
    return html.with_rest(made, len(metrics), MOST_METRICS, "metrics")


def _score_row(metric: MetricResult) -> list[Content]:
    return [
        html.line_text(metric.metric_id, _LINE_LIMIT),
        score_text(metric.score),
        _bar(metric),
        html.threshold_text(metric.metric_id, metric.threshold),
        None if metric.passed is None else html.badge(metric.passed),
        html.line_text(metric.explanation, _LINE_LIMIT),
    ]


def _bar(metric: MetricResult) -> Element | None:
    """The score as a bar with a tick at the threshold; None if the scale is unbounded."""
    ends = bounds_of(metric.metric_id)
    if ends is None or metric.score is None or not ends[0] <= metric.score <= ends[1]:
        return None
    low, high = ends
    drawing = html.picture(_BAR_WIDTH, 10, f"{score_text(metric.score)} of {high:g}")
    html.add_box(drawing, 0, 1, (metric.score - low) / (high - low) * _BAR_WIDTH, 8)
    html.add_line(drawing, (0, 9.5), (_BAR_WIDTH, 9.5))
    if metric.threshold is not None and low <= metric.threshold <= high:
        place = (metric.threshold - low) / (high - low) * _BAR_WIDTH
        html.add_line(drawing, (place, -1), (place, 10), dashed=True)
    return drawing


def _findings(signals: Sequence[EvalSignal]) -> Element:
    made = html.listed(
        map(_finding, gravest_first(signals)[:_MOST_SIGNALS]),
        "margin:2px 0;padding-left:1.4em",
        "overflow-wrap:anywhere",
    )
    return html.with_rest(made, len(signals), _MOST_SIGNALS, "findings")


def _finding(signal: EvalSignal) -> list[Content]:
    tints = {"critical": html.RED, "warning": html.AMBER, "info": "transparent"}
    text = html.line_text(f"{signal.metric_id}: {signal.message}", _LINE_LIMIT)
    evidence = html.line_text(signal.evidence, _LINE_LIMIT)
    said = html.element("bdi", "", f" “{evidence}”") if evidence else None
    return [html.tinted(signal.severity, tints[signal.severity]), f" {text}", said]


def _chunks(chunks: Sequence[str], sentences: Iterable[SentenceView]) -> Element:
    """The contexts with the best-matching passages marked; contexts with a match first."""
    windows: dict[int, list[tuple[int, int]]] = {}
    for sentence in sentences:
        if sentence.chunk is not None and sentence.chunk < len(chunks):
            found = windows.setdefault(sentence.chunk, [])
            if sentence.window is not None:
                found.append(sentence.window)
    order = [*sorted(windows), *(n for n in range(len(chunks)) if n not in windows)]
    parts: list[Content] = []
    for number in sorted(order[:_MOST_CHUNKS]):
        marked = _marked(chunks[number], windows.get(number, ()))
        parts.append(html.element("div", "margin:6px 0", html.heading(f"context {number}"), marked))
    body = html.with_rest(html.element("div", "", *parts), len(chunks), _MOST_CHUNKS, "contexts")
    return html.folded(f"Contexts ({len(chunks):,})", body)


def _marked(chunk: str, windows: Iterable[tuple[int, int]]) -> Element:
    """A context, from shortly before its first marked passage."""
    joined = joined_spans(windows)
    first = max(0, joined[0][0] - 120) if joined else 0
    last = first + _CHUNK_LIMIT
    parts: list[Content] = ["… " if first else ""]
    end = first
    for begin, until in joined:
        if begin >= last:
            break
        tint = f"background:{html.GREEN};color:inherit"
        parts.append(html.block_text(chunk[end:begin], _CHUNK_LIMIT))
        end = min(until, last)
        parts.append(html.element("mark", tint, html.block_text(chunk[begin:end], _CHUNK_LIMIT)))
    parts += [html.block_text(chunk[end:last], _CHUNK_LIMIT), "…" if last < len(chunk) else ""]
    return html.prose(*parts)
