"""Results of golden datasets as lines for terminals and CI logs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import IO, Final

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from rag_eval.golden.diff import GoldenDiff
from rag_eval.golden.near_duplicates import NearDuplicate
from rag_eval.golden.results import CaseResult, EvalRunResult
from rag_eval.plumbing.spelling import camel_case, counted
from rag_eval.reports.console import print_line
from rag_eval.reports.figures import number_text
from rag_eval.reports.plain_text import plain_text

_TEXT_LIMIT: Final = 200
_ID_LIMIT: Final = 80


def report_eval_for_ci(
    result: EvalRunResult, exit_on_fail: bool = False, stream: IO[str] | None = None
) -> str:
    """Print the result of a run, failed cases first, and optionally exit if it failed.

    No line begins with text from a dataset or an output, so none is a command to the CI system.

    Parameters
    ----------
    result : EvalRunResult
    exit_on_fail : bool, default False
        Exit with code 1 if the run did not pass.
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
    file = sys.stdout if stream is None else stream
    text = write_golden_lines(result, file)
    if exit_on_fail and not result.passed:
        raise SystemExit(1)
    return text


def write_golden_lines(result: EvalRunResult, file: IO[str], *, is_echo: bool = False) -> str:
    """Write the lines of a report, and return them; an echo has no verdict."""
    text = "\n".join(golden_lines(result, is_echo=is_echo)) + "\n"
    file.write(text)
    file.flush()
    return text


def golden_lines(result: EvalRunResult, *, is_echo: bool = False) -> Iterator[str]:
    """The lines of a report."""
    failed = result.failed
    for case in (*failed, *(case for case in result.case_results if case.passed)):
        yield _case_line(case)
        if not case.passed:
            yield from _signal_lines(case)
    yield _verdict_line(result, is_echo=is_echo)
    if not result.case_results:
        yield "     the dataset has no cases"


def _verdict_line(result: EvalRunResult, *, is_echo: bool = False) -> str:
    n_cases, failed = len(result.case_results), result.failed
    name = plain_text(f"{result.dataset} {result.version}".strip(), _ID_LIMIT)
    verdict = "NO VERDICT" if is_echo else "PASSED" if result.passed else "FAILED"
    counts = f"{n_cases - len(failed):,} of {n_cases:,} cases passed"
    errors = f", {result.n_errors:,} with errors" if result.n_errors else ""
    least = f"average {result.average:.3f} (threshold {result.min_average_score:g})"
    return f"{verdict} {name}: {counts}{errors}, {least}"


def _case_line(case: CaseResult) -> str:
    mark = "PASS" if case.passed else "FAIL"
    line = f"{mark} {case.score:.3f} {plain_text(case.id, _ID_LIMIT)}"
    return line if case.error is None else f"{line}: {plain_text(case.error, _TEXT_LIMIT)}"


def _signal_lines(case: CaseResult) -> Iterator[str]:
    for signal in case.signals:
        score = number_text(signal.score, 3)
        below = ", below its threshold" if signal.passed is False else ""
        text = f"     {score} {plain_text(signal.name, _ID_LIMIT)}{below}"
        why = plain_text(signal.explanation, _TEXT_LIMIT)
        yield f"{text}: {why}" if why else text


def print_golden_run(result: EvalRunResult, console: Console, *, is_echo: bool = False) -> None:
    """Print the cases as a table, and the verdict; an echo has none."""
    heads = (Column("case", overflow="fold"), Column("score", justify="right"), "passed")
    table = Table(*heads, Column("expected", overflow="fold"), box=box.SIMPLE_HEAD, pad_edge=False)
    for case in result.case_results:
        table.add_row(
            Text(plain_text(case.id, _ID_LIMIT)),
            f"{case.score:.3f}",
            Text("yes" if case.passed else "no", style="" if case.passed else "red"),
            Text(_expectations(case)),
        )
    console.print(table)
    print_line(console, Text(_verdict_line(result, is_echo=is_echo)))


def _expectations(case: CaseResult) -> str:
    if case.error is not None:
        return f"error: {plain_text(case.error, _TEXT_LIMIT)}"
    named = ((plain_text(signal.name, _ID_LIMIT), signal.score) for signal in case.signals)
    return ", ".join(f"{name} {number_text(score, 3)}" for name, score in named) or "nothing"


def diff_lines(diff: GoldenDiff) -> Iterator[str]:
    """The differences between two datasets, as lines."""
    for name in diff.added:
        yield f"added    {plain_text(name, _ID_LIMIT)}"
    for name in diff.removed:
        yield f"removed  {plain_text(name, _ID_LIMIT)}"
    for case in diff.changed:
        fields = ", ".join(camel_case(name) for name in case.fields)
        yield f"changed  {plain_text(case.id, _ID_LIMIT)}: {fields}"
    yield (
        f"{len(diff.added):,} added, {len(diff.removed):,} removed, "
        f"{len(diff.changed):,} changed, {diff.unchanged:,} unchanged"
    )


def duplicate_lines(found: Sequence[NearDuplicate], n_cases: int) -> Iterator[str]:
    """The near duplicates that were found, as lines."""
    for duplicate in found:
        name, other = (plain_text(text, _ID_LIMIT) for text in (duplicate.id, duplicate.of))
        note = "" if duplicate.same_expectation else ", with a different expectation"
        yield f"{name} is a near duplicate of {other} ({duplicate.similarity:.2f}){note}"
    yield f"{counted(n_cases, 'case')}, {counted(len(found), 'near duplicate')}"
