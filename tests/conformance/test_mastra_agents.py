"""Mastra's scorers of agents that need no judge, against the package: score and all details.

Expected is what the newest version gives where versions differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.scorers.mastra.scorer import CodeScorer
from rag_eval.trajectory import (
    create_tool_call_accuracy_scorer_code,
    create_trajectory_accuracy_scorer_code,
    create_trajectory_scorer_code,
)
from tests.conformance.other_tools import mastra_cases, same
from tests.tables import every_row

FACTORIES: dict[str, Callable[..., CodeScorer]] = {
    "tool-call-accuracy-code": create_tool_call_accuracy_scorer_code,
    "trajectory-accuracy-code": create_trajectory_accuracy_scorer_code,
    "trajectory-unified-code": create_trajectory_scorer_code,
}
CASES = {case["id"]: case for case in mastra_cases(*FACTORIES)}

# Only the first call of each tool counts there, so that an order that was kept scores 0 when a tool
# occurs twice. Here the expected names have to occur in their order, as in its check toolOrder.
FIRST_CALLS_ONLY = "lenient order uses first occurrences only"
KEPT_ORDERS = [name for name, case in CASES.items() if case.get("quirk") == FIRST_CALLS_ONLY]

ECHOES = {"expectedTool", "expectedToolOrder", "strictMode", "toolCallInfos"}


def messages(given: Any, role: str) -> Any:
    if not isinstance(given, list):
        return given
    return [message(each, role) for each in given]


def message(given: dict[str, Any], role: str) -> dict[str, Any]:
    """A message with its calls where the case has them: in a list, among its parts, or in both."""
    calls = given.get("tool_calls", ())
    listed = [call for call in calls if call.get("stored", "legacy") != "parts"]
    parts = [call for call in calls if call.get("stored", "legacy") != "legacy"]
    return {
        "role": given.get("role", role),
        "content": {
            "content": given.get("text", ""),
            "toolInvocations": [invocation(call) for call in listed],
            "parts": [{"type": "text", "text": text} for text in given.get("parts", ())]
            + [{"type": "tool-invocation", "toolInvocation": invocation(call)} for call in parts],
        },
    }


def invocation(call: dict[str, Any]) -> dict[str, Any]:
    found = {"toolName": call["tool"], "state": call.get("state", "result")}
    found |= {key: call[key] for key in ("args", "result") if key in call}
    return found | ({"toolCallId": call["id"]} if "id" in call else {})


def run_of_case(case: dict[str, Any]) -> dict[str, Any]:
    run = {"input": messages(case["input"], "user")}
    run["output"] = case.get("trajectory") or messages(case["output"], "assistant")
    if "expected_trajectory" in case:
        run["expectedTrajectory"] = case["expected_trajectory"]
    return run


def expected(case: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = case.get("expected_latest", case["expected"])
    return found


@every_row("name", [name for name in CASES if name not in KEPT_ORDERS])
def test_score_and_details_are_the_same(name: str) -> None:
    case = CASES[name]
    wanted = expected(case)
    if wanted.get("error") == "construct":
        with pytest.raises(InputError):
            FACTORIES[case["scorer"]](case["options"])
        return
    scorer = FACTORIES[case["scorer"]](case["options"])
    if wanted.get("error") == "run":
        with pytest.raises(InputError):
            scorer.run(run_of_case(case))
        return
    result = scorer.run(run_of_case(case))
    details = {key: it for key, it in result.preprocess_result.items() if key not in ECHOES}
    assert same(result.score, wanted["score"], 0.0)
    assert same(details, wanted["details"], 0.0)


@every_row("name", KEPT_ORDERS)
def test_an_order_that_was_kept_scores_1_whichever_calls_came_first(name: str) -> None:
    case = CASES[name]
    result = FACTORIES[case["scorer"]](case["options"]).run(run_of_case(case))
    assert result.score == 1
    assert result.preprocess_result["correctOrderCalled"] is True
    assert expected(case)["score"] == 0
