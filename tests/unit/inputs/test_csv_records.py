"""Records of CSV that are cut by their marks are those of the standard library, faults too."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval.inputs import csv_records
from rag_eval.inputs.csv_records import CsvRecords
from tests.counted_work import operations
from tests.tables import every_row

# Cells, marks and line ends that mean something to a reader, and a byte that is not UTF-8.
PIECES: Final = [b'"', b'""', b",", b";", b"\n", b"\r\n", b"\r", b"a", b" ", b"\0"]
BYTES: Final = st.lists(
    st.sampled_from([*PIECES, "é".encode(), "\u2028".encode(), b"\xff"]), max_size=30
).map(b"".join)

Found = list[tuple[Any, int]]


class NotUtf8(Exception):
    """With the number of the line."""


class Lines(Iterator[bytes]):
    """Lines that are counted."""

    def __init__(self, content: bytes) -> None:
        self._lines = iter(content.split(b"\n"))
        self.n_read = 0

    def __next__(self) -> bytes:
        line = next(self._lines)
        self.n_read += 1
        return line

    def decoded(self, line: bytes) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError:
            raise NotUtf8(self.n_read) from None


def found(content: bytes, reader: Callable[[Lines], Iterator[list[str]]]) -> Found:
    """Each record with the lines that were read for it, and the fault that ends them."""
    lines = Lines(content)
    records: Found = []
    try:
        for cells in reader(lines):
            records.append((cells, lines.n_read))
    except (csv.Error, NotUtf8) as error:
        records.append((f"{type(error).__name__}: {error}", lines.n_read))
    return records


def of_library(mark: str) -> Callable[[Lines], Iterator[list[str]]]:
    return lambda lines: csv.reader(
        (lines.decoded(line) + "\n" for line in lines), delimiter=mark, strict=True
    )


def of_ours(mark: str) -> Callable[[Lines], Iterator[list[str]]]:
    return lambda lines: CsvRecords(lines, mark, lines.decoded)


@pytest.fixture(scope="module", autouse=True)
def every_line_is_long() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "_LONG", 2)
        patch.setattr(csv_records, "_MOST_DOUBLED", 4)
        yield


@given(BYTES, st.sampled_from([",", ";"]))
@example(b'"a\nb\xff\n"x', ",")
@example(b'"a\n\xff\nb",c', ",")
@example(b'a,"b""c""",\r\nd', ",")
@example(b'a,"b"\r,c', ",")
@example(b'"' + b'""' * 9 + b'",a', ",")
@example(b'a,"b', ",")
def test_records_are_those_of_the_standard_library(content: bytes, mark: str) -> None:
    assert found(content, of_ours(mark)) == found(content, of_library(mark))


def test_cells_of_a_long_line_take_no_step_per_character() -> None:
    """The standard library looks at each; that it is asked at all would show here as one step."""
    texts = {n: b'"%s","%s ""quoted"""' % (b"word, " * n, b"word " * n) for n in (100, 10_000)}
    steps = {n: operations(lambda n=n: found(texts[n], of_ours(","))) for n in texts}  # type: ignore[misc]
    assert steps[100] == steps[10_000] > 150


@every_row("cell", [b'"' * 100_001, b'"' + b'""' * 50_000 + b'"'])
def test_cells_of_nothing_but_quotation_marks_are_left_to_the_library(cell: bytes) -> None:
    content = b"x," + cell + b",y"
    assert operations(lambda: found(content, of_ours(","))) < 1000
    assert found(content, of_ours(",")) == found(content, of_library(","))
