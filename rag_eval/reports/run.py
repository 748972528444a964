"""A run on a terminal: its table, worst rows and verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from rich.console import Console
from rich.text import Text

from rag_eval.gating.limits import GateOutcome, no_gate_text, verdict_of
from rag_eval.jobs.file_reports import RunReport, ScoreFileReport
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.console import print_line, print_parts, print_plain
from rag_eval.reports.figures import number_text
from rag_eval.reports.plain_text import plain_text, without_python
from rag_eval.reports.run_table import RunTable, print_table
from rag_eval.results.row import EvalResult, EvalSignal
from rag_eval.samples import MetricId
from rag_eval.scoring.worst_rows import WorstRow
from rag_eval.views.run_view import ViewedRow

_TEXT_LIMIT: Final = 200
_STYLES: Final = {"critical": "red", "warning": "yellow", "info": "cyan"}


def print_run(report: RunReport, console: Console) -> None:
    """Print the table of a run, its worst rows and its verdict."""
    result = report.result
    verdicts = None
    if report.gates:
        verdicts = {metric: _metric_verdict(report, metric) for metric in result.shown_aggregates}
        verdicts[COMPOSITE] = verdict_of(
            [gate for gate in report.gates if gate.gate == "min_pass_rate"]
        )
    table = RunTable(summary=result, thresholds=report.thresholds, verdicts=verdicts)
    print_table(table, console)
    print_line(console, _samples_text(report) + table.on_nulls)
    for row in report.worst:
        print_worst(row, console, without=result.left_out)
    print_verdict(report, console)


def print_score_file(report: ScoreFileReport, console: Console) -> None:
    """Print the statistics of a score file, and its path."""
    result = report.result
    table = RunTable(summary=result, thresholds=report.thresholds)
    print_table(table, console)
    text = _samples_text(report)
    if report.interrupted and report.kept is not None:
        text += f"; they are kept in {report.kept}: continue with --resume"
    elif not report.interrupted and str(report.target) != "-":
        text += f"; wrote {report.target}"
    print_line(console, plain_text(text + table.on_nulls))


def _samples_text(report: RunReport | ScoreFileReport) -> str:
    n_scored, n_skipped = report.result.n_rows, report.n_skipped
    text = f"{counted(n_scored, 'sample')} scored"
    if n_skipped:
        text += f", {n_skipped:,} of {n_scored + n_skipped:,} skipped as invalid"
    return f"{text}, then interrupted" if report.interrupted else text


def print_verdict(report: RunReport, console: Console) -> None:
    """Print one line per gate, failures first, or how to set a gate."""
    if report.interrupted:
        print_line(console, Text("INTERRUPTED  only some of the samples were scored", "yellow"))
    print_gates(report.gates, console)
    if not report.gates:
        judging = report.result.judging
        n_failed = judging.n_failed if judging is not None else 0
        metrics = list(report.result.shown_aggregates)
        print_plain(console, no_gate_text(metrics, n_failed, signature=report.result.signature))


def print_gates(gates: Iterable[GateOutcome], console: Console) -> None:
    """Print one line per gate, failures first."""
    for gate in sorted(gates, key=lambda gate: gate.held):
        text = Text("PASS", "green") if gate.held else Text("FAIL", "bold red")
        # Against a baseline a message begins with a status, as the first line of a verdict does.
        status, is_against, rest = gate.message.partition(": ")
        if gate.gate == "regression" and is_against:
            text.append(f"  {plain_text(status)}", "bold").append(
                f"  {plain_text(rest)}", "default"
            )
        else:
            text.append(f"  {plain_text(gate.message)}", "default")
        print_line(console, text)


def _metric_verdict(report: RunReport, metric: MetricId) -> bool | None:
    return verdict_of([gate for gate in report.gates if gate.metric_id == metric])


def print_worst(
    row: WorstRow | ViewedRow,
    console: Console,
    *,
    brief: bool = False,
    without: Collection[MetricId] = (),
) -> None:
    """Print one of the worst rows: its scores, its texts and, unless brief, its signals."""
    result = row.result
    head = Text(plain_text(row.name), "bold")
    head.append(f"  composite {number_text(result.composite_score)}", "default")
    console.print()
    print_line(console, head)
    print_parts(console, _scores(result, without))
    for name in ("question", "answer"):
        text = result.sample.get(name) if isinstance(result.sample, Mapping) else None
        if isinstance(text, str):
            print_line(console, f"  {name}: {plain_text(text, _TEXT_LIMIT)}")
    for metric in () if brief else result.metrics.values():
        for signal in metric.signals:
            print_line(console, Text("  ").append(signal_text(signal, named=True)))


def _scores(result: EvalResult, without: Collection[MetricId]) -> list[Text]:
    scores = []
    for metric in result.metrics.values():
        if metric.metric_id in without:
            continue
        text = "null" if metric.score is None else f"{metric.score:.2f}"
        style = "red" if metric.passed is False else ""
        scores.append(Text(f"{metric.metric_id} ").append(text, style))
    return scores


def signal_text(signal: EvalSignal, *, named: bool = False) -> Text:
    """``warning: … “the sentence it is about”``, with the metric's name if ``named``."""
    severity = plain_text(str(signal.severity))
    line = Text("").append(severity, _STYLES.get(severity, ""))
    line.append(f" {signal.metric_id}: " if named else ": ").append(plain_text(str(signal.message)))
    if signal.evidence:
        line.append(f" “{plain_text(str(signal.evidence), _TEXT_LIMIT)}”")
    return line


def print_skipped(report: RunReport | ScoreFileReport, console: Console) -> None:
    """Print the first skipped rows, and the number of others."""
    for fault in report.faults:
        print_line(console, f"skipped {plain_text(without_python(str(fault)))}")
    more = report.n_skipped - len(report.faults)
    if more:
        print_line(console, f"skipped {more:,} more")
