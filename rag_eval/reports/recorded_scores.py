"""The scores of a test session as lines for its log and as JUnit properties."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rag_eval.reports.figures import NONE, mean_bounds, number_text
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
    """A sample and the test that scored it; the first value of each metric is the score."""

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
    """Statistics, worst samples and the verdict; if ``is_short``, only means and the verdict."""
    lines: list[str] = []
    if run is not None:
        found = _aggregates(run)
        if is_short:
            means = (f"{a.metric_id} {number_text(a.mean)} ({a.n}/{a.n_rows})" for a in found)
            lines.append(", ".join(means))
        else:
            lines += _printed(lambda console: _print_table(found, console))
            lines += _worst_lines(tests)
    if gate is not None:
        lines += _gate_lines(gate, is_short)
    lines += [f"FAIL  {plain_text(text, _TEXT_LIMIT)}" for text in faults]
    return lines + [f"note: {plain_text(text, _TEXT_LIMIT)}" for text in notes]


def suite_properties(
    run: ScoredRun | None, gate: GateReport | None, faults: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Means and the verdict as pairs of names and texts."""
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
    """Statistics per metric, over the rows that it scored."""
    found = []
    for column, metric in enumerate(run.metrics):
        asked = run.null_reasons[:, column] != NullReason.SKIPPED
        passed = int((run.metric_passed[asked, column] == 1).sum())
        statistics = ScoreStatistics.of(run.scores[asked, column])
        found.append(MetricAggregate.of(metric, statistics, int(asked.sum()), passed))
    return found


def _print_table(aggregates: Sequence[MetricAggregate], console: Console) -> None:
    from rag_eval.reports.console import number_table

    table = number_table(console, "mean", "95%", "min", "max", "n")
    for each in aggregates:
        least, most = number_text(each.min), number_text(each.max)
        shown = (number_text(each.mean), mean_bounds(each) or NONE, least, most)
        table.add_row(plain_text(each.metric_id, _NAME_LIMIT), *shown, f"{each.n}/{each.n_rows}")
    console.print(table)


def _worst_lines(tests: Sequence[ScoredTest]) -> Iterator[str]:
    """The samples that failed, lowest first."""
    worst = sorted((test for test in tests if not test.passed), key=_rank)
    for test in worst[:_MOST_WORST]:
        scores = "  ".join(
            f"{name} {'null' if values[0] is None else number_text(values[0])}"
            for name, values in test.metrics.items()
        )
        name = "" if test.id == test.test else f"{plain_text(test.id, _NAME_LIMIT)}  "
        yield f"worst: {name}{scores}  ({plain_text(test.test, _NAME_LIMIT)})"
    if len(worst) > _MOST_WORST:
        yield f"and {len(worst) - _MOST_WORST:,} more that failed"


def _rank(test: ScoredTest) -> float:
    """The composite score; samples without one come first."""
    return -math.inf if test.composite is None else test.composite


def _gate_lines(gate: GateReport, is_short: bool) -> list[str]:
    from rag_eval.reports.gate import print_gate

    if is_short:
        state = "PASS" if gate.passed else "FAIL"
        return [f"{state}  {gate.status}  {plain_text(gate.reason, _TEXT_LIMIT)}"]
    return _printed(lambda console: print_gate(gate, console))


def _printed(show: Callable[[Console], None]) -> list[str]:
    """Lines without colours and of a fixed width, so that logs do not depend on the terminal."""
    from rag_eval.reports.console import console_for

    text = io.StringIO()
    show(console_for(text))
    return [line.rstrip() for line in text.getvalue().splitlines()]
