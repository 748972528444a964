"""How long a row may be, in every text format; and that no byte is worked on more than a few times.

A few kilobytes of gzip hold a line of any length.
"""

from __future__ import annotations

import gzip
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from rag_eval.cli.program import program
from rag_eval.errors import InputError
from rag_eval.inputs import byte_files, csv_records
from rag_eval.inputs.byte_files import MAX_ROW_BYTES, ByteFile, zstd
from rag_eval.inputs.file_lines import FileLines
from rag_eval.inputs.opened import Input, InputOptions
from rag_eval.inputs.schemas.contexts import list_in
from rag_eval.inputs.tables import table_rows
from rag_eval.jobs.file_run import run_file
from rag_eval.jobs.file_scoring import score_file
from rag_eval.reports.plain_text import without_python
from rag_eval.results.batch import BatchEvalResult
from rag_eval.retrieval.trec_files import read_qrels
from rag_eval.runs.run_files import read_run
from rag_eval.scoring.faulty_rows import validate_file

LIMIT = 1000
HINT = "; to read longer rows, raise --max-row-bytes (in Python: max_row_bytes)"
HEADER = b"question,answer,contexts\n"
SHORT_CELLS = b"q,red fox,c\n"
SHORT_LINE = b'{"question":"q","answer":"red fox.","contexts":["red fox."]}\n'


def json_line(n_bytes: int) -> bytes:
    """A sample of so many bytes, and a line end."""
    start, end = b'{"question":"q","contexts":["c"],"answer":"', b'"}'
    return start + b"a" * (n_bytes - len(start + end)) + end + b"\n"


def csv_line(n_bytes: int) -> bytes:
    return b"q," + b"a" * (n_bytes - 4) + b",c\n"


def csv_lines(n_bytes: int) -> bytes:
    """A row of three lines."""
    return b'q,"a\n\n' + b"a" * (n_bytes - 9) + b'",c\n'


def n_read(path: Path, limit: int = LIMIT) -> int:
    return sum(len(block) for block in Input(path, InputOptions(max_row_bytes=limit)).blocks())


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        act()
    return str(caught.value)


# -------------------------------------------------------------------------------------- limits


def test_a_row_may_be_as_long_as_the_limit_and_no_longer(tmp_path: Path) -> None:
    for name, before, row, after, line in (
        ("a.jsonl", b"\n" + SHORT_LINE, json_line, SHORT_LINE, 3),
        ("a.ndjson.gz", SHORT_LINE * 40, json_line, b"", 41),
        ("a.jsonl.zst", b"", json_line, SHORT_LINE, 1),
        ("a.csv", HEADER + SHORT_CELLS, csv_line, SHORT_CELLS, 3),
        ("a.csv.gz", HEADER + SHORT_CELLS * 200, csv_line, b"", 202),
    ):
        path = tmp_path / name
        packed = {".gz": gzip.compress, ".zst": zstd().compress}.get(path.suffix, bytes)
        for rest in {after, after.rstrip(b"\n")}:
            path.write_bytes(packed(before + row(LIMIT) + rest))
            assert n_read(path) >= 1
            path.write_bytes(packed(before + row(LIMIT + 1) + rest))
            expected = f"{path}, line {line}: the row is longer than 1,000 bytes{HINT}"
            assert refused(lambda path=path: n_read(path)) == expected
        assert n_read(path, LIMIT + 1) >= 1


def test_lines_of_a_quoted_cell_are_one_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(HEADER + SHORT_CELLS + csv_lines(LIMIT) * 3)
    assert n_read(path) == 4
    path.write_bytes(HEADER + csv_lines(LIMIT) + csv_lines(LIMIT + 1) + SHORT_CELLS)
    # The line is that where the row begins: the one with the quote.
    assert refused(lambda: n_read(path)) == (
        f"{path}, line 5: the row is longer than 1,000 bytes (is a quote in it not closed?){HINT}"
    )
    path.write_bytes(HEADER + b'q,"red fox,c\n' + SHORT_CELLS * 200)
    assert "line 2: the row is longer than 1,000 bytes (is a quote" in refused(lambda: n_read(path))


