"""The end of a run: why no more calls start, and which pending questions are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from rag_eval.errors import RagEvalError
from rag_eval.judge.failures import JudgeFailure


class Ending:
    """Open until a time limit, a budget, an unavailable judge or the user ends the run.

    Attributes
    ----------
    is_final : bool
        Whether not even cached replies are used any more.
    """

    def __init__(self, run_timeout_s: float | None) -> None:
        self.is_final = False
        self._reason: Callable[[], RagEvalError] | None = None
        self._run_timeout_s = run_timeout_s
        self._deadline: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Timeout] = set()
        self._calling: set[asyncio.Timeout] = set()

    @property
    def has_come(self) -> bool:
        """Whether no more calls may start."""
        return self._reason is not None

    def check(self) -> None:
        """Raise the reason if no more calls may start."""
        if self._reason is None and self._deadline is not None:
            assert self._loop is not None
            if self._loop.time() >= self._deadline:
                self._reason = self._out_of_time
        if self._reason is not None:
            raise self._reason()

    def come(self, reason: Callable[[], RagEvalError], *, final: bool = False) -> None:
        """Stop new calls; calls in flight may finish. ``reason`` creates the exception to raise."""
        if self._reason is None or (final and not self.is_final):
            self._reason = reason
            self.is_final |= final
            self._cut(self._waiting)

    def stop(self) -> None:
        """Also cancel the calls in flight; callable from any thread."""
        self._reason = lambda: JudgeFailure("interrupted", "the run was stopped")
        self.is_final = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed, so nothing is in flight
                self._loop.call_soon_threadsafe(self._cut_all)

    @asynccontextmanager
    async def heard(self) -> AsyncIterator[asyncio.Timeout]:
        """A pending question, which is cancelled at the end; then the reason is raised."""
        self._loop = asyncio.get_running_loop()
        if self._deadline is None and self._run_timeout_s is not None:
            self._deadline = self._loop.time() + self._run_timeout_s
        cut = asyncio.timeout_at(self._deadline)
        try:
            async with cut:
                self._waiting.add(cut)
                yield cut
        except Exception:
            # A judge may turn a cancellation into any exception.
            if cut.expired():
                raise (self._reason or self._out_of_time)() from None
            raise
        finally:
            self._waiting.discard(cut)

    @contextmanager
    def calling(self, cut: asyncio.Timeout) -> Iterator[None]:
        """Mark that a call of the question is in flight."""
        self._waiting.discard(cut)
        self._calling.add(cut)
        try:
            yield
        finally:
            self._calling.discard(cut)
            self._waiting.add(cut)

    def _out_of_time(self) -> RagEvalError:
        return JudgeFailure(
            "timed_out", f"the run's time limit of {self._run_timeout_s:g} s was reached"
        )

    def _cut_all(self) -> None:
        self._cut(self._waiting)
        self._cut(self._calling)

    def _cut(self, cuts: set[asyncio.Timeout]) -> None:
        for cut in cuts:
            if not cut.expired():
                cut.reschedule(0.0)
