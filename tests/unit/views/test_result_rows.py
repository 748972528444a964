"""What is said of all rows of a result file whose rows differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rag_eval.results.reading import ResultFile
from rag_eval.scoring.evaluation import evaluate
from rag_eval.views.result_rows import Overview, overview

SAMPLE = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
BAD = {**SAMPLE, "answer": "A blue whale sings."}


def row(name: str, sample: dict[str, Any], metrics: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = evaluate({"id": name, **sample}, metrics).to_dict()
    return found


def read(tmp_path: Path, rows: list[dict[str, Any]], n_worst: int = 3, **beside: Any) -> Overview:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**beside, "results": rows}))
    return overview(ResultFile(path), n_worst)


def names(found: Overview) -> list[str | None]:
    return [each.id() for each in found.worst]


def test_a_metric_that_a_row_has_not_is_null_there(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            row("a", SAMPLE, ["faithfulness"]),
            row("b", SAMPLE, ["hallucination_rate"]),
            row("c", SAMPLE, ["faithfulness"]),
        ],
    )
    assert found.summary.metrics == ("faithfulness", "hallucination_rate")
    for metric, n in (("faithfulness", 2), ("hallucination_rate", 1)):
        aggregate = found.summary.aggregates[metric]
        assert (aggregate.n, aggregate.n_rows, aggregate.mean) == (n, 3, 1.0)
        assert aggregate.pass_rate == pytest.approx(n / 3)


def test_the_worst_of_equal_rows_are_the_first(tmp_path: Path) -> None:
    rows = [row(name, BAD, ["faithfulness"]) for name in "abcd"]
    found = read(tmp_path, [row("good", SAMPLE, ["faithfulness"]), *rows], 2)
    assert names(found) == ["a", "b"]
    null = {**row("null", BAD, ["faithfulness"]), "compositeScore": None}
    assert names(read(tmp_path, [null, rows[0]])) == ["a"], "without a score there is no worst"
    assert names(read(tmp_path, rows, 0)) == []


def test_a_threshold_is_that_of_the_first_row_that_has_one(tmp_path: Path) -> None:
    bare, given = (row(name, SAMPLE, ["faithfulness"]) for name in "ab")
    bare["metrics"]["faithfulness"]["threshold"] = None
    given["metrics"]["faithfulness"]["threshold"] = 0.25
    assert read(tmp_path, [bare, given]).thresholds == {"faithfulness": 0.25}
    assert read(tmp_path, [given, bare]).thresholds == {"faithfulness": 0.25}


def test_rows_that_pass_are_counted(tmp_path: Path) -> None:
    good, bad = row("a", SAMPLE, ["faithfulness"]), row("b", BAD, ["faithfulness"])
    found = read(tmp_path, [good, bad])
    assert (found.summary.passed, found.summary.n_passed) == (False, 1)
    found = read(tmp_path, [good, good])
    assert (found.summary.passed, found.summary.n_passed) == (True, 2)


def test_a_run_that_was_interrupted_says_so(tmp_path: Path) -> None:
    rows = [row("a", SAMPLE, ["faithfulness"])]
    assert read(tmp_path, rows, interrupted=True).interrupted
    assert not read(tmp_path, rows, interrupted=False).interrupted
    assert not read(tmp_path, rows).interrupted


def test_rows_without_any_composite_score_have_no_mean(tmp_path: Path) -> None:
    null = row("a", SAMPLE, ["context_recall"])
    found = read(tmp_path, [null, null])
    assert math.isnan(found.summary.composite_aggregate.mean)
    assert found.summary.composite_aggregate.n == 0
    assert names(found) == []
