"""Reports as tables on a terminal or in a log."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from typing import IO, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.calibration import Calibration
from rag_eval.gates import GateOutcome
from rag_eval.reports.plain_text import plain_text
from rag_eval.result_summaries import MeanScore
from rag_eval.run import RunReport
from rag_eval.score_files import ScoreFileReport
from rag_eval.stats.intervals import Interval
from rag_eval.worst_rows import WorstRow

# In a file or a pipe, where nobody's window sets the width.
_LOG_WIDTH: Final = 120
# A narrower table would have its numbers cut; the terminal may wrap its lines.
_LEAST_WIDTH: Final = 80
# From here on there is room for columns three spaces apart.
_ROOMY_WIDTH: Final = 100
# And from here on for the interval of a mean beside it, not below.
_WIDE_WIDTH: Final = 115
_TEXT_LIMIT: Final = 200
_NONE: Final = "–"
_MEAN: Final = "mean [95%]"
_SHOWN_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_STYLES: Final = {"critical": "red", "warning": "yellow", "info": "cyan"}


class _PipedConsole(Console):
    def on_broken_pipe(self) -> None:
        # Rich would end the program with 1, which means that a gate failed.
        raise BrokenPipeError


def console_for(file: IO[str] | None = None) -> Console:
    """A console that prints text as it is: no markup, emoji codes or highlights.

    Colours go to terminals only, and not with NO_COLOR set; COLUMNS sets the width.
    """
    stream = sys.stdout if file is None else file
    console = _PipedConsole(file=stream, markup=False, emoji=False, highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = _LOG_WIDTH
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def print_run(report: RunReport, console: Console) -> None:
    """Print the table of a run, its worst rows and its verdict."""
    result = report.result
    console.print(_run_table(report, console))
    samples = _samples_text(result.n_rows, report.n_skipped)
    if report.interrupted:
        samples += ", then interrupted"
    print_line(console, samples)
    for row in report.worst:
        _print_worst(row, console)
    print_verdict(report, console)


def print_score_file(report: ScoreFileReport, console: Console) -> None:
    """Print the statistics of a file of scores, and where it is."""
    result = report.result
    table = number_table(console, _MEAN, "median", "min", "max", "std", "pass rate", "null rate")
    for metric, aggregate in result.aggregates.items():
        table.add_row(metric, *_statistics(aggregate, console), f"{aggregate.null_rate:.2f}")
    composite = result.composite_aggregate
    null_rate = 1 - composite.n / composite.n_rows if composite.n_rows else 0.0
    table.add_section()
    table.add_row("composite", *_statistics(composite, console), f"{null_rate:.2f}")
    console.print(table)
    text = _samples_text(result.n_rows, report.n_skipped)
    if report.interrupted:
        text += ", then interrupted"
        if report.kept is not None:
            text += f"; they are kept in {report.kept}: go on with --resume"
    elif str(report.target) != "-":
        text += f"; written to {report.target}"
    print_line(console, text)


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
    for gate in sorted(report.gates, key=lambda gate: gate.held):
        text = Text("PASS", "green") if gate.held else Text("FAIL", "bold red")
        print_line(console, text.append(f"  {gate.message}", "default"))


def number_table(console: Console, *columns: str, first: str = "metric") -> Table:
    """A table of a name and numbers, and of a verdict."""
    roomy = console.width >= _ROOMY_WIDTH
    gap = 1 if roomy else 0
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, gap))
    table.add_column(first, no_wrap=True)
    for name in columns:
        # A mean with its share may wrap at the space between them; a number never.
        header = name if roomy else name.replace(" ", "\n")
        table.add_column(header, justify="right", no_wrap="mean" not in name)
    return table


def _run_table(report: RunReport, console: Console) -> Table:
    table = number_table(console, _MEAN, "median", "min", "max", "std", "pass rate", "null rate")
    table.add_column("verdict", no_wrap=True)
    for metric, aggregate in report.result.aggregates.items():
        verdict = _metric_verdict(report, aggregate)
        table.add_row(
            metric, *_statistics(aggregate, console), f"{aggregate.null_rate:.2f}", verdict
        )
    composite = report.result.composite_aggregate
    null_rate = 1 - composite.n / composite.n_rows if composite.n_rows else 0.0
    verdict = _verdict_text(report.passed)
    table.add_section()
    table.add_row("composite", *_statistics(composite, console), f"{null_rate:.2f}", verdict)
    return table


def _statistics(aggregate: MetricAggregate | CompositeAggregate, console: Console) -> list[str]:
    spread = (aggregate.median, aggregate.min, aggregate.max, aggregate.std_dev)
    return [
        _mean_cell(aggregate, console.width >= _WIDE_WIDTH),
        *(_NONE if math.isnan(value) else f"{value:.2f}" for value in spread),
        f"{aggregate.pass_rate:.2f}",
    ]


def _mean_cell(aggregate: MetricAggregate | CompositeAggregate, beside: bool) -> str:
    """``0.83 [0.79, 0.86] (412/500)``, or the interval in a line of its own."""
    mean = mean_text(MeanScore(aggregate.mean, aggregate.n, aggregate.n_rows))
    if aggregate.interval is None:
        return mean
    interval = f"[{_bounds_text(aggregate.interval)}]"
    return mean.replace(" ", f" {interval} ", 1) if beside else f"{mean}\n{interval}"


def _bounds_text(interval: Interval) -> str:
    if interval.too_few or interval.low is None or interval.high is None:
        return "too few"
    return f"{interval.low:.2f}, {interval.high:.2f}"


def mean_text(mean: MeanScore) -> str:
    """``0.83 (412/500)``; the share is left out where it is not known."""
    text = _NONE if math.isnan(mean.mean) else f"{mean.mean:.2f}"
    return text if mean.n is None else f"{text} ({mean.n}/{mean.n_rows})"


def _metric_verdict(report: RunReport, aggregate: MetricAggregate) -> Text:
    """That of the metric's gates; with no gate at all, whether every score passed."""
    gates: list[GateOutcome] = [
        gate for gate in report.gates if gate.metric_id == aggregate.metric_id
    ]
    if gates:
        return _verdict_text(all(gate.held for gate in gates))
    if not report.gated and aggregate.n:
        return _verdict_text(round(aggregate.pass_rate * aggregate.n_rows) == aggregate.n)
    return Text(_NONE)


