"""Progress of a run on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

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
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("", total=None, rate=0.0)

        def show(completed: int, total: int | None) -> None:
            elapsed = progress.tasks[0].elapsed or 0.0
            rate = completed / elapsed if elapsed else 0.0
            progress.update(task, completed=completed, rate=rate)

        yield show
