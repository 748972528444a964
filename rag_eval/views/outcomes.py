"""Gates and rows in; what a test report says of each, out: passed, failed, error or skipped."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from rag_eval.gating.limits import GateOutcome, apart
from rag_eval.gating.verdicts import BaselineVerdict, GateReport
from rag_eval.inputs.blocks import RowFault
from rag_eval.judge.failures import JUDGE_FAILURES
from rag_eval.metrics.registry import higher_is_better
from rag_eval.results.row import EvalResult, MetricResult
from rag_eval.views.findings import row_findings
from rag_eval.views.run_view import RunView, ViewedRow
from rag_eval.views.texts import null_text

Status: TypeAlias = Literal["passed", "failed", "error", "skipped"]

GATES: Final = "gates"
_SAMPLES: Final = "samples"


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """One reason why a row failed.

    Attributes
    ----------
    check : MetricId, "composite", "judge" or "unreadable"
    message : str
        What was found and what was wanted.
    """

    check: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One thing that was checked.

    Texts are as they are in the data: who writes them to a file or a screen makes them safe.

    Attributes
    ----------
    group : str
        What it is part of: ``gates``, or the file of samples.
    name : str
        ``min_mean faithfulness``, or of a row its place and id.
    status : {"passed", "failed", "error", "skipped"}
        A row fails by its scores; it is an error where it could not be scored, by its own fault or
        that of the judge; it is skipped where there was nothing to score.
    message : str
        One sentence that says why; empty for what passed.
    details : tuple of str
        Findings behind it, a line each.
    path, line : str or None, int or None
        Where it stands in a file of samples, lines from 1; None if that is not known.
    id : str or None
        That of the row.
    checks : tuple of FailedCheck
        What a row failed by, one by one; empty for gates and for what did not fail.
    """

    group: str
    name: str
    status: Status
    message: str = ""
    details: tuple[str, ...] = ()
    path: str | None = None
    line: int | None = None
    id: str | None = None
    checks: tuple[FailedCheck, ...] = ()


