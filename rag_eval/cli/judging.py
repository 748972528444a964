"""What commands do with a judge's run: its exit code, and the estimate in its place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rag_eval.results.batch import BatchSummary

UNAVAILABLE: Final = 3
INTERRUPTED: Final = 130


def exit_code(interrupted: bool, unavailable: str, result: BatchSummary, passed: bool) -> int:
    """The exit code of a run that ended with a report."""
    judging = result.judging
    if unavailable or (judging is not None and (judging.budget_reached or judging.nobody_answered)):
        return UNAVAILABLE
    if interrupted:
        return INTERRUPTED
    return 0 if passed else 1


def print_estimate(
    data: str, metrics: Iterable[str] | None, options: Mapping[str, Any], form: str
) -> int:
    """Print what a run would take: a table, or JSON where that is the form of stdout."""
    from rag_eval.jobs.judge_estimates import estimate_judging

    report = estimate_judging(data, metrics, **options)
    if form == "table":
        from rag_eval.reports.console import console_for
        from rag_eval.reports.judging import print_estimate as print_table

        print_table(report, console_for())
    else:
        from rag_eval.plumbing import json_text

        sys.stdout.buffer.write(json_text.dumps(report.to_dict()) + b"\n")
    return 0
