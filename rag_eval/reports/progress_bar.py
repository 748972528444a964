"""Progress of a run in; a line that shows it on a terminal, out."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from rag_eval.options.plan import ProgressFn

# The rate is that of the last seconds: rows that an earlier run scored, or whose replies are known,
# pass in no time and say nothing about the others.
_WINDOW_S: Final = 15.0
# Replies of a slow judge come further apart than that.
_LEAST_REPORTS: Final = 5


class RecentRate:
    """Rows per second over the last reports."""

    def __init__(self, now: float) -> None:
        self._reports = deque([(now, 0)])

    def add(self, now: float, completed: int) -> float:
        """The rate after so many rows; 0 where no time has passed."""
        reports = self._reports
        reports.append((now, completed))
        while len(reports) > _LEAST_REPORTS and now - reports[1][0] >= _WINDOW_S:
            reports.popleft()
        began, before = reports[0]
        return (completed - before) / (now - began) if now > began else 0.0


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
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("", total=None, rate="", rest="")
        recent = RecentRate(time.monotonic())

        def show(completed: int, total: int | None) -> None:
            rate = recent.add(time.monotonic(), completed)
            rest = rest_text(completed, total, rate)
            progress.update(task, completed=completed, rate=_rate_text(rate), rest=rest)

        yield show


def _rate_text(rate: float) -> str:
    """``1,234/s``, ``0.4/s``: a judge takes its time."""
    return f"{rate:,.0f}/s" if rate >= 10 or not rate else f"{rate:.1f}/s"


def rest_text(completed: int, total: int | None, rate: float) -> str:
    """``62%, 0:03:20 to go``; nothing where the end is not known."""
    if not total or not rate:
        return ""
    seconds = round(max(0, total - completed) / rate)
    return f"{completed / total:.0%}, {timedelta(seconds=seconds)} to go"
