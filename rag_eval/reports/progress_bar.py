"""Progress of a run on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rag_eval.options import ProgressFn


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[ProgressFn | None]:
    """A callback that shows on stderr how far a run is; None when nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} samples"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("", total=None, rate=0.0, rest="")

        def show(completed: int, total: int | None) -> None:
            elapsed = progress.tasks[0].elapsed or 0.0
            rate = completed / elapsed if elapsed else 0.0
            rest = rest_text(completed, total, rate)
            progress.update(task, completed=completed, rate=rate, rest=rest)

        yield show


def rest_text(completed: int, total: int | None, rate: float) -> str:
    """``62%, 0:03:20 to go``; nothing where the end is not known."""
    if not total or not rate:
        return ""
    seconds = round(max(0, total - completed) / rate)
    return f"{completed / total:.0%}, {timedelta(seconds=seconds)} to go"
