"""The HTML that a notebook shows for a batch, a run, a gate or a comparison.

It does not explain rows: only the samples of the few listed rows are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element

import numpy as np

from rag_eval.comparing.statuses import Status
from rag_eval.errors import TextsNotKeptError
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.metrics.registry import higher_is_better
from rag_eval.reports import notebook_elements as html
from rag_eval.reports.figures import NONE, score_text, share_text, shown_name, signed_text
from rag_eval.reports.notebook import MOST_METRICS
from rag_eval.reports.notebook_elements import Content
from rag_eval.reports.page.charts import reach_of
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.runs.run_files import sample_of
from rag_eval.samples import MetricId
from rag_eval.scoring.batch import Results
from rag_eval.views.distributions import histograms
from rag_eval.views.making import thresholds_of
from rag_eval.views.run_view import Histogram

if TYPE_CHECKING:
    from rag_eval.comparing.run_comparison import RunComparison
    from rag_eval.comparing.tested_changes import MetricChange
    from rag_eval.gating.limits import GateOutcome
    from rag_eval.gating.verdicts import GateReport
    from rag_eval.jobs.file_reports import RunReport

_N_WORST: Final = 10
_MOST_NOTES: Final = 20
_ID_LIMIT: Final = 60
_QUESTION_LIMIT: Final = 160
_NOTE_LIMIT: Final = 300
_MOST_FAILED: Final = 5
_WIDTH: Final = 110
_HEIGHT: Final = 26
_Thresholds = Mapping[MetricId, "float | None"]


def summary_html(summary: BatchSummary) -> str:
    """Statistics and notes of a batch, and its worst rows if it has rows."""
    return html.shown(_headline(summary, None), *_summary(summary))


def run_html(report: RunReport) -> str:
    """The verdict of a run with its gates, and its statistics."""
    part = "interrupted: only some of the samples were scored"
    return html.shown(
        _headline(report.result, report.passed),
        html.element("div", "", part) if report.interrupted else None,
        _gates(report.gates) if report.gates else None,
        *_summary(report.result),
    )


def gate_html(report: GateReport) -> str:
    """The verdict of a gate, with the result for each baseline and each limit."""
    reason = html.line_text(f"{report.status}. {report.reason}", _NOTE_LIMIT)
    head = html.element("div", "", html.badge(report.passed), f" {reason}")
    parts = [head, _gates(report.guards)]
    for verdict in report.baselines[:MOST_METRICS]:
        against = f"Against {verdict.name}: {verdict.status}"
        parts.append(html.heading(html.line_text(against, _NOTE_LIMIT)))
        rows: list[list[Content]] = [
            [
                html.line_text(finding.name, _ID_LIMIT),
                signed_text(finding.change),
                f"{finding.n_pairs:,}",
                html.line_text(finding.status, _ID_LIMIT),
            ]
            for finding in verdict.findings[:MOST_METRICS]
        ]
        made = html.table(("metric", "change", "pairs", "status"), rows, frozenset({0, 3}))
        parts.append(html.with_rest(made, len(verdict.findings), MOST_METRICS, "findings"))
    return html.shown(*parts, _notes(report.notices))


def comparison_html(comparison: RunComparison) -> str:
    """Two runs side by side: means, differences with their intervals, verdicts."""
    names = f"{comparison.old} → {comparison.new}, {comparison.n_pairs:,} pairs"
    found = {change.verdict for change in comparison.changes if change.gating}
    worst = next((one for one in (Status.REGRESSED, Status.MISSING_SCORES) if one in found), "")
    state = html.badge(not worst, "no regression found", worst)
    head = html.element("div", "", state, f" {html.line_text(names, _NOTE_LIMIT)}")
    changes = comparison.changes[:MOST_METRICS]
    reach = reach_of(change.difference for change in changes) or 1.0
    rows = [_change_row(change, reach) for change in changes]
    heads = ("metric", "old", "new", "difference", "", "status")
    made = html.table(heads, rows, frozenset({0, 4, 5}))
    body = html.with_rest(made, len(comparison.changes), MOST_METRICS, "changes")
    return html.shown(
        head, body, _notes([*comparison.differences, *comparison.null_lines, *comparison.notes])
    )


def _headline(summary: BatchSummary, passed: bool | None) -> Element:
    text = f"{summary.n_passed:,} of {summary.n_rows:,} samples passed"
    if summary.signature is not None:
        text += f" · {html.line_text(summary.signature.profile, _ID_LIMIT)} profile"
    return html.element("div", "", html.badge(passed), f" {text}")


def _summary(summary: BatchSummary) -> list[Element | None]:
    worst = _worst(summary) if isinstance(summary, BatchEvalResult) else []
    return [_metrics(summary), *worst, _notes(summary.shown_notes)]


def _notes(notes: Sequence[str]) -> Element | None:
    if not notes:
        return None
    lines = ([html.line_text(f"note: {note}", _NOTE_LIMIT)] for note in notes[:_MOST_NOTES])
    made = html.listed(lines, "margin:4px 0;padding-left:1.4em", "overflow-wrap:anywhere")
    return html.with_rest(made, len(notes), _MOST_NOTES, "notes")


def _gates(gates: Iterable[GateOutcome]) -> Element:
    ordered = sorted(gates, key=lambda gate: gate.held)
    items = (
        (html.badge(gate.held), f" {html.line_text(gate.message, _NOTE_LIMIT)}")
        for gate in ordered[:MOST_METRICS]
    )
    made = html.listed(items, "margin:4px 0;padding:0;list-style:none", "margin:2px 0")
    return html.with_rest(made, len(ordered), MOST_METRICS, "gates")


# ------------------------------------------------------------------------------------- statistics


def _metrics(summary: BatchSummary) -> Element:
    thresholds: _Thresholds = {}
    shapes: Mapping[str, Histogram] = {}
    if isinstance(summary, BatchEvalResult):
        thresholds = thresholds_of(summary)
        shapes = histograms(summary, [(summary.scores, summary.composite_scores)])
    names = list(summary.shown_aggregates)
    rows = [
        _metric_row(name, summary.aggregates[name], thresholds.get(name), shapes.get(name))
        for name in names[:MOST_METRICS]
    ]
    rows.append(_metric_row(COMPOSITE, summary.composite_aggregate, None, shapes.get(COMPOSITE)))
    heads = ("metric", "distribution", "mean [95 %]", "scored", "pass rate", "threshold")
    made = html.table(heads, rows, frozenset({0, 1}))
    return html.with_rest(made, len(names), MOST_METRICS, "metrics")


def _metric_row(
    name: str,
    aggregate: MetricAggregate | CompositeAggregate,
    threshold: float | None,
    shape: Histogram | None,
) -> list[Content]:
    decides = name == COMPOSITE or threshold is not None
    return [
        html.line_text(shown_name(name), _ID_LIMIT),
        None if shape is None else _histogram(shape, threshold),
        html.mean_text(aggregate),
        f"{aggregate.n:,}/{aggregate.n_rows:,}",
        share_text(aggregate.pass_rate) if decides else NONE,
        NONE if name == COMPOSITE else html.threshold_text(name, threshold),
    ]


def _histogram(shape: Histogram, threshold: float | None) -> Element:
    ends = f"from {score_text(shape.low)} to {score_text(shape.high)}"
    drawing = html.picture(_WIDTH, _HEIGHT, f"distribution {ends}")
    most = max(shape.counts)
    width = _WIDTH / len(shape.counts)
    for place, count in enumerate(shape.counts):
        if count:
            height = max(1.5, count / most * (_HEIGHT - 3))
            html.add_box(drawing, place * width, _HEIGHT - 1 - height, width - 1, height)
    html.add_line(drawing, (0, _HEIGHT - 0.5), (_WIDTH, _HEIGHT - 0.5))
    if threshold is not None and shape.low <= threshold <= shape.high:
        left = (threshold - shape.low) / (shape.high - shape.low) * _WIDTH
        html.add_line(drawing, (left, 0), (left, _HEIGHT), dashed=True)
    return drawing


# -------------------------------------------------------------------------------------- worst rows


def _worst(batch: BatchEvalResult) -> list[Element]:
    rows = _worst_rows(batch)
    if not rows:
        return []
    thresholds = thresholds_of(batch)
    cells = [_worst_row(batch, row, thresholds) for row in rows]
    kept = not isinstance(batch.results, Results) or batch.results.keeps_texts
    text = "Lowest scores" if kept else "Lowest scores (texts were not kept)"
    made = html.table(("row", "id", "question", "composite", "failed"), cells, frozenset({1, 2, 4}))
    return [html.heading(text), made]


def _worst_rows(batch: BatchEvalResult) -> list[int]:
    """Failed rows, lowest composite score first; then the others in the same order."""
    composite = batch.composite_scores
    found: list[int] = []
    for passed in (False, True):
        rows = np.flatnonzero(batch.sample_passed == passed)
        if len(rows) > _N_WORST:
            # Sorting all rows of a large batch would dominate the time.
            limit = np.partition(composite[rows], _N_WORST - 1)[_N_WORST - 1]
            rows = rows[~(composite[rows] > limit)]
        order = np.argsort(composite[rows], kind="stable")[:_N_WORST]
        found += rows[order].tolist()
    return found[:_N_WORST]


def _worst_row(batch: BatchEvalResult, row: int, thresholds: _Thresholds) -> list[Content]:
    sample = _sample(batch, row)
    question = sample.get("question")
    composite = float(batch.composite_scores[row])
    return [
        f"{row:,}",
        html.element("bdi", "", html.line_text(sample.get("id"), _ID_LIMIT)),
        html.element("bdi", "", html.line_text(question, _QUESTION_LIMIT)),
        score_text(composite),
        _failed(batch, row, thresholds),
    ]


def _sample(batch: BatchEvalResult, row: int) -> Mapping[str, Any]:
    """The sample of a row; empty if it was not kept."""
    try:
        return sample_of(batch, row)
    except (TextsNotKeptError, IndexError):
        return {}


def _failed(batch: BatchEvalResult, row: int, thresholds: _Thresholds) -> Element:
    """The metrics whose score is on the wrong side of its threshold."""
    texts = []
    for metric, score in zip(batch.metrics, batch.scores[row].tolist(), strict=True):
        bar = thresholds.get(metric)
        if bar is None or math.isnan(score):
            continue
        if score < bar if higher_is_better(metric) else score > bar:
            texts.append(f"{html.line_text(metric, _ID_LIMIT)} {score_text(score)}")
    text = ", ".join(texts[:_MOST_FAILED])
    if len(texts) > _MOST_FAILED:
        text += f" and {len(texts) - _MOST_FAILED} more"
    return html.tinted(text, html.RED if texts else None)


# -------------------------------------------------------------------------------------- comparison


def _change_row(change: MetricChange, reach: float) -> list[Content]:
    tints = {Status.REGRESSED: html.RED, Status.IMPROVED: html.GREEN}
    return [
        html.line_text(change.label, _ID_LIMIT),
        score_text(change.old.mean),
        score_text(change.new.mean),
        _difference_text(change),
        _difference(change, reach),
        html.tinted(change.verdict, tints.get(change.verdict, "transparent")),
    ]


def _difference_text(change: MetricChange) -> str:
    found = change.difference
    text = signed_text(found.estimate)
    if change.verdict is Status.NO_CHANGE or found.low is None or found.high is None:
        return text
    return f"{text} [{signed_text(found.low)}, {signed_text(found.high)}]"


def _difference(change: MetricChange, reach: float) -> Element | None:
    """The interval of a difference on a scale that is symmetric around 0."""
    found = change.difference
    if not math.isfinite(found.estimate):
        return None
    drawing = html.picture(_WIDTH, 12, f"difference {_difference_text(change)}")

    def place(value: float) -> float:
        return (1 + value / reach) * (_WIDTH - 6) / 2 + 3

    html.add_line(drawing, (place(0), 0), (place(0), 12), dashed=True)
    if found.low is not None and found.high is not None:
        html.add_line(drawing, (place(found.low), 6), (place(found.high), 6))
    html.add_box(drawing, place(found.estimate) - 3, 3, 6, 6)
    return drawing
