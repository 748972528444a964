"""What commands print: a result in the form that was asked for, and remarks on stderr."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import Any


def print_json(value: Any, *, indent: int | None = None) -> None:
    """A value as JSON, on a line of its own."""
    from rag_eval.plumbing import json_text

    sys.stdout.flush()  # what was printed before goes the same way, in its order
    sys.stdout.buffer.write(json_text.dumps(value, indent=indent) + b"\n")


def print_found(
    form: str,
    value: Callable[[], Any],
    table: Callable[[], object],
    *,
    markdown: Callable[[], str] = str,
    notes: Iterable[str] = (),
) -> None:
    """Print a result as ``--format`` says, and notes on it on stderr."""
    if form == "json":
        print_json(value())
    elif form == "markdown":
        print(markdown(), end="")
    else:
        table()
    if notes := list(notes):
        from rag_eval.reports.console import console_for, print_notes

        print_notes(notes, console_for(sys.stderr))


def say(text: str) -> None:
    """A line on stderr, made safe to print; on a terminal wrapped at words."""
    from rag_eval.reports.plain_text import plain_text, without_python

    line = plain_text(without_python(text))
    if sys.stderr.isatty():
        width = max(20, shutil.get_terminal_size().columns)
        line = textwrap.fill(
            line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    print(line, file=sys.stderr, flush=True)


class Told:
    """Prints lines on stderr and remembers them."""

    def __init__(self) -> None:
        self._lines: set[str] = set()

    def __call__(self, line: str) -> None:
        """Say a line."""
        self._lines.add(line)
        say(line)

    def print_rest(self, lines: Iterable[str]) -> None:
        """Print the lines that were not printed before."""
        for line in lines:
            if line not in self._lines:
                self(line)


def print_warnings(remarks: Iterable[str]) -> None:
    """Print remarks as warnings."""
    for remark in remarks:
        say(f"warning: {remark}")
