"""Blocks of rows -> scored blocks, in order, on one thread or several."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.columns import KeptRows, SampleBatch
from rag_eval.kernels.scoring import explained_batch, metric_numbers, score_batch
from rag_eval.options.plan import Plan
from rag_eval.plumbing.interrupts import StopFlag, deferred_interrupts, uninterrupted, wait_for
from rag_eval.results.judged import JudgedRowScores
from rag_eval.scoring.scorer_columns import assembled, scorer_columns

ScoreFn: TypeAlias = "Callable[[SampleBlock], ScoredBlock]"

# Blocks read ahead of the scoring threads: enough that none of them waits for the reader.
_AHEAD: Final = 3
# Texts of blocks that wait for an earlier one, at most, besides twice the largest of them: so many
# are scored while one thread is busy with a giant row.
_WAITING_BYTES: Final = 1 << 24
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
    stop: StopFlag | None = None,
) -> Generator[ScoredBlock, None, None]:
    """Score blocks and return them in the order in which they came.

    The caller's thread reads; ``score`` packs and scores on ``threads`` threads, and the GIL is
    released while a block is scored. One thread means the caller's, unless ``reads_apart``:
    where rows are read from files and written to others, that goes on meanwhile. The first block
    that cannot be scored ends the run.

    Ctrl-C, and whatever else ends the loop early, sets ``stop``, which ends the block at hand; it
    may be set from another thread as well.
    """
    flag = stop or StopFlag()
    if threads == 1 and not reads_apart:
        return (flag.obeyed(score, block) for block in blocks)
    return _on_threads(blocks, score, threads, flag)


def _on_threads(
    blocks: Iterable[SampleBlock], score: ScoreFn, threads: int, flag: StopFlag
) -> Generator[ScoredBlock, None, None]:
    pool = ThreadPoolExecutor(threads, thread_name_prefix="rag_eval")
    pending = _Pending(threads + _AHEAD)
    try:
        failed: BaseException | None = None
        source = iter(blocks)
        while True:
            try:
                block = next(source)
            except StopIteration:
                break
            except (InputError, KeyboardInterrupt) as error:
                failed = error
                break
            with deferred_interrupts():
                pending.add(pool.submit(flag.obeyed, score, block), block.n_bytes)
            yield from pending.ready()
        yield from pending.rest(_GRACE_S if isinstance(failed, KeyboardInterrupt) else None)
        if failed is not None:
            # Only now: rows before it may have faults of their own, and the first is reported; and
            # rows that were read before Ctrl-C, while others were waited for, are kept.
            raise failed
    finally:
        # On an error or Ctrl-C: what has not begun is dropped, what runs is ended.
        flag.set()
        pool.shutdown(wait=True, cancel_futures=True)


class _Pending:
    """Blocks that are being scored or wait for an earlier one, in order."""

    def __init__(self, most_unfinished: int) -> None:
        self._most_unfinished = most_unfinished
        self._blocks: deque[tuple[Future[ScoredBlock], int]] = deque()

    def add(self, scored: Future[ScoredBlock], n_bytes: int) -> None:
        self._blocks.append((scored, n_bytes))

    def ready(self) -> Iterator[ScoredBlock]:
        """Blocks to pass on before more are read, waiting for some where there are too many.

        The first may be a giant that holds up all others: they go on, and wait for it, until their
        texts take too much memory.
        """
        while self._blocks:
            first, _ = self._blocks[0]
            if uninterrupted(first.done) or self._is_too_long():
                wait_for([first])
                self._blocks.popleft()
                yield uninterrupted(first.result)
                continue
            unfinished = [scored for scored, _ in self._blocks if not uninterrupted(scored.done)]
            if len(unfinished) < self._most_unfinished:
                return
            wait_for(unfinished)

    def rest(self, grace_s: float | None) -> Iterator[ScoredBlock]:
        """All that is left; with a grace, up to the first that is not done when it is over."""
        end = None if grace_s is None else time.monotonic() + grace_s
        while self._blocks:
            first, _ = self._blocks.popleft()
            if not wait_for([first], None if end is None else end - time.monotonic()):
                return
            yield uninterrupted(first.result)

    def _is_too_long(self) -> bool:
        sizes = [n_bytes for _, n_bytes in self._blocks]
        return sum(sizes) > _WAITING_BYTES + 2 * max(sizes)
