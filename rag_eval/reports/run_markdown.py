"""The Markdown summary of a run, for pull requests and build summaries."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Final

from rag_eval.plumbing.spelling import counted
from rag_eval.reports.comparison import comparison_markdown
from rag_eval.reports.figures import (
    NONE,
    gap_text,
    interval_text,
    score_text,
    share_text,
    shown_name,
)
from rag_eval.reports.markdown_text import markdown_table, markdown_text, summary_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.row import EvalResult
from rag_eval.views.findings import row_findings
from rag_eval.views.outcomes import Outcome, row_outcomes, worst_first
from rag_eval.views.run_view import RunView, SliceView, ViewedRow
from rag_eval.views.texts import ALTHOUGH, DECLINES, text_of

_NAME_LIMIT: Final = 100
_MESSAGE_LIMIT: Final = 300
_TEXT_LIMIT: Final = 500
_COMMAND_LIMIT: Final = 4000
_MOST_ROWS: Final = 20
_MOST_SLICES: Final = 30
_BACKTICKS: Final = re.compile("`+")


def run_markdown(view: RunView, *, most_rows: int = _MOST_ROWS) -> str:
    """Verdict, metrics, comparison, slices, failed rows, and how to reproduce the run.

    Data is escaped by :func:`~.markdown_text.markdown_text`. Rows that passed are not shown.

    Parameters
    ----------
    view : RunView
    most_rows : int
        The number of failed rows to show, lowest composite scores first.
    """
    parts = [
        _verdict_lines(view),
        _metric_lines(view),
        _comparison_lines(view),
        _slice_lines(view.slices),
        _row_lines(view, most_rows),
        _closing_lines(view),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _verdict_lines(view: RunView) -> list[str]:
    summary = view.summary
    source = f" from {markdown_text(view.source, _NAME_LIMIT)}" if view.source else ""
    rows = f"{counted(summary.n_rows, 'sample')}{source}, {summary.n_passed:,} passed"
    if view.n_skipped:
        rows += f"; {view.n_skipped:,} skipped as invalid"
    state = {True: "passed", False: "failed", None: "no verdict"}[view.passed]
    lines = [
        f"## rag-eval: {state}",
        "",
        f"**{state.capitalize()}:** {markdown_text(view.reason, _MESSAGE_LIMIT)}",
        "",
        f"{rows}.",
    ]
    gates = [
        f"- {'passed' if gate.held else '**failed**'}: "
        f"{markdown_text(gate.message, _MESSAGE_LIMIT)}"
        for gate in sorted(view.gates, key=lambda gate: gate.held)
    ]
    return [*lines, "", *gates] if len(gates) > 1 else lines


# ---------------------------------------------------------------------------------------- tables


def _metric_lines(view: RunView) -> list[str]:
    rows = []
    for metric, aggregate in view.summary.shown_aggregates.items():
        threshold = view.thresholds.get(metric)
        shown = NONE if threshold is None else f"{threshold:g}"
        rate = NONE if threshold is None else share_text(aggregate.pass_rate)
        rows.append((markdown_text(shown_name(metric)), *_statistics(aggregate), rate, shown))
    composite = view.summary.composite_aggregate
    rate = share_text(composite.pass_rate)
    rows.append(("**composite**", *_statistics(composite), rate, NONE))
    heads = ("metric", "mean", "95 % interval", "scored", "pass rate", "threshold")
    return markdown_table(heads, rows)


def _statistics(aggregate: MetricAggregate | CompositeAggregate) -> list[str]:
    interval = interval_text(aggregate.interval) if aggregate.n else NONE
    scored = f"{aggregate.n:,}/{aggregate.n_rows:,}"
    gap = gap_text(aggregate.n, aggregate.n_rows)
    mean = score_text(aggregate.mean) + (f" ({gap})" if gap else "")
    return [mean, interval, scored]


def _comparison_lines(view: RunView) -> list[str]:
    if view.comparison is None:
        return []
    return [
        "### Comparison with the baseline",
        "",
        comparison_markdown(view.comparison).rstrip("\n"),
    ]


def _slice_lines(slices: tuple[SliceView, ...]) -> list[str]:
    if not slices:
        return []
    names = list(slices[0].means)
    heads = ("slice", "rows", "passed", *map(markdown_text, names))
    rows = []
    for part in slices[:_MOST_SLICES]:
        name = f"{part.field} = {'none' if part.value is None else part.value}"
        counts = (f"{part.n_rows:,}", f"{part.n_passed:,}")
        means = (score_text(part.means[metric].estimate) for metric in names)
        rows.append((markdown_text(name, _NAME_LIMIT), *counts, *means))
    lines = markdown_table(heads, rows)
    if len(slices) > _MOST_SLICES:
        lines += ["", f"{len(slices) - _MOST_SLICES:,} more slices are not shown."]
    return _collapsible("Slices", [*lines, ""])


# ------------------------------------------------------------------------------------------ rows


def _row_lines(view: RunView, most: int) -> list[str]:
    outcomes = row_outcomes(view, details=False)
    failed = [outcome for outcome in outcomes if outcome.status in ("failed", "error")]
    if not failed:
        return []
    # The outcomes of rows come first, in row order.
    rows = {id(outcome): row for outcome, row in zip(outcomes, view.rows, strict=False)}
    failed.sort(key=lambda outcome: _composite(rows.get(id(outcome))))
    shown = worst_first(failed)[:most]
    lines = ["### Failed rows", "", _count_line(view, len(failed), len(shown))]
    for outcome in shown:
        lines += ["", *_one_row(outcome, rows.get(id(outcome)))]
    return lines


def _composite(row: ViewedRow | None) -> float:
    found = None if row is None else row.result.composite_score
    return math.inf if found is None else found


def _count_line(view: RunView, n_failed: int, n_shown: int) -> str:
    text = counted(n_failed, "failed row")
    if n_shown < n_failed:
        text = f"{n_shown:,} of {text}"
    text += ", lowest composite scores first."
    if not view.is_whole:
        text += f" {len(view.rows):,} of {view.summary.n_rows:,} rows were examined."
    return text


def _collapsible(summary: str, lines: Iterable[str]) -> list[str]:
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "</details>"]


def _one_row(outcome: Outcome, row: ViewedRow | None) -> list[str]:
    name = summary_text(outcome.name, _NAME_LIMIT)
    head = f"<b>{name}</b> {summary_text(outcome.message, _MESSAGE_LIMIT)}"
    return _collapsible(head, () if row is None else _row_parts(row.result))


def _row_parts(result: EvalResult) -> Iterator[str]:
    """The texts of a row, then a collapsible per metric, failures first, and for sentences."""
    texts = {name: text_of(result, name) for name in ("question", "answer")}
    shown = [
        f"- {name}: {markdown_text(text, _TEXT_LIMIT)}" for name, text in texts.items() if text
    ]
    if result.refusal is not None:
        shown.append(f"- {DECLINES}{ALTHOUGH if result.refusal.answerable else ''}")
    yield from [*shown, ""] if shown else ()
    found = row_findings(result)
    failed = [name for name, metric in result.metrics.items() if metric.passed is False]
    for name in sorted(found, key=lambda name: name not in failed):
        lines = [f"- {markdown_text(line, _TEXT_LIMIT)}" for line in found[name]]
        yield from [*_collapsible(summary_text(_head(result, name)), [*lines, ""]), ""]


def _head(result: EvalResult, name: str) -> str:
    if name not in result.metrics:
        return f"{name} sentences"
    metric = result.metrics[name]
    state = "" if metric.passed is None else ", passed" if metric.passed else ", failed"
    return f"{name} {score_text(metric.score)}{state}"


# --------------------------------------------------------------------------------------- closing


def _closing_lines(view: RunView) -> list[str]:
    notes = (*view.summary.shown_notes, *view.notes)
    lines = [f"- note: {markdown_text(note, _MESSAGE_LIMIT)}" for note in notes]
    if view.summary.signature is not None:
        lines += ["", "Settings:", "", *_code(str(view.summary.signature))]
    if view.command:
        lines += ["", "To recreate this report:", "", *_code(view.command)]
    return lines[1:] if lines and not lines[0] else lines


def _code(text: str) -> Iterable[str]:
    """A code block with a fence longer than any in it; code contains no references."""
    shown = plain_text(text, _COMMAND_LIMIT)
    longest = max(map(len, _BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return (f"{fence}text", shown, fence)
