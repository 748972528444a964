"""omk 0.54: which assertions hold, what they add up to, and its text metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.kernels.similarity import levenshtein
from rag_eval.scorers.omk.assertion_reading import JudgedAssertion
from rag_eval.scorers.omk.assertion_runs import AssertionRun, calls_of
from rag_eval.scorers.omk.assertion_types import layer_of
from rag_eval.scorers.omk.assertions import check_assertion, check_assertions, validate_assertions
from rag_eval.scorers.omk.grading import RubricQuestion, grade
from rag_eval.scorers.omk.layers import (
    layer_gates,
    layered_scores,
    normalize_capability,
    ratio_to_score,
)
from rag_eval.scorers.omk.text_metrics import bleu, rouge_n
from tests.conformance.other_tools import cases, same
from tests.tables import Test, every_row

Case = dict[str, Any]


def each_of(function: str) -> Callable[[Test], Test]:
    """All vectors of a function: there is no departure among them."""
    found = cases(function)
    return every_row("case", found, ids=[case["id"] for case in found])


# ------------------------------------------------------------------------------------ assertions


def run_of(output: str, context: dict[str, Any] | None) -> AssertionRun:
    """A run under omk's own names."""
    known = context or {}
    return AssertionRun(
        output=output,
        tool_calls=calls_of(known.get("toolCalls", [])),
        cost_usd=known.get("costUSD"),
        latency_ms=known.get("durationMs"),
        n_turns=known.get("numTurns"),
        mock_hits=known.get("mockStats", {}).get("perMock"),
    )


@each_of("omk.assertion")
def test_assertion(case: Case) -> None:
    assertion = case["args"]["assertion"]
    run = run_of(case["args"]["output"], case["args"].get("context"))
    if case["expected"] == {"error": True}:
        with pytest.raises(InputError):
            check_assertion(assertion, run)
        return
    found = check_assertion(assertion, run)
    # omk writes down the layer of sets alone.
    layer = {"layer": found.layer} if found.type == "assert-set" and found.layer else {}
    assert same({"passed": found.passed, "score": found.score, **layer}, case["expected"])


@each_of("omk.assertions_score")
def test_assertions_score(case: Case) -> None:
    found = check_assertions(case["args"]["assertions"], case["args"]["output"])
    in_form = {"passed": found.n_passed, "total": found.n_checked, "score": found.score}
    assert same(in_form, case["expected"])


@each_of("omk.assertions_score")
def test_assertions_that_are_checked_are_valid(case: Case) -> None:
    validate_assertions(case["args"]["assertions"])


# ---------------------------------------------------------------------------------------- layers


@each_of("omk.layer_of")
def test_layer_of(case: Case) -> None:
    assert layer_of(case["args"]["type"]) == case["expected"]


@each_of("omk.layered_scores")
def test_layered_scores(case: Case) -> None:
    assert same(layered_scores(**case["args"]), case["expected"])


@each_of("omk.layer_gates")
def test_layer_gates(case: Case) -> None:
    assert same(layer_gates(**case["args"]), case["expected"])


@each_of("omk.ratio_to_score")
def test_ratio_to_score(case: Case) -> None:
    assert ratio_to_score(case["args"]["ratio"]) == case["expected"]


@each_of("omk.normalize_capability")
def test_normalize_capability(case: Case) -> None:
    assert normalize_capability(case["args"]["raw"]) == case["expected"]


class ScriptedScores:
    """Answers with the scores of a list, one call after the other, whatever is asked."""

    def __init__(self, scores: list[float]) -> None:
        self._scores = list(scores)
        self.n_calls = 0

    def __call__(self, question: JudgedAssertion | RubricQuestion) -> float:
        self.n_calls += 1
        return self._scores.pop(0)


@each_of("omk.grade")
def test_grade(case: Case) -> None:
    args = case["args"]
    judge = ScriptedScores(args["judge_scores_in_call_order"])
    allowed = args["allow_llm_judge"]
    found = grade(
        args["sample"],
        AssertionRun(output=args["output"]),
        assertion_judge=judge if allowed else None,
        rubric_judges=(judge,) * args["judge_count"] if allowed else (),
    )
    score = found.assertions
    in_form = {
        "composite": found.composite or 0,
        "fact": found.fact,
        "behavior": found.behavior,
        "judge": found.judge,
        "assertions_passed": None if score is None else score.n_passed,
        "assertions_total": None if score is None else score.n_checked,
        "judge_calls": judge.n_calls,
    }
    assert same(in_form, case["expected"])


# ---------------------------------------------------------------------------------- text metrics


@every_row(
    ("loaded", "metric"),
    [
        (cases("omk.rouge_n"), rouge_n),
        (cases("omk.bleu"), bleu),
        (cases("omk.levenshtein"), levenshtein),
    ],
    ids=["rouge_n", "bleu", "levenshtein"],
)
def test_text_metric(loaded: list[dict[str, Any]], metric: Callable[..., float]) -> None:
    wrong = [
        (case["id"], found)
        for case in loaded
        if not same(found := metric(**case["args"]), case["expected"])
    ]
    assert wrong == []
