"""Pages of a comparison and of a gate: what changed, and the rows that moved first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.errors import InputError
from rag_eval.gating.verdicts import GateReport
from rag_eval.reports.gate import policy_lines
from rag_eval.reports.page.page import write_page
from rag_eval.runs.run_files import RunSource
from rag_eval.views.old_answers import with_old_answers
from rag_eval.views.run_view import RunView
from rag_eval.views.scored_views import view_of_source


def write_comparison_page(
    comparison: RunComparison,
    new: RunSource,
    path: Path,
    command: str = "",
    *,
    id_field: str = "id",
    old: RunSource | None = None,
) -> None:
    """Write the page of a comparison.

    The sources of both runs are read again: ``new`` for its rows, ``old`` for its answers.
    """
    view = with_old_answers(_viewed(new, id_field), old, id_field=id_field)
    view = replace(view, source=f"{comparison.old} → {comparison.new}")
    view = replace(view, command=command, passed=None)
    write_page(view, path, kind="compare", comparisons=[comparison])


def write_gate_page(
    report: GateReport,
    new: RunSource,
    path: Path,
    command: str = "",
    *,
    baselines: Sequence[str] = (),
) -> None:
    """Write the page of a gate; ``new`` is the source of its run, which is read again.

    The rows are compared with the first baseline that fails, or with the first one, whose answers
    are read if it is one of the files in ``baselines``.
    """
    pairs = list(zip(report.baselines, report.comparisons, strict=True))
    pairs.sort(key=lambda pair: pair[0].passed)
    compared = pairs[0][1].old if pairs else None
    view = replace(
        with_old_answers(_viewed(new, "id"), compared if compared in baselines else None),
        source=report.name,
        gates=(*report.baseline_gates, *report.guards),
        passed=report.passed,
        command=command,
    )
    comparisons = [comparison for _, comparison in pairs]
    # Those of a comparison stand beside it.
    told = {note for comparison in comparisons for note in comparison.notes}
    notices = [text for text in report.notices if text not in told]
    view = replace(view, notes=(*view.notes, *notices, *policy_lines(report)))
    write_page(view, path, kind="gate", comparisons=comparisons, status=report.status)


def _viewed(source: RunSource, id_field: str) -> RunView:
    if source == "-":
        raise InputError("--html reads the new run a second time, so it cannot be standard input")
    return view_of_source(source, id_field=id_field)
