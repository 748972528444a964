"""Blocks of rows that came as objects have one size in bytes, whatever the rows are."""

from __future__ import annotations

import pytest

from rag_eval.inputs.row_blocks import BLOCK_BYTES, sample_blocks
from rag_eval.inputs.samples import FieldNeeds
from tests.tables import every_row


@every_row(
    ("context_bytes", "threads", "expected"),
    [
        (10, 1, 1024),  # the most
        (5_000, 1, BLOCK_BYTES / 5_000),
        (10_000, 2, 2 * BLOCK_BYTES / 10_000),
        (3_000_000, 1, 1),
    ],
)
def test_blocks_after_the_first_hold_rows_by_their_bytes(
    context_bytes: int, threads: int, expected: float
) -> None:
    row = {"answer": "a", "contexts": ["x" * context_bytes]}
    needs = FieldNeeds.of(("faithfulness",), "overlap")
    blocks = list(sample_blocks([row] * (16 + 5 * int(expected)), needs, threads))
    assert [block.first_row for block in blocks[:2]] == [0, 16]
    assert len(blocks[1]) == pytest.approx(expected, rel=0.1)
    assert sum(map(len, blocks)) == 16 + 5 * int(expected)


@every_row("threads", [2, 4])
def test_the_last_blocks_become_shorter(threads: int) -> None:
    """One thread was at a whole block at the end, and the others had nothing to do."""
    row = {"answer": "a", "contexts": ["x" * 10_000]}
    needs = FieldNeeds.of(("faithfulness",), "overlap")
    rows = [row] * 2000
    sizes = [len(block) for block in sample_blocks(rows, needs, threads)]
    most = max(sizes)
    assert sizes[1] == most
    assert sum(sizes) == len(rows)
    assert most > sizes[-2 * threads] > sizes[-1]
    assert sizes[-1] <= most / 8
    assert len(sizes) < 2000 / most + 7 * threads
    # Nobody knows how many rows of a generator are left.
    assert len(list(sample_blocks(iter(iter(rows).__next__, None), needs, threads))) < len(sizes)
