"""How reports are put on a terminal or in a log: lines, notes and tables that fit its width."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.reports.figures import shown_name
from rag_eval.reports.plain_text import plain_text

# For files and pipes, which have no window width.
_LOG_WIDTH: Final = 120
# A narrower table would cut numbers; the terminal may wrap its lines instead.
_LEAST_WIDTH: Final = 80
# From this width on, columns are three spaces apart.
_ROOMY_WIDTH: Final = 100
# How much further the later lines of a wrapped line stand.
_HANGING: Final = 2
# Wider than any table, so that a measured table is not squeezed.
UNBOUNDED: Final = 10_000


class _PipedConsole(Console):
    window: int | None = None
    """The width of the window, even if tables are printed wider."""

    def on_broken_pipe(self) -> None:
        # Rich would exit with 1, which means that a gate failed.
        raise BrokenPipeError


def console_for(file: IO[str] | None = None) -> Console:
    """A console that prints text as it is: no markup, emoji codes or highlights.

    Colours are used on terminals unless NO_COLOR is set, and everywhere with FORCE_COLOR. COLUMNS
    sets the width.
    """
    stream = sys.stdout if file is None else file
    console = _PipedConsole(file=stream, markup=False, emoji=False, highlight=False)
    # Rich's own answer is also true for a log with FORCE_COLOR.
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        console.width = _LOG_WIDTH
    console.window = console.width
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def window_width(console: Console) -> int:
    """The width of the console's window, which may be less than what is printed there."""
    window = console.window if isinstance(console, _PipedConsole) else None
    return console.width if window is None else window


def print_line(console: Console, text: str | Text) -> None:
    """Print a line, however long; a terminal gets it wrapped at words, later lines indented."""
    # In a log it stays on one line, so that it can be searched.
    if not console.is_terminal:
        console.print(text, soft_wrap=True)
        return
    line = Text(text) if isinstance(text, str) else text
    if line.cell_len <= console.width:
        console.print(line)
        return
    indent = len(line) - len(line.plain.lstrip(" "))
    for place, part in enumerate(line[indent:].wrap(console, console.width - indent - _HANGING)):
        part.rstrip()
        console.print(Text(" " * (indent + _HANGING * bool(place))) + part)


def print_parts(
    console: Console, parts: Sequence[Text], between: str = "  ", *, first: str = "  "
) -> None:
    """Print parts on a line; on a terminal on several that are indented, no part broken."""
    lines = [Text(first)]
    for place, part in enumerate(parts):
        if place:
            lines[-1].append(between.rstrip())
            if console.is_terminal and len(lines[-1]) + 1 + len(part) >= console.width:
                lines.append(Text("  "))
            else:
                lines[-1].append(between[len(between.rstrip()) :])
        lines[-1].append(part)
    for line in lines:
        print_line(console, line)


def print_plain(console: Console, text: str) -> None:
    """Print a line that may hold text of data."""
    print_line(console, plain_text(text))


def number_table(console: Console, *columns: str, first: str = "metric", last: str = "") -> Table:
    """A table of names and numbers; with ``last`` also a column of words, and names may wrap."""
    roomy = console.width >= _ROOMY_WIDTH
    table = columns_of_numbers(list(columns), roomy=roomy, first=first)
    if last:
        table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
        table.add_column(last, no_wrap=True)
    return table


def print_plain_table(
    console: Console, heads: Sequence[str], rows: Iterable[Iterable[str]]
) -> None:
    """Print a table of names and numbers without rules."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if table.columns else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def print_notes(notes: Iterable[str], console: Console) -> None:
    """Print notes, one per line."""
    for note in notes:
        print_line(console, f"note: {plain_text(note)}")


def metric_cell(name: str) -> str:
    """A metric as the first cell of a line; that 1 means none is said below its name."""
    return shown_name(plain_text(name)).replace(" ", "\n", 1)


def columns_of_numbers(names: list[str], *, roomy: bool, first: str = "metric") -> Table:
    """An empty table of names and numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, int(roomy)))
    table.add_column(first, no_wrap=True)
    for name in names:
        header = name if roomy else "\n".join(name.rsplit(" ", 1))
        table.add_column(header, justify="right", no_wrap=True)
    return table
