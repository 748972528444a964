"""Scored blocks -> sinks, one block after the other: the one loop of all calls with many rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rag_eval.errors import Interrupted
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.options.plan import Plan
from rag_eval.plumbing.interrupts import StopFlag, deferred_interrupts, in_thread
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.progress import Progress

if TYPE_CHECKING:
    from rag_eval.results.judge_report import JudgeReport
    from rag_eval.scoring.judge_runs import JudgeRun

OpenJudge: TypeAlias = "Callable[[Plan], AbstractContextManager[JudgeRun]]"


class Sink(Protocol):
    """Receives scored blocks."""

    def add(self, scored: ScoredBlock, first_row: int) -> object:
        """Take a block, whose first row is row ``first_row`` of the run."""
        ...


class ScoringLoop:
    """The rows of one call on their way from kernels, and a judge if there is one, into sinks.

    Parameters
    ----------
    plan : Plan
    native : generator of ScoredBlock
        The blocks with the scores of kernels and scorers, in order.
    progress : Progress, optional
        Told how many rows are done.
    share_done : callable, optional
        Returns the share of the input that this many rows are, if its length is unknown.
    n_rows : int
        Rows that an earlier run has left in the sinks.
    is_whole : bool
        A row is in all sinks or in none: Ctrl-C waits until a block is in the last of them.
    stop : StopFlag, optional
        That of ``native``, to end it from an event loop.

    Attributes
    ----------
    n_rows : int
        Rows that are in the sinks.
    stopped : KeyboardInterrupt, JudgeUnavailableError or None
        What ended the loop before the data came to its end.
    """

    def __init__(
        self,
        plan: Plan,
        native: Generator[ScoredBlock, None, None],
        progress: Progress | None = None,
        *,
        share_done: Callable[[int], float | None] | None = None,
        n_rows: int = 0,
        is_whole: bool = False,
        stop: StopFlag | None = None,
    ) -> None:
        self._plan = plan
        self._native = native
        self._progress = progress
        self._share_done = share_done
        self._held_back = deferred_interrupts if is_whole else nullcontext
        self._stop = stop
        self._judge: JudgeRun | None = None
        self.n_rows = n_rows
        self.stopped: KeyboardInterrupt | JudgeUnavailableError | None = None

    def score(
        self,
        *sinks: Sink,
        prepare: Callable[[ScoredBlock, int], object] | None = None,
        open_judge: OpenJudge | None = None,
    ) -> None:
        """Pass blocks on to the end of the data, or until Ctrl-C or the loss of the judge.

        ``prepare`` gets each block before the sinks: what takes long is done there, where Ctrl-C
        can end it. ``open_judge`` opens what stands in for the judges of the plan.
        """
        # Judged rows are kept: their blocks are short and quickly prepared.
        held_back = nullcontext if self._plan.judging is None else self._held_back
        with self._noting_its_end(), closing(self._blocks(open_judge)) as blocks:
            scored = next(blocks, None)
            while scored is not None:
                n_before = self.n_rows
                try:
                    with held_back():
                        if prepare is not None:
                            prepare(scored, self.n_rows)
                        self._pass_on(scored, sinks)
                except KeyboardInterrupt as error:
                    if self.n_rows == n_before:
                        raise  # no block may come after one that is in no sink
                    # Raised where blocks are waited for, so that what a judge has finished comes.
                    scored = blocks.throw(error)
                else:
                    scored = next(blocks, None)

    async def ascore(self, *sinks: Sink) -> None:
        """As :meth:`score`, with the judge asked in the event loop of the caller."""
        from rag_eval.scoring.judge_runs import opened_judge

        with self._noting_its_end():
            native: list[ScoredBlock] = await in_thread(
                self._stop or StopFlag(), list, self._native
            )
            with opened_judge(self._plan, self._reached) as self._judge:
                async for scored in self._judge.ablocks(native):
                    self._pass_on(scored, sinks)

    def raise_stopped(self, partial: Any = None) -> None:
        """Raise the exception that ended the loop early, if any, with the results so far."""
        if self.stopped is None:
            return
        if partial is None:
            raise self.stopped
        if isinstance(self.stopped, KeyboardInterrupt):
            raise Interrupted(f"interrupted after {self.n_rows:,} samples", partial) from None
        self.stopped.partial = partial
        raise self.stopped

    def judge_report(self) -> JudgeReport | None:
        """The report on judging; None without a judge."""
        return None if self._judge is None else self._judge.report()

    def _pass_on(self, scored: ScoredBlock, sinks: tuple[Sink, ...]) -> None:
        with self._held_back():
            for sink in sinks:
                sink.add(scored, self.n_rows)
            self.n_rows += len(scored.scores)
        self._reached(self.n_rows)

    @contextmanager
    def _noting_its_end(self) -> Iterator[None]:
        try:
            with self._progress or nullcontext():
                if self.n_rows:
                    self._reached(self.n_rows)
                yield
                if self._progress is not None and self._share_done is not None:
                    # Only now it is sure that a file has no more rows.
                    self._progress.estimate(self._share_done(self.n_rows))
        except (KeyboardInterrupt, JudgeUnavailableError) as error:
            self.stopped = error

    def _reached(self, n_rows: int) -> None:
        if self._progress is None:
            return
        share = None if self._share_done is None else self._share_done(n_rows)
        judging = None if self._judge is None else self._judge.progress
        self._progress.reached(n_rows, share, judging)

    def _blocks(self, open_judge: OpenJudge | None) -> Generator[ScoredBlock, None, None]:
        return self._native if self._plan.judging is None else self._judged(open_judge)

    def _judged(self, open_judge: OpenJudge | None) -> Generator[ScoredBlock, None, None]:
        # Imported only with a judge: importing an event loop takes longer than scoring a row.
        from rag_eval.scoring.judge_runs import opened_judge

        first = self.n_rows
        with (
            closing(self._native) as native,
            (open_judge or opened_judge)(self._plan) as self._judge,
            closing(
                self._judge.blocks(native, lambda n_done: self._reached(first + n_done))
            ) as judged,
        ):
            yield from judged
