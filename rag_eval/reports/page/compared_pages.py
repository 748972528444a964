"""Pages of a comparison and of a gate: what changed, and the rows that moved first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.errors import InputError
from rag_eval.gating.verdicts import GateReport
from rag_eval.reports.gate import policy_lines
from rag_eval.reports.page.page import write_page
from rag_eval.runs.run_files import RunSource
from rag_eval.views.run_view import RunView
from rag_eval.views.scored_views import view_of_source


def write_comparison_page(
    comparison: RunComparison,
    new: RunSource,
    path: Path,
    command: str = "",
    *,
    id_field: str = "id",
) -> None:
    """Write the page of a comparison; ``new`` is the source of the new run, which is read again."""
    view = replace(_viewed(new, id_field), source=f"{comparison.old} → {comparison.new}")
    view = replace(view, command=command, passed=None)
    write_page(view, path, kind="compare", comparisons=[comparison])


def write_gate_page(report: GateReport, new: RunSource, path: Path, command: str = "") -> None:
    """Write the page of a gate; ``new`` is the source of its run, which is read again.

    The rows are compared with the first baseline that fails, or with the first one.
    """
    pairs = list(zip(report.baselines, report.comparisons, strict=True))
    pairs.sort(key=lambda pair: pair[0].passed)
    view = replace(
        _viewed(new, "id"),
        source=report.name,
        gates=(*report.baseline_gates, *report.guards),
        passed=report.passed,
        command=command,
    )
    view = replace(view, notes=(*view.notes, *report.notices, *policy_lines(report)))
    comparisons = [comparison for _, comparison in pairs]
    write_page(view, path, kind="gate", comparisons=comparisons, status=report.status)


def _viewed(source: RunSource, id_field: str) -> RunView:
    if source == "-":
        raise InputError("--html reads the new run a second time, so it cannot be standard input")
    return view_of_source(source, id_field=id_field)
