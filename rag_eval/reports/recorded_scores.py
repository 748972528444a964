"""The scores of a test session in; lines for its log, and properties for JUnit, out."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rag_eval.reports.plain_text import plain_text
from rag_eval.results.aggregates import MetricAggregate, ScoreStatistics
from rag_eval.samples import NullReason

if TYPE_CHECKING:
    from rich.console import Console

    from rag_eval.gating.verdicts import GateReport
    from rag_eval.runs.scored_run import ScoredRun

_MOST_WORST: Final = 3
_NAME_LIMIT: Final = 80
_TEXT_LIMIT: Final = 500


@dataclass(frozen=True, slots=True)
class ScoredTest:
    """A sample and the test that scored it; per metric the score comes first."""

    test: str
    id: str
    passed: bool
    composite: float | None
    metrics: Mapping[str, Sequence[Any]]


def summary_lines(
    run: ScoredRun | None,
    tests: Sequence[ScoredTest],
    gate: GateReport | None,
    *,
    notes: Sequence[str] = (),
    faults: Sequence[str] = (),
    is_short: bool = False,
) -> list[str]:
    """What was scored, the worst of it, the verdict; shortly the means and the verdict alone."""
    lines: list[str] = []
    if run is not None:
        aggregates = _aggregates(run)
        lines += [_short_line(aggregates)] if is_short else _table_lines(aggregates)
        if not is_short:
            lines += _worst_lines(tests)
    if gate is not None:
        lines += _gate_lines(gate, is_short)
    lines += [f"FAIL  {plain_text(text, _TEXT_LIMIT)}" for text in faults]
    return lines + [f"note: {plain_text(text, _TEXT_LIMIT)}" for text in notes]


def suite_properties(
    run: ScoredRun | None, gate: GateReport | None, faults: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Means and the verdict as names and texts."""
    for each in () if run is None else _aggregates(run):
        if not math.isnan(each.mean):
            yield f"rag_eval.{each.metric_id}.mean", f"{each.mean:.6g}"
        yield f"rag_eval.{each.metric_id}.n", f"{each.n}/{each.n_rows}"
    if gate is not None:
        yield "rag_eval.gate", "passed" if gate.passed else "failed"
        yield "rag_eval.gate.status", gate.status
        yield "rag_eval.gate.reason", plain_text(gate.reason, _TEXT_LIMIT)
    for fault in faults:
        yield "rag_eval.error", plain_text(fault, _TEXT_LIMIT)


def _aggregates(run: ScoredRun) -> list[MetricAggregate]:
    """Per metric over the rows that were scored by it."""
    found = []
    for column, metric in enumerate(run.metrics):
        asked = run.null_reasons[:, column] != NullReason.SKIPPED
        passed = int((run.metric_passed[asked, column] == 1).sum())
        statistics = ScoreStatistics.of(run.scores[asked, column])
        found.append(MetricAggregate.of(metric, statistics, int(asked.sum()), passed))
    return found


def _mean_text(aggregate: MetricAggregate) -> str:
    return "–" if math.isnan(aggregate.mean) else f"{aggregate.mean:.2f}"


def _interval_text(aggregate: MetricAggregate) -> str:
    found = aggregate.interval
    if found is None:
        return "–"
    if found.too_few or found.low is None or found.high is None:
        return "too few"
    return f"[{found.low:.2f}, {found.high:.2f}]"


def _short_line(aggregates: Sequence[MetricAggregate]) -> str:
    return ", ".join(f"{a.metric_id} {_mean_text(a)} ({a.n}/{a.n_rows})" for a in aggregates)


def _table_lines(aggregates: Sequence[MetricAggregate]) -> list[str]:
    from rag_eval.reports.console import number_table

    console, text = _console()
    table = number_table(console, "mean", "95%", "min", "max", "n")
    for each in aggregates:
        least, most = ("–" if math.isnan(v) else f"{v:.2f}" for v in (each.min, each.max))
        shown = (_mean_text(each), _interval_text(each), least, most, f"{each.n}/{each.n_rows}")
        table.add_row(plain_text(each.metric_id, _NAME_LIMIT), *shown)
    console.print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _worst_lines(tests: Sequence[ScoredTest]) -> Iterator[str]:
    """Those that missed their bars, lowest first."""
    worst = sorted((test for test in tests if not test.passed), key=_rank)
    for test in worst[:_MOST_WORST]:
        scores = "  ".join(
            f"{name} {'null' if values[0] is None else format(values[0], '.2f')}"
            for name, values in test.metrics.items()
        )
        name = "" if test.id == test.test else f"{plain_text(test.id, _NAME_LIMIT)}  "
        yield f"worst: {name}{scores}  ({plain_text(test.test, _NAME_LIMIT)})"
    if len(worst) > _MOST_WORST:
        yield f"and {len(worst) - _MOST_WORST:,} more that missed their bars"


def _rank(test: ScoredTest) -> float:
    """The composite score; of none is worse than of any."""
    return -math.inf if test.composite is None else test.composite


def _gate_lines(gate: GateReport, is_short: bool) -> list[str]:
    from rag_eval.reports.gate import print_gate

    if is_short:
        state = "PASS" if gate.passed else "FAIL"
        return [f"{state}  {gate.status}  {plain_text(gate.reason, _TEXT_LIMIT)}"]
    console, text = _console()
    print_gate(gate, console)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _console() -> tuple[Console, io.StringIO]:
    """A console without colours, whose width no terminal sets: logs of one session are alike."""
    from rag_eval.reports.console import console_for

    text = io.StringIO()
    return console_for(text), text
