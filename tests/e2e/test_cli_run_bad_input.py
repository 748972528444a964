"""``rag-eval run`` on rows, files and flags that are wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import QUOTE_IT, WANTED_SAMPLES
from tests.run_command import BAD, FAITH, FIELDS, GOOD, HANDBOOK, run, samples

BAD_ROWS = [
    (
        {"id": "q", "question": "q", "contexts": []},
        'line 2 ("q"): answer is missing; it must be a string',
    ),
    ({**GOOD, "answer": 3}, "line 2: answer must be a string, got int"),
    ({**GOOD, "contexts": 3}, "line 2: contexts must be a list of strings, got int"),
    ({**GOOD, "contexts": ["x", None]}, "line 2: contexts[1] must be a string, got NoneType"),
    ({**GOOD, "groundTruth": 3}, "line 2: ground_truth must be a string, got int"),
    ({**GOOD, "groundTruth": "a", "ground_truth": "b"}, "line 2: ground_truth and groundTruth"),
    ({**GOOD, "answer": float("inf")}, "line 2: answer is Infinity; it must be a finite"),
    ([GOOD], "line 2: must be a JSON object, got an array"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_bad_row_ends_the_run(
    tmp_path: Path, row: object, message: str, threads: int
) -> None:
    data = samples(tmp_path / "d.jsonl", GOOD, row, GOOD, [])
    done = run(data, "--threads", threads)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {data}, {message}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_of_many_bad_rows_is_named(tmp_path: Path, threads: int) -> None:
    """Not the first by field, by kind of fault, or by whichever thread comes first."""
    rows: list[Any] = [GOOD] * 2000
    rows[700] = {**GOOD, "answer": 1}
    rows[703] = {**GOOD, "contexts": None}
    rows[705] = {**GOOD, "question": None}
    rows[1200] = "no object"
    data = samples(tmp_path / "d.jsonl", *rows)
    with data.open("ab") as file:
        file.write(b"{broken\n")
    done = run(data, "--threads", threads)
    assert done.stderr == f"error: {data}, line 701: answer must be a string, got int{QUOTE_IT}\n"


def test_skipping_invalid_rows(tmp_path: Path) -> None:
    rows = [{"id": "a", **GOOD}, *(row for row, _ in BAD_ROWS), *[{"answer": 1}] * 5]
    data = samples(tmp_path / "d.jsonl", *rows, {"id": "z", **BAD})
    output = tmp_path / "o.json"
    gate = ("--min-pass-rate", 1)
    done = run(data, *FAITH, *gate, "--skip-invalid", "--output", output, "--worst", 1)
    assert done.exit_code == 1
    # faithfulness reads no ground truth: those rows are sound for it.
    assert "4 samples scored, 11 of 15 skipped as invalid" in done.stdout
    assert done.stdout.splitlines()[-1] == "FAIL  pass rate 0.75 (3/4) is below 1.00"
    assert 'line 15 ("z")  composite' in done.stdout
    fields, *skipped = done.stderr.splitlines()
    assert fields.startswith("fields: question=question, ")
    assert skipped[0] == 'skipped line 2 ("q"): answer is missing; it must be a string'
    assert (len(skipped), skipped[-1]) == (11, "skipped 1 more")
    value = json.loads(output.read_text())
    assert (value["nSkipped"], len(value["results"])) == (11, 4)
    summary = json.loads(run(data, *FAITH, "--skip-invalid", "--format", "json").stdout)
    assert (summary["nSkipped"], summary["nRows"]) == (11, 4)


def test_nothing_valid(tmp_path: Path) -> None:
    data = samples(tmp_path / "d.jsonl", [], {**GOOD, "answer": 1})
    done = run(data, "--skip-invalid")
    assert done.exit_code == 2
    assert (
        "holds no valid samples: 2 invalid, the first in line 1: must be a JSON object"
        in done.stderr
    )


@pytest.mark.parametrize("name", ["d.jsonl", "d.json"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    done = run(tmp_path / name)
    message = f"error: {tmp_path / name} holds no samples{WANTED_SAMPLES}\n"
    assert (done.exit_code, done.stderr) == (2, message)


def test_truncated_gzip(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl.gz"
    packed = gzip.compress(Path(HANDBOOK).read_bytes())
    data.write_bytes(packed[:-20])
    done = run(data, "--output", tmp_path / "o.json")
    assert done.exit_code == 2
    assert "the gzip data ends too early" in done.stderr
    assert not (tmp_path / "o.json").exists()


def test_duplicate_ids_are_a_warning(tmp_path: Path) -> None:
    data = samples(tmp_path / "d.jsonl", *[{"id": "a", **GOOD}] * 6, {**GOOD, "id": 3}, GOOD)
    done = run(data, *FAITH)
    assert done.exit_code == 0
    names = ", ".join(f'line {line} ("a")' for line in (2, 3, 4))
    assert done.stderr == f"{FIELDS}note: 5 rows have the same id as an earlier row: {names}, …\n"
    assert run(data, *FAITH, "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metrics", "faithfullness"), "--metrics: unknown metric 'faithfullness'; did you mean"),
        (("--metrics", ""), "--metrics: unknown metric ''"),
        (
            ("--thresholds", "faithfulness"),
            "expected METRIC=NUMBER, such as faithfulness=0.7, got 'faithfulness'",
        ),
        (
            ("--thresholds", "faithfulness=x"),
            "faithfulness must be a number such as 0.7 or 70%, got 'x'",
        ),
        (("--thresholds", "faithfulness=nan"), "must be between 0 and 1, got nan"),
        (("--thresholds", "faithfulness=1,faithfulness=0"), "is given twice, as 1.0 and 0.0"),
        ((*FAITH, "--thresholds", "context_recall=1"), "not among the metrics to compute"),
        ((*FAITH, "--weights", "context_recall=1"), "not among the metrics to compute"),
        ((*FAITH, "--min-mean", "context_recall=1"), "context_recall, which is not computed"),
        (("--min-pass-rate", 90), "expected a share from 0 to 1, such as 0.9 or 90%, got '90'"),
        (("--regression-threshold", 0.1), "--regression-threshold needs --baseline"),
        (("--allow-signature-mismatch",), "--allow-signature-mismatch needs --baseline"),
        (("--policy", "node"), "--policy needs --baseline"),
        (("--margin", 0.1), "--margin needs --baseline"),
        (("--worst", -1), "worst must be a whole number of at least 0"),
        (("--threads", 0), "threads must be a whole number of at least 1"),
        (("--threads", "x"), "'x' is not a valid integer"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--colour",), "No such option"),
        (("--config", "none.toml"), "cannot read none.toml"),
        (("--baseline", "none.json"), "cannot read none.json"),
        (("--baseline", HANDBOOK), "handbook.jsonl holds samples, not scores"),
    ],
)
def test_usage_errors(arguments: tuple[object, ...], message: str) -> None:
    done = run(HANDBOOK, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_data_is_needed() -> None:
    done = run()
    assert done.exit_code == 2
    assert done.stderr == "error: Missing argument 'DATA'; see rag-eval run --help\n" or (
        "Missing argument 'DATA'" in done.stderr
    )