def _verdict_text(passed: bool) -> Text:
    return Text("pass", "green") if passed else Text("FAIL", "bold red")


def _print_worst(row: WorstRow, console: Console) -> None:
    result = row.result
    composite = result.composite_score
    shown = _NONE if composite is None else f"{composite:.2f}"
    head = Text(plain_text(row.name), "bold")
    head.append(f"  composite {shown}", "default")
    console.print()
    print_line(console, head)
    scores = Text("  ")
    for metric in result.metrics.values():
        text = "null" if metric.score is None else f"{metric.score:.2f}"
        scores.append(f"{metric.metric_id} ").append(text, "red" if metric.passed is False else "")
        scores.append("  ")
    scores.rstrip()
    print_line(console, scores)
    for name in ("question", "answer"):
        text = result.sample.get(name)
        if isinstance(text, str):
            print_line(console, f"  {name}: {plain_text(text, _TEXT_LIMIT)}")
    for metric in result.metrics.values():
        for signal in metric.signals:
            line = Text("  ").append(signal.severity, _STYLES[signal.severity])
            line.append(f" {metric.metric_id}: {plain_text(signal.message)}")
            if signal.evidence:
                line.append(f" “{plain_text(signal.evidence, _TEXT_LIMIT)}”")
            print_line(console, line)


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
    shown = _NONE if validated is None else f"{validated:.2f}"
    table.add_row("  on rows held out", shown, _NONE)
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
        return _NONE
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