def test_a_json_array_may_have_four_times_as_much(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    rows = b"[" + b",".join([json_line(1500)] * 2) + b"]"
    path.write_bytes(gzip.compress(rows + b" " * (4 * LIMIT - len(rows))))
    assert n_read(path) == 2
    path.write_bytes(gzip.compress(rows + b" " * (4 * LIMIT - len(rows) + 1)))
    assert refused(lambda: n_read(path)) == (
        f"{path} is longer than 4,000 bytes, the limit for a file that is read into memory as "
        "a whole; make it a .jsonl file, which is read row by row, or raise the limit, which is 4 "
        "times --max-row-bytes (in Python: max_row_bytes)"
    )


def test_other_files_have_the_same_limit_without_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_files, "MAX_ROW_BYTES", LIMIT)
    zeros = b"\0" * (4 * LIMIT + 1)
    row = "the row is longer than 1,000 bytes"
    whole = "is longer than 4,000 bytes, the limit for a file that is read into memory as a whole"
    readers: list[tuple[str, bytes, Callable[[Path], object], str]] = [
        ("labels.csv.gz", b"id,label\n", lambda path: list(table_rows(path)), f", line 2: {row}"),
        ("labels.jsonl.gz", b"\n", lambda path: list(table_rows(path)), f", line 2: {row}"),
        ("qrels.txt.gz", b"q 0 d 1\n", read_qrels, f", line 2: {row}"),
        ("result.json.gz", b'{"results":[\n', read_run, f", line 2: {row}"),
        ("baseline.json.gz", b'{"baseline":\n', read_run, f" {whole}"),
        ("batch.json.gz", b"{", BatchEvalResult.from_json, f" {whole}"),
    ]
    for name, head, read, expected in readers:
        path = tmp_path / name
        path.write_bytes(gzip.compress(head + zeros))
        assert refused(lambda path=path, read=read: read(path)) == f"{path}{expected}"
    sample = tmp_path / "s.jsonl"
    sample.write_bytes(SHORT_LINE)
    baseline = tmp_path / "batch.json.gz"
    message = refused(lambda: run_file(sample, ["faithfulness"], baseline=baseline))
    assert message == f"{baseline} {whole}"


def test_the_limit_is_an_option_of_all_that_read_samples(tmp_path: Path) -> None:
    path, target = tmp_path / "a.jsonl", tmp_path / "s.jsonl"
    path.write_bytes(SHORT_LINE + json_line(LIMIT + 1))
    message = f"{path}, line 2: the row is longer than 1,000 bytes{HINT}"
    for act in (
        lambda **options: run_file(path, ["answer_relevance"], **options).result.n_rows,
        lambda **options: score_file(path, target, ["answer_relevance"], **options).result.n_rows,
        lambda **options: validate_file(path, reading=InputOptions(**options)).n_rows,
    ):
        assert refused(lambda act=act: act(max_row_bytes=LIMIT)).startswith(message)
        assert act(max_row_bytes=LIMIT + 1) == act() == 2
    for command in (["run"], ["score", str(target)], ["validate"]):
        name, *rest = command
        done = CliRunner().invoke(program, [name, str(path), *rest, "--max-row-bytes", "1000"])
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"error: {without_python(message)}" in done.stderr
    config = tmp_path / "rag-eval.toml"
    config.write_text("max_row_bytes = 1000\n")
    done = CliRunner().invoke(program, ["run", str(path), "--config", str(config)])
    assert done.stderr.endswith(f"error: {without_python(message)}\n")
    for value in (0, -1, 1.5, True, "1000"):
        options: Any = {"max_row_bytes": value}
        assert "max_row_bytes must be a whole number of at least 1" in refused(
            lambda options=options: run_file(path, **options)
        )
    assert MAX_ROW_BYTES == 268_435_456  # as the pages say


def test_parquet_that_says_that_its_rows_are_longer_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    short = {
        "question": "q",
        "answer": "red fox.",
        "contexts": ["red fox."],
        "unread": "z" * 900_000,
    }
    rows = [short, short, {**short, "answer": "a" * 300_000}]
    with parquet.ParquetWriter(path, pa.Table.from_pylist(rows).schema, compression="zstd") as file:
        for row in rows:
            file.write_table(pa.Table.from_pylist([row]))
    message = refused(lambda: validate_file(path, reading=InputOptions(max_row_bytes=100_000)))
    assert re.sub(r"to 300,\d{3} bytes", "to 300,000 bytes", message) == (
        f"{path}, row 3: the row group that begins here unpacks to 300,000 bytes, which is more "
        f"than 100,000 bytes per row (rows: 1){HINT}"
    )
    unpacked = int(re.findall(r"unpacks to ([\d,]+)", message)[0].replace(",", ""))
    assert n_read(path, unpacked) == 3


def test_rows_before_one_that_is_too_long_are_kept_and_gone_on_with(tmp_path: Path) -> None:
    path, target = tmp_path / "a.jsonl", tmp_path / "s.jsonl"
    path.write_bytes(SHORT_LINE * 100 + json_line(LIMIT + 1))
    message = refused(
        lambda: score_file(path, target, ["faithfulness"], max_row_bytes=LIMIT, checkpoint_rows=1)
    )
    assert "line 101: the row is longer than 1,000 bytes" in message
    assert "rows are kept in" in message
    report = score_file(path, target, ["faithfulness"], resume=True)
    assert (report.result.n_rows, report.n_resumed > 0) == (101, True)


# ---------------------------------------------------------------------------------------- work


