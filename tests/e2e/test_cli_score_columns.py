"""Columns of the input that ``rag-eval score`` writes beside the scores, and ids."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from rag_eval.jobs.file_scoring import score_file
from tests.commands import invoke
from tests.run_command import FAITH
from tests.score_command import SAMPLES, lines, read, refused, score, table

EXTRA = {
    "text": ["x", None, "", "quoted \"'\n", "ü", "5"],
    "whole": [1, None, 2**62, -1, 0, 3],
    "real": [0.5, None, 1e-5, 1e300, -0.0, 3.0],
    "flag": [True, None, False, True, False, True],
    "nested": [{"a": [1, {"b": "ü"}]}, None, {"a": []}, {"a": [2]}, {"a": None}, {"a": [3]}],
    "texts": [["a", "b"], None, [], ["c"], ["d\n"], [""]],
}


def extra_rows() -> list[dict[str, Any]]:
    rows = []
    for n in range(6):
        sample = {"id": f"q-{n}", "question": f"q {n}", "answer": f"fox {n}", "contexts": [f"{n}"]}
        rows.append({**sample, **{name: values[n] for name, values in EXTRA.items()}})
    return rows


def text_of(value: Any) -> Any:
    """As a column of text holds it."""
    return value if value is None or isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "arrow"])
def test_columns_of_json(tmp_path: Path, suffix: str) -> None:
    data = lines(tmp_path / "d.jsonl", extra_rows())
    target = tmp_path / f"s.{suffix}"
    names = ["contexts", "question", *EXTRA, "nowhere"]
    score(data, target, *FAITH, "--columns", ",".join(names), "--quiet")
    found = read(target)
    assert list(found[0])[: len(names) + 1] == ["id", *names]
    for row, written in zip(extra_rows(), found, strict=True):
        for name in names:
            value = row.get(name)
            if suffix in ("parquet", "arrow") and name != "contexts":
                value = text_of(value)
                if name in ("real", "nested") and value is not None:
                    assert json.loads(written[name]) == json.loads(value)
                    continue
            if suffix == "csv":
                value = {"": None, "5": 5}.get(value, value) if isinstance(value, str) else value
            assert written[name] == value, (name, row)


@pytest.mark.parametrize("source", ["parquet", "arrow"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "arrow"])
def test_columns_of_columns(tmp_path: Path, source: str, suffix: str) -> None:
    schema = pa.schema(
        {
            **{"id": pa.string(), "question": pa.string(), "answer": pa.large_string()},
            **{"contexts": pa.list_(pa.string()), "text": pa.string(), "whole": pa.int64()},
            **{"real": pa.float64(), "flag": pa.bool_(), "texts": pa.large_list(pa.string())},
        }
    )
    rows = pa.Table.from_pylist(extra_rows(), schema)
    rows = rows.append_column("kind", pa.array(["u", "v", None] * 2).dictionary_encode())
    data = table(tmp_path / f"d.{source}", rows)
    target = tmp_path / f"s.{suffix}"
    names = ["contexts", "text", "whole", "real", "flag", "texts", "kind"]
    score(data, target, *FAITH, "--columns", ",".join(names), "--quiet")
    found = read(target)
    for row, written in zip(rows.to_pylist(), found, strict=True):
        for name in names:
            value = row[name]
            if suffix == "csv":
                value = {"": None, "5": 5}.get(value, value) if isinstance(value, str) else value
            assert written[name] == value, name
    if suffix == source:
        written_schema = parquet.read_schema(target) if suffix == "parquet" else None
        if written_schema is not None:
            assert written_schema.field("whole").type == pa.int64()
            assert written_schema.field("kind").type == pa.string()


def test_columns_of_csv(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(
        'id,question,answer,contexts,model\na,q,x,"[""y"", ""z""]",m-1\n,q,x,y,\n'
    )
    target = tmp_path / "s.parquet"
    score(tmp_path / "d.csv", target, *FAITH, "--columns", "model,contexts,id2"[:-4], "--quiet")
    assert [(row["id"], row["model"], row["contexts"]) for row in read(target)] == [
        ("a", "m-1", ["y", "z"]),
        ("1", "", ["y"]),
    ]


def test_values_that_json_has_no_form_for(tmp_path: Path) -> None:
    """They ended the run with a traceback."""
    rows = pa.table(
        {
            **{"question": ["q"], "answer": ["a"], "contexts": [["a"]]},
            **{"at": [datetime.datetime(2024, 1, 2, 3)], "price": [Decimal("1.50")]},
            **{"nan": [float("nan")], "deep": [{"x": float("inf")}], "raw": [b"\xff"]},
        }
    )
    data = table(tmp_path / "d.parquet", rows)
    for suffix in ("jsonl", "csv"):
        target = tmp_path / f"s.{suffix}"
        score(data, target, *FAITH, "--columns", "at,price,nan,deep,raw", "--quiet")
        [row] = read(target)
        assert [row[name] for name in ("at", "price", "nan", "deep", "raw")] == [
            "2024-01-02T03:00:00",
            "1.50" if suffix == "jsonl" else 1.5,
            None,
            {"x": None},
            "/w==",
        ]


def test_names_that_need_escapes(tmp_path: Path) -> None:
    names = ['say "x"', "back\\slash", "ü", "a b"]
    data = lines(tmp_path / "d.jsonl", [{**SAMPLES[0], **{name: name for name in names}}])
    for suffix in ("jsonl", "csv", "parquet"):
        score_file(data, tmp_path / f"s.{suffix}", ["faithfulness"], columns=names)
        [row] = read(tmp_path / f"s.{suffix}")
        assert {name: row[name] for name in names} == {name: name for name in names}


def test_prefix(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", [{**SAMPLES[0], "passed": "yes", "faithfulness": 7}])
    flags = (*FAITH, "--columns", "passed,faithfulness", "--quiet")
    message = refused(data, tmp_path / "s.jsonl", *flags)
    assert message == (
        "column 'passed' of the input has the name of a column of the scores; give the scores a "
        "prefix (--prefix)"
    )
    assert list(tmp_path.iterdir()) == [data]
    score(data, tmp_path / "s.jsonl", *flags, "--prefix", "rag_")
    [row] = read(tmp_path / "s.jsonl")
    assert row == {
        "id": "a",
        "passed": "yes",
        "faithfulness": 7,
        "rag_faithfulness": 1.0,
        "rag_faithfulness_null_reason": None,
        "rag_composite_score": 1.0,
        "rag_passed": True,
    }


def test_names_of_columns_that_cannot_be(tmp_path: Path, data: Path) -> None:
    assert "the ids are always included" in refused(data, tmp_path / "s.csv", "--columns", "id")
    assert "is requested twice" in refused(data, tmp_path / "s.csv", "--columns", "n,n")
    rows = pa.Table.from_pylist([SAMPLES[0]])
    for path in (table(tmp_path / "d.parquet", rows), table(tmp_path / "d.arrow", rows)):
        message = refused(path, tmp_path / "s.csv", "--columns", "anwser")
        assert "has no column 'anwser'; did you mean 'answer'" in message
    (tmp_path / "d.csv").write_text("question,answer,contexts\nq,a,c\n")
    message = refused(tmp_path / "d.csv", tmp_path / "s.csv", "--columns", "anwser")
    assert "has no column 'anwser'; did you mean 'answer'" in message
    assert not (tmp_path / "s.csv.parts").exists()


def test_files_of_other_types_of_one_column(tmp_path: Path) -> None:
    """Also where the first of them was written by an earlier run, which nothing remembers."""
    question = {"question": ["q"] * 1500, "answer": ["a"] * 1500, "contexts": [["a"]] * 1500}
    paths = [
        table(tmp_path / "a.parquet", pa.table({**question, "x": range(1500)})),
        table(tmp_path / "b.parquet", pa.table({**question, "x": ["text"] * 1500})),
    ]
    for suffix in ("parquet", "arrow"):
        target = tmp_path / f"s.{suffix}"
        flags = (*FAITH, "--columns", "x", "--checkpoint-rows", 1, "--quiet")
        for more in ([], ["--resume"], ["--resume"]):
            message = refused(tmp_path / "?.parquet", target, *flags, *more)
            assert "column 'x' is int64 in one file and string in another" in message
        assert not target.exists()
    score(tmp_path / "?.parquet", tmp_path / "s.jsonl", *FAITH, "--columns", "x", "--quiet")
    assert [row["x"] for row in read(tmp_path / "s.jsonl")][::1500] == [0, "text"]
    assert all(path.exists() for path in paths)


@pytest.mark.parametrize(
    ("ids", "written", "kind"),
    [
        (pa.array([2**64 - 1, 1], pa.uint64()), [2**64 - 1, 1], "uint64"),
        (pa.array([3, None], pa.int8()), [3, 1], "int64"),
        (pa.array(["x", None]), ["x", 1], "string"),
        (pa.array(["x", "y"], pa.large_string()), ["x", "y"], "string"),
        (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"], "string"),
        (pa.array([1.5, 2.0]), ["1.5", 2], "string"),
        (pa.array([True, None]), ["True", 1], "string"),
        (pa.array([b"x", b"\xff"]), ["x", "ff"], "string"),
        (pa.nulls(2), [0, 1], "string"),
    ],
)
def test_ids_of_columns(tmp_path: Path, ids: pa.Array, written: list[Any], kind: str) -> None:
    """Large and binary ids ended the run with a traceback; ids of some types were dropped."""
    rows = pa.table(
        {"id": ids, "question": ["q"] * 2, "answer": ["a"] * 2, "contexts": [["a"]] * 2}
    )
    data = table(tmp_path / "d.parquet", rows)
    for suffix in ("jsonl", "parquet"):
        score(data, tmp_path / f"s.{suffix}", *FAITH, "--quiet")
    assert [row["id"] for row in read(tmp_path / "s.jsonl")] == written
    found = parquet.read_table(tmp_path / "s.parquet")["id"]
    assert str(found.type) == kind
    assert list(map(str, found.to_pylist())) == list(map(str, written))


@pytest.mark.parametrize("target", ["o.jsonl", "o.csv", "o.parquet"])
def test_a_column_may_stand_in_the_metadata(tmp_path: Path, target: str) -> None:
    topics = [{"metadata": {"topic": "ferries"}}, {"topic": "own", "metadata": {"topic": "other"}}]
    rows = [{**row, **extra} for row, extra in zip(SAMPLES, [*topics, {}], strict=False)]
    source = lines(tmp_path / "d.jsonl", rows)
    done = score(source, tmp_path / target, "--columns", "topic", *FAITH)
    assert done.exit_code == 0
    found = [row["topic"] for row in read(tmp_path / target)]
    assert found[:2] == ["ferries", "own"]
    assert found[2] in (None, "")


@pytest.mark.parametrize("target", ["o.jsonl", "o.parquet"])
def test_a_column_that_no_row_has_is_said(tmp_path: Path, target: str) -> None:
    """Rows of JSON differ, and files do: only a name that is nearly that of a key is an error."""
    source = lines(tmp_path / "d1.jsonl", [{**row, "model": "m1"} for row in SAMPLES[:2]])
    done = score(source, tmp_path / target, "--columns", "nowhere,model", *FAITH)
    assert "note: column 'nowhere' is null in every row\n" in done.stderr
    assert "'model'" not in done.stderr
    done = invoke("score", source, tmp_path / f"x{target}", "--columns", "modle,model")
    assert done.exit_code == 2
    assert f"{source} has no column 'modle'; did you mean 'model'? It has id, " in done.stderr
    assert not (tmp_path / f"x{target}").exists()
    lines(tmp_path / "d2.jsonl", [{**row, "mode": "m1"} for row in SAMPLES[:2]])
    done = score(tmp_path / "d*.jsonl", tmp_path / f"y{target}", "--columns", "model", *FAITH)
    assert [row["model"] or None for row in read(tmp_path / f"y{target}")][::2] == ["m1", None]
