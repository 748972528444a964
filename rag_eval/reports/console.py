"""Reports as tables on a terminal or in a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.calibration.fitting import Calibration
from rag_eval.gating.limits import GateOutcome
from rag_eval.jobs.file_run import RunReport
from rag_eval.jobs.file_scoring import ScoreFileReport
from rag_eval.reports.plain_text import plain_text
from rag_eval.reports.run_table import NONE, RunTable, columns_of_numbers
from rag_eval.results.row import EvalResult, EvalSignal
from rag_eval.samples import MetricId
from rag_eval.scoring.worst_rows import WorstRow
from rag_eval.stats.intervals import Interval

# In a file or a pipe, where nobody's window sets the width.
_LOG_WIDTH: Final = 120
# A narrower table would have its numbers cut; the terminal may wrap its lines.
_LEAST_WIDTH: Final = 80
# From here on there is room for columns three spaces apart.
_ROOMY_WIDTH: Final = 100
# The table of a run can do with fewer columns; in less than this not even with those.
_LEAST_RUN_WIDTH: Final = 50
_TEXT_LIMIT: Final = 200
_SHOWN_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_STYLES: Final = {"critical": "red", "warning": "yellow", "info": "cyan"}


class _PipedConsole(Console):
    window: int | None = None
    """How wide it is, also where tables are printed wider."""

    def on_broken_pipe(self) -> None:
        # Rich would end the program with 1, which means that a gate failed.
        raise BrokenPipeError


def console_for(file: IO[str] | None = None) -> Console:
    """A console that prints text as it is: no markup, emoji codes or highlights.

    Colours go to terminals only, and not with NO_COLOR set; FORCE_COLOR sends them elsewhere, too.
    COLUMNS sets the width.
    """
    stream = sys.stdout if file is None else file
    console = _PipedConsole(file=stream, markup=False, emoji=False, highlight=False)
    # Not whether it is a terminal to Rich: that one a log with FORCE_COLOR is, too.
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        console.width = _LOG_WIDTH
    console.window = console.width
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def window_width(console: Console) -> int:
    """The width of its window, which may be less than that of what is printed there."""
    window = console.window if isinstance(console, _PipedConsole) else None
    return console.width if window is None else window


def print_run(report: RunReport, console: Console) -> None:
    """Print the table of a run, its worst rows and its verdict."""
    result = report.result
    verdicts = {
        **{metric: _metric_verdict(report, metric) for metric in result.aggregates},
        "composite": report.passed,
    }
    print_table(RunTable(summary=result, thresholds=report.thresholds, verdicts=verdicts), console)
    samples = _samples_text(result.n_rows, report.n_skipped)
    if report.interrupted:
        samples += ", then interrupted"
    print_line(console, samples)
    for row in report.worst:
        print_worst(row, console)
    print_verdict(report, console)


def print_table(table: RunTable, console: Console) -> None:
    """Print statistics of a run, with as many columns as there is room for."""
    width = max(window_width(console), _LEAST_RUN_WIDTH)
    console.print(table.fitting(console, width), width=width)


def print_score_file(report: ScoreFileReport, console: Console) -> None:
    """Print the statistics of a file of scores, and where it is."""
    result = report.result
    print_table(RunTable(summary=result, thresholds=report.thresholds), console)
    text = _samples_text(result.n_rows, report.n_skipped)
    if report.interrupted:
        text += ", then interrupted"
        if report.kept is not None:
            text += f"; they are kept in {report.kept}: go on with --resume"
    elif str(report.target) != "-":
        text += f"; written to {report.target}"
    print_line(console, plain_text(text))


def _samples_text(n_scored: int, n_skipped: int) -> str:
    text = f"{n_scored:,} sample{'' if n_scored == 1 else 's'} scored"
    if n_skipped:
        text += f", {n_skipped:,} of {n_scored + n_skipped:,} skipped as invalid"
    return text


def print_line(console: Console, text: str | Text) -> None:
    """Print a line, however long."""
    # Long lines are left to the terminal to wrap, so that they can be searched for in a log.
    console.print(text, soft_wrap=True)


def print_verdict(report: RunReport, console: Console) -> None:
    """Print one line per gate, those that failed first."""
    if report.interrupted:
        print_line(console, Text("INTERRUPTED  the verdict is on a part of the samples", "yellow"))
    print_gates(report.gates, console)


def print_gates(gates: Iterable[GateOutcome], console: Console) -> None:
    """The same of gates alone."""
    for gate in sorted(gates, key=lambda gate: gate.held):
        text = Text("PASS", "green") if gate.held else Text("FAIL", "bold red")
        print_line(console, text.append(f"  {plain_text(gate.message)}", "default"))


def number_table(console: Console, *columns: str, first: str = "metric") -> Table:
    """A table of a name and numbers, and of a verdict."""
    return columns_of_numbers(list(columns), roomy=console.width >= _ROOMY_WIDTH, first=first)


def _metric_verdict(report: RunReport, metric: MetricId) -> bool | None:
    """That of the metric's gates; with no gate at all, whether every score passed."""
    gates = [gate for gate in report.gates if gate.metric_id == metric]
    if gates:
        return all(gate.held for gate in gates)
    aggregate = report.result.aggregates[metric]
    if report.gated or not aggregate.n or report.thresholds.get(metric) is None:
        return None
    return round(aggregate.pass_rate * aggregate.n_rows) == aggregate.n


