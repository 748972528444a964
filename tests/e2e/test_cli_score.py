"""``rag-eval score`` from the outside: what is in the files, and what is said about them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from click.testing import Result
from pyarrow import ipc, parquet

import rag_eval
from rag_eval.calibration.fitting import calibrate
from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import file_bytes
from rag_eval.jobs.file_scoring import score_file, score_to_stream
from rag_eval.outputs import arrow_rows
from tests.commands import LEAVE_OUT, invoke

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook.jsonl"
TARGETS = ["jsonl", "ndjson", "csv", "jsonl.gz", "jsonl.zst", "csv.gz", "parquet", "arrow"]
FAITH = ("--metrics", "faithfulness")


def score(*arguments: object, **options: Any) -> Result:
    done = invoke("score", *arguments, **options)
    assert done.exit_code == 0, done.stderr
    return done


def refused(*arguments: object, **options: Any) -> str:
    done = invoke("score", *arguments, **options)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def process(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rag_eval", *map(str, arguments)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


def handbook() -> list[dict[str, Any]]:
    return [json.loads(line) for line in HANDBOOK.read_text("utf-8").splitlines()]


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(path: Path, rows: pa.Table) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(rows, path, row_group_size=20)
    else:
        with ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=20)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of scores; of CSV the cells that hold JSON as their values."""
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    if name.endswith(".parquet"):
        return cast(list[dict[str, Any]], parquet.read_table(path).to_pylist())
    if name.endswith(".arrow"):
        return cast(list[dict[str, Any]], ipc.open_file(path).read_all().to_pylist())
    data = file_bytes(path)
    if name.endswith(".csv"):
        rows = csv.DictReader(io.StringIO(data.decode(), newline=""))
        return [{name: _plain(name, cell) for name, cell in row.items()} for row in rows]
    return [json.loads(line) for line in data.splitlines()]


def _plain(name: str | None, cell: str) -> Any:
    if cell == "":
        return None
    if name == "id" or str(name).endswith("_null_reason"):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return cell


