"""Reports as tables on a terminal or in a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.calibration.refitting import Refit
from rag_eval.calibration.result import Calibration
from rag_eval.gating.limits import GateOutcome, no_gate_text, verdict_of
from rag_eval.jobs.file_reports import RunReport, ScoreFileReport
from rag_eval.kernels.settings import LOSSES, SHIPPED_WEIGHTS
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.figures import (
    NONE,
    bounds_text,
    known_bounds,
    limit_text,
    number_text,
    shown_name,
)
from rag_eval.reports.plain_text import plain_text, without_python
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchSummary
from rag_eval.results.row import EvalResult, EvalSignal
from rag_eval.samples import MetricId
from rag_eval.scoring.worst_rows import WorstRow
from rag_eval.views.run_view import ViewedRow

# For files and pipes, which have no window width.
_LOG_WIDTH: Final = 120
# A narrower table would cut numbers; the terminal may wrap its lines instead.
_LEAST_WIDTH: Final = 80
# From this width on, columns are three spaces apart.
_ROOMY_WIDTH: Final = 100
# The table of a run drops columns down to this width.
_LEAST_RUN_WIDTH: Final = 50
# How much further the later lines of a wrapped line stand.
_HANGING: Final = 2
_TEXT_LIMIT: Final = 200
_SHOWN_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
Aggregate: TypeAlias = MetricAggregate | CompositeAggregate

_COLUMNS: Final = ("mean", "95 % interval", "scored", "pass rate", "threshold")
# Columns that a narrow window drops, in this order.
_SPARE: Final = ("threshold", "95 % interval", "pass rate")
# Of fewer labels resamples are much the same, and their interval would look exact.
_FEWEST_LABELS: Final = 10
_ON_TOO_FEW: Final = "[too few]: too few scores differ for a reliable interval"
# Wider than any table, so that a measured table is not squeezed.
UNBOUNDED: Final = 10_000
_STYLES: Final = {"critical": "red", "warning": "yellow", "info": "cyan"}


class _PipedConsole(Console):
    window: int | None = None
    """The width of the window, even if tables are printed wider."""

    def on_broken_pipe(self) -> None:
        # Rich would exit with 1, which means that a gate failed.
        raise BrokenPipeError


def console_for(file: IO[str] | None = None) -> Console:
    """A console that prints text as it is: no markup, emoji codes or highlights.

    Colours are used on terminals unless NO_COLOR is set, and everywhere with FORCE_COLOR. COLUMNS
    sets the width.
    """
    stream = sys.stdout if file is None else file
    console = _PipedConsole(file=stream, markup=False, emoji=False, highlight=False)
    # Rich's own answer is also true for a log with FORCE_COLOR.
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        console.width = _LOG_WIDTH
    console.window = console.width
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def window_width(console: Console) -> int:
    """The width of the console's window, which may be less than what is printed there."""
    window = console.window if isinstance(console, _PipedConsole) else None
    return console.width if window is None else window


def print_run(report: RunReport, console: Console) -> None:
    """Print the table of a run, its worst rows and its verdict."""
    result = report.result
    verdicts = None
    if report.gates:
        verdicts = {metric: _metric_verdict(report, metric) for metric in result.shown_aggregates}
        verdicts["composite"] = verdict_of(
            [gate for gate in report.gates if gate.gate == "min_pass_rate"]
        )
    table = RunTable(summary=result, thresholds=report.thresholds, verdicts=verdicts)
    print_table(table, console)
    print_line(console, _samples_text(report) + table.on_nulls)
    for row in report.worst:
        print_worst(row, console, without=result.left_out)
    print_verdict(report, console)


def print_table(table: RunTable, console: Console) -> None:
    """Print statistics of a run, with as many columns as fit."""
    width = max(window_width(console), _LEAST_RUN_WIDTH)
    console.print(table.fitting(console, width), width=width)
    if table.has_too_few:
        print_line(console, _ON_TOO_FEW)


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


