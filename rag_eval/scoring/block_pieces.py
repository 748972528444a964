"""Scored blocks of files -> shorter ones, each of which knows where in its file it ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rag_eval.inputs.blocks import FileOrigin, RowFault, SampleBlock
from rag_eval.scoring.engine import ScoredBlock


def in_pieces(blocks: Iterable[ScoredBlock], n_rows: int) -> Iterator[ScoredBlock]:
    """Blocks of at most so many rows; those of objects in memory as they are."""
    for block in blocks:
        if block.rows.origin is None or len(block.scores) <= n_rows:
            yield block
            continue
        for begin in range(0, len(block.scores), n_rows):
            yield block_rows(block, begin, min(begin + n_rows, len(block.scores)))


def block_rows(block: ScoredBlock, begin: int, end: int) -> ScoredBlock:
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
