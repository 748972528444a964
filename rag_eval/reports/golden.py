"""The result of a golden dataset as lines for people and for the logs of CI."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, Final

from rag_eval.golden.results import CaseResult, EvalRunResult
from rag_eval.reports.plain_text import plain_text

_TEXT_LIMIT: Final = 200
_ID_LIMIT: Final = 80


def report_eval_for_ci(
    result: EvalRunResult, exit_on_fail: bool = False, stream: IO[str] | None = None
) -> str:
    """Print the result of a run, failed cases first, and end the process if it failed.

    No line begins with what a dataset or an output says, so none is a command to the CI system.

    Parameters
    ----------
    result : EvalRunResult
    exit_on_fail : bool, default False
        End with exit code 1 after a run that did not pass.
    stream : text file, optional
        Standard output where None.

    Returns
    -------
    str
        What was printed.

    Raises
    ------
    SystemExit
        With code 1.
    """
    text = "\n".join(golden_lines(result)) + "\n"
    file = sys.stdout if stream is None else stream
    file.write(text)
    file.flush()
    if exit_on_fail and not result.passed:
        raise SystemExit(1)
    return text


def golden_lines(result: EvalRunResult) -> Iterator[str]:
    """The lines of a report."""
    failed = result.failed
    for case in (*failed, *(case for case in result.case_results if case.passed)):
        yield _case_line(case)
        if not case.passed:
            yield from _signal_lines(case)
    n_cases = len(result.case_results)
    name = plain_text(f"{result.dataset} {result.version}".strip(), _ID_LIMIT)
    verdict = "PASSED" if result.passed else "FAILED"
    counts = f"{n_cases - len(failed):,} of {n_cases:,} cases passed"
    errors = f", {result.n_errors:,} with errors" if result.n_errors else ""
    least = f"average {result.average:.3f} (at least {result.min_average_score:g})"
    yield f"{verdict} {name}: {counts}{errors}, {least}"
    if not n_cases:
        yield "     a dataset without cases fails"


def _case_line(case: CaseResult) -> str:
    mark = "pass" if case.passed else "FAIL"
    line = f"{mark} {case.score:.3f} {plain_text(case.id, _ID_LIMIT)}"
    return line if case.error is None else f"{line}: {plain_text(case.error, _TEXT_LIMIT)}"


def _signal_lines(case: CaseResult) -> Iterator[str]:
    for signal in case.signals:
        score = "–" if signal.score is None else f"{signal.score:.3f}"
        below = ", below its threshold" if signal.passed is False else ""
        text = f"     {score} {plain_text(signal.name, _ID_LIMIT)}{below}"
        why = plain_text(signal.explanation, _TEXT_LIMIT)
        yield f"{text}: {why}" if why else text
