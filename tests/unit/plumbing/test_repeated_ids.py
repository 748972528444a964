"""Ids that come again, within a block, across blocks and after the table has been packed."""

from __future__ import annotations

import pytest

from rag_eval.plumbing import repeated_ids
from rag_eval.plumbing.repeated_ids import RepeatedIds


def found(*blocks: list[object]) -> tuple[int, list[str]]:
    ids = RepeatedIds(n_named=3)
    for block in blocks:
        ids.add(block, lambda index, block=block: f"{index}:{block[index]}")  # type: ignore[misc]
    return ids.count, ids.names


def test_within_and_across_blocks() -> None:
    assert found(["a", "b", "a"], ["c", "b"], ["a"], ["a"]) == (4, ["2:a", "1:b", "0:a"])


def test_rows_without_an_id_are_not_alike() -> None:
    assert found([None, None, ["x"], {"x": 1}, ["x"]], []) == (0, [])


def test_a_number_is_not_its_text() -> None:
    assert found([1, "1", 2]) == (0, [])


def test_many_ids() -> None:
    """Past 65,536 ids the older ones are packed; none of them is lost or made up."""
    n_ids = 200_000
    blocks = [[f"s{number}" for number in range(first, first + 1000)] for first in
              range(0, n_ids, 1000)]  # fmt: skip
    assert found(*blocks) == (0, [])
    again = ["s0", "s70000", f"s{n_ids - 1}", "new"]
    assert found(*blocks, again) == (3, ["0:s0", "1:s70000", f"2:s{n_ids - 1}"])


def test_warning() -> None:
    ids = RepeatedIds()
    assert ids.warning() == ""
    ids.add(["a", "a"], lambda index: f"line {index}")
    assert ids.warning() == "1 row has the same id as an earlier row: line 1"


def test_past_the_limit_rows_are_compared_with_those_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_ids, "_RECENT", 10)
    monkeypatch.setattr(repeated_ids, "_MOST_KEPT", 20)
    ids = RepeatedIds()
    for begin in range(0, 100, 10):
        ids.add([f"q{row}" for row in range(begin, begin + 10)], str)
    assert ids.count == 0
    ids.add(["q3", "q57", "new"], lambda index: f"row {index}")
    # That of row 57 was not kept.
    assert (ids.count, ids.names) == (1, ["row 0"])
    assert ids.warning() == "at least 1 row has the same id as an earlier row: row 0"
    ids.add([None, "q3", "other"], lambda index: f"row {100 + index}")
    assert ids.count == 2
