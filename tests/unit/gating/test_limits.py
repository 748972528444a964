"""Gates: what holds, what fails, and the words for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.gating.limits import (
    Gates,
    check_gates,
    no_gate_text,
    pass_rate_outcome,
    verdict_of,
)
from rag_eval.results.batch import BatchEvalResult
from rag_eval.scoring.evaluator import evaluate_batch
from tests.tables import every_row

GOOD = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
BAD = {"question": "red fox", "answer": "blue whale sings.", "contexts": ["red fox."]}


def batch(*samples: dict[str, Any], metrics: str = "faithfulness", **options: Any) -> Any:
    return evaluate_batch(list(samples), metrics.split(","), **options)


def outcomes(
    result: BatchEvalResult,
    min_pass_rate: float | None = None,
    regression_threshold: float = 0.05,
    **min_mean: float,
) -> list[tuple[bool, str]]:
    gates = Gates.of(min_pass_rate, min_mean, result.metrics)
    return [(gate.held, gate.message) for gate in check_gates(result, gates, regression_threshold)]


def test_with_no_gate_there_is_no_verdict() -> None:
    """Regression: every data set failed by a gate that nobody had set."""
    result = batch(GOOD, BAD)
    assert outcomes(result) == []
    assert verdict_of(check_gates(result, Gates(), 0.05)) is None
    assert verdict_of([], whole=False) is None


def test_every_sample_has_to_pass_where_that_is_asked_for() -> None:
    assert outcomes(batch(GOOD, BAD), 1) == [(False, "pass rate 0.50 (1/2) is below 1.00")]
    assert outcomes(batch(GOOD, GOOD), 1) == [(True, "pass rate 1.00 (2/2) is at least 1.00")]


def test_a_pass_rate_is_refused_where_no_row_can_fail() -> None:
    """Regression: such runs passed ``report`` with any rate."""
    result = batch(GOOD, BAD, metrics="unsupported_numbers", profile="grounded")
    with pytest.raises(InputError, match="no row of the run can fail, because no threshold is set"):
        outcomes(result, 0.5)
    assert outcomes(replace(result, settings=None), 0.5)[0][0]


@every_row(
    ("held", "whole", "wanted"),
    [(True, True, True), (False, True, False), (True, False, False)],
)
def test_a_verdict_is_that_of_all_gates_on_a_whole_run(
    held: bool, whole: bool, wanted: bool
) -> None:
    other = pass_rate_outcome(1, 1, 1.0)
    assert verdict_of([other, pass_rate_outcome(int(held), 1, 1.0)], whole=whole) is wanted


def test_what_sets_a_gate_names_a_metric_of_the_run() -> None:
    assert no_gate_text(["context_recall", "faithfulness"]) == (
        "no gate set: add --min-mean faithfulness=0.7, or compare runs with rag-eval gate"
    )
    assert no_gate_text(["faithfulness"], n_failed=1) == (
        "no gate set: add --min-mean faithfulness=0.7, or compare runs with rag-eval gate; 1 "
        "failed judgement does not affect the exit code: to fail such a run, add "
        "--max-judge-failures 0"
    )
    assert "1,200 failed judgements do not affect the exit code" in no_gate_text([], n_failed=1200)
    assert "--min-mean context_recall=" in no_gate_text(["context_recall"])
    signature = batch(GOOD).signature
    text = no_gate_text(["faithfulness"], signature=signature)
    assert text.startswith("no gate set: add --profile grounded --min-mean faithfulness=0.7, or ")
    assert "--profile" not in no_gate_text(["ir.ndcg@10"], signature=signature)
    signature = batch(GOOD, profile="grounded").signature
    assert "--profile" not in no_gate_text(["faithfulness"], signature=signature)
    assert "--max-mean mastra.hallucination=" in no_gate_text(["mastra.hallucination"])


def test_a_gate_on_a_mean_is_the_only_one() -> None:
    assert outcomes(batch(GOOD, BAD), faithfulness=0.5) == [
        (True, "faithfulness mean 0.50 (2/2) is at least 0.50")
    ]


def test_pass_rate_and_mean() -> None:
    assert outcomes(batch(GOOD, BAD, BAD), 0.3, faithfulness=0.4) == [
        (True, "pass rate 0.33 (1/3) is at least 0.30"),
        (False, "faithfulness mean 0.33 (3/3) is below 0.40"),
    ]


def test_numbers_are_shown_with_the_decimals_that_tell_them_apart() -> None:
    """A line such as "0.33 is below 0.33" helps nobody."""
    assert outcomes(batch(GOOD, BAD, BAD), 0.3334) == [
        (False, "pass rate 0.3333 (1/3) is below 0.3334")
    ]


def test_a_metric_without_scores_fails_its_gate() -> None:
    result = batch(GOOD, metrics="context_recall", allow_missing=True)
    assert outcomes(result, context_recall=0) == [
        (False, "context_recall has no scores (0/1); its mean must be at least 0.00")
    ]
    assert outcomes(result, 1) == [(False, "pass rate 0.00 (0/1) is below 1.00")]


def test_no_samples_fail_every_gate() -> None:
    assert [held for held, _ in outcomes(batch(), 0, faithfulness=0)] == [False, False]


def test_regressions() -> None:
    before = batch(GOOD, GOOD, metrics="faithfulness,answer_relevance")
    after = batch(GOOD, BAD, metrics="faithfulness,answer_relevance", baseline_result=before)
    assert outcomes(after) == [
        (
            False,
            "faithfulness mean 0.50 is 0.50 below the baseline's 1.00 (threshold 0.05)",
        ),
        (
            False,
            "answer_relevance mean 0.50 is 0.50 below the baseline's 1.00 (threshold 0.05)",
        ),
    ]
    same = batch(GOOD, GOOD, baseline_result=before)
    assert outcomes(same) == [(True, "faithfulness mean 1.00, same as the baseline")]
    better = batch(GOOD, GOOD, baseline_result=batch(GOOD, BAD))
    assert outcomes(better) == [(True, "faithfulness mean 1.00 is 0.50 above the baseline's 0.50")]
    little = batch(
        GOOD, BAD, baseline_result=batch(GOOD, GOOD), metrics="faithfulness",
        regression_threshold=0.6,
    )  # fmt: skip
    assert outcomes(little, regression_threshold=0.6) == [
        (True, "faithfulness mean 0.50 is 0.50 below the baseline's 1.00 (threshold 0.60)")
    ]


def test_a_metric_that_lost_its_scores_is_not_comparable_and_fails() -> None:
    truth = {**GOOD, "groundTruth": "red fox."}
    before = batch(truth, metrics="context_recall")
    after = batch(GOOD, metrics="context_recall", allow_missing=True, baseline_result=before)
    assert outcomes(after) == [(False, "context_recall has no scores; the baseline's mean is 1.00")]
    never = batch(GOOD, metrics="context_recall", allow_missing=True, baseline_result=after)
    assert outcomes(never) == [
        (True, "context_recall has no scores, neither in this run nor in the baseline")
    ]


@every_row(
    ("rate", "means", "message"),
    [
        (90, {}, "min_pass_rate must be between 0 and 1, got 90"),
        (-0.1, {}, "min_pass_rate must be between 0 and 1"),
        (float("nan"), {}, "min_pass_rate must be finite"),
        (True, {}, "min_pass_rate must be a number, got bool"),
        ("1", {}, "min_pass_rate must be a number, got str"),
        (None, {"faithfulness": 2}, r"min_mean\['faithfulness'\] must be between 0 and 1"),
        (None, {"faithfullness": 0.5}, "did you mean 'faithfulness'"),
        (None, {"answer_relevance": 0.5}, "answer_relevance, which is not computed"),
        (None, [("faithfulness", 1)], "min_mean must be a mapping"),
    ],
)
def test_bars_that_make_no_sense(rate: Any, means: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Gates.of(rate, means, ["faithfulness"])


def test_to_dict() -> None:
    result = batch(GOOD, BAD)
    gate = check_gates(result, Gates.of(None, {"faithfulness": 0.9}, result.metrics), 0.05)[0]
    assert gate.to_dict() == {
        "gate": "minMean",
        "metricId": "faithfulness",
        "held": False,
        "found": 0.5,
        "wanted": 0.9,
        "message": "faithfulness mean 0.50 (2/2) is below 0.90",
    }
