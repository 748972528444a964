"""The journal of a file in the making: whole records, whatever happened to the end of the file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.outputs.journal import Journal, JournalInUseError, read_journal

RECORDS: list[dict[str, Any]] = [
    {"a": 1, "text": "two\nlines, \r and \u2028 and a lone \ud800"},
    {"b": [1.5, None, {"c": "ü"}]},
    {},
]


def written(path: Path, records: list[dict[str, Any]]) -> bytes:
    journal = Journal(path)
    for record in records:
        journal.append(record)
    journal.close()
    return path.read_bytes()


def test_records_come_back(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    data = written(path, RECORDS)
    assert read_journal(path).records == RECORDS
    assert read_journal(path).ends[-1] == len(data)
    assert data.count(b"\n") == len(read_journal(path).ends)


def test_no_journal_holds_nothing(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "journal").records == []
    (tmp_path / "empty").touch()
    assert read_journal(tmp_path / "empty").records == []


def test_a_torn_end_is_not_read(tmp_path: Path) -> None:
    """Cut at any byte, and with the zeros that some file systems leave after a power cut."""
    path = tmp_path / "journal"
    data = written(path, RECORDS)
    ends = [0, *(place + 1 for place, byte in enumerate(data) if byte == 0x0A)]
    for length in range(len(data) + 1):
        n_whole = sum(0 < end <= length for end in ends)
        for rest in (b"", bytes(len(data) - length)):
            path.write_bytes(data[:length] + rest)
            recorded = read_journal(path)
            assert recorded.records == RECORDS[:n_whole]
            assert recorded.ends == ends[1 : n_whole + 1]


def test_any_flipped_bit_ends_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    data = written(path, RECORDS)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        n_whole = data.count(b"\n", 0, place)
        assert read_journal(path).records == RECORDS[:n_whole], place


@given(st.binary(max_size=200))
def test_garbage_is_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage"
    path.write_bytes(data)
    assert read_journal(path).records == []


def test_what_is_not_sound_is_cut_off_before_more_is_added(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path, RECORDS)
    with path.open("ab") as file:
        file.write(b"torn")
    journal = Journal(path)
    journal.cut(read_journal(path).ends[1])
    journal.append({"d": 4})
    journal.close()
    assert read_journal(path).records == [*RECORDS[:2], {"d": 4}]


def test_one_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.append({"a": 1})
    with pytest.raises(JournalInUseError):
        Journal(path)
    assert read_journal(path).records == [{"a": 1}]
    journal.close()
    Journal(path).close()
    assert read_journal(path).records == [{"a": 1}]


def test_what_json_cannot_say_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with pytest.raises(ValueError, match="JSON"):
        journal.append({"a": math.nan})
    journal.append({"a": 1})
    journal.close()
    assert read_journal(tmp_path / "journal").records == [{"a": 1}]