def print_worst(row: WorstRow, console: Console, *, brief: bool = False) -> None:
    """Print one of the worst rows: its scores, its texts and, not in brief, what is wrong."""
    result = row.result
    composite = result.composite_score
    shown = NONE if composite is None else f"{composite:.2f}"
    head = Text(plain_text(row.name), "bold")
    head.append(f"  composite {shown}", "default")
    console.print()
    print_line(console, head)
    print_line(console, _scores_line(result))
    for name in ("question", "answer"):
        text = result.sample.get(name) if isinstance(result.sample, Mapping) else None
        if isinstance(text, str):
            print_line(console, f"  {name}: {plain_text(text, _TEXT_LIMIT)}")
    for metric in () if brief else result.metrics.values():
        for signal in metric.signals:
            print_line(console, Text("  ").append(signal_text(signal, named=True)))


def _scores_line(result: EvalResult) -> Text:
    scores = Text("  ")
    for metric in result.metrics.values():
        text = "null" if metric.score is None else f"{metric.score:.2f}"
        scores.append(f"{metric.metric_id} ").append(text, "red" if metric.passed is False else "")
        scores.append("  ")
    scores.rstrip()
    return scores


def signal_text(signal: EvalSignal, *, named: bool = False) -> Text:
    """``warning: … “the sentence it is about”``, with the name of the metric where that is said."""
    severity = plain_text(str(signal.severity))
    line = Text("").append(severity, _STYLES.get(severity, ""))
    line.append(f" {signal.metric_id}: " if named else ": ").append(plain_text(str(signal.message)))
    if signal.evidence:
        line.append(f" “{plain_text(str(signal.evidence), _TEXT_LIMIT)}”")
    return line


def print_calibration(calibration: Calibration, console: Console) -> None:
    """Print what labels say about a metric: its threshold, how good it is, what scores mean."""
    profile = "" if calibration.profile is None else f" ({calibration.profile})"
    rows = f"{calibration.metric}{profile}, {calibration.method}: {calibration.n_labels:,} labels"
    if calibration.n_groups != calibration.n_labels:
        rows += f" in {calibration.n_groups:,} groups"
    rows += f", {calibration.share_good:.0%} good"
    if calibration.n_null:
        rows += f"; {calibration.n_null:,} without a score left out"
    print_line(console, rows)
    console.print()
    threshold = calibration.threshold_interval
    table = number_table(console, "value", f"{threshold.level * 100:g} % interval", first="")
    table.add_row("threshold", f"{threshold.estimate:.4f}", _interval_text(threshold, 4))
    accuracy = calibration.balanced_accuracy_interval
    table.add_row("balanced accuracy", f"{accuracy.estimate:.2f}", _interval_text(accuracy, 2))
    validated = calibration.cross_validated_balanced_accuracy
    shown = NONE if validated is None else f"{validated:.2f}"
    table.add_row("  on rows held out", shown, NONE)
    if calibration.precision is not None:
        print_line(console, f"the lowest threshold of precision {calibration.precision:g} and more")
    console.print(table)
    console.print()
    meaning = number_table(console, *(f"{score:.2f}" for score in _SHOWN_SCORES), first="score")
    found = calibration.probabilities(_SHOWN_SCORES)
    meaning.add_row("probability of good", *(f"{probability:.2f}" for probability in found))
    console.print(meaning)


def _interval_text(interval: Interval, digits: int) -> str:
    if interval.low is None or interval.high is None:
        return NONE
    return f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"


def print_notes(notes: Iterable[str], console: Console) -> None:
    """Print remarks, one a line."""
    for note in notes:
        print_line(console, f"note: {plain_text(note)}")


def print_skipped(report: RunReport | ScoreFileReport, console: Console) -> None:
    """Print the first rows that were skipped, and how many more there were."""
    for fault in report.faults:
        print_line(console, f"skipped {plain_text(str(fault))}")
    more = report.n_skipped - len(report.faults)
    if more:
        print_line(console, f"skipped {more:,} more")
