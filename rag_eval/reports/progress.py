"""Progress of a run, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from rag_eval.judge.accounts import JudgeProgress
from rag_eval.options.types import ProgressFn

State: TypeAlias = Literal["running", "done", "stopped"]

# Each update is a message to the browser.
_INTERVAL_S: Final = 0.2
# The rate covers the last seconds only: rows that are already scored or whose replies are cached
# take no time and say nothing about the others.
_WINDOW_S: Final = 15.0
# Replies of a slow judge can be further apart than the window.
_LEAST_REPORTS: Final = 5


class RecentRate:
    """Rows per second over the last reports."""

    def __init__(self, now: float) -> None:
        self._reports = deque([(now, 0)])

    def add(self, now: float, completed: int) -> float:
        """The rate after ``completed`` rows; 0 if no time has passed."""
        reports = self._reports
        reports.append((now, completed))
        while len(reports) > _LEAST_REPORTS and now - reports[1][0] >= _WINDOW_S:
            reports.popleft()
        began, before = reports[0]
        return (completed - before) / (now - began) if now > began else 0.0


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[ProgressFn | None]:
    """A callback that shows progress on stderr; None if stderr is not a terminal."""
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
        TextColumn("{task.fields[judging]}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("", total=None, rate="", rest="", judging="")
        yield _TerminalProgress(partial(progress.update, task))


class _TerminalProgress:
    """Called with the rows that are done; ``judging`` gets what a judge has taken."""

    def __init__(self, update: Callable[..., object]) -> None:
        self._update = update
        self._recent = RecentRate(time.monotonic())

    def __call__(self, completed: int, total: int | None) -> None:
        rate = self._recent.add(time.monotonic(), completed)
        rest = rest_text(completed, total, rate)
        self._update(completed=completed, rate=_rate_text(rate), rest=rest)

    def judging(self, taken: JudgeProgress) -> None:
        """Show calls, failures, tokens and cost."""
        self._update(judging=str(taken))


def _rate_text(rate: float) -> str:
    """``1,234/s``, or ``0.4/s`` for a slow judge."""
    return f"{rate:,.0f}/s" if rate >= 10 or not rate else f"{rate:.1f}/s"


def rest_text(completed: int, total: int | None, rate: float) -> str:
    """``62%, 0:03:20 to go``; empty if the total is unknown."""
    if not total or not rate:
        return ""
    seconds = round(max(0, total - completed) / rate)
    return f"{completed / total:.0%}, {timedelta(seconds=seconds)} to go"


# ----------------------------------------------------------------------------------- in notebooks


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """The state of a run, as a notebook shows it.

    Attributes
    ----------
    completed : int
        Rows done.
    total : int or None
        None if unknown.
    elapsed_s : float
    state : {"running", "done", "stopped"}
    judging : JudgeProgress or None
        What a judge has taken so far; None without one.
    """

    completed: int
    total: int | None
    elapsed_s: float
    state: State
    judging: JudgeProgress | None = None

    def __str__(self) -> str:
        rows = f"{self.completed:,}"
        if self.total and self.state != "done":
            rows += f" of {self.total:,}"
        rate = self.completed / self.elapsed_s if self.elapsed_s else 0.0
        parts = [f"{rows} samples", f"{rate:,.0f}/s"]
        if self.state == "running":
            parts.append(rest_text(self.completed, self.total, rate))
        else:
            parts.append(f"{self.state} after {timedelta(seconds=round(self.elapsed_s))}")
        if self.judging is not None:
            parts.append(str(self.judging))
        return ", ".join(part for part in parts if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from rag_eval.reports.notebook_elements import element, html_of

        value = {"value": f"{self.completed}", "max": f"{self.total}"} if self.total else {}
        if self.state == "done":
            value = {"value": "1", "max": "1"}
        look = "width:16em;vertical-align:middle;margin-right:8px"
        bar = element("progress", look, **value, **{"aria-label": "samples scored"})
        text = element("span", "font-variant-numeric:tabular-nums", str(self))
        return html_of(element("div", "", bar, text))


def live_progress() -> AbstractContextManager[ProgressFn | None]:
    """A callback that shows progress; None if there is neither a notebook nor a terminal.

    A notebook gets one output that is updated, a terminal a progress bar.
    """
    return _notebook_progress() if _in_notebook() else shown_progress(quiet=False)


def _in_notebook() -> bool:
    """Whether outputs go to a front end that shows HTML."""
    package: Any = sys.modules.get("IPython")  # imported by any kernel
    shell = None if package is None else package.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _notebook_progress() -> Iterator[ProgressFn]:
    shown = _Shown()
    try:
        yield shown
    except BaseException:
        shown.end("stopped")
        raise
    shown.end("done")


class _Shown:
    """The output of one cell."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._last = -_INTERVAL_S
        self._handle: Any = None
        self._completed = 0
        self._total: int | None = None
        self._judging: JudgeProgress | None = None

    def judging(self, taken: JudgeProgress) -> None:
        self._judging = taken

    def __call__(self, completed: int, total: int | None) -> None:
        self._completed, self._total = completed, total
        now = time.monotonic()
        if now - self._last >= _INTERVAL_S:
            self._last = now
            self._show("running")

    def end(self, state: State) -> None:
        # A run that ends before its first row shows nothing.
        if self._handle is not None:
            self._show(state)

    def _show(self, state: State) -> None:
        elapsed = time.monotonic() - self._begun
        bar = ProgressBar(self._completed, self._total, elapsed, state, self._judging)
        if self._handle is None:
            from IPython import display

            front_end: Any = display  # its functions have no types
            self._handle = front_end.display(bar, display_id=True)
        else:
            self._handle.update(bar)
