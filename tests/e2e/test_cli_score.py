"""``rag-eval score`` from the outside: probabilities, streams, summaries, and what is said."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.calibration.fitting import calibrate
from rag_eval.errors import InputError
from rag_eval.jobs.file_scoring import score_file, score_to_stream
from tests.commands import LEAVE_OUT, invoke
from tests.run_command import FAITH, HANDBOOK, handbook_rows
from tests.score_command import SAMPLES, lines, read, refused, score

ROOT = Path(__file__).parents[2]


def process(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rag_eval", *map(str, arguments)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


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
    assert refused(data, "-", *flags) == (
        f"{flags[0]} needs a file, because standard output is not kept"
    )


def test_a_summary_is_a_baseline(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    score(HANDBOOK, tmp_path / "s.csv", "--summary", summary, "--quiet")
    value = json.loads(summary.read_text())
    assert (value["nRows"], value["nSkipped"], value["source"]) == (66, 0, str(HANDBOOK))
    expected = rag_eval.evaluate_batch(handbook_rows()).summary_dict()
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
    assert "expected a name that ends in .json" in refused(data, target, "--summary", target)
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


def test_what_is_said(tmp_path: Path, data: Path) -> None:
    target = tmp_path / "s.jsonl"
    done = score(data, target, "--columns", "n")
    assert done.stdout == ""
    words = " ".join(done.stderr.split())
    assert "metric mean 95 % interval scored pass rate threshold" in words
    assert f"4 samples scored; wrote {target}" in words
    assert score(data, target, "--quiet").stderr == ""


def test_repeated_ids_are_noted(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", [SAMPLES[0]] * 3)
    done = score(data, tmp_path / "s.jsonl", *FAITH)
    assert "2 rows have the same id as an earlier row" in done.stderr


def test_a_bad_row_ends_the_run(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", [SAMPLES[0], {"id": "x", "question": "q", "answer": 5}])
    message = refused(data, tmp_path / "s.jsonl", *FAITH)
    fault = "contexts is missing; it must be a list of strings"
    assert message == f'{data}, line 2 ("x"): {fault}{LEAVE_OUT}'
    assert list(tmp_path.iterdir()) == [data]
    done = score(data, tmp_path / "s.jsonl", *FAITH, "--skip-invalid")
    assert 'line 2 ("x"): contexts is missing' in done.stderr
    assert len(read(tmp_path / "s.jsonl")) == 1


def test_nothing_but_bad_rows(tmp_path: Path) -> None:
    data = lines(tmp_path / "d.jsonl", [1, 2])
    message = refused(data, tmp_path / "s.jsonl", "--skip-invalid")
    assert (
        "holds no valid samples: 2 invalid, the first in line 1: must be a JSON object" in message
    )
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("s.txt", "unknown file format. The name must end in .jsonl, .ndjson, .csv, .parquet"),
        ("s", "unknown file format. The name must end in"),
        ("s.parquet.gz", "files are compressed internally; leave out .gz"),
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
        assert word in " ".join(done.stdout.split())