SAMPLES = [
    {"id": "a", "question": "red fox?", "answer": "red fox.", "contexts": ["red fox.", "it"]},
    {"id": "b", "question": "", "answer": "", "contexts": []},
    {"question": "who?", "answer": "Nobody, ever.", "contexts": ["nobody"], "ground_truth": "No."},
    {"id": "d", "question": "ü?", "answer": "Ünder “the” sun.", "contexts": ["the\nsun"], "n": 3},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return lines(tmp_path / "data.jsonl", SAMPLES)


# ------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("profile", ["overlap", "grounded"])
@pytest.mark.parametrize("suffix", TARGETS)
def test_every_format_has_the_rows_of_evaluate_batch(
    tmp_path: Path, suffix: str, profile: Any
) -> None:
    target = tmp_path / f"scores.{suffix}"
    score(HANDBOOK, target, "--profile", profile, "--quiet")
    rows = handbook()
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


# --------------------------------------------------------------------------------------- bytes


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


# ------------------------------------------------------------------------------------- columns


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
    import datetime
    from decimal import Decimal

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
    assert "the ids are always there" in refused(data, tmp_path / "s.csv", "--columns", "id")
    assert "asked for twice" in refused(data, tmp_path / "s.csv", "--columns", "n,n")
    rows = pa.Table.from_pylist([SAMPLES[0]])
    for path in (table(tmp_path / "d.parquet", rows), table(tmp_path / "d.arrow", rows)):
        message = refused(path, tmp_path / "s.csv", "--columns", "anwser")
        assert "has no column 'anwser'; did you mean 'answer'" in message
    (tmp_path / "d.csv").write_text("question,answer,contexts\nq,a,c\n")
    message = refused(tmp_path / "d.csv", tmp_path / "s.csv", "--columns", "anwser")
    assert "has no column 'anwser'; did you mean 'answer'" in message
    assert not (tmp_path / "s.csv.parts").exists()


# -------------------------------------------------------------------------------- calibrations


def test_probabilities(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    scores = generator.random(80)
    calibration = calibrate(
        scores, generator.random(80) < scores, metric="faithfulness", n_resamples=10
    )
    calibration.save(tmp_path / "c.json")
    flags = ("--metrics", "faithfulness,context_recall", "--calibration", tmp_path / "c.json")
    for suffix in ("jsonl", "csv", "parquet"):
        target = tmp_path / f"s.{suffix}"
        score(HANDBOOK, target, *flags, "--quiet", "--prefix", "p_")
        rows = read(target)
        assert [name for name in rows[0] if name.endswith("_probability")] == [
            "p_faithfulness_probability"
        ]
        column = np.array([row["p_faithfulness"] for row in rows], np.float64)
        assert [row["p_faithfulness_probability"] for row in rows] == [
            None if value != value else value for value in calibration.probabilities(column)
        ]
        passed = [row["p_passed"] for row in rows]
        assert any(passed)
        assert not all(passed)


# ----------------------------------------------------------------------------- standard output


def test_rows_to_standard_output(tmp_path: Path, data: Path) -> None:
    for form in ("jsonl", "csv"):
        done = score(data, "-", *FAITH, "--columns", "contexts", "--format", form, "--quiet")
        score(data, tmp_path / f"s.{form}", *FAITH, "--columns", "contexts", "--quiet")
        assert done.stdout_bytes == (tmp_path / f"s.{form}").read_bytes()
        assert done.stderr == ""
    assert score(data, "-", *FAITH).stdout.startswith('{"id":"a","faithfulness":1.0,')
    assert "4 samples scored" in score(data, "-", *FAITH).stderr


def test_rows_from_standard_input(data: Path) -> None:
    done = score("-", "-", *FAITH, "--quiet", input=data.read_bytes())
    assert done.stdout == score(data, "-", *FAITH, "--quiet").stdout


def test_a_stream_has_the_statistics_of_a_file(tmp_path: Path) -> None:
    file = io.BytesIO()
    streamed = score_to_stream(HANDBOOK, file).result.summary_dict()
    kept = score_file(HANDBOOK, tmp_path / "s.jsonl").result.summary_dict()
    assert file.getvalue() == (tmp_path / "s.jsonl").read_bytes()
    for name in ("aggregates", "compositeAggregate", "passed", "signature"):
        assert streamed[name] == kept[name]


@pytest.mark.parametrize(
    "option", [{"resume": True}, {"restart": True}, {"checkpoint_rows": 5}, {"thread": 1}]
)
def test_a_stream_has_no_options_of_files_that_are_kept(option: dict[str, Any]) -> None:
    """They were passed over in silence, as was what is no option at all."""
    file = io.BytesIO()
    with pytest.raises(TypeError, match=f"^score_to_stream has no option '{next(iter(option))}'"):
        score_to_stream(HANDBOOK, file, **option)
    assert file.getvalue() == b""


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", SAMPLES * 5000)
    running = process("score", data, "-", *FAITH, "--quiet", stdout=subprocess.PIPE)
    assert running.stdout is not None
    assert json.loads(running.stdout.readline())["id"] == "a"
    running.stdout.close()
    assert running.stderr is not None
    assert (running.wait(60), running.stderr.read()) == (141, b"")
    running.stderr.close()


@pytest.mark.parametrize(
    "flags", [["--resume"], ["--restart"], ["--checkpoint-rows", "5"]]
)  # fmt: skip
def test_standard_output_is_not_kept(data: Path, flags: list[str]) -> None:
    assert refused(data, "-", *flags) == f"{flags[0]} needs a file: standard output is not kept"


# ------------------------------------------------------------------------------------- summary


def test_a_summary_is_a_baseline(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    score(HANDBOOK, tmp_path / "s.csv", "--summary", summary, "--quiet")
    value = json.loads(summary.read_text())
    assert (value["nRows"], value["nSkipped"], value["source"]) == (66, 0, str(HANDBOOK))
    expected = rag_eval.evaluate_batch(handbook()).summary_dict()
    for name in ("aggregates", "compositeAggregate", "passed", "signature"):
        assert value[name] == expected[name]
    assert "interrupted" not in value
    node = ("--policy", "node", "--baseline")
    assert invoke("run", HANDBOOK, *node, summary).exit_code == 0
    other = invoke("run", HANDBOOK, *node, summary, "--profile", "grounded")
    assert other.exit_code == 2
    score(HANDBOOK, "-", "--summary", tmp_path / "s.json.gz", "--quiet")
    assert json.loads(gzip.decompress((tmp_path / "s.json.gz").read_bytes()))["nRows"] == 66


def test_a_summary_that_could_not_be_written_is_refused_first(tmp_path: Path) -> None:
    """It was found out after the last row, and the samples themselves could be overwritten."""
    data = tmp_path / "d.json"
    data.write_text(json.dumps(SAMPLES))
    before = data.read_bytes()
    target = tmp_path / "s.csv"
    assert "is the sample file itself" in refused(data, target, "--summary", data)
    assert "wanted a name that ends in .json" in refused(data, target, "--summary", target)
    assert "does not exist; create it first" in refused(
        data, target, "--summary", tmp_path / "no" / "s.json"
    )
    assert data.read_bytes() == before
    assert list(tmp_path.iterdir()) == [data]


def test_a_sketch_says_so_in_the_signature(tmp_path: Path, data: Path) -> None:
    summary = tmp_path / "summary.json"
    score(data, tmp_path / "s.parquet", "--quantiles", "sketch", "--summary", summary, "--quiet")
    value = json.loads(summary.read_text())
    assert value["signature"]["options"]["quantiles"] == "sketch"
    exact = rag_eval.evaluate_batch(SAMPLES).summary_dict()
    for name, aggregate in exact["aggregates"].items():
        found = value["aggregates"][name]
        assert found.pop("median") == pytest.approx(aggregate.pop("median"), rel=1 / 4096)
        assert found == aggregate


# ------------------------------------------------------------------------------- what is said


def test_what_is_said(tmp_path: Path, data: Path) -> None:
    target = tmp_path / "s.jsonl"
    done = score(data, target, "--columns", "n")
    assert done.stdout == ""
    words = " ".join(done.stderr.split())
    assert "metric mean [95%] median min max std threshold pass rate nulls null rate" in words
    assert f"4 samples scored; written to {target}" in words
    assert score(data, target, "--quiet").stderr == ""


def test_repeated_ids_are_noted(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", [SAMPLES[0]] * 3)
    done = score(data, tmp_path / "s.jsonl", *FAITH)
    assert "2 rows have the id of an earlier one" in done.stderr


def test_a_bad_row_ends_the_run(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", [SAMPLES[0], {"id": "x", "question": "q", "answer": 5}])
    message = refused(data, tmp_path / "s.jsonl", *FAITH)
    fault = "contexts is missing; wanted a list of str"
    assert message == f'{data}, line 2 ("x"): {fault}{LEAVE_OUT}'
    assert list(tmp_path.iterdir()) == [data]
    done = score(data, tmp_path / "s.jsonl", *FAITH, "--skip-invalid")
    assert 'line 2 ("x"): contexts is missing' in done.stderr
    assert len(read(tmp_path / "s.jsonl")) == 1


def test_nothing_but_bad_rows(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", [1, 2])
    message = refused(data, tmp_path / "s.jsonl", "--skip-invalid")
    assert "holds no valid samples: 2 invalid, first line 1: must be a JSON object" in message
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("s.txt", "unknown file format. The name must end in .jsonl, .ndjson, .csv, .parquet"),
        ("s", "unknown file format. The name must end in"),
        ("s.parquet.gz", "files are packed inside; leave out .gz"),
        ("data.jsonl", "is the sample file itself"),
        (".", "it is a folder"),
    ],
)
def test_targets_that_cannot_be(tmp_path: Path, data: Path, name: str, message: str) -> None:
    before = data.read_bytes()
    assert message in refused(data, tmp_path / name)
    assert data.read_bytes() == before
    assert list(tmp_path.iterdir()) == [data]


def test_options_that_cannot_be(tmp_path: Path, data: Path) -> None:
    target = tmp_path / "s.jsonl"
    assert "exclude each other" in refused(data, target, "--resume", "--restart")
    assert "--format is for DST -" in refused(data, target, "--format", "csv")
    assert "checkpoint_rows" in refused(data, target, "--checkpoint-rows", 0)
    assert "No such option" in refused(data, target, "--output", "x.json")
    with pytest.raises(InputError, match="resume and restart exclude each other"):
        score_file(data, target, resume=True, restart=True)
    with pytest.raises(InputError, match="columns must be a list of names, got 'answer'"):
        score_file(data, target, columns="answer")
    with pytest.raises(TypeError, match="score_file has no option 'resum'"):
        score_file(data, target, resum=True)  # type: ignore[call-arg]
    assert list(tmp_path.iterdir()) == [data]


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
        (pa.array([1.5, 2.5]), [0, 1], "string"),
        (pa.array([True, None]), [0, 1], "string"),
        (pa.array([b"x", b"\xff"]), [0, 1], "string"),
        (pa.nulls(2), [0, 1], "string"),
    ],
)
def test_ids_of_columns(tmp_path: Path, ids: pa.Array, written: list[Any], kind: str) -> None:
    """Large and binary ids ended the run with a traceback; floats were ids in some targets."""
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


def test_a_named_pipe(tmp_path: Path) -> None:
    """Its identity was taken by reading it."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    running = process("score", pipe, tmp_path / "s.jsonl", *FAITH, "--quiet")
    with pipe.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in SAMPLES)
    assert running.stderr is not None
    assert (running.wait(60), running.stderr.read()) == (0, b"")
    running.stderr.close()
    assert len(read(tmp_path / "s.jsonl")) == 4
    message = refused(pipe, tmp_path / "t.jsonl", "--resume")
    assert message == f"{pipe} cannot be read again: resume needs files"


def test_help() -> None:
    done = invoke("score", "--help")
    assert done.exit_code == 0
    for word in (
        "--resume",
        "--restart",
        "--columns",
        "--summary",
        "130 interrupted",
        "143 terminated",
        "SRC",
        "DST",
    ):
        assert word in done.stdout


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
    source = lines(tmp_path / "d.jsonl", [{**row, "model": "m1"} for row in SAMPLES[:2]])
    done = score(source, tmp_path / target, "--columns", "modle,model", *FAITH)
    assert "note: column 'modle' is null in every row\n" in done.stderr
    assert "'model'" not in done.stderr
