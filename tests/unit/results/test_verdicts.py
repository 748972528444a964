"""Who passes: rows by their scores, and none that was not measured."""

from __future__ import annotations

from typing import Any

from rag_eval import evaluate, evaluate_batch

NO_CONTEXTS = {"question": "Who wrote Emma?", "answer": "Jane Austen."}
FULL = {**NO_CONTEXTS, "contexts": ["Jane Austen wrote Emma."]}
DIAGNOSTIC = ["context_utilization"]


def test_a_row_in_which_no_metric_that_gates_was_measured_does_not_pass() -> None:
    """Metrics with a threshold and no part in the composite score passed with nulls alone."""
    options: dict[str, Any] = {"profile": "grounded", "thresholds": {"context_utilization": 0.0}}
    assert not evaluate(NO_CONTEXTS, DIAGNOSTIC, **options).passed
    assert evaluate(FULL, DIAGNOSTIC, **options).passed
    found = evaluate_batch([FULL, NO_CONTEXTS], DIAGNOSTIC, **options)
    assert found.sample_passed.tolist() == [True, False]


def test_metrics_without_a_threshold_fail_no_row() -> None:
    assert evaluate(NO_CONTEXTS, DIAGNOSTIC, profile="grounded").passed


def test_a_null_beside_a_score_does_not_fail_a_row() -> None:
    found = evaluate(FULL, ["faithfulness", "context_recall"], profile="grounded")
    assert found.metrics["context_recall"].score is None
    assert found.passed