def test_what_unpacks_without_end_is_read_as_far_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_bytes = 0
    fill, chunks = ByteFile.fill, ByteFile.chunks

    def counted_fill(self: ByteFile, buffer: bytearray, begin: int) -> int:
        nonlocal n_bytes
        found = fill(self, buffer, begin)
        n_bytes += found
        return found

    def counted_chunks(self: ByteFile, *size: int) -> Iterator[bytes]:
        nonlocal n_bytes
        for chunk in chunks(self, *size):
            n_bytes += len(chunk)
            yield chunk

    monkeypatch.setattr(ByteFile, "fill", counted_fill)
    monkeypatch.setattr(ByteFile, "chunks", counted_chunks)
    limit = 4 << 20
    zeros = gzip.compress(b"\0" * (16 << 20)) * 96  # 1.5 GB
    for name, head in (("a.csv.gz", HEADER), ("a.jsonl.gz", b""), ("a.json.gz", b"")):
        path = tmp_path / name
        path.write_bytes(gzip.compress(head) + zeros)
        most = limit if head or "jsonl" in name else 4 * limit
        n_bytes = 0
        tracemalloc.start()
        try:
            refused(lambda path=path: n_read(path, limit))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert n_bytes < most + (3 << 20)
        assert peak < 4 * most


class CountedBytes(bytes):
    """Counts the bytes that are looked at or copied where this is cut or put together."""

    worked_on = 0

    def split(self, *arguments: Any) -> list[bytes]:  # type: ignore[override]
        CountedBytes.worked_on += len(self)
        return [CountedBytes(part) for part in super().split(*arguments)]

    def __add__(self, other: Any) -> bytes:
        CountedBytes.worked_on += len(self) + len(other)
        return CountedBytes(super().__add__(other))

    def __radd__(self, other: Any) -> bytes:
        CountedBytes.worked_on += len(self) + len(other)
        return CountedBytes(other + bytes(self))


class Trickle:
    """A file that gives a little at a time."""

    def __init__(self, data: bytes, n_bytes: int) -> None:
        self._parts = [data[at : at + n_bytes] for at in range(0, len(data), n_bytes)]

    def read1(self, n_bytes: int) -> bytes:
        return CountedBytes(self._parts.pop(0)) if self._parts else b""


def test_a_long_line_is_put_together_once() -> None:
    text = b"a" * 1_000_000 + b"\nb\n" + b"c" * 1_000_000
    raw: Any = Trickle(b"\xef\xbb\xbf" + text, 1000)
    lines = list(FileLines(ByteFile(raw, raw, "a")))
    assert lines == text.split(b"\n")
    # Adding each piece to those before it would copy a gigabyte.
    assert CountedBytes.worked_on <= len(text) + 3


class CountedName(str):
    """Counts its comparisons."""

    n_compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedName.n_compared += 1
        return str.__eq__(self, other)


def test_a_header_is_checked_in_one_pass(tmp_path: Path) -> None:
    header: list[str] = [CountedName(f"column {n}") for n in range(2000)]
    csv_records.check_header(header, "a.csv: line 1")
    message = refused(lambda: csv_records.check_header([*header, *header[:-2:-1]], "a.csv: line 1"))
    assert message == (
        "a.csv: line 1 names the column 'column 1999' twice; the first line has to hold the names "
        "of the columns, each once"
    )
    # Each with each would be four million.
    assert CountedName.n_compared < 4 * len(header)


def test_a_table_of_40_000_columns_is_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    others = [f"column {n}" for n in range(40_000)]
    row = ",".join(["q", "a", "c", *others])
    path.write_text(f"question,answer,contexts,{','.join(others)}\n{row}\n{row},\n")
    found = list(Input(path).blocks())
    assert sum(map(len, found)) == 1
    assert found[0].sample(0)["column 39999"] == "column 39999"
    assert found[0].origin is not None
    assert [fault.fault for fault in found[0].origin.faults] == [
        "40,004 cells, but the header names 40,003 columns"
    ]
    missing = refused(lambda: score_file(path, tmp_path / "s.csv", columns=["column"]))
    assert missing.endswith("column 15, column 16 and 39983 more")
    path.write_text(f"question,b,a,{','.join(others)},a,b,a\n")
    # The first of those that come again.
    assert "line 1 names the column 'b' twice" in refused(lambda: list(Input(path).blocks()))


def test_a_printed_list_takes_no_more_memory_than_its_cell() -> None:
    for text in ("a" * 50_000, "\\'" * 25_000):
        for cell in (f"['{text}']", f"['{text}", f"['{text}'x"):
            tracemalloc.start()
            try:
                found = list_in(cell)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert found == ([text.replace("\\", "")] if cell.endswith("]") else None)
            # A pattern that remembers every character takes 130 times as much.
            assert peak < 30 * len(cell)


def test_the_longest_line_is_that_of_the_limit_also_where_it_comes_late(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json_line(n) for n in (200, 3_000_000, 100, 2_500_000, 5_000_000)]
    path.write_bytes(b"".join(lines))
    assert n_read(path, 5_000_000) == 5
    found = [block.sample(0) for block in Input(path).blocks()]
    assert found[-1] == json.loads(lines[-1])
    assert "line 5: the row is longer than 4,999,999 bytes" in refused(
        lambda: n_read(path, 4_999_999)
    )
