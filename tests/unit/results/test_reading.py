"""Files of results as they are opened: pipes, texts, single rows, what begins like another form."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.inputs import byte_files
from rag_eval.inputs.byte_files import ByteFile
from rag_eval.inputs.file_lines import FileLines
from rag_eval.plumbing.extras import zstd
from rag_eval.results.batch_reading import read_batch
from rag_eval.results.reading import ResultFile
from rag_eval.results.summaries import read_summary
from rag_eval.runs.run_files import read_run
from tests.tables import every_row

ROWS = [
    {"id": name, "question": "red fox", "answer": answer, "contexts": ["red fox."]}
    for name, answer in (("a", "red fox."), ("b", "blue whale sings."), ("c", "red fox."))
]


@pytest.fixture(scope="module")
def batch() -> rag_eval.BatchEvalResult:
    return rag_eval.evaluate_batch(ROWS, ["faithfulness"])


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PAR1\0\0", "standard input contains Parquet, which can only be read from a file"),
        (b"ARROW1\0\0", "standard input contains Arrow, which can only be read from a file"),
        (
            gzip.compress(b"{}", mtime=0),
            "standard input contains gzip data: unpack it first, with gzip -dc",
        ),
        (
            zstd().compress(b"{}"),
            "standard input contains zstd data: unpack it first, with zstd -dc",
        ),
        (b"", "standard input is not valid JSON"),
        (b"\n\n{", "standard input is not valid JSON"),
        (b'{"id": 1', "standard input is not valid JSON"),
        (b"id,name\n1,x\n", "standard input: no column has the name of a metric"),
    ],
)
def test_what_a_pipe_cannot_hold(
    monkeypatch: pytest.MonkeyPatch, data: bytes, message: str
) -> None:
    pipe(monkeypatch, data)
    with pytest.raises(InputError, match=message):
        read_run("-")


def test_a_pipe_is_read_once_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, batch: rag_eval.BatchEvalResult
) -> None:
    pipe(monkeypatch, (batch.to_json() or "").encode())
    file = ResultFile("-")
    assert (file.n_rows(), file.n_rows(), len(list(file.rows()))) == (3, 3, 3)
    assert "aggregates" in file.said
    assert len(read_run(file)) == 3
    mean = batch.aggregates["faithfulness"].mean
    assert read_summary(file).means["faithfulness"].mean == mean


def test_a_pipe_that_a_shell_names(batch: rag_eval.BatchEvalResult) -> None:
    """``rag-eval compare <(zcat old.jsonl.gz) new.jsonl``: no name tells the form."""
    for text in (batch.to_json(), batch.to_jsonl(), "id,faithfulness\na,0.5\n"):
        reading, writing = os.pipe()
        os.write(writing, (text or "").encode())
        os.close(writing)
        try:
            assert read_run(f"/dev/fd/{reading}").ids[0] == "a"
        finally:
            os.close(reading)


def test_the_text_of_lines_is_a_result_too(batch: rag_eval.BatchEvalResult) -> None:
    for text in (batch.to_json() or "", batch.to_jsonl() or ""):
        for given in (text, text.encode()):
            read = rag_eval.BatchEvalResult.from_json(given)
            np.testing.assert_array_equal(read.scores, batch.scores)
            assert read.aggregates["faithfulness"].mean == batch.aggregates["faithfulness"].mean
            assert read.signature == batch.signature


def test_one_result_is_a_file_of_one_row(tmp_path: Path) -> None:
    """What ``JSON.stringify(await evaluate(sample))`` gives."""
    (tmp_path / "one.json").write_text(
        json.dumps(rag_eval.evaluate(ROWS[0], ["faithfulness"]).to_dict(), indent=2)
    )
    assert read_run(tmp_path / "one.json").ids == ["a"]
    assert read_batch(tmp_path / "one.json").n_rows == 1


@every_row(
    "row", [{"metrics": 5}, {"metrics": {}}, {"sample": {}, "metrics": {"faithfulness": []}}]
)
def test_one_result_that_is_none(tmp_path: Path, row: Any) -> None:
    (tmp_path / "one.json").write_text(json.dumps(row))
    for read in (read_run, read_batch):
        with pytest.raises(InputError, match=r"one.json"):
            read(tmp_path / "one.json")


def test_lines_in_a_pipe_are_held_to_the_limit_of_a_whole_file(
    monkeypatch: pytest.MonkeyPatch, batch: rag_eval.BatchEvalResult
) -> None:
    monkeypatch.setattr(byte_files, "MAX_ROW_BYTES", 100)
    pipe(monkeypatch, (batch.to_jsonl() or "").encode())
    with pytest.raises(InputError, match="standard input is longer than 400 bytes"):
        read_run("-")


def test_the_head_of_a_file_is_read_again() -> None:
    file = ByteFile.of(b"one\ntwo\n", "x")
    assert (file.head(5), file.head(3), file.head(99)) == (b"one\nt", b"one", b"one\ntwo\n")
    assert list(FileLines(file)) == [b"one", b"two"]
    file = ByteFile.of(b"abcdef", "x")
    file.head(4)
    buffer = bytearray(3)
    assert (file.fill(buffer, 1), bytes(buffer)) == (2, b"\0ab")
    assert (file.fill(buffer, 0), bytes(buffer)) == (2, b"cdb")
    assert (file.fill(buffer, 0), bytes(buffer)) == (2, b"efb")
    assert file.fill(buffer, 0) == 0
