"""``rag-eval compare``: means of two result files side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rag_eval
from rag_eval.cli.program import program

NODE = Path(__file__).parents[1] / "conformance" / "rag_eval_node" / "samples_batch.json"
GOOD = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
BAD = {"question": "red fox", "answer": "blue whale sings.", "contexts": ["red fox."]}


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["compare", *map(str, arguments)])


def result_file(path: Path, *rows: dict[str, Any], metrics: str, **options: Any) -> Path:
    rag_eval.evaluate_batch(rows, metrics.split(","), **options).to_json(path)
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return result_file(tmp_path / "old.json", GOOD, GOOD, metrics="faithfulness,context_recall")


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return result_file(tmp_path / "new.json.gz", GOOD, BAD, metrics="faithfulness,context_recall")


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line[:1].isalpha()]


def test_table(old: Path, new: Path) -> None:
    done = compare(old, new)
    assert (done.exit_code, done.stderr) == (0, "")
    assert rows_of(done.stdout) == [
        ["metric", "old", "mean", "new", "mean", "delta"],
        ["faithfulness", "1.00", "(2/2)", "0.50", "(2/2)", "-0.5000"],
        ["context_recall", "–", "(0/2)", "–", "(0/2)", "–"],
        ["composite", "1.00", "0.50", "-0.5000"],
    ]


def test_json(old: Path, new: Path) -> None:
    done = compare(old, new, "--format", "json")
    value = json.loads(done.stdout)
    assert value["old"] == str(old)
    assert value["changes"][:2] == [
        {"metricId": "faithfulness", "oldMean": 1.0, "newMean": 0.5, "delta": -0.5},
        {"metricId": "contextRecall", "oldMean": None, "newMean": None, "delta": None},
    ]
    assert value["signatureDifferences"] == []


def test_other_settings_are_refused_unless_forced(tmp_path: Path, old: Path) -> None:
    options = {"heuristic": {"ngram_sizes": [1]}}
    new = result_file(tmp_path / "n.json", GOOD, metrics="faithfulness", **options)
    done = compare(old, new)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "was scored under other settings" in done.stderr
    assert "ngram_sizes" in done.stderr
    forced = compare(old, new, "--force")
    assert forced.exit_code == 0
    assert "note: settings differ: ngram_sizes" in forced.stdout
    assert "different metrics" in forced.stderr


def test_files_of_the_node_library(tmp_path: Path, old: Path) -> None:
    node = tmp_path / "node.json"
    node.write_text(json.dumps(json.loads(NODE.read_text())["default"]["expected"]))
    done = compare(node, old)
    assert done.exit_code == 0
    faithfulness = rows_of(done.stdout)[1]
    assert faithfulness == ["faithfulness", "0.20", "1.00", "(2/2)", "+0.8034"]
    assert f"{node} has no signature" in " ".join(done.stderr.split())


def test_rows_are_counted_and_not_read(tmp_path: Path, old: Path) -> None:
    """Rows need not even be sound: only the summary is looked at."""
    value = json.loads(old.read_text())
    value["results"] = [{"sample": {"answer": "\ud800"}}] * 2
    new = tmp_path / "new.json"
    new.write_text(json.dumps(value))
    assert compare(old, new).exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("[]", "is no result file"),
        ("{}", "is no result file: Object missing required field `aggregates`"),
        ('{"aggregates": {"faithfulness": {}}}', "is no result file"),
        ('{"aggregates": {"faithfulness": {"mean": "x"}}}', "is no result file"),
        ('{"aggregates": {"faithfulness": 3}}', "is no result file"),
        ('{"aggregates": {}}', "have no metric in common"),
    ],
)
def test_files_that_are_no_result(tmp_path: Path, old: Path, text: str, message: str) -> None:
    other = tmp_path / "other.json"
    other.write_text(text)
    done = compare(old, other)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_missing_file(old: Path) -> None:
    assert "cannot read none.json: No such file" in compare("none.json", old).stderr
