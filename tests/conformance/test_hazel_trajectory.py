"""Trajectories and tool calls against @hazeljs/eval: every vector, without exception."""

from __future__ import annotations

from typing import Any

from rag_eval.trajectory import tool_call_accuracy, trajectory_score
from tests.conformance.other_tools import cases, same
from tests.tables import every_row


@every_row("case", cases("hazeljs.trajectory_score"), ids=lambda case: case["id"])
def test_calls_in_order_score_the_same(case: dict[str, Any]) -> None:
    assert same(trajectory_score(**case["args"]), case["expected"], 0.0)


@every_row("case", cases("hazeljs.tool_call_accuracy"), ids=lambda case: case["id"])
def test_tools_called_at_all_score_the_same(case: dict[str, Any]) -> None:
    assert same(tool_call_accuracy(**case["args"]), case["expected"], 0.0)
