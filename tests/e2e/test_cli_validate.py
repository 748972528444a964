"""``rag-eval validate``: every bad line with its first fault."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program
from rag_eval.inputs.schemas.contexts import UNREADABLE
from tests.commands import WANTED_SAMPLES

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook.jsonl"
GOOD = {"question": "q", "answer": "a", "contexts": ["c"]}


def validate(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(program, ["validate", *map(str, arguments)], **options)


def test_sound_file() -> None:
    done = validate(HANDBOOK)
    assert (done.exit_code, done.stdout) == (0, "66 samples, 0 invalid\n")
    assert done.stderr == (
        "fields: question=question, answer=answer, contexts=contexts, ground truth=groundTruth\n"
        "metrics: faithfulness, answer_relevance, context_precision, context_recall, "
        "context_relevance, answer_correctness, hallucination_rate\n"
        "5 samples without ground truth\n"
    )


def test_every_bad_line_is_listed_in_order(tmp_path: Path) -> None:
    lines: list[Any] = [
        GOOD,
        {"id": "q2", "question": "q", "contexts": [], "answr": "x"},
        {**GOOD, "id": "q3", "answer": 3},
        {**GOOD, "contexts": "[c, d]"},
        {**GOOD, "contexts": ["c", None]},
        {**GOOD, "id": "q6", "answer": float("inf"), "metadata": {"x": float("nan")}},
        "text",
        {**GOOD, "answer": "\ud800"},
        {**GOOD, "groundTruth": ["a", "b"]},
        {"id": 10, "question": 1, "answer": 2, "contexts": 3},
    ]
    data = tmp_path / "d.jsonl"
    data.write_text("\ufeff" + "\r\n".join(map(json.dumps, lines)) + "\r\n\r\n{broken\r\n")
    with data.open("ab") as file:
        file.write(b'{"id": "last", "question": "\xff", "answer": "", "contexts": []}')
    done = validate(data)
    assert done.exit_code == 2
    assert done.stdout.splitlines() == [
        "line 2 (\"q2\"): answer is missing. Did you mean the field 'answr'? Rename it to "
        "'answer', or map it in all rows: --map answer=answr",
        'line 3 ("q3"): answer must be a string, got int',
        f"line 4: {UNREADABLE}",
        "line 5: contexts[1] must be a string, got NoneType",
        'line 6 ("q6"): answer is Infinity; it must be a finite number or null',
        "line 7: must be a JSON object, got a string",
        "line 9: ground_truth is a list of 2 texts, but the overlap profile takes a single text; "
        "--profile grounded uses the best match",
        'line 10 ("10"): contexts must be a list of strings, got int',
        "line 12: not valid JSON: Expecting property name enclosed in double quotes at column 2",
        'line 13 ("last"): question is not valid UTF-8 (0xff at byte 29). If the file is in '
        "Latin-1, read it with --encoding latin-1",
        "12 samples, 10 invalid",
    ]


def test_every_bad_line_of_a_long_file(tmp_path: Path) -> None:
    rows: list[Any] = [{**GOOD, "answer": "a" * 500}] * 5000
    for index in range(0, 5000, 7):
        rows[index] = {**GOOD, "answer": None}
    data = tmp_path / "d.jsonl.gz"
    data.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    *lines, last = validate(data).stdout.splitlines()
    expected = [
        f"line {index + 1}: answer is missing; it must be a string" for index in range(0, 5000, 7)
    ]
    assert lines == expected
    assert last == f"5,000 samples, {len(expected)} invalid"


def test_only_fields_that_the_metrics_read_have_to_be_there(tmp_path: Path) -> None:
    data = tmp_path / "d.json"
    data.write_text(json.dumps([{"question": "q", "answer": "a"}, {"answer": "a", "contexts": []}]))
    assert validate(data, "--metrics", "answerRelevance").stdout.splitlines() == [
        "row 2: question is missing; it must be a string",
        "2 samples, 1 invalid",
    ]
    assert validate(data, "--metrics", "faithfulness").stdout.splitlines() == [
        "row 1: contexts is missing; it must be a list of strings",
        "2 samples, 1 invalid",
    ]
    recall = validate(data, "--metrics", "context_recall")
    assert recall.exit_code == 2
    assert "no field 'ground_truth'" in recall.stderr
    assert validate(data, "--metrics", "context_recall", "--allow-missing").exit_code == 0
    wrong = validate(data, "--metrics", "recall")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: --metrics: unknown metric 'recall'")


def test_bad_lines_come_before_the_end_of_a_truncated_file(tmp_path: Path) -> None:
    rows = ["{}", *[json.dumps(GOOD)] * 100]
    data = tmp_path / "d.jsonl.gz"
    data.write_bytes(gzip.compress("\n".join(rows).encode())[:-9])
    done = validate(data)
    assert done.exit_code == 2
    assert "ends too early. The file seems to be cut off" in done.stderr


@pytest.mark.parametrize("name", ["d.jsonl", "d.json"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    done = validate(tmp_path / name)
    message = f"error: {tmp_path / name} holds no samples{WANTED_SAMPLES}\n"
    assert (done.exit_code, done.stderr) == (2, message)


def test_standard_input_and_duplicate_ids() -> None:
    done = validate("-", input=(json.dumps({**GOOD, "id": "x"}) + "\n") * 2)
    assert (done.exit_code, done.stdout) == (0, "2 samples, 0 invalid\n")
    assert done.stderr.splitlines() == [
        "fields: question=question, answer=answer, contexts=contexts",
        "not measured: context_recall, answer_correctness (no ground truth)",
        "metrics: faithfulness, answer_relevance, context_precision, context_relevance, "
        "hallucination_rate",
        "2 samples without ground truth",
        'warning: 1 row has the same id as an earlier row: line 2 ("x")',
    ]


def test_one_sample_is_not_several(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"question": "q?", "answer": "a", "contexts": ["c"]}\n')
    assert validate(tmp_path / "one.jsonl").stdout == "1 sample, 0 invalid\n"
