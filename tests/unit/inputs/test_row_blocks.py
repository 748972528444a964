"""Blocks of rows that came as objects have one size in bytes, whatever the rows are."""

from __future__ import annotations

import threading
from collections import UserDict
from typing import Any, ClassVar

import pytest

from rag_eval import EvalSample, evaluate_batch
from rag_eval.inputs.row_blocks import BLOCK_BYTES, RowBlock, sample_blocks
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


class Noting(UserDict[str, Any]):
    """A row that notes in which threads it is read."""

    threads: ClassVar[set[threading.Thread]] = set()

    def __getitem__(self, key: str) -> Any:
        self.threads.add(threading.current_thread())
        return super().__getitem__(key)


def test_rows_that_are_no_dicts_are_read_in_the_callers_thread() -> None:
    """They may be rows of a database, or look at their thread for another reason."""
    row = {"answer": "Rome.", "contexts": ["Rome."]}
    found = evaluate_batch([Noting(row)] * 100, ["faithfulness"], threads=2)
    assert Noting.threads == {threading.main_thread()}
    plain = evaluate_batch([row] * 100, ["faithfulness"], threads=2)
    assert found.scores.tobytes() == plain.scores.tobytes()


@every_row(
    ("row", "n_bytes"),
    [
        ({"answer": "a", "contexts": ["xx"] * 5}, 10),
        ({"answer": "abc", "contexts": []}, 3),
        ({"answer": "abc"}, 3),
        ({"answer": None, "contexts": [1, None, "four"]}, 4),
        ({}, 0),
        (EvalSample(question="q", answer="abc", contexts=("xx", "y")), 3),
    ],
)
def test_some_rows_stand_for_the_bytes_of_all(row: Any, n_bytes: int) -> None:
    for n_rows in (1, 15, 32, 48, 320):
        assert RowBlock(0, [row] * n_rows).n_bytes == pytest.approx(1 + n_rows * n_bytes, rel=0.1)
