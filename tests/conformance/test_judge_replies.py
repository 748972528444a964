"""Replies to the judges of HazelJS and Regtrace, read as these tools read them."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.replies import Usage
from rag_eval.scorers.hazel.judge import parse_judge_score
from rag_eval.scorers.regtrace.judge import (
    judge_cost_cents,
    parse_regtrace_judgement,
    strip_code_fences,
)
from tests.conformance.other_tools import cases
from tests.tables import every_row

# Dollars per million tokens that the vectors were made with; the library ships no prices, and a
# model without one costs nothing there.
PRICES = {"gpt-4o": (2.5, 10.0), "gpt-4o-mini": (0.15, 0.6), "gpt-4.1-nano": (0.1, 0.4)}


def owned(function: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases(function)]


@every_row("case", owned("hazeljs.parse_judge_score"))
def test_hazels_scores(case: dict[str, Any]) -> None:
    raw, expected = case["args"]["raw"], case["expected"]
    if expected == {"error": True}:
        with pytest.raises(JudgeFailure):
            parse_judge_score(raw)
    else:
        assert parse_judge_score(raw)._asdict() == expected


@every_row("case", owned("regtrace.judge_parse"))
def test_regtraces_judgements(case: dict[str, Any]) -> None:
    assert parse_regtrace_judgement(case["args"]["content"])._asdict() == case["expected"]


@every_row("case", owned("regtrace.strip_code_fences"))
def test_regtraces_code_fences(case: dict[str, Any]) -> None:
    assert strip_code_fences(case["args"]["text"]) == case["expected"]


@every_row("case", owned("regtrace.judge_cost_cents"))
def test_regtraces_costs_by_prices_of_the_caller(case: dict[str, Any]) -> None:
    args = case["args"]
    usage = Usage(args["input_tokens"], args["output_tokens"])
    assert judge_cost_cents(usage, *PRICES.get(args["model"], (0.0, 0.0))) == case["expected"]
