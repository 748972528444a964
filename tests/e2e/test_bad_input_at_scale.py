"""Large files with something wrong in them: it is named, and what is right is scored as ever."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import rag_eval
from rag_eval.errors import InputError
from rag_eval.jobs.file_scoring import score_file
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.samples import PROFILES
from tests.commands import WANTED_SAMPLES, invoke

N_LINES = 200_000
FIELDS = ("question", "answer", "contexts", "ground_truth")
ONE = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
FAITH = ("--metrics", "faithfulness", "--quiet")


def refused(*arguments: object) -> str:
    done = invoke("score", *arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    [line] = done.stderr.splitlines()
    return line.removeprefix("error: ")


def sample(n: int, **more: Any) -> dict[str, Any]:
    row = {"id": f"q-{n}", "question": f"who is {n}?", "answer": f"Fox {n}. It sleeps."}
    return {**row, "contexts": [f"fox {n}", "sleeps"], "ground_truth": f"fox {n}", **more}


# ---------------------------------------------------------------------------- one bad line


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many good lines, and in the last quarter one that ends too early."""
    path = tmp_path_factory.mktemp("large") / "large.jsonl"
    line = json.dumps(ONE).encode() + b"\n"
    with path.open("wb") as file:
        file.write(line * 160_000)
        file.write(b'{"id": "x", "question": "red\n')
        file.write(line * (N_LINES - 160_001))
    return path


def test_one_broken_line_is_named(large: Path, tmp_path: Path) -> None:
    message = refused(large, tmp_path / "s.jsonl", *FAITH)
    assert (
        message == f"{large}, line 160001: not valid JSON: the string that starts at column 25 is "
        "not closed. The file seems to be cut off; write or copy it again"
    )
    done = invoke("run", large, *FAITH)
    assert (done.exit_code, done.stderr) == (2, f"error: {message}\n")


def test_one_broken_line_is_counted(large: Path, tmp_path: Path) -> None:
    target = tmp_path / "s.jsonl"
    report = score_file(large, target, ["faithfulness"], skip_invalid=True)
    assert (report.result.n_rows, report.n_skipped) == (N_LINES - 1, 1)
    assert [str(fault).partition(":")[0] for fault in report.faults] == ["line 160001"]
    assert report.result.aggregates["faithfulness"].mean == 1
    lines = target.read_bytes().splitlines()
    assert len(lines) == N_LINES - 1
    # Numbers are those of the input: the broken line keeps its own.
    for place, number in ((0, 0), (159_999, 159_999), (160_000, 160_001), (-1, N_LINES - 1)):
        assert json.loads(lines[place])["id"] == number


# -------------------------------------------------------------------------------- giant rows


@pytest.mark.parametrize(
    ("source", "threads"),
    [
        ("jsonl", 2),
        ("parquet", 1),
        pytest.param("jsonl", 1, marks=pytest.mark.deep),
        pytest.param("parquet", 2, marks=pytest.mark.deep),
    ],
)
def test_a_giant_among_small_rows(tmp_path: Path, source: str, threads: int) -> None:
    choose = random.Random(1)
    words = [f"word{number}" for number in range(500)]
    rows = [sample(n) for n in range(4000)]
    giant = " ".join(choose.choices(words, k=11_000) * 100) + "."
    assert len(giant) > 8_000_000
    rows[1000]["contexts"] = [giant, "fox"]
    if source == "jsonl":
        data = tmp_path / "d.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        data = tmp_path / "d.parquet"
        parquet.write_table(pa.Table.from_pylist(rows), data, row_group_size=500)
    metrics: list[Any] = ["faithfulness", "context_recall"]
    target = tmp_path / "s.jsonl"
    score_file(data, target, metrics, threads=threads)
    found = [json.loads(line) for line in target.read_bytes().splitlines()]
    assert [row["id"] for row in found] == [f"q-{n}" for n in range(4000)]
    batch = rag_eval.evaluate_batch(rows, metrics)
    for name in metrics:
        assert [row[name] for row in found] == [
            result.metrics[name].score for result in batch.results
        ]


# --------------------------------------------------------------------------------- Parquet


def written(path: Path, table: pa.Table, **options: Any) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(table, path, **options)
    else:
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


SCHEMA = pa.schema(
    {
        **{"id": pa.string(), "question": pa.string(), "answer": pa.string()},
        **{"contexts": pa.list_(pa.string()), "ground_truth": pa.string()},
    }
)