def print_line(console: Console, text: str | Text) -> None:
    """Print a line, however long; a terminal gets it wrapped at words, later lines indented."""
    # In a log it stays on one line, so that it can be searched.
    if not console.is_terminal:
        console.print(text, soft_wrap=True)
        return
    line = Text(text) if isinstance(text, str) else text
    if line.cell_len <= console.width:
        console.print(line)
        return
    indent = len(line) - len(line.plain.lstrip(" "))
    for place, part in enumerate(line[indent:].wrap(console, console.width - indent - _HANGING)):
        part.rstrip()
        console.print(Text(" " * (indent + _HANGING * bool(place))) + part)


def print_parts(
    console: Console, parts: Sequence[Text], between: str = "  ", *, first: str = "  "
) -> None:
    """Print parts on a line; on a terminal on several that are indented, no part broken."""
    lines = [Text(first)]
    for place, part in enumerate(parts):
        if place:
            lines[-1].append(between.rstrip())
            if console.is_terminal and len(lines[-1]) + 1 + len(part) >= console.width:
                lines.append(Text("  "))
            else:
                lines[-1].append(between[len(between.rstrip()) :])
        lines[-1].append(part)
    for line in lines:
        print_line(console, line)


def print_plain(console: Console, text: str) -> None:
    """Print a line that may hold text of data."""
    print_line(console, plain_text(text))


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


def number_table(console: Console, *columns: str, first: str = "metric", last: str = "") -> Table:
    """A table of names and numbers; with ``last`` also a column of words, and names may wrap."""
    roomy = console.width >= _ROOMY_WIDTH
    table = columns_of_numbers(list(columns), roomy=roomy, first=first)
    if last:
        table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
        table.add_column(last, no_wrap=True)
    return table


