"""Blocks of rows that came as objects have one size in bytes, whatever the rows are."""

from __future__ import annotations

import threading
from collections import UserDict
from typing import Any, ClassVar

import pytest

from rag_eval import EvalSample, evaluate_batch
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


PLAIN = {"question": "?", "answer": "abc", "contexts": ["xx"] * 5}


@every_row(
    ("metric", "row", "n_bytes"),
    [
        ("faithfulness", PLAIN, 10),
        ("answer_relevance", PLAIN, 3),  # which reads no contexts
        # Read before they are passed on, and counted then.
        ("faithfulness", {**PLAIN, "contexts": '["four"]'}, 4),
        ("faithfulness", {**PLAIN, "contexts": ("xx", "yy")}, 4),
        ("faithfulness", {**PLAIN, "contexts": []}, 3),
        ("faithfulness", Noting(PLAIN), 10),
        ("faithfulness", EvalSample(question="?", answer="abc", contexts=("xx", "yy")), 4),
    ],
)
def test_blocks_know_about_how_long_they_are(metric: str, row: Any, n_bytes: int) -> None:
    """Threads read plain rows by themselves, and blocks are cut before that."""
    needs = FieldNeeds.of((metric,), "overlap")  # type: ignore[arg-type]
    first, *blocks = sample_blocks([row] * 700, needs, 2)
    assert first.texts
    for block in blocks:
        assert (block.texts is None) == (row is PLAIN)
        assert block.n_bytes == pytest.approx(1 + len(block) * n_bytes, rel=0.2)


def test_the_length_of_rows_may_recur() -> None:
    """Each 64th row was looked at, and all others passed for as short."""
    short = {n for n in range(9_000) if n < 16 or n % 64 == 16}
    rows = [{**PLAIN, "contexts": ["x" * (1 if n in short else 3_000)]} for n in range(9_000)]
    needs = FieldNeeds.of(("faithfulness",), "overlap")
    sizes = [len(block) for block in sample_blocks(rows, needs, 2)]
    assert sizes[:2] == [16, 1024]
    assert max(sizes[2:]) < 1000
