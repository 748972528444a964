"""Mastra's quick checks on its own results: scores and findings, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rag_eval.scorers import mastra as checks
from rag_eval.scorers.mastra.scorer import CodeScorer
from tests.conformance.other_tools import mastra_cases
from tests.tables import every_row

CREATE: dict[str, Callable[[Any, dict[str, Any]], CodeScorer]] = {
    "check-includes": lambda text, o: checks.create_includes_check(text, **text_options(o)),
    "check-excludes": lambda text, o: checks.create_excludes_check(text, **text_options(o)),
    "check-equals": lambda text, o: checks.create_equals_check(text, **text_options(o)),
    "check-matches": lambda regex, o: checks.create_matches_check(
        regex["source"], regex["flags"], **o
    ),
    "check-similarity": lambda text, o: checks.create_similarity_check(text, **text_options(o)),
    "check-called-tool": lambda name, o: checks.create_called_tool_check(name, **o),
    "check-did-not-call": lambda name, _: checks.create_did_not_call_check(name),
    "check-tool-order": lambda names, _: checks.create_tool_order_check(names),
    "check-max-tool-calls": lambda most, _: checks.create_max_tool_calls_check(most),
    "check-used-no-tools": lambda *_: checks.create_used_no_tools_check(),
    "check-no-tool-errors": lambda *_: checks.create_no_tool_errors_check(),
}

# Decided against: exact means that the whole output matches the whole pattern.
NOT_EXACT = {
    "mastra-check-matches-exact-alternation2": "the anchors wrap the first alternative alone",
    "mastra-check-matches-exact-multiline": "with the flag m any line will do",
}

CASES = mastra_cases(*CREATE)


def text_options(options: dict[str, Any]) -> dict[str, Any]:
    return {{"ignoreCase": "ignore_case"}.get(name, name): v for name, v in options.items()}


def result(case: dict[str, Any]) -> Any:
    scorer = CREATE[case["scorer"]](case["arg"], case["options"])
    return scorer.run({"input": case["input"], "output": case["output"]})


@every_row("case", CASES, ids=[case["id"] for case in CASES])
def test_score_and_findings_are_the_same(case: dict[str, Any]) -> None:
    found = result(case)
    if case["id"] in NOT_EXACT:
        assert (found.score, case["expected"]["score"]) == (0, 1)
    else:
        assert found.score == case["expected"]["score"]
        assert found.preprocess_result == case["expected"]["details"]


def test_every_departure_is_a_case() -> None:
    assert NOT_EXACT.keys() <= {case["id"] for case in CASES}
