"""Blocks of rows -> scored blocks, in order, on one thread or several."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.columns import SampleBatch
from rag_eval.errors import InputError
from rag_eval.metrics.registry import metric_numbers
from rag_eval.options import Plan, whole_from_one
from rag_eval.profiles import score_batch
from rag_eval.sources import FieldNeeds, RowBlock, pack_block

PackFn: TypeAlias = Callable[[RowBlock], tuple[RowBlock, SampleBatch]]

# Blocks read ahead of the scoring threads: enough that none of them waits for the reader.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class ScoredBlock:
    """One block with its scores and null reasons, both of shape (rows, M)."""

    rows: RowBlock
    batch: SampleBatch
    scores: npt.NDArray[np.float64]
    null_reasons: npt.NDArray[np.uint8]


def thread_count(threads: int | None) -> int:
    """``threads``, or the number of cores this process may use."""
    if threads is not None:
        return whole_from_one(threads, "threads")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def score_blocks(
    blocks: Iterable[RowBlock],
    plan: Plan,
    needs: FieldNeeds,
    threads: int,
    pack: PackFn | None = None,
) -> Iterator[ScoredBlock]:
    """Score blocks and give them back in the order they came.

    The caller's thread reads; packing and scoring run on ``threads`` threads, and the GIL is
    released while a block is scored. One thread means the caller's own. ``pack`` replaces
    :func:`~rag_eval.sources.pack_block` for blocks that are not read yet, and may drop rows.
    """
    metrics = np.array(metric_numbers(plan.columns), np.int64)

    def score(block: RowBlock) -> ScoredBlock:
        if pack is None:
            batch = pack_block(block, needs)
        else:
            block, batch = pack(block)
        return ScoredBlock(block, batch, *score_batch(batch, plan.settings, metrics))

    if threads == 1:
        yield from map(score, blocks)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="rag_eval")
    pending: deque[Future[ScoredBlock]] = deque()
    try:
        failed = None
        source = iter(blocks)
        while True:
            try:
                block = next(source)
            except StopIteration:
                break
            except InputError as error:
                failed = error
                break
            pending.append(pool.submit(score, block))
            if len(pending) >= threads + _AHEAD:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if failed is not None:
            # Only now: rows before it may have faults of their own, and the first is reported.
            raise failed
    finally:
        # On an error or Ctrl-C: what has not begun is dropped, a block that runs is short.
        pool.shutdown(wait=True, cancel_futures=True)
