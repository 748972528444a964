"""Exit codes with their help texts, and the estimate of a dry run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from rag_eval.cli.printing import print_json

if TYPE_CHECKING:
    from rag_eval.results.batch import BatchSummary

BAD_INPUT: Final = 2
UNAVAILABLE: Final = 3
PENDING: Final = 4
INTERRUPTED: Final = 130
TERMINATED: Final = 143  # what a shell reports for a command that SIGTERM ended
ENDED_CODES: Final = "130 interrupted (Ctrl-C) · 143 terminated (SIGTERM)"
EXIT_CODES: Final = (
    "Exit codes: 0 no gate failed · 1 a gate failed · 2 bad input or usage · "
    "3 judge unavailable or budget reached · 4 waiting for the judge's batches · "
    f"{ENDED_CODES}, partial result written"
)


def exit_code(
    interrupted: bool, unavailable: str, result: BatchSummary, passed: bool | None
) -> int:
    """The exit code of a run that ended with a report."""
    judging = result.judging
    if unavailable or (judging is not None and (judging.budget_reached or judging.nobody_answered)):
        return UNAVAILABLE
    if interrupted:
        return INTERRUPTED
    return 1 if passed is False else 0


def print_estimate(
    data: str, metrics: Iterable[str] | None, options: Mapping[str, Any], form: str
) -> int:
    """Print the estimate of a run, as a table or as JSON."""
    from rag_eval.jobs.judge_estimates import estimate_judging

    report = estimate_judging(data, metrics, **options)
    if form == "table":
        from rag_eval.reports.console import console_for
        from rag_eval.reports.judging import print_estimate as print_table

        print_table(report, console_for())
    else:
        print_json(report.to_dict())
    return 0
