"""Files of ``rag-eval score``: the same rows in each format, and the same bytes each time."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import rag_eval
from rag_eval.jobs.file_scoring import score_file
from rag_eval.outputs import arrow_rows
from tests.run_command import FAITH, HANDBOOK, handbook_rows
from tests.score_command import SAMPLES, lines, read, score, table

TARGETS = ["jsonl", "ndjson", "csv", "jsonl.gz", "jsonl.zst", "csv.gz", "parquet", "arrow"]


@pytest.mark.parametrize("profile", ["overlap", "grounded"])
@pytest.mark.parametrize("suffix", TARGETS)
def test_every_format_has_the_rows_of_evaluate_batch(
    tmp_path: Path, suffix: str, profile: Any
) -> None:
    target = tmp_path / f"scores.{suffix}"
    score(HANDBOOK, target, "--profile", profile, "--quiet")
    rows = handbook_rows()
    batch = rag_eval.evaluate_batch(rows, profile=profile)
    found = read(target)
    assert len(found) == len(rows)
    for row, result, written in zip(rows, batch.results, found, strict=True):
        assert written["id"] == row["id"]
        scores = {metric: metric_result.score for metric, metric_result in result.metrics.items()}
        assert {metric: written[metric] for metric in scores} == scores
        assert written["composite_score"] == result.composite_score
        assert written["passed"] is result.passed
        for metric, score_ in scores.items():
            assert (written[f"{metric}_null_reason"] is None) == (score_ is not None)
    metrics = list(batch.metrics)
    assert list(found[0]) == [
        "id",
        *metrics,
        *(f"{metric}_null_reason" for metric in metrics),
        "composite_score",
        "passed",
    ]


@pytest.mark.parametrize("suffix", TARGETS)
def test_why_a_score_is_null(tmp_path: Path, suffix: str) -> None:
    rows = [{"question": "q?", "answer": "a b."}, SAMPLES[0]]
    target = tmp_path / f"s.{suffix}"
    score(
        lines(tmp_path / "d.jsonl", rows), target, *FAITH, "--profile", "grounded", "--quiet"
    )  # fmt: skip
    first, second = read(target)
    assert (first["faithfulness"], first["faithfulness_null_reason"]) == (None, "missing_field")
    assert first["composite_score"] is None
    assert first["passed"] is False
    assert (
        second["faithfulness"]
        == rag_eval.evaluate(SAMPLES[0], profile="grounded").metrics["faithfulness"].score
    )
    assert second["faithfulness_null_reason"] is None


@pytest.mark.parametrize("suffix", TARGETS)
def test_rows_without_an_id_have_their_number(tmp_path: Path, data: Path, suffix: str) -> None:
    target = tmp_path / f"s.{suffix}"
    score(data, target, *FAITH, "--quiet")
    numbered: Any = 2 if "json" in suffix else "2"
    assert [row["id"] for row in read(target)] == ["a", "b", numbered, "d"]


def test_numbers_count_skipped_rows_and_earlier_files(tmp_path: Path) -> None:
    sample = {name: SAMPLES[0][name] for name in ("question", "answer", "contexts")}
    lines(tmp_path / "d1.jsonl", [sample, "bad", sample])
    lines(tmp_path / "d2.jsonl", [sample, 7, sample])
    target = tmp_path / "s.jsonl"
    done = score(tmp_path / "d*.jsonl", target, *FAITH, "--skip-invalid")
    assert [row["id"] for row in read(target)] == [0, 2, 3, 5]
    assert "4 samples scored, 2 of 6 skipped as invalid" in " ".join(done.stderr.split())
    assert done.stderr.count("line 2") == 2


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_the_signature_is_in_the_schema(tmp_path: Path, data: Path, suffix: str) -> None:
    target = tmp_path / f"s.{suffix}"
    score(data, target, *FAITH, "--quiet")
    read_schema = parquet.read_schema if suffix == "parquet" else lambda p: ipc.open_file(p).schema
    schema = read_schema(target)
    signature = rag_eval.evaluate_batch(SAMPLES, ["faithfulness"]).signature
    assert json.loads(schema.metadata[b"rag_eval.signature"]) == signature.to_dict()
    assert [(field.name, str(field.type)) for field in schema] == [
        ("id", "string"),
        ("faithfulness", "double"),
        ("faithfulness_null_reason", "string"),
        ("composite_score", "double"),
        ("passed", "bool"),
    ]


def test_csv_is_what_spreadsheets_read(tmp_path: Path, data: Path) -> None:
    target = tmp_path / "s.csv"
    score(data, target, *FAITH, "--columns", "answer,contexts,n", "--quiet")
    assert target.read_text().splitlines() == [
        "id,answer,contexts,n,faithfulness,faithfulness_null_reason,composite_score,passed",
        'a,red fox.,"[""red fox."",""it""]",,1.0,,1.0,true',
        "b,,[],,0.0,,0.0,false",
        '2,"Nobody, ever.","[""nobody""]",,0.35,,0.35,false',
        'd,Ünder “the” sun.,"[""the\\nsun""]",3,0.6166666666666666,,0.6166666666666666,false',
    ]


# Each way of reading and each of writing; all pairs of them in the deep run.
WAYS = [
    ("jsonl", "csv"),
    ("jsonl", "jsonl"),
    ("parquet", "parquet"),
    ("arrow", "arrow"),
]


@pytest.mark.parametrize(
    ("source", "suffix"),
    [
        pytest.param(*pair, marks=[] if pair in WAYS else pytest.mark.deep)
        for pair in product(["jsonl", "parquet", "arrow"], ["jsonl", "csv", "parquet", "arrow"])
    ],
)
def test_bytes_do_not_depend_on_threads_blocks_or_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, suffix: str
) -> None:
    rows = [
        {**SAMPLES[n % 4], "n": n, "tag": "x" * (n % 7), "id": f"q-{n}"} for n in range(2500)
    ]  # fmt: skip
    rows = [{**row, "ground_truth": row.get("ground_truth")} for row in rows]
    if source == "jsonl":
        data = lines(tmp_path / "d.jsonl", rows)
    else:
        data = table(tmp_path / f"d.{source}", pa.Table.from_pylist(rows))
    monkeypatch.setattr(arrow_rows, "_MOST_BYTES", 60_000)
    found = set()
    for number, options in enumerate(
        [
            {"threads": 1},
            {"threads": 2},
            {"threads": 3, "checkpoint_rows": 1},
            {"threads": 1, "checkpoint_rows": 1100},
        ]
    ):
        # Under the same name: nothing else differs.
        folder = tmp_path / str(number)
        folder.mkdir()
        if number == 2:
            monkeypatch.setattr("rag_eval.inputs.json_files._MAX_ROWS", 77)
            monkeypatch.setattr("rag_eval.inputs.parquet_files._BATCH_ROWS", 99)
        target = folder / f"s.{suffix}"
        score_file(data, target, ["faithfulness"], columns=["contexts", "n", "tag"], **options)
        found.add(target.read_bytes())
    assert len(found) == 1


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_groups_of_rows_stay_below_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(arrow_rows, "_MOST_BYTES", 200_000)
    rows = [{**SAMPLES[0], "text": "x" * (50 if n != 900 else 500_000)} for n in range(6000)]
    target = tmp_path / f"s.{suffix}"
    score_file(lines(tmp_path / "d.jsonl", rows), target, ["faithfulness"], columns=["text"])
    if suffix == "parquet":
        file = parquet.ParquetFile(target)
        groups = [file.read_row_group(number) for number in range(file.num_row_groups)]
    else:
        reader = ipc.open_file(target)
        groups = [
            pa.Table.from_batches([reader.get_batch(number)])
            for number in range(reader.num_record_batches)
        ]
    assert sum(group.num_rows for group in groups) == 6000
    assert len(groups) > 3
    for group in groups:
        assert group.num_rows == 1 or sum(len(text) for text in group["text"].to_pylist()) < 200_000
    monkeypatch.setattr(arrow_rows, "_MOST_ROWS", 2048)
    score_file(tmp_path / "d.jsonl", target, ["faithfulness"])
    if suffix == "parquet":
        file = parquet.ParquetFile(target)
        sizes = [file.metadata.row_group(number).num_rows for number in range(3)]
        assert sizes == [2048, 2048, 1904]


def test_rows_that_need_escapes_do_not_change_their_neighbours(tmp_path: Path) -> None:
    """1e-05 was written in a block with a lone surrogate, and 0.00001 in others."""
    rows = [{**SAMPLES[0], "x": 1e-5, "t": "\ud800" if n == 1 else "t"} for n in range(3)]
    data = lines(tmp_path / "d.jsonl", rows)
    for suffix in ("jsonl", "csv", "parquet"):
        score(data, tmp_path / f"s.{suffix}", *FAITH, "--columns", "x,t", "--quiet")
    first, second, third = (tmp_path / "s.jsonl").read_bytes().splitlines()
    assert first == third
    assert json.loads(second)["t"] == "\ud800"
    assert [row["t"] for row in read(tmp_path / "s.csv")] == ["t", "\\ud800", "t"]
    assert [row["t"] for row in read(tmp_path / "s.parquet")] == ["t", "\\ud800", "t"]