def with_nulls(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each row with a null in one place, and a few with several."""
    for n, row in enumerate(rows):
        changed = dict(row)
        name = [*FIELDS, "id"][n % 5]
        changed[name] = None
        if n % 7 == 0:
            changed["contexts"] = [None, "fox"] if n % 2 else []
        if n % 11 == 0:
            changed["answer"] = None
        yield changed


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("profile", ["overlap", "grounded"])
def test_nulls_in_every_place(tmp_path: Path, profile: Any, suffix: str) -> None:
    """Rows of columns are scored or refused as the same rows of JSON are."""
    rows = list(with_nulls([sample(n) for n in range(300)]))
    data = written(tmp_path / f"d.{suffix}", pa.Table.from_pylist(rows, SCHEMA))
    lines = tmp_path / "d.jsonl"
    plain = [{name: value for name, value in row.items() if value is not None} for row in rows]
    lines.write_text("".join(json.dumps(row) + "\n" for row in plain))
    reports = []
    for source in (data, lines):
        target = tmp_path / f"{source.suffix[1:]}-scores.jsonl"
        report = score_file(source, target, profile=profile, skip_invalid=True)
        reports.append((report, target.read_bytes()))
    (columns, column_bytes), (dicts, dict_bytes) = reports
    assert column_bytes == dict_bytes
    assert columns.n_skipped == dicts.n_skipped
    assert [fault.fault for fault in columns.faults] == [fault.fault for fault in dicts.faults]
    assert (columns.n_skipped > 0) == (profile == "overlap")
    assert columns.result.summary_dict()["aggregates"] == dicts.result.summary_dict()["aggregates"]
    with_faults = {fault.number for fault in columns.faults}
    assert with_faults == {fault.number - 1 for fault in dicts.faults}


@pytest.mark.parametrize("missing", ["answer", "contexts", "question"])
def test_a_missing_column(tmp_path: Path, missing: str) -> None:
    """A metric that is asked for needs it; of the default ones those that do not are scored."""
    table = pa.Table.from_pylist([sample(n) for n in range(50)], SCHEMA).drop([missing])
    data = written(tmp_path / "d.parquet", table)
    target = tmp_path / "s.parquet"
    message = refused(data, target, "--quiet", "--metrics", ",".join(METRIC_IDS))
    assert f"{data} has no field '{missing}', and no unused column" in message
    with pytest.raises(InputError, match=f"no field '{missing}'"):
        score_file(data, target, list(METRIC_IDS), profile="grounded")
    assert not target.exists()
    for profile in PROFILES:
        report = score_file(data, target, profile=profile, restart=True)
        assert f"no {missing}" in report.result.not_measured.values()
        assert report.result.n_rows == 50
        reasons = parquet.read_table(target)["faithfulness_null_reason"].to_pylist()
        assert set(reasons) == ({None} if missing == "question" else {"missing_field"})


def test_a_column_of_a_name_that_is_nearly_ours(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([sample(n) for n in range(50)], SCHEMA)
    data = written(
        tmp_path / "d.parquet",
        table.rename_columns([*table.column_names[:2], "anwser", *table.column_names[3:]]),
    )
    message = refused(data, tmp_path / "s.jsonl", "--quiet")
    assert message == (
        f"{data} has no 'answer' field, but it has 'anwser'. Rename it, or pass --map answer=anwser"
    )
    message = refused(data, tmp_path / "s.jsonl", "--quiet", "--map", "answer=answr")
    assert "the samples have no field 'answr'; did you mean 'anwser'" in message
    done = invoke("score", data, tmp_path / "s.jsonl", "--quiet", "--map", "answer=anwser")
    assert done.exit_code == 0


def test_mixed_types_of_our_fields_over_files(tmp_path: Path) -> None:
    texts = pa.Table.from_pylist([sample(n) for n in range(3)], SCHEMA)
    large = texts.cast(
        pa.schema(
            [
                field.with_type(pa.large_string()) if field.type == pa.string() else field
                for field in SCHEMA
            ]
        )
    )
    numbers = texts.set_column(0, "id", pa.array([7, 8, 9]))
    files = [
        written(tmp_path / "a.parquet", texts),
        written(tmp_path / "b.parquet", large),
        written(tmp_path / "c.parquet", numbers),
    ]
    score_file(files, tmp_path / "s.jsonl", ["faithfulness"])
    found = [json.loads(line) for line in (tmp_path / "s.jsonl").read_bytes().splitlines()]
    assert [row["id"] for row in found] == ["q-0", "q-1", "q-2"] * 2 + [7, 8, 9]
    scores = [row["faithfulness"] for row in found]
    assert scores[:3] == scores[3:6] == scores[6:]
    score_file(files[:2], tmp_path / "s.parquet", ["faithfulness"], columns=["question"][:0])
    assert parquet.read_table(tmp_path / "s.parquet").num_rows == 6
    with pytest.raises(InputError, match="column 'id' is int64 in one file and string in another"):
        score_file(files, tmp_path / "s.parquet", ["faithfulness"])
    answers = texts.set_column(2, "answer", pa.array([1, 2, 3]))
    files.append(written(tmp_path / "d.parquet", answers))
    with pytest.raises(InputError, match=r"d\.parquet, row 1 .*answer must be a string, got int"):
        score_file(files, tmp_path / "t.jsonl", ["faithfulness"])


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_no_rows_and_empty_groups(tmp_path: Path, suffix: str) -> None:
    empty = written(tmp_path / f"a.{suffix}", SCHEMA.empty_table())
    message = refused(empty, tmp_path / "s.jsonl", *FAITH)
    assert message == f"{empty} holds no samples{WANTED_SAMPLES}"
    table = pa.Table.from_pylist([sample(n) for n in range(5)], SCHEMA)
    full = tmp_path / f"b.{suffix}"
    if suffix == "parquet":
        with parquet.ParquetWriter(full, SCHEMA) as writer:
            for group in (table[:0], table[:2], table[:0], table[2:], table[:0]):
                writer.write_table(group)
        assert parquet.ParquetFile(full).num_row_groups >= 3
    else:
        with ipc.new_file(full, SCHEMA) as stream:
            for group in (table[:0], table[:2], table[:0], table[2:], table[:0]):
                for batch in group.to_batches() or [pa.RecordBatch.from_pylist([], SCHEMA)]:
                    stream.write_batch(batch)
    target = tmp_path / "s.parquet"
    score_file([empty, full, empty], target, ["faithfulness"])
    assert parquet.read_table(target)["id"].to_pylist() == [f"q-{n}" for n in range(5)]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_that_is_cut_off(tmp_path: Path, suffix: str) -> None:
    table = pa.Table.from_pylist([sample(n) for n in range(500)], SCHEMA)
    data = written(tmp_path / f"d.{suffix}", table)
    whole = data.read_bytes()
    for length in (0, 1, 4, 100, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        data.write_bytes(whole[:length])
        message = refused(data, tmp_path / "s.jsonl", *FAITH)
        assert message.startswith(
            (f"{data} is not valid {suffix.capitalize()}: ", f"cannot read {data}: ")
        ), length
        assert [path.name for path in tmp_path.iterdir()] == [data.name]


def test_a_file_with_damage_in_the_middle(tmp_path: Path) -> None:
    """The footer is whole, a page is not: rows before it may be kept, and none of it is wrong."""
    rng = np.random.default_rng(0)
    rows = [sample(n, answer=f"Fox {rng.integers(1 << 60)}.") for n in range(3000)]
    data = written(
        tmp_path / "d.parquet",
        pa.Table.from_pylist(rows, SCHEMA),
        row_group_size=1000,
        write_page_checksum=True,
    )
    whole = bytearray(data.read_bytes())
    for place in (len(whole) // 3, len(whole) // 2, 2 * len(whole) // 3):
        damaged = whole.copy()
        damaged[place : place + 64] = bytes(byte ^ 0xA5 for byte in damaged[place : place + 64])
        data.write_bytes(damaged)
        done = invoke("score", data, tmp_path / "s.jsonl", *FAITH, "--restart")
        assert done.exit_code in (0, 2), done.output
        if done.exit_code:
            [line] = done.stderr.splitlines()
            assert str(data) in line


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    """Arrow streams and Parquet under each other's names, and text under theirs."""
    table = pa.Table.from_pylist([sample(0)], SCHEMA)
    written(tmp_path / "a.parquet", table).rename(tmp_path / "a.arrow")
    written(tmp_path / "b.arrow", table).rename(tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_text(json.dumps(ONE))
    for name in ("a.arrow", "b.parquet", "c.parquet"):
        message = refused(tmp_path / name, tmp_path / "s.jsonl", *FAITH)
        assert f"{tmp_path / name} is not valid" in message
    written(tmp_path / "d.parquet", table).rename(tmp_path / "d.jsonl")
    assert "line 1: not valid UTF-8" in refused(tmp_path / "d.jsonl", tmp_path / "s.csv", *FAITH)
