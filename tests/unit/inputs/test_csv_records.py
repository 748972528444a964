"""Records of CSV that are cut by their marks are those of the standard library, faults too."""

from __future__ import annotations

import csv
import io
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval._native import line_scans
from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import ByteFile
from rag_eval.inputs.csv_records import CsvTable
from tests.counted_work import operations

# Cells, marks and line ends that mean something to a reader, and a byte that is not UTF-8.
PIECES: Final = [b'"', b'""', b",", b";", b"\n", b"\r\n", b"\r", b"a", b" ", b"\0"]
BYTES: Final = st.lists(
    st.sampled_from([*PIECES, "é".encode(), "\u2028".encode(), b"\xff"]), max_size=30
).map(b"".join)

Found = list[tuple[Any, int]]


def file_of(content: bytes, most: int) -> ByteFile:
    held = io.BytesIO(content)
    return ByteFile(held, held, "t", most)


def found(content: bytes, mark: str, n_bytes: int = 1 << 20, most: int = 1 << 20) -> Found:
    """Each record below a header with the number of its last line, and the fault that ends them."""
    table = CsvTable(file_of(b"h\n" + content, most), mark, n_bytes)
    records: Found = []
    try:
        records.extend(table.rows())
    except InputError as error:
        records.append((str(error), table.lines.n_read))
    return records


def of_library(content: bytes, mark: str) -> Found:
    """The records of the standard library; its first fault without the words of ours."""
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    n_read = 1

    def texts() -> Any:
        nonlocal n_read
        for line in lines:
            n_read += 1
            yield line.decode() + "\n"

    records: Found = []
    try:
        for cells in csv.reader(texts(), delimiter=mark, strict=True):
            if cells:
                records.append((cells, n_read))
    except UnicodeDecodeError:
        records.append(("is not valid UTF-8", n_read))
    except csv.Error as error:
        fault = str(error)
        fault = "is not closed" if fault == "unexpected end of data" else fault
        records.append((fault, n_read))
    return records


@given(BYTES, st.sampled_from([",", ";"]), st.sampled_from([1, 7, 1 << 20]))
@example(b'"a\nb\xff\n"x', ",", 1)
@example(b'"a\n\xff\nb",c', ",", 1 << 20)
@example(b'a,"b""c""",\r\nd', ",", 7)
@example(b'a,"b"\r,c', ",", 1 << 20)
@example(b"a,b\r\r\n", ",", 1 << 20)
@example(b'"' + b'""' * 9 + b'",a', ",", 1 << 20)
@example(b'a,"b', ",", 1 << 20)
def test_records_are_those_of_the_standard_library(content: bytes, mark: str, n_bytes: int) -> None:
    ours, theirs = found(content, mark, n_bytes), of_library(content, mark)
    if theirs and isinstance(theirs[-1][0], str):
        message, line = ours.pop()
        fault, last = theirs.pop()
        assert fault in message
        assert line == last
    assert ours == theirs


@given(BYTES, st.integers(1, 12), st.sampled_from([1, 1 << 20]))
@example(b'a,b\n"c\nd",e\nf', 6, 1 << 20)
@example(b'"a\nb"', 4, 1 << 20)
@example(b'a,b\n"c\nd",e\nf', 7, 1 << 20)
def test_messages_do_not_depend_on_who_cuts(content: bytes, most: int, n_bytes: int) -> None:
    """Limits of rows among them, which count line ends and hold at the same byte."""
    ours = found(content, ",", n_bytes, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_scans, "cut_record", lambda *lines: None)
        assert found(content, ",", n_bytes, most) == ours


def test_cells_of_a_long_line_take_no_step_per_character() -> None:
    """The standard library decodes a line at a time; that it is asked would show as its steps."""
    texts = {n: b'"%s","%s ""quoted"""\n' % (b"word, " * n, b"word " * n) for n in (100, 10_000)}
    steps = {n: operations(lambda n=n: found(texts[n], ",")) for n in texts}  # type: ignore[misc]
    assert steps[100] == steps[10_000]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_scans, "cut_record", lambda *lines: None)
        assert operations(lambda: found(texts[100], ",")) > steps[100]
