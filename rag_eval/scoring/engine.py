"""Blocks of rows -> scored blocks, in order, on one thread or several."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.columns import GIVEN, KeptRows, SampleBatch
from rag_eval.kernels.scoring import explained_batch, metric_numbers, score_batch
from rag_eval.options.plan import Plan
from rag_eval.plumbing.interrupts import LOOK_S, StopFlag, deferred_interrupts
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.missing_texts import inferred_texts
from rag_eval.samples import MetricId
from rag_eval.scoring.scorer_columns import assembled, scorer_columns

ScoreFn: TypeAlias = "Callable[[SampleBlock], ScoredBlock]"

# Blocks that wait to be scored, so that no thread waits for the reader. Where the reader scores as
# well, one more waits for each other thread.
_AHEAD: Final = 3
# Texts of blocks that wait for an earlier one, at most, besides twice the largest of them: so many
# are scored while one thread is busy with a giant row.
_WAITING_BYTES: Final = 1 << 24
# Larger than the texts of the first block, which has 16 rows, where contexts are very long.
_MOST_KEPT_BYTES: Final = 1 << 24
# Time limit for scoring the rows that were read before Ctrl-C.
_GRACE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class ScoredBlock:
    """One block with its scores and null reasons, both of shape (rows, M).

    The columns are those that need no judge until one was asked; ``judged`` is what it said per
    row, ``details`` what kernels found in each, where rows are to be explained.
    """

    rows: SampleBlock
    batch: SampleBatch
    scores: npt.NDArray[np.float64]
    null_reasons: npt.NDArray[np.uint8]
    judged: Sequence[JudgedRowScores] | None = None
    details: KeptRows | None = None

    def lacked_texts(self, metrics: tuple[MetricId, ...]) -> npt.NDArray[np.uint8]:
        """Per row the bits of the texts that it lacks, for the metrics of the columns.

        They are known where kernels read the texts, and inferred from nulls elsewhere.
        """
        grounded = self.batch.grounded
        if grounded is None or not np.count_nonzero(grounded.given):
            return inferred_texts(metrics, self.null_reasons)
        return ~grounded.given & np.uint8(sum(GIVEN.values()))


def scored_block(
    block: SampleBlock, batch: SampleBatch, plan: Plan, *, explains: bool = False
) -> ScoredBlock:
    """A packed block with the scores of kernels and of scorers that need no judge.

    With ``explains`` it has the details of its rows.

    Raises
    ------
    SampleError
        For a row that a scorer cannot read.
    """
    metrics = metric_numbers(plan.native_columns)
    details = None
    if explains:
        native, details = explained_batch(batch, plan.settings, metrics)
    else:
        native = score_batch(batch, plan.settings, metrics)
    if plan.scorers:
        native = assembled(plan, native, scorer_columns(block, plan))
    return ScoredBlock(block, batch, *native, details=details)


def block_scorer(plan: Plan, needs: FieldNeeds) -> ScoreFn:
    """Packs blocks and scores them; a row that cannot be scored is a SampleError."""
    return lambda block: scored_block(block, block.pack(needs.without(block.absent)), plan)


def score_blocks(
    blocks: Iterable[SampleBlock],
    score: ScoreFn,
    threads: int,
    *,
    reads_apart: bool = False,
    has_scorers: bool = False,
    stop: StopFlag | None = None,
) -> Generator[ScoredBlock, None, None]:
    """Score blocks and return them in the order in which they came.

    The caller's thread takes the blocks; ``score`` packs and scores on ``threads`` threads, and the
    GIL is released while a block is scored. The caller's is one of these threads, except in two
    cases. With ``reads_apart`` it only reads and passes on, for rows that have to be waited for or
    that are read from files and written to others. With ``has_scorers``, on several threads, it
    scores nothing, because functions of the user may run, and all rows must have the same context.
    The first block that cannot be scored ends the run.

    Ctrl-C, and whatever else ends the loop early, sets ``stop``, which ends the block at hand; it
    may be set from another thread as well. When Ctrl-C comes while the caller's thread reads or
    scores, the blocks that were read are still returned if they are scored within a second.
    """
    _keep_memory()
    flag = stop or StopFlag()
    if threads == 1 and not reads_apart:
        return (flag.obeyed(score, block) for block in blocks)
    caller_scores = not (reads_apart or has_scorers)
    pending = _Pending(lambda block: flag.obeyed(score, block), threads, caller_scores)
    return _on_threads(blocks, pending, flag)


def _on_threads(
    blocks: Iterable[SampleBlock], pending: _Pending, flag: StopFlag
) -> Generator[ScoredBlock, None, None]:
    try:
        source = iter(blocks)
        while pending.failed is None:
            try:
                block = next(source)
            except StopIteration:
                break
            except (Exception, KeyboardInterrupt) as error:
                pending.fail(error)
                break
            pending.add(block)
            yield from pending.ready()
        yield from pending.rest()
        if pending.failed is not None:
            # Only now: rows before it may have faults of their own, and the first is reported; and
            # rows that were read before Ctrl-C are kept.
            raise pending.failed
    finally:
        # On an error or Ctrl-C: what has not begun is dropped, what runs is ended.
        flag.set()
        pending.close()


@cache
def _keep_memory() -> None:
    """Have malloc keep the memory of blocks for the next ones, from now on.

    glibc gives what is larger than anything that was freed before back to the system, and threads
    then wait for each other while pages are mapped. Nothing is written to this.
    """
    np.empty(_MOST_KEPT_BYTES, np.uint8)


class _Scoring:
    """A block that a thread scores, or has scored."""

    __slots__ = ("_failed", "_found", "_taken", "block", "is_done", "n_bytes")

    def __init__(self, block: SampleBlock) -> None:
        self.block = block
        self._taken = Lock()  # by the thread that scores the block, for good
        self._found: ScoredBlock | None = None
        self._failed: BaseException | None = None
        self.n_bytes = block.n_bytes
        self.is_done = False

    @property
    def is_free(self) -> bool:
        return not self._taken.locked()

    def run(self, score: ScoreFn, kept: type[BaseException] = BaseException) -> None:
        """Score the block, unless another thread has begun to; ``kept`` errors are raised later."""
        if not self._taken.acquire(blocking=False):
            return
        try:
            self._found = score(self.block)
        except kept as error:
            self._failed = error
        self.is_done = True

    def result(self) -> ScoredBlock:
        failed, self._failed = self._failed, None
        try:
            if failed is not None:
                raise failed
        finally:
            del failed  # the error holds this frame, and would hold itself
        assert self._found is not None
        return self._found


class _Pending:
    """Blocks that threads score, or that wait for an earlier one, in order.

    With ``caller_scores`` the caller's thread is one of them: it scores a block where it would
    otherwise wait.

    Its queues are not written in Python: an exception from a signal's handler leaves no lock of
    theirs locked.

    Attributes
    ----------
    failed : BaseException or None
        What ends the run, besides faults of blocks.
    """

    def __init__(self, score: ScoreFn, threads: int, caller_scores: bool) -> None:
        self._score = score
        self._caller_scores = caller_scores
        self._n_threads = threads - caller_scores
        # While the caller's thread scores a block, each of the others may begin one.
        self._n_most = self._n_threads * (1 + caller_scores) + _AHEAD
        self._threads: list[Thread] = []
        self._blocks: deque[_Scoring] = deque()
        self._to_do: SimpleQueue[_Scoring | None] = SimpleQueue()
        self._news: SimpleQueue[None] = SimpleQueue()
        self._end = math.inf
        self.failed: BaseException | None = None

    def add(self, block: SampleBlock) -> None:
        """Have a block scored; each of the first starts a thread."""
        if len(self._threads) < self._n_threads:
            with deferred_interrupts():
                # A daemon: if a signal's exception comes just before ``close``, Python would wait
                # for this thread for ever when it ends.
                thread = Thread(
                    target=self._work, name=f"rag_eval_{len(self._threads)}", daemon=True
                )
                thread.start()
                self._threads.append(thread)
        scoring = _Scoring(block)
        self._blocks.append(scoring)
        self._to_do.put(scoring)

    def fail(self, error: BaseException) -> None:
        """Note what ends the run; after Ctrl-C there is little time for what was read."""
        self.failed = error
        if isinstance(error, KeyboardInterrupt):
            self._end = time.monotonic() + _GRACE_S

    def ready(self) -> Iterator[ScoredBlock]:
        """Blocks to pass on before more are read, waiting for some where there are too many.

        The first may be a giant that holds up all others: they go on, and wait for it, until their
        texts take too much memory.
        """
        while self._blocks and self.failed is None:
            if self._blocks[0].is_done:
                yield self._blocks.popleft().result()
            elif self._n_unfinished() < self._n_most and not self._is_too_long():
                return
            else:
                self._go_on()

    def rest(self) -> Iterator[ScoredBlock]:
        """All that is left; after Ctrl-C, up to the first that is not done in time."""
        while self._blocks:
            while not self._blocks[0].is_done:
                if time.monotonic() >= self._end:
                    return
                self._go_on()
            yield self._blocks.popleft().result()

    def close(self) -> None:
        """Wait for the threads, whose flag is set: what they have not begun ends at once."""
        with deferred_interrupts():
            for _ in self._threads:
                self._to_do.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (scoring := self._to_do.get()) is not None:
            scoring.run(self._score)
            if self._news.empty():
                self._news.put(None)

    def _go_on(self) -> None:
        """Score a block in the caller's thread if it may and there is one, else wait.

        It takes the shortest, because nobody reads for the other threads meanwhile. After Ctrl-C it
        only waits, so that a second Ctrl-C, or the end of the time, takes effect at once.
        """
        left = self._end - time.monotonic()
        free = [scoring for scoring in self._blocks if scoring.is_free]
        if not (self._caller_scores and free and left == math.inf):
            self._wait(max(0, min(left, LOOK_S)))
            return
        scoring = min(free, key=lambda scoring: scoring.n_bytes)
        try:
            # Faults of rows are raised in their order; what a signal's handler raises, at once.
            scoring.run(self._score, InputError)
        except KeyboardInterrupt as error:
            self.fail(error)
            self._hand_over(scoring)

    def _hand_over(self, scoring: _Scoring) -> None:
        """Have another thread score a block from its beginning."""
        again = _Scoring(scoring.block)
        self._blocks[self._blocks.index(scoring)] = again
        self._to_do.put(again)

    def _wait(self, seconds: float) -> None:
        """Until a block is scored, or so long: who waits has a look at what is done."""
        with suppress(Empty):
            self._news.get(timeout=seconds)

    def _n_unfinished(self) -> int:
        return sum(not scoring.is_done for scoring in self._blocks)

    def _is_too_long(self) -> bool:
        sizes = [scoring.n_bytes for scoring in self._blocks]
        return sum(sizes) > _WAITING_BYTES + 2 * max(sizes)
