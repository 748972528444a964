"""``--cluster-by`` of run, show and report: intervals of rows that belong together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval import BatchEvalResult
from rag_eval.stats import mean_interval
from tests.commands import invoke
from tests.tables import every_row

N_DOCUMENTS, PER_DOCUMENT = 30, 4


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Rows of one document are all supported or all not."""
    path = tmp_path / "samples.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(N_DOCUMENTS):
            context = f"The ferry to island number {number} leaves the harbour at noon every day."
            for row in range(PER_DOCUMENT):
                answer = context if number % 2 else "Penguins cannot fly because of heavy bones."
                sample = {
                    "id": f"q{number}-{row}",
                    "question": f"When does ferry {number} leave, asked {row} times?",
                    "answer": answer,
                    "contexts": [context],
                    "metadata": {"page": f"p{number}"},
                }
                file.write(json.dumps(sample) + "\n")
    return path


def summary(*arguments: object) -> dict[str, Any]:
    done = invoke(*arguments)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@every_row("field", ["page", "document"])
def test_run_show_and_report_have_intervals_by_clusters(
    field: str, data: Path, tmp_path: Path
) -> None:
    result = tmp_path / f"{field}.json"
    flags = ("--metrics", "faithfulness", "--format", "json")
    run = summary("run", data, *flags, "--cluster-by", field, "--output", result)
    plain = summary("run", data, *flags)
    batch = BatchEvalResult.from_json(result)
    scores = batch.scores[:, 0]
    groups = [number // PER_DOCUMENT for number in range(len(scores))]
    expected = mean_interval(scores, groups=groups)
    assert expected.low is not None
    assert expected.high is not None
    shown = summary("show", result, "--cluster-by", field, "--format", "json")
    for found in (run, shown):
        interval = found["aggregates"]["faithfulness"]["meanInterval"]
        assert (interval["low"], interval["high"]) == pytest.approx((expected.low, expected.high))
        note = f"confidence intervals are for {N_DOCUMENTS} clusters of rows with the same {field}"
        assert note in found["notes"]
        passed = found["aggregates"]["faithfulness"]["passRateInterval"]
        assert passed["method"].endswith("-clustered")
    narrow = plain["aggregates"]["faithfulness"]["meanInterval"]
    assert expected.high - expected.low > 1.5 * (narrow["high"] - narrow["low"])
    report = invoke("report", result, "--cluster-by", field).stdout
    assert f"{expected.low:.2f} to {expected.high:.2f}" in report
    in_memory = batch.by_clusters(field).aggregates["faithfulness"].interval
    assert in_memory is not None
    assert (in_memory.low, in_memory.high) == (expected.low, expected.high)


def test_a_run_says_once_that_rows_repeat(data: Path) -> None:
    done = invoke("run", data, "--metrics", "faithfulness")
    (line,) = [line for line in done.stderr.splitlines() if "--cluster-by" in line]
    assert line == (
        "note: 120 of 120 rows share contexts with other rows, so the confidence intervals are too "
        "narrow; add --cluster-by document to correct them"
    )
    named = invoke("run", data, "--metrics", "faithfulness", "--cluster-by", "page")
    assert "too narrow" not in named.stderr
    asked = data.with_name("asked.jsonl")
    rows = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["contexts"].append(f"Page {number} of the handbook.")
        row["question"] = f"When does ferry {number % 5} leave?"
    asked.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = invoke("run", asked, "--metrics", "faithfulness")
    assert "120 of 120 rows share a question with other rows" in done.stderr
    by_question = invoke("run", asked, "--metrics", "faithfulness", "--cluster-by", "question")
    assert "5 clusters of rows with the same question" in by_question.stderr


def test_a_row_without_a_cluster_is_named(data: Path, tmp_path: Path) -> None:
    rows = data.read_text("utf-8").splitlines()
    rows[6] = json.dumps({**json.loads(rows[6]), "metadata": {}})
    data.write_text("\n".join(rows), "utf-8")
    done = invoke("run", data, "--cluster-by", "page")
    assert done.exit_code == 2
    assert 'line 7 ("q1-2") has no page: with cluster_by every row needs one' in done.stderr
    result = tmp_path / "result.json"
    invoke("run", data, "--output", result)
    done = invoke("show", result, "--cluster-by", "page")
    assert done.exit_code == 2
    assert "result.json, row 7 has no page" in done.stderr
    one = invoke("show", result, "q0-1", "--cluster-by", "page")
    assert "--cluster-by applies to all rows: remove ID and --row" in one.stderr


def test_a_baseline_is_tested_by_clusters_too(data: Path, tmp_path: Path) -> None:
    """Four documents got worse: of 16 rows that is shown, of 4 documents it cannot be."""
    base, worse = tmp_path / "base.json", tmp_path / "worse.jsonl"
    flags = ("--metrics", "faithfulness")
    invoke("run", data, *flags, "--output", base)
    rows = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    for row in rows[4:8] + rows[12:16] + rows[20:24] + rows[28:32]:
        row["answer"] = "Penguins cannot fly because of heavy bones."
    worse.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    compared = ("run", worse, *flags, "--baseline", base)
    assert invoke(*compared).exit_code == 1
    by_page = invoke(*compared, "--cluster-by", "page")
    assert by_page.exit_code == 0, by_page.stderr
    assert "TOO FEW ROWS" in by_page.stdout
