"""Runs of a judge: sessions opened and closed, scored blocks in, judged blocks out in order."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import FileOrigin, RowFault, SampleBlock
from rag_eval.judge import loop_thread
from rag_eval.judge.accounts import JudgeProgress
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.judge.replies import Tally
from rag_eval.judge.session import JudgeSession
from rag_eval.options.judging import Judging
from rag_eval.options.plan import Plan
from rag_eval.plumbing.interrupts import deferred_interrupts, uninterrupted, wait_for
from rag_eval.results.judge_report import JudgeReport, JudgeTotals
from rag_eval.samples import NullReason
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.judged_rows import Askers, BlockJudge, DryAskers
from rag_eval.scoring.length_notes import LengthNotes
from rag_eval.scoring.verified_rows import rows_at_once

if TYPE_CHECKING:
    from rag_eval.judge.cache import JudgeCache

OnRows = Callable[[int], object]
"""Gets how many rows are finished."""

_Pending: TypeAlias = (
    "deque[concurrent.futures.Future[ScoredBlock]] | deque[asyncio.Task[ScoredBlock]]"
)

# Blocks that are judged at a time: when the last rows of one have begun, the next begins. Rows are
# begun in order, so that few are lost when a run ends early, after the first unfinished one.
_AT_ONCE: Final = 2
# Rows that are judged together, or twice the calls in flight: a block of kernels would keep a judge
# busy for many minutes, and nothing of it is written before its end.
_PIECE_ROWS: Final = 64
_LOOK_EVERY_S: Final = 0.05
# Time for calls in flight to finish after Ctrl-C, in seconds.
_GRACE_S: Final = 5.0


class JudgeRun:
    """A judge at work on the blocks of one run; made by :func:`opened_judge`.

    Attributes
    ----------
    totals : JudgeTotals
        Counts of the blocks that were given back.
    """

    def __init__(
        self,
        plan: Plan,
        askers: Askers,
        session: JudgeSession | None,
        on_rows: OnRows | None = None,
    ) -> None:
        self._session = session
        self._judge = BlockJudge(plan, askers, on_rows)
        self._stopped = ""
        # A block that an interrupt kept from being given back.
        self._taken: ScoredBlock | None = None
        assert plan.judging is not None
        self._piece_rows = max(_PIECE_ROWS, 2 * rows_at_once(plan.judging))
        self.totals = JudgeTotals(plan)
        self._lengths = LengthNotes(tuple(plan.judging.judged))

    def blocks(
        self, scored: Iterable[ScoredBlock], on_rows: OnRows | None = None
    ) -> Generator[ScoredBlock, None, None]:
        """The blocks with the judge's scores, in the order they came; called from any thread.

        After Ctrl-C, and when the judge cannot be used any more, what was finished by then is given
        back before the exception: of the last block its first rows, up to one that is unfinished.

        Raises
        ------
        JudgeUnavailableError
        KeyboardInterrupt
        """
        pending: deque[concurrent.futures.Future[ScoredBlock]] = deque()
        source = _Source(_in_pieces(scored, self._piece_rows))
        news = threading.Event()
        failure: BaseException | None = None
        try:
            for block in source:
                drained = _Flag(news)
                with deferred_interrupts():
                    pending.append(loop_thread.submit(self._judge.judged(block, drained.set)))
                    pending[-1].add_done_callback(drained.set)
                while not drained.is_set or len(pending) >= _AT_ONCE:
                    self._wait(news, on_rows)
                    yield from self._ready(pending)
            while pending:
                self._wait(news, on_rows)
                yield from self._ready(pending)
            failure = source.fault
        except (KeyboardInterrupt, JudgeUnavailableError) as error:
            failure = error
            self._stopped = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            self._judge.stop()
            end = time.monotonic() + _GRACE_S
            for future in pending:
                wait_for([future], end - time.monotonic())
            yield from self._finished(pending)
        finally:
            self._judge.stop()
            for future in pending:
                uninterrupted(future.cancel)
        if failure is not None:
            raise failure

    async def ablocks(self, scored: Iterable[ScoredBlock]) -> AsyncIterator[ScoredBlock]:
        """As :meth:`blocks`, in the event loop of the caller."""
        pending: deque[asyncio.Task[ScoredBlock]] = deque()
        news = asyncio.Event()
        try:
            for block in scored:
                drained = _Flag(news)
                pending.append(asyncio.create_task(self._judge.judged(block, drained.set)))
                pending[-1].add_done_callback(drained.set)
                while not drained.is_set or len(pending) >= _AT_ONCE:
                    await self._await(news)
                    for ready in self._ready(pending):
                        yield ready
            while pending:
                await self._await(news)
                for ready in self._ready(pending):
                    yield ready
        except JudgeUnavailableError as error:
            self._stopped = str(error)
            self._judge.stop()
            await asyncio.wait(pending, timeout=_GRACE_S)
            for finished in self._finished(pending):
                yield finished
            raise
        finally:
            self._judge.stop()
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    @property
    def progress(self) -> JudgeProgress | None:
        """Calls and tokens so far, also of blocks not returned yet; None without calls."""
        if self._session is None:
            return None
        tally = self._session.tally
        return JudgeProgress(
            tally.llm_calls,
            self._judge.n_failed,
            tally.input_tokens + tally.output_tokens,
            self._session.cost_usd,
            tally.verified_claims,
        )

    def report(self) -> JudgeReport:
        """The report on judging of the blocks returned so far."""
        session = self._session
        if session is None:
            found = self.totals.report(stopped=self._stopped)
        else:
            found = self.totals.report(
                cost_usd=session.cost_usd,
                late_replies=session.late_replies,
                stopped=self._stopped,
            )
        return replace(found, notes=[*found.notes, *self._lengths.notes()])

    def _wait(self, news: threading.Event, on_rows: OnRows | None) -> None:
        """Wait until something is finished; Ctrl-C is raised here."""
        while not uninterrupted(news.wait, _LOOK_EVERY_S):
            if on_rows is not None:
                # Progress is reported by the thread that wants it.
                on_rows(self._judge.n_done)
        uninterrupted(news.clear)
        self._check_available()

    async def _await(self, news: asyncio.Event) -> None:
        await news.wait()
        news.clear()
        self._check_available()

    def _ready(self, pending: _Pending) -> Iterator[ScoredBlock]:
        """The blocks that are finished, in order."""
        while pending and uninterrupted(pending[0].done):
            with deferred_interrupts():
                self._taken = self._counted(pending.popleft().result())
            block, self._taken = self._taken, None
            yield block

    def _finished(self, pending: _Pending) -> Iterator[ScoredBlock]:
        """The finished part of the blocks in progress, up to the first unfinished row."""
        if self._judge.unavailable is not None and not self._judge.has_judged:
            # A judge that never answered has finished nothing, whatever failed before.
            return
        if self._taken is not None:
            yield self._taken
        while pending and uninterrupted(pending[0].done):
            if uninterrupted(pending[0].cancelled):
                return
            block = uninterrupted(pending.popleft().result)
            n_finished = _finished_rows(block)
            if n_finished:
                yield self._counted(_block_rows(block, 0, n_finished))
            if n_finished < len(block.scores):
                return

    def _counted(self, block: ScoredBlock) -> ScoredBlock:
        assert block.judged is not None
        self.totals.add(block.judged, block.null_reasons, block.rows.name)
        self._lengths.add(block)
        return block

    def _check_available(self) -> None:
        if self._judge.unavailable is not None:
            raise self._judge.unavailable


class _Source:
    """Blocks up to a fault in the data, which is raised once the rows before it are judged."""

    def __init__(self, blocks: Iterable[ScoredBlock]) -> None:
        self._blocks = iter(blocks)
        self.fault: InputError | None = None

    def __iter__(self) -> Iterator[ScoredBlock]:
        try:
            yield from self._blocks
        except InputError as error:
            self.fault = error


class _Flag:
    """Signals that all rows of a block were started, or that it ended before."""

    def __init__(self, news: threading.Event | asyncio.Event) -> None:
        self.is_set = False
        self._news = news

    def set(self, _: object = None) -> None:
        self.is_set = True
        self._news.set()


# ---------------------------------------------------------------- parts of blocks


def _in_pieces(blocks: Iterable[ScoredBlock], n_rows: int) -> Iterator[ScoredBlock]:
    """Blocks of at most this many rows; those of objects in memory are unchanged."""
    for block in blocks:
        if block.rows.origin is None or len(block.scores) <= n_rows:
            yield block
            continue
        for begin in range(0, len(block.scores), n_rows):
            yield _block_rows(block, begin, min(begin + n_rows, len(block.scores)))


def _block_rows(block: ScoredBlock, begin: int, end: int) -> ScoredBlock:
    """The rows from ``begin`` to ``end``, with the faults of the file that come among them."""
    if (begin, end) == (0, len(block.scores)):
        return block
    rows = block.rows.taken(range(begin, end))
    rows.first_row = block.rows.first_row + begin
    if block.rows.origin is not None:
        assert rows.origin is not None
        rows.first_row += _n_faults_before(block.rows, begin)
        rows.origin.faults = _faults_among(block.rows.origin, begin, end)
    return replace(
        block,
        rows=rows,
        batch=block.batch.rows(begin, end),
        scores=block.scores[begin:end],
        null_reasons=block.null_reasons[begin:end],
        judged=None if block.judged is None else block.judged[begin:end],
        details=None if block.details is None else block.details[begin:end],
    )


def _n_faults_before(rows: SampleBlock, begin: int) -> int:
    origin = rows.origin
    # The faults before the first row go with it.
    return 0 if origin is None or begin == 0 else len(_faults_among(origin, 0, begin))


def _faults_among(origin: FileOrigin, begin: int, end: int) -> list[RowFault]:
    """Faults before row ``end`` that are not before row ``begin``; the first and last get all."""
    low = origin.numbers[begin] if begin else -1
    high = origin.numbers[end] if end < len(origin.numbers) else None
    return [
        fault
        for fault in origin.faults
        if fault.number >= low and (high is None or fault.number < high)
    ]


def _finished_rows(block: ScoredBlock) -> int:
    """The number of rows before the first one that was not judged."""
    assert block.judged is not None
    for index, row in enumerate(block.judged):
        if any(found.failure == NullReason.JUDGE_INTERRUPTED for found in row.values()):
            return index
    return len(block.judged)


@contextmanager
def opened_judge(plan: Plan, on_rows: OnRows | None = None) -> Iterator[JudgeRun]:
    """A judge at work by a plan; its threads and its cache are closed at the end of the block.

    ``on_rows`` is called in the event loop whenever a row is finished; for callers whose loop it
    is.
    """
    judging = plan.judging
    assert judging is not None
    cache = _opened_cache(judging)
    is_ours = cache is not judging.cache
    try:
        with JudgeSession(
            judging.judges,
            judging.limits,
            style=judging.prompts,
            cache=cache,
            prices=judging.prices,
            verifier=judging.verifier,
            batches=None if isinstance(judging.batches, (str, Path)) else judging.batches,
        ) as session:
            yield JudgeRun(plan, session, session, on_rows)
    finally:
        if cache is not None:
            # A cache that was passed in open is closed by its owner.
            (cache.close if is_ours else cache.flush)()


def _opened_cache(judging: Judging) -> JudgeCache | None:
    if not isinstance(judging.cache, Path):
        return judging.cache
    from rag_eval.judge.cache import JudgeCache

    return JudgeCache(judging.cache)


def judge_block(block: ScoredBlock, plan: Plan) -> ScoredBlock:
    """One block by itself, judged.

    Raises
    ------
    JudgeUnavailableError
    """
    with opened_judge(plan) as judge:
        found = list(judge.blocks([block]))
    return found[0]


async def ajudge_block(block: ScoredBlock, plan: Plan) -> ScoredBlock:
    """As :func:`judge_block`, in the event loop of the caller."""
    with opened_judge(plan) as judge:
        found = [judged async for judged in judge.ablocks([block])]
    return found[0]


@contextmanager
def dry_judge(plan: Plan) -> Iterator[JudgeRun]:
    """As :func:`opened_judge`, with simulated replies; no calls are made."""
    assert plan.judging is not None
    yield JudgeRun(plan, DryAskers(plan.judging), None)


def expected_cost(judging: Judging, report: JudgeReport) -> float | None:
    """At the first judge's price, if it is known; every judge gets the same prompts."""
    tally = Tally()
    for found in report.metrics.values():
        tally.add(found.tally)
    verifier = judging.verifier
    verifying = 0.0 if verifier is None else tally.verified_claims * verifier.cost_per_claim
    if not judging.judges:
        return verifying
    if judging.prices is None:
        return None
    from rag_eval.judge.replies import Usage

    n_judges = len(judging.judges)
    usage = Usage(
        tally.input_tokens // n_judges,
        tally.output_tokens // n_judges,
        estimated=True,
        cached_tokens=tally.cached_tokens // n_judges,
    )
    is_batched = judging.batches is not None
    costs = [
        judging.prices.cost_usd(usage, identity.model, is_batched=is_batched)
        for identity in judging.identities
    ]
    return None if None in costs else math.fsum((*costs, verifying))