def print_plain_table(
    console: Console, heads: Sequence[str], rows: Iterable[Iterable[str]]
) -> None:
    """Print a table of names and numbers without rules."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if table.columns else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


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


def print_calibration(calibration: Calibration, console: Console) -> None:
    """Print a calibration: threshold, quality, and the probability that each score means."""
    profile = "" if calibration.profile is None else f" ({calibration.profile})"
    rows = f"{calibration.metric}{profile}, {calibration.method}: {calibration.n_labels:,} labels"
    if calibration.n_groups != calibration.n_labels:
        rows += f" in {calibration.n_groups:,} groups"
    rows += f", {100 * calibration.share_good:.0f} % good"
    if calibration.n_null:
        rows += f"; {calibration.n_null:,} without a score excluded"
    print_line(console, rows)
    console.print()
    has_intervals = calibration.n_labels >= _FEWEST_LABELS
    level = f"{calibration.threshold_interval.level * 100:g} % interval"
    table = number_table(console, "value", level, first="")
    for name, found, digits in (
        ("threshold", calibration.threshold_interval, 4),
        ("balanced accuracy", calibration.balanced_accuracy_interval, 2),
    ):
        bounds = bounds_text(found, digits, " to ") if has_intervals else ""
        table.add_row(name, f"{found.estimate:.{digits}f}", bounds or NONE)
    validated = number_text(calibration.cross_validated_balanced_accuracy)
    table.add_row("  on held-out rows", validated, NONE)
    refit = calibration.refit
    if refit is not None:
        gain = bounds_text(refit.gain, 3, " to ") or NONE
        table.add_row("AUROC on held-out rows", f"{refit.shipped_auroc:.3f}", NONE)
        table.add_row("  gain of fitted weights", f"{refit.gain.estimate:+.3f}", gain)
    if calibration.precision is not None:
        print_line(
            console, f"lowest threshold with a precision of at least {calibration.precision:g}"
        )
    console.print(table)
    console.print()
    meaning = number_table(console, *(f"{score:.2f}" for score in _SHOWN_SCORES), first="score")
    meaning.add_row(
        "probability of good", *map(number_text, calibration.probabilities(_SHOWN_SCORES))
    )
    console.print(meaning)
    if refit is not None:
        console.print()
        _print_weights(refit, console)


def _print_weights(refit: Refit, console: Console) -> None:
    if not refit.used:
        told = "the shipped weights are kept: fitted weights do not rank held-out rows better"
        print_line(console, told)
        return
    weights = number_table(console, "shipped", "fitted", first="weight of")
    for name, shipped, fitted in zip(LOSSES, SHIPPED_WEIGHTS, refit.weights, strict=True):
        weights.add_row(name.replace("_", " "), f"{shipped:.2f}", f"{fitted:.2f}")
    console.print(weights)


def print_notes(notes: Iterable[str], console: Console) -> None:
    """Print notes, one per line."""
    for note in notes:
        print_line(console, f"note: {plain_text(note)}")


def print_skipped(report: RunReport | ScoreFileReport, console: Console) -> None:
    """Print the first skipped rows, and the number of others."""
    for fault in report.faults:
        print_line(console, f"skipped {plain_text(without_python(str(fault)))}")
    more = report.n_skipped - len(report.faults)
    if more:
        print_line(console, f"skipped {more:,} more")


# ----------------------------------------------------------------------------- the table of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """What a table of a run shows.

    Attributes
    ----------
    summary : BatchSummary
    thresholds : mapping of float or None
        Per metric; a metric without a threshold neither passes nor fails.
    verdicts : mapping of bool or None
        For each metric and ``composite``; None for a table without verdicts.
    """

    summary: BatchSummary
    thresholds: Mapping[MetricId, float | None]
    verdicts: Mapping[str, bool | None] | None = None

    @property
    def on_nulls(self) -> str:
        """What nulls do to the pass rates of the table, after another remark; empty without."""
        counted_in = (
            aggregate.n < aggregate.n_rows
            for metric, aggregate in self.summary.shown_aggregates.items()
            if self.thresholds.get(metric) is not None
        )
        told = "; a null lowers a metric's pass rate but does not by itself fail a row"
        return told if any(counted_in) else ""

    @property
    def has_too_few(self) -> bool:
        """Whether a mean has no interval because too few scores differ."""
        shown = (*self.summary.shown_aggregates.values(), self.summary.composite_aggregate)
        return any(one.interval is not None and one.interval.too_few for one in shown)

    def fitting(self, console: Console, width: int) -> Table:
        """The table with the most columns that fits into ``width`` uncut.

        Columns stand three spaces apart, or one where these do not fit.
        """
        wide = console.options.update(width=UNBOUNDED)
        rows = list(self._rows())
        table = self._laid_out((), rows, roomy=True)
        for n_spared in range(len(_SPARE) + 1):
            if console.measure(table, options=wide).maximum <= width:
                return table
            table = self._laid_out(_SPARE[:n_spared], rows, roomy=False)
        # Names that leave no room for numbers wrap.
        table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
        return table

    def _laid_out(
        self, spared: Collection[str], rows: Iterable[tuple[str, dict[str, str]]], *, roomy: bool
    ) -> Table:
        shown = [name for name in _COLUMNS if name not in spared]
        table = columns_of_numbers(shown, roomy=roomy)
        if self.verdicts is not None:
            table.add_column("verdict", no_wrap=True)
        for name, cells in rows:
            if name == "composite":
                table.add_section()
            row: list[str | Text] = [cells[column] for column in shown]
            if self.verdicts is not None:
                row.append(_verdict_text(self.verdicts.get(name)))
            table.add_row(metric_cell(name), *row)
        return table

    def _rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        for metric, aggregate in self.summary.shown_aggregates.items():
            threshold = self.thresholds.get(metric)
            cells = _cells(aggregate)
            if threshold is None:
                cells["pass rate"] = NONE
            else:
                cells["threshold"] = limit_text(threshold)
            yield metric, cells
        yield "composite", _cells(self.summary.composite_aggregate)


def metric_cell(name: str) -> str:
    """A metric as the first cell of a line; that 1 means none is said below its name."""
    return shown_name(plain_text(name)).replace(" ", "\n", 1)


def columns_of_numbers(names: list[str], *, roomy: bool, first: str = "metric") -> Table:
    """An empty table of names and numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, int(roomy)))
    table.add_column(first, no_wrap=True)
    for name in names:
        header = name if roomy else "\n".join(name.rsplit(" ", 1))
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _cells(aggregate: Aggregate) -> dict[str, str]:
    return {
        "mean": number_text(aggregate.mean),
        "95 % interval": known_bounds(aggregate.interval) or NONE,
        "scored": f"{aggregate.n:,}/{aggregate.n_rows:,}",
        "pass rate": number_text(aggregate.pass_rate),
        "threshold": NONE,
    }


def _verdict_text(passed: bool | None) -> Text:
    if passed is None:
        return Text(NONE)
    return Text("PASS", "green") if passed else Text("FAIL", "bold red")
