"""``rag-eval report``: write reports of an earlier run from its result file."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Final

import rich_click as click

from rag_eval.cli.flags import flag_of
from rag_eval.cli.report_flags import (
    print_written,
    report_files,
    report_flags,
    this_command,
)
from rag_eval.options.declared import declared
from rag_eval.options.file_types import RunOptions

_GATES: Final = declared(RunOptions)


@click.command(
    "report", epilog="Exit codes: 0 written · 2 not a result file, or a file cannot be written"
)
@click.argument("result", metavar="RESULT")
@report_flags
@click.option(
    "--baseline", metavar="FILE", help="Show what changed since this earlier run, row by row."
)
@click.option(
    "--slice-by",
    "slice_by",
    multiple=True,
    metavar="FIELD",
    help="Also show means for each value of this field (repeatable).",
)
@flag_of(_GATES["cluster_by"])
@flag_of(_GATES["min_pass_rate"])
@flag_of(_GATES["min_mean"])
@flag_of(_GATES["max_mean"])
@flag_of(_GATES["allow_missing"])
@click.option("--force", is_flag=True, help="Compare even if the settings of the baseline differ.")
def report_command(result: str, **flags: Any) -> None:
    """Write reports of RESULT, an output of run, without scoring again.

    RESULT is a .json or .jsonl file (also .gz or .zst). rag-eval run can write the same reports. If
    you set gates, the reports show a verdict, but it does not change the exit code; use rag-eval
    gate for that. Without an output file, a Markdown summary is printed.

    \b
    Examples:
      rag-eval report today.json --html report.html
      rag-eval report today.json --baseline main.json --html report.html
      rag-eval report today.json --min-mean faithfulness=0.7 --junit results.xml
      rag-eval report today.json > summary.md
    """
    files = report_files(flags, result, [flags["baseline"]])
    from rag_eval.gating.limits import Gates, check_gates, verdict_of
    from rag_eval.reports.run_markdown import run_markdown
    from rag_eval.views.making import view_of_file

    view = view_of_file(
        result,
        baseline=flags["baseline"],
        slice_by=flags["slice_by"],
        cluster_by=flags["cluster_by"],
        force=flags["force"],
    )
    gates = Gates.of(
        flags["min_pass_rate"],
        flags["min_mean"],
        view.summary.metrics,
        None,
        flags["max_mean"],
        allow_missing=bool(flags["allow_missing"]),
    )
    threshold = _GATES["regression_threshold"].default
    outcomes = tuple(check_gates(view.summary, gates, threshold))
    passed = verdict_of(outcomes, whole=not view.interrupted)
    view = replace(view, gates=outcomes, passed=passed, command=this_command())
    files.write(view)
    print_written(files)
    if not files.wanted:
        sys.stdout.write(run_markdown(view))
