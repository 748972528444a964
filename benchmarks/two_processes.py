"""The control of the two-thread bar: the same rows in two processes that share nothing.

What two processes gain is what the machine gives two workers at best; threads cannot gain more.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from benchmarks import corpora


def _work(pipe: Connection, rows: Sequence[corpora.Sample]) -> None:
    from rag_eval import evaluate_batch

    evaluate_batch(rows, threads=1)
    pipe.send("ready")
    while pipe.recv() == "score":
        evaluate_batch(rows, threads=1)
        pipe.send("done")


class TwoProcesses:
    """Two processes that hold half of the rows each and score them when told; a context manager."""

    def __init__(self, rows: Sequence[corpora.Sample]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Any] = []
        self._workers = []
        for half in (rows[::2], rows[1::2]):
            here, there = context.Pipe()
            worker = context.Process(target=_work, args=(there, half), daemon=True)
            worker.start()
            self._pipes.append(here)
            self._workers.append(worker)

    def __enter__(self) -> Self:
        for pipe in self._pipes:
            pipe.recv()
        return self

    def score(self) -> None:
        """Have both score their half; ends when both have."""
        for pipe in self._pipes:
            pipe.send("score")
        for pipe in self._pipes:
            pipe.recv()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pipe, worker in zip(self._pipes, self._workers, strict=True):
            pipe.send("end")
            worker.join(10)
            pipe.close()