def worst_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Failures, then errors, then the rest, each in their order."""
    ranks = {"failed": 0, "error": 1, "skipped": 2, "passed": 3}
    return sorted(outcomes, key=lambda outcome: ranks[outcome.status])


def run_outcomes(view: RunView) -> list[Outcome]:
    """The outcomes of a run: its gates, its rows, then the unreadable rows."""
    outcomes = gate_outcomes(view.gates)
    if view.interrupted:
        outcomes.append(_checked(GATES, "whole run", False, view.reason, "error"))
    return outcomes + row_outcomes(view)


def run_properties(view: RunView) -> dict[str, str]:
    """Properties of the whole run for a test report: numbers of rows and settings."""
    summary = view.summary
    found = {
        "rows.total": str(summary.n_rows),
        "rows.passed": str(summary.n_passed),
        "rows.listed": str(len(view.rows)),
        "rows.unreadable": str(view.n_skipped),
        "unreadable.listed": str(len(view.faults)),
        "evaluated_at": summary.evaluated_at,
    }
    if summary.signature is not None:
        found["signature"] = str(summary.signature)
    if view.command:
        found["command"] = view.command
    return found


# ----------------------------------------------------------------------------------------- gates


def gate_outcomes(gates: Iterable[GateOutcome]) -> list[Outcome]:
    """The outcome of each gate. Too many judge failures are an error, not a failure."""
    return [_gate_outcome(gate) for gate in gates]


def _gate_outcome(gate: GateOutcome) -> Outcome:
    name = gate.gate if gate.metric_id is None else f"{gate.gate} {gate.metric_id}"
    failure: Status = "error" if gate.gate == "max_judge_failures" else "failed"
    return _checked(GATES, name, gate.held, gate.message, failure)


def verdict_outcomes(report: GateReport) -> list[Outcome]:
    """The outcome of each finding against each baseline, then of each guard; never empty."""
    outcomes = [found for verdict in report.baselines for found in _baseline_outcomes(verdict)]
    outcomes += gate_outcomes(report.guards)
    told = any(outcome.status in ("failed", "error") for outcome in outcomes)
    if not outcomes or (not report.passed and not told):
        name = f"{report.policy} {report.status}"
        outcomes.insert(0, _checked(GATES, name, report.passed, report.reason))
    return outcomes


def _baseline_outcomes(verdict: BaselineVerdict) -> list[Outcome]:
    group = f"against {verdict.name}"
    outcomes = [
        _checked(group, found.name, found.held, found.message) for found in verdict.findings
    ]
    # A policy may fail a run because of all findings together.
    if not outcomes or (not verdict.passed and all(found.held for found in verdict.findings)):
        outcomes.insert(0, _checked(group, verdict.status, verdict.passed, verdict.reason))
    return outcomes


def _checked(
    group: str, name: str, held: bool, message: str, failure: Status = "failed"
) -> Outcome:
    if held:
        return Outcome(group=group, name=name, status="passed")
    return Outcome(group=group, name=name, status=failure, message=message)


# ------------------------------------------------------------------------------------------ rows


def row_outcomes(view: RunView, *, details: bool = True) -> list[Outcome]:
    """The outcome of each listed row, then of each unreadable row.

    Without ``details`` the underlying findings are left out, which take the most time.
    """
    group = view.source or _SAMPLES
    rows = [_row_outcome(row, row.path or group, details) for row in view.rows]
    return rows + [_fault_outcome(fault, group, _one_file(view.source)) for fault in view.faults]


def _row_outcome(row: ViewedRow, group: str, details: bool) -> Outcome:
    status, checks, message = _verdict_of(row.result)
    told = details and status in ("failed", "error")
    return Outcome(
        group=group,
        name=row.name,
        status=status,
        message=message,
        details=_details(row.result) if told else (),
        path=row.path,
        line=row.line,
        id=row.id,
        checks=checks,
    )


def _verdict_of(result: EvalResult) -> tuple[Status, tuple[FailedCheck, ...], str]:
    metrics = result.metrics.values()
    missed = [_missed(metric) for metric in metrics if metric.passed is False]
    unjudged = [_unjudged(metric) for metric in metrics if metric.null_reason in JUDGE_FAILURES]
    if not missed and not result.passed and result.composite_score is not None:
        shown = f"composite {result.composite_score:.2f} is below its threshold"
        missed = [FailedCheck("composite", shown)]
    if missed or unjudged:
        checks = (*missed, *unjudged)
        message = "; ".join(check.message for check in checks)
        return "failed" if missed else "error", checks, message
    if all(metric.score is None for metric in metrics):
        reasons = ", ".join(sorted({null_text(metric) for metric in metrics}))
        return "skipped", (), f"nothing was measured: {reasons or 'no metric'}"
    return "passed", (), ""


def _missed(metric: MetricResult) -> FailedCheck:
    name, score, bar = metric.metric_id, metric.score, metric.threshold
    rises = higher_is_better(name)
    # The verdict in a file may contradict its numbers.
    if score is None or bar is None or (score >= bar if rises else score <= bar):
        shown = "without a score" if score is None else f"{score:.2f}"
        return FailedCheck(name, f"{name} {shown} is marked as failed")
    found, wanted = apart(score, bar)
    return FailedCheck(name, f"{name} {found} is {'below' if rises else 'above'} {wanted}")


def _unjudged(metric: MetricResult) -> FailedCheck:
    said = "" if metric.judged is None else metric.judged.message
    message = f"{metric.metric_id} was not judged: {null_text(metric)}"
    return FailedCheck("judge", f"{message} ({said})" if said else message)


def _details(result: EvalResult) -> tuple[str, ...]:
    found = row_findings(result)
    return tuple(f"{head}: {line}" for head, lines in found.items() for line in lines)


def _fault_outcome(fault: RowFault, group: str, path: str | None) -> Outcome:
    message = f"cannot be scored: {fault.fault}"
    is_line = fault.name.startswith("line ")
    return Outcome(
        group=group,
        name=fault.name,
        status="error",
        message=message,
        path=path,
        line=fault.number if is_line and path else None,
        checks=(FailedCheck("unreadable", message),),
    )


def _one_file(source: str) -> str | None:
    """The source where it is the name of a file, and no pattern, stream or object."""
    if source in ("", "-") or source.startswith("<") or any(mark in source for mark in "*?["):
        return None
    return source


def checkout_path(path: str) -> str:
    """From the current folder with slashes, as ``data/samples.jsonl``.

    A path that leads out of it stays as it was given.
    """
    shown = os.path.relpath(path) if Path(path).is_absolute() else os.path.normpath(path)
    if shown.startswith(os.pardir):
        return path
    return Path(shown).as_posix()
