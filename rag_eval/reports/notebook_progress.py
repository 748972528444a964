"""How far a run is in; a bar where its caller can see it out: in a notebook, or on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

from rag_eval.options.plan import ProgressFn
from rag_eval.reports.notebook_elements import element, html_of
from rag_eval.reports.progress_bar import rest_text, shown_progress

State: TypeAlias = Literal["running", "done", "stopped"]

# Each update is a message to the browser.
_INTERVAL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """A run at one moment, as a notebook shows it.

    Attributes
    ----------
    completed : int
        Rows done.
    total : int or None
        None where that is not known.
    elapsed_s : float
    state : {"running", "done", "stopped"}
    """

    completed: int
    total: int | None
    elapsed_s: float
    state: State

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
        return ", ".join(part for part in parts if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        value = {"value": f"{self.completed}", "max": f"{self.total}"} if self.total else {}
        if self.state == "done":
            value = {"value": "1", "max": "1"}
        look = "width:16em;vertical-align:middle;margin-right:8px"
        bar = element("progress", look, **value, **{"aria-label": "samples scored"})
        text = element("span", "font-variant-numeric:tabular-nums", str(self))
        return html_of(element("div", "", bar, text))


@contextmanager
def live_progress() -> Iterator[ProgressFn | None]:
    """A callback that shows how far a run is; None where nobody would see it.

    In a notebook it is one output that is written anew; elsewhere the bar of a terminal.
    """
    if in_notebook():
        with _notebook_progress() as show:
            yield show
    else:
        with shown_progress(quiet=False) as show:
            yield show


def in_notebook() -> bool:
    """Whether outputs go to a front end that shows HTML."""
    package: Any = sys.modules.get("IPython")  # a kernel has imported it
    shell = None if package is None else package.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _notebook_progress() -> Iterator[ProgressFn]:
    shown = _Shown()
    try:
        yield shown.advance
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

    def advance(self, completed: int, total: int | None) -> None:
        self._completed, self._total = completed, total
        now = time.monotonic()
        if now - self._last >= _INTERVAL_S:
            self._last = now
            self._show("running")

    def end(self, state: State) -> None:
        # A run that ends before its first row has nothing to show.
        if self._handle is not None:
            self._show(state)

    def _show(self, state: State) -> None:
        elapsed = time.monotonic() - self._begun
        bar = ProgressBar(self._completed, self._total, elapsed, state)
        if self._handle is None:
            from IPython import display

            front_end: Any = display  # its functions have no types
            self._handle = front_end.display(bar, display_id=True)
        else:
            self._handle.update(bar)
