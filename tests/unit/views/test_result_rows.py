"""What is said of all rows of a result file whose rows differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval.results.batch_reading import Tally, read_row
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


def changed(**fields: Any) -> dict[str, Any]:
    """A row whose entry of faithfulness has these fields."""
    found = row("c", SAMPLE, ["faithfulness", "hallucination_rate"])
    found["metrics"]["faithfulness"].update(fields)
    return found


PLAIN = [
    row("a", SAMPLE, ["faithfulness"]),
    row("b", BAD, ["hallucination_rate", "faithfulness"]),
    row("c", {"answer": "Red."}, ["context_recall"]),
    changed(score=None, passed=None, nullReason=None),
    changed(score=None, passed=None, nullReason="refusal"),
    changed(threshold=None, passed=None),
    {**row("d", SAMPLE, ["faithfulness"]), "signature": None, "evaluatedAt": None},
    {**row("e", SAMPLE, ["faithfulness"]), "compositeScore": None, "passed": False},
    {**row("f", SAMPLE, []), "metrics": {"no metric!": {"score": 1}}},
]
# A row of a judge, an entry in both spellings, and values that a row cannot have.
OTHERS = [
    changed(judge={"score": 1}),
    changed(score="high"),
    changed(score=None, nullReason="bored"),
    changed(passed="yes"),
    changed(threshold="low"),
    {**PLAIN[0], "metrics": {**PLAIN[1]["metrics"], "hallucination_rate": {"score": 1}}},
    {**PLAIN[0], "metrics": {"faithfulness": 1}},
    {**PLAIN[0], "metrics": {"no metric!": 1}},
    {**PLAIN[0], "passed": 1},
    {**PLAIN[0], "evaluatedAt": 3},
    {**PLAIN[0], "signature": {"profile": 1}},
    {name: value for name, value in PLAIN[0].items() if name != "compositeScore"},
]


def test_rows_that_are_not_opened_count_as_those_that_are() -> None:
    """Each row was made into a result, with its signals and evidence, for the scores alone."""
    opened, plain = Tally(), Tally()
    for value in PLAIN:
        opened.add(read_row(value))
        assert plain.add_scores(value), value
        assert plain.thresholds == opened.thresholds
        assert repr(plain.summary({})) == repr(opened.summary({}))
    for left, right in zip(plain.columns.matrices(), opened.columns.matrices(), strict=True):
        np.testing.assert_array_equal(left, right)


def test_rows_that_are_not_plain_are_left_to_their_results() -> None:
    for value in OTHERS:
        tally = Tally()
        assert not tally.add_scores(value), value
        assert len(tally.columns.passed) == 0
