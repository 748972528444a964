"""What tests scored, as a run: rows, repeats, settings of several tests, judgements."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import SignatureMismatchError
from rag_eval.pytest_plugin.item_scores import ItemScores
from rag_eval.pytest_plugin.session_run import Recorded, read_records, session_run
from rag_eval.reports.recorded_scores import ScoredTest, summary_lines
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.samples import NullReason
from rag_eval.testing import assert_rag, listening
from tests.tables import every_row

OVERLAP = {"profile": "overlap", "version": 1, "unicode": "17.0.0", "options": {}}


def record(test: str, metrics: dict[str, list[Any]], **more: Any) -> Recorded:
    values = {"id": "q1", "passed": True, "composite": 0.5, "signature": OVERLAP, **more}
    return Recorded(test=test, metrics=metrics, **{"digests": (0, 0, 0), **values})


def score(value: float | None, reason: int = 0, judged: int = 0) -> list[Any]:
    return [value, reason, None if value is None else True, judged]


def signed(**options: Any) -> dict[str, Any]:
    return {**OVERLAP, "options": options}


def test_metrics_of_one_sample_share_a_row_and_the_same_metric_again_is_a_repeat() -> None:
    run = session_run(
        [
            record("a", {"faithfulness": score(0.1)}),
            record("b", {"context_recall": score(None, NullReason.MISSING_FIELD)}, passed=False),
            record("c", {"faithfulness": score(0.3)}),
            record("d", {"faithfulness": score(0.4)}, id="q2"),
        ]
    )
    assert run.ids == ["q1", "q1", "q2"]
    assert run.metrics == ("faithfulness", "context_recall")
    assert np.array_equal(run.scores[:, 0], [0.1, 0.3, 0.4])
    assert np.isnan(run.scores[:, 1]).all()
    missing, skipped = NullReason.MISSING_FIELD, NullReason.SKIPPED
    assert run.null_reasons[:, 1].tolist() == [missing, skipped, skipped]
    assert run.passed.tolist() == [0, 1, 1]
    assert np.isnan(run.composite[0]), "two of different metrics are none of both"
    assert run.composite[1] == 0.5


def test_a_row_knows_what_its_tests_asked_and_answered() -> None:
    run = session_run(
        [
            record("a", {"faithfulness": score(0.1)}, digests=(1, 2, 3)),
            record("b", {"context_recall": score(0.2)}, digests=(1, 2, 4)),
            record("c", {"faithfulness": score(0.3)}, digests=(5, 6, 7), id="q2"),
        ]
    )
    assert run.digests is not None
    assert run.digests.tolist() == [[1, 2, 0], [5, 6, 7]], "one question, two answers"
    assert session_run([record("a", {"faithfulness": score(0.1)})]).digests is None


def test_verdicts_and_directions_are_those_of_the_metrics() -> None:
    found = {
        "faithfulness": [0.9, 0, True, 0],
        "context_recall": [0.1, 0, False, 0],
        "unsupported_numbers": [0.5, 0, None, 0],
    }
    run = session_run([record("a", found)])
    assert run.metric_passed.tolist() == [[1, 0, NO_VERDICT]]
    assert run.lower_is_better == {"unsupported_numbers"}


def test_a_sample_without_an_id_goes_by_its_test() -> None:
    text = json.dumps([{**vars_of(record("", {"faithfulness": score(0.5)})), "id": ""}])
    assert [each.id for each in read_records("t.py::test[a]", text)] == ["t.py::test[a]"]


def vars_of(found: Recorded) -> dict[str, Any]:
    names = ("id", "passed", "composite", "metrics", "signature", "digests")
    return {name: getattr(found, name) for name in names}


def test_settings_of_different_metrics_are_put_together() -> None:
    run = session_run(
        [
            record(
                "a",
                {"faithfulness": score(0.1)},
                signature=signed(ngram_sizes=[1], judged=["faithfulness"], scorers={"x.y": 1}),
            ),
            record(
                "b",
                {"context_recall": score(0.2)},
                signature=signed(cut=0.3, judged=["context_recall"], scorers={"x.z": 2}),
            ),
        ]
    )
    assert run.signature is not None
    assert run.signature.options == {
        "ngram_sizes": [1],
        "cut": 0.3,
        "judged": ["context_recall", "faithfulness"],
        "scorers": {"x.y": 1, "x.z": 2},
    }


def test_one_metric_that_is_scored_in_two_ways_is_no_run() -> None:
    judged = signed(judged=["faithfulness"], mode="llm")
    first = record("t.py::a", {"faithfulness": score(0.1)}, signature=judged)
    message = r"t\.py::b and t\.py::a scored faithfulness under different settings \(judged: "
    with pytest.raises(SignatureMismatchError, match=message):
        session_run([first, record("t.py::b", {"faithfulness": score(0.1)})])


@every_row(
    "other",
    [
        {**OVERLAP, "profile": "grounded"},
        signed(cut=0.4, scorers={"x.y": 1}),
        signed(cut=0.3, scorers={"x.y": 2}),
    ],
)
def test_settings_of_two_values_have_no_place_in_one_run(other: dict[str, Any]) -> None:
    ours = signed(cut=0.3, scorers={"x.y": 1})
    first = record("t.py::a", {"faithfulness": score(0.1)}, signature=ours)
    second = record("t.py::b", {"context_recall": score(0.1)}, signature=other)
    with pytest.raises(SignatureMismatchError, match=r"t\.py::b used .* and t\.py::a used .*"):
        session_run([first, second])


def test_judgements_are_counted_as_they_were_needed() -> None:
    run = session_run(
        [
            record("a", {"faithfulness": score(0.1, judged=1), "context_recall": score(0.1)}),
            record("b", {"faithfulness": score(None, NullReason.JUDGE_FAILED, judged=2)}),
        ]
    )
    assert (run.n_judgements, run.n_failed_judgements) == (2, 1)


def test_a_judge_that_fails_is_counted_and_its_null_score_fails(
    request: pytest.FixtureRequest,
) -> None:
    def judge(prompt: str) -> str:
        return "no JSON"

    scores = ItemScores(request.node, {"mode": "llm", "judge": judge, "retries": 0})
    sample = {"id": "q1", "question": "Old?", "answer": "Rome is old.", "contexts": ["Rome."]}
    message = r"null  threshold 0\.50\n.*judge_"
    with listening(scores), pytest.raises(AssertionError, match=message):
        assert_rag(sample, faithfulness=0.5)
    run = session_run(read_records("t.py::a", scores.taken()))
    assert (run.n_judgements, run.n_failed_judgements) == (1, 1)
    assert scores.taken() == "", "each report has its own"


def test_the_worst_are_those_without_a_composite_score_then_the_lowest() -> None:
    rows = {"low": 0.1, "none": None, "high": 0.6, "mid": 0.3}
    found = {name: record(name, {"faithfulness": score(value)}) for name, value in rows.items()}
    tests = [ScoredTest(name, name, False, rows[name], found[name].metrics) for name in rows]
    lines = summary_lines(session_run(found.values()), tests, None)
    assert [line.split("(")[1] for line in lines if line.startswith("worst")] == [
        "none)",
        "low)",
        "mid)",
    ]
    assert lines[-1] == "and 1 more that failed"
