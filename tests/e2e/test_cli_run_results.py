"""Result files of ``rag-eval run``: what is in them, and which are left alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import rag_eval
from rag_eval.results.batch import BatchEvalResult
from tests.commands import LEAVE_OUT
from tests.run_command import GOOD, HANDBOOK, handbook_rows, run, samples
from tests.warm_processes import limited, run_warm


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_result_files(tmp_path: Path, suffix: str) -> None:
    result = rag_eval.evaluate_batch(handbook_rows())
    whole, lines = tmp_path / f"out.json{suffix}", tmp_path / f"out.jsonl{suffix}"
    assert run(HANDBOOK, "--output", whole).exit_code == 0
    assert run(HANDBOOK, "--output", lines).exit_code == 0
    unpack = gzip.decompress if suffix else bytes
    value = json.loads(unpack(whole.read_bytes()))
    rows = [json.loads(line) for line in unpack(lines.read_bytes()).splitlines()]
    expected = json.loads(result.to_json() or "")
    for row in [*value["results"], *rows, *expected["results"], value, expected]:
        for name in ("evaluatedAt", "totalDurationMs"):
            row.pop(name, None)
    assert value == expected
    assert rows == expected["results"]
    again = BatchEvalResult.from_json(whole)
    assert again.aggregates == result.aggregates
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_run_that_is_written_says_once_where_rows_have_no_ids(tmp_path: Path) -> None:
    """Only the comparison said so, a scored run later."""
    data, output = samples(tmp_path / "d.jsonl", {**GOOD, "key": "k"}), tmp_path / "o.json"
    note = (
        "note: the rows have no ids, which rag-eval compare and gate need to match rows. If a "
        "column holds them: --map id=COLUMN\n"
    )
    assert run(data, "--output", output).stderr.count(note) == 1
    assert note not in run(data, "--output", output, "--quiet").stderr
    assert note not in run(data, "--output", output, "--map", "id=key").stderr
    assert note not in run(data).stderr


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    line = '{"id": "s", "question": "q", "answer": "a \\ud800 b", "contexts": ["a"]}\n'
    data = tmp_path / "d.jsonl"
    data.write_text(line)
    run(data, "--output", tmp_path / "o.json")
    text = (tmp_path / "o.json").read_text("utf-8")
    assert "\\ud800" in text
    assert json.loads(text)["results"][0]["sample"]["answer"] == "a \ud800 b"
    assert "\\ud800" in run(data, "--worst", 1).stdout
    assert "\\ud800" in run(data, "--format", "jsonl").stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none/out.json", "the folder "),
        ("folder.json", "it is a folder"),
        ("file.txt/out.json", "the folder "),
        ("out.txt", "the name must end in .json or .jsonl"),
    ],
)
def test_output_that_cannot_be_written(good: Path, name: str, message: str) -> None:
    (good.parent / "folder.json").mkdir()
    (good.parent / "file.txt").touch()
    done = run(good, "--output", good.parent / name)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_the_sample_file_is_never_overwritten(good: Path) -> None:
    renamed = good.rename(good.with_suffix(".json"))
    before = renamed.read_bytes()
    done = run(renamed, "--output", renamed.parent / "." / renamed.name)
    assert "is the sample file itself" in done.stderr
    assert renamed.read_bytes() == before


@pytest.mark.parametrize("name", ["out.json", "out.jsonl", "out.json.gz"])
def test_an_old_result_is_kept_when_the_run_fails(tmp_path: Path, name: str) -> None:
    rows = [GOOD] * 2500 + [{"id": "late", **GOOD, "contexts": 3}]
    data = samples(tmp_path / "d.jsonl", *rows)
    output = tmp_path / name
    output.write_bytes(b"old")
    done = run(data, "--output", output, "--threads", 1)
    assert done.exit_code == 2
    fault = "contexts must be a list of strings, got int"
    assert done.stderr.splitlines() == [
        "fields: question=question, answer=answer, contexts=contexts",
        f'error: {data}, line 2501 ("late"): {fault}{LEAVE_OUT}',
    ]
    assert output.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["d.jsonl", name])


@pytest.mark.usefixtures("unmeasured")
def test_an_old_result_is_kept_when_the_disk_is_full(tmp_path: Path) -> None:
    """A limit on file sizes stands in for a full disk."""
    output = tmp_path / "out.json"
    output.write_bytes(b"old")
    done = run_warm("run", HANDBOOK, "--output", output, code=limited(20_000))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.endswith(b"error: File too large\n")
    assert output.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [output]
