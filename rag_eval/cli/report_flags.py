"""Flags of commands that write reports: a page, and what CI systems read."""

from __future__ import annotations

import glob
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import rich_click as click

from rag_eval.cli.printing import say

if TYPE_CHECKING:
    from rag_eval.reports.report_files import ReportFiles
    from rag_eval.views.run_view import RunView

_Command = TypeVar("_Command", bound=Callable[..., Any])
_HEADER: Final = re.compile(r"\A(\s*(?:--judge-option=\s*)?extra_headers[^=]*=).*", re.DOTALL)
_NAMES: Final = ("html", "junit", "gitlab", "markdown")

_PAGE: Final = click.option(
    "--html",
    metavar="FILE",
    help="Write an HTML report: one file, no network access, every row with its evidence.",
)
_CI: Final = (
    click.option(
        "--junit", metavar="FILE", help="Write JUnit XML, which CI systems show as test results."
    ),
    click.option(
        "--gitlab", metavar="FILE", help="Write findings as GitLab's code quality report (JSON)."
    ),
    click.option(
        "--markdown",
        metavar="FILE",
        help="Write a Markdown summary for a pull request, with failed rows in collapsible "
        "sections.",
    ),
    click.option(
        "--github",
        is_flag=True,
        help="In GitHub Actions: annotate failures and add the summary to the page of the run.",
    ),
)


def ci_flags(command: _Command) -> _Command:
    """Add the flags of CI outputs."""
    for option in reversed(_CI):
        command = option(command)
    return command


def page_flag(command: _Command) -> _Command:
    """Add the flag of the HTML report."""
    return _PAGE(command)


def report_flags(command: _Command) -> _Command:
    """Add the flags of all reports."""
    return _PAGE(ci_flags(command))


def report_files(
    flags: dict[str, Any], source: str | None, others: Iterable[str | None] = ()
) -> ReportFiles:
    """Take the flags of reports out of all flags; raise an error for files that cannot be written.

    ``source`` may be a pattern; ``others`` are further files of the command, None if not given.
    """
    from rag_eval.reports.report_files import ReportFiles

    given = {name: flags.pop(name, None) for name in _NAMES}
    files = ReportFiles(
        **{name: None if path is None else Path(path) for name, path in given.items()},
        github=flags.pop("github", False),
    )
    read = [] if source is None else [source, *glob.glob(source, recursive=True)]  # noqa: PTH207
    files.check(read, [other for other in others if other is not None])
    return files


def print_unknown_slices(view: RunView) -> None:
    """Say on stderr which fields of --slice-by no row has; usually they are mistyped."""
    known = {slice_.field for slice_ in view.slices if slice_.value is not None}
    for field in dict.fromkeys(slice_.field for slice_ in view.slices):
        if field not in known:
            text = f"note: no row has the field {field!r} that --slice-by names"
            say(text)


def print_written(files: ReportFiles) -> None:
    """Say on stderr which files were written."""
    if files.paths:
        print(f"wrote {', '.join(map(str, files.paths))}", file=sys.stderr)


def this_command() -> str:
    """The command line as it was given, without the values of headers, which may hold keys."""
    shown = [_HEADER.sub(r"\1…", word) for word in sys.argv[1:]]
    return shlex.join(["rag-eval", *shown])
