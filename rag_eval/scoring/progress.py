"""Progress reports of a long run, limited to a rate that a person can follow."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Final

from rag_eval.judge.accounts import JudgeProgress
from rag_eval.options.types import ProgressFn
from rag_eval.results.faces import face

_INTERVAL_S: Final = 0.05


def progress_of(on_progress: ProgressFn | bool | None, total: int | None = None) -> Progress | None:
    """The reports that a caller wants; None for none."""
    if on_progress is None or on_progress is False:
        return None
    return Progress(on_progress, total)


class Progress:
    """Calls back with (completed, total) at most every 50 ms, and once at the end.

    The callback runs in the thread that drives the run; what it raises ends the run as itself.
    Nothing is reported for a run without rows. True in place of one is a bar, in a notebook or on a
    terminal. A callback that has a method ``judging`` gets, before each call, what a judge has
    taken so far.
    """

    def __init__(self, on_progress: ProgressFn | bool, total: int | None) -> None:
        self._shows_bar = on_progress is True
        self._report = None if isinstance(on_progress, bool) else on_progress
        self._bar = ExitStack()
        self._total = total
        self._completed = 0
        self._reported: tuple[int, int | None] = (0, total)
        self._judging: JudgeProgress | None = None
        self._judging_reported: JudgeProgress | None = None
        self._last = -_INTERVAL_S

    def __enter__(self) -> Progress:
        if self._shows_bar:
            self._report = self._bar.enter_context(face("progress.bar")())
        return self

    def advance(self, n_rows: int, share: float | None = None) -> None:
        """Note that ``n_rows`` more rows are done, and what share of all, where that is known."""
        self._completed += n_rows
        self.estimate(share)
        now = time.monotonic()
        if self._report is not None and now - self._last >= _INTERVAL_S:
            self._last = now
            self._reported = (self._completed, self._total)
            self._tell(*self._reported)

    def estimate(self, share: float | None) -> None:
        """Note what share of all is done, where that is known; nothing is reported."""
        if share:
            self._total = max(self._completed, round(self._completed / share))

    def reached(
        self, completed: int, share: float | None = None, judging: JudgeProgress | None = None
    ) -> None:
        """As :meth:`advance`, with the number of all rows that are done, and what judging took."""
        self._judging = judging
        self.advance(max(0, completed - self._completed), share)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The estimate is replaced by the true number.
        last = (self._completed, None if self._total is None else self._completed)
        try:
            if error is None and (self._reported, self._judging_reported) != (last, self._judging):
                self._tell(*last)
        finally:
            self._bar.__exit__(kind, error, trace)

    def _tell(self, completed: int, total: int | None) -> None:
        if self._report is None:
            return
        hear = getattr(self._report, "judging", None)
        if hear is not None and self._judging is not None:
            hear(self._judging)
        self._judging_reported = self._judging
        self._report(completed, total)
