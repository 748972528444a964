"""Trajectories and calls of tools: how they are read, what they score, what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Metric, Scored, Scorer
from rag_eval.plumbing.spelling import snake_case
from rag_eval.samples import NullReason
from rag_eval.scorers.hazel import trajectory as hazel
from rag_eval.scorers.mastra import (
    tool_call_accuracy_code,
    trajectory_comparison,
    trajectory_steps,
    trajectory_unified,
)
from rag_eval.scorers.mastra.trajectory_expectations import expectation_of
from rag_eval.scorers.mastra.trajectory_steps import DEEPEST, trajectory_of
from rag_eval.trajectory import (
    AgentTrajectory,
    analyze_tool_failures,
    check_trajectory_blacklist,
    check_trajectory_efficiency,
    compare_trajectories,
    create_tool_call_accuracy_scorer_code,
    create_trajectory_accuracy_scorer_code,
    create_trajectory_scorer_code,
    extract_trajectory,
    tool_call_accuracy,
    trajectory_score,
)
from tests.counted_work import operations
from tests.tables import every_row

MODULES = (hazel, tool_call_accuracy_code, trajectory_comparison, trajectory_unified)
SPECS = {spec.id: spec for module in MODULES for spec in module.METRICS}
MANY = 100_000


def steps(names: str, **values: Any) -> list[dict[str, Any]]:
    """Calls of tools of one letter each."""
    return [{"stepType": "tool_call", "name": name, **values} for name in names]


def nested(levels: int) -> list[dict[str, Any]]:
    inner: list[dict[str, Any]] = [{"name": "leaf"}]
    for _ in range(levels - 1):
        inner = [{"name": "run", "children": inner}]
    return inner


def scorer(metric: str, **options: Any) -> Scorer:
    return SPECS[metric].create(**options)


def found(metric: str, fields: dict[str, Any], **options: Any) -> Scored:
    return scorer(metric, **options).score(fields)


# ------------------------------------------------------------------------------------- comparisons


def test_a_step_of_another_spelling_is_the_same_step() -> None:
    actual = [{"step_type": "tool_call", "name": "s", "tool_args": {"q": 1}}]
    expected = [{"stepType": "tool_call", "name": "s", "toolArgs": {"q": 1.0}}]
    assert compare_trajectories(actual, expected).score == 1


def test_values_count_only_where_the_type_is_expected() -> None:
    actual = steps("s", toolArgs={"q": 1})
    assert compare_trajectories(actual, [{"name": "s", "toolArgs": {"q": 2}}]).score == 1
    assert compare_trajectories(actual, steps("s", toolArgs={"q": 2})).score == 0


@every_row(
    ("left", "right", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        (
            {"a": 1, "2": 0, "1": [{"10": 1, "9": 2}]},
            {"1": [{"9": 2, "10": 1}], "2": 0, "a": 1},
            True,
        ),
        ({"01": 1, "1.5": 2}, {"1.5": 2, "01": 1}, False),
        ([1, 2.0, -0.0], [1.0, 2, 0], True),
        (math.nan, None, True),
        (True, 1, False),
        ("1", 1, False),
        ("\ud800", "\ud800", True),
        ((1, 2), [1, 2], True),
    ],
)
def test_values_are_equal_where_their_json_texts_are(left: Any, right: Any, same: bool) -> None:
    hit = compare_trajectories(steps("s", toolArgs=left), steps("s", toolArgs=right)).score
    assert hit == float(same)


def test_null_is_a_value_and_absence_is_none() -> None:
    assert compare_trajectories(steps("s"), steps("s", toolResult=None)).score == 0
    both = steps("s", toolResult=None)
    assert compare_trajectories(both, both).score == 1


def test_a_step_of_the_right_name_and_other_values_is_missing_but_in_order() -> None:
    comparison = compare_trajectories(
        steps("s", toolArgs=1), steps("s", toolArgs=2), ordering="strict"
    )
    assert comparison.missing_steps == ("s",)
    assert comparison.out_of_order_steps == ()


def test_unordered_steps_take_the_first_that_is_free_whatever_else_was_asked_for() -> None:
    actual = [*steps("a", toolArgs=1), *steps("a", toolArgs=2)]
    expected = [{"name": "a"}, *steps("a", toolArgs=1)]
    # The step that is expected by name alone takes the first, which the other one needs.
    assert compare_trajectories(actual, expected, ordering="unordered").score == 0.5
    assert compare_trajectories(actual, expected[::-1], ordering="unordered").score == 1


CALL = ["toolArgs", "toolResult", "success"]
COMPARED = {
    "tool_call": CALL,
    "mcp_tool_call": [*CALL, "mcpServer"],
    "model_generation": ["modelId", "promptTokens", "completionTokens", "finishReason"],
    "agent_run": ["agentId"],
    "workflow_step": ["stepId", "status", "output"],
    "workflow_run": ["workflowId", "status"],
    "workflow_conditional": ["conditionCount", "selectedSteps"],
    "workflow_parallel": ["branchCount", "parallelSteps"],
    "workflow_loop": ["loopType", "totalIterations"],
    "workflow_sleep": ["sleepDurationMs", "sleepType"],
    "workflow_wait_event": ["eventName", "eventReceived"],
    "processor_run": ["processorId"],
}


@every_row("kind", COMPARED)
def test_each_type_of_step_has_its_values_to_compare(kind: str) -> None:
    every = {name for names in COMPARED.values() for name in names} | {"durationMs", "metadata"}
    for name in every:
        actual = {"name": "s", "stepType": kind, name: 1}
        score = compare_trajectories([actual], [{**actual, name: 2}]).score
        assert score == (0 if name in COMPARED[kind] else 1), name
        snake = {"name": "s", "step_type": kind, snake_case(name): 1}
        assert compare_trajectories([actual], [snake]).score == 1, name
        assert compare_trajectories([snake], [actual]).score == 1, name


@every_row("ordering", ["relaxed", "unordered"])
def test_one_step_is_not_matched_twice(ordering: str) -> None:
    assert compare_trajectories(steps("a"), steps("aa"), ordering=ordering).matched_steps == 1
    assert compare_trajectories(steps("aba"), steps("aaa"), ordering=ordering).matched_steps == 2


def test_the_order_of_the_expectation_holds_unless_an_option_says_otherwise() -> None:
    expected = {"steps": steps("ab"), "ordering": "strict"}
    assert compare_trajectories(steps("ba"), expected).score == 0
    assert compare_trajectories(steps("ba"), expected, ordering="unordered").score == 1


@every_row("options", [{"ordering": "any"}, {"allow_repeated_steps": 1}])
def test_options_of_a_comparison_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        compare_trajectories(steps("a"), steps("a"), **options)


def test_an_unknown_option_is_named_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="did you mean 'ordering'"):
        compare_trajectories(steps("a"), steps("a"), order="strict")


# ------------------------------------------------------------------------------------ what is read


@every_row(
    ("source", "message"),
    [
        ("search", "must be a list of steps, got str"),
        (["search"], "step 0 must be a mapping such as .* got str"),
        ([{"name": "a"}, {"stepType": "tool_call"}], "step 1 must have a name"),
        ([{"name": "a", "stepType": 3}], "stepType of step 0"),
        ({"steps": [{"name": "a", "children": 3}]}, "children"),
        ({"steps": [], "totalDurationMs": math.nan}, "totalDurationMs"),
    ],
)
def test_what_is_no_trajectory_is_refused(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_trajectories(source, [])


@every_row(
    ("source", "message"),
    [
        ({"maxStep": 3}, "did you mean 'maxSteps'"),
        ({"maxSteps": 3, "max_steps": 3}, "two spellings"),
        ({"ordering": ["strict"]}, "ordering must be one of"),
        ({"noRedundantCalls": "no"}, "true or false"),
        ({"blacklistedTools": "rm"}, "list of names"),
        ({"blacklistedSequences": ["rm"]}, "list of names"),
        ({"blacklistedSequences": "rm"}, "list of lists"),
        ([{"name": "a", "stepType": "tool_call", "data": {}}], "data, which is not compared"),
        ({"steps": [{"name": "a", "children": {"ordering": "x"}}]}, "children in .*ordering"),
    ],
)
def test_what_is_no_expectation_is_refused(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        expectation_of(source)


def test_a_whole_trajectory_is_an_expectation() -> None:
    whole = {"steps": steps("ab", durationMs=3), "totalDurationMs": 6, "rawOutput": []}
    expected = expectation_of(whole).steps
    assert expected is not None
    assert [step.name for step in expected] == ["a", "b"]


def test_levels_up_to_the_limit_are_read_and_no_more() -> None:
    trajectory_of(nested(DEEPEST))
    expectation_of(nested(DEEPEST))
    for read in (trajectory_of, expectation_of):
        for levels in (DEEPEST + 1, 10_000):
            with pytest.raises(InputError, match="nested more than"):
                read(nested(levels))


def test_a_structure_that_holds_itself_is_refused() -> None:
    step: dict[str, Any] = {"name": "a"}
    step["children"] = [step, step]
    with pytest.raises(InputError, match="nested more than"):
        trajectory_of([step])
    args: list[Any] = []
    args += [args, args]
    with pytest.raises(InputError, match="toolArgs of step 's': not a JSON value"):
        compare_trajectories(steps("s", toolArgs=args), steps("s", toolArgs=[]))


def test_steps_that_share_their_children_do_not_take_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (trajectory_steps.MOST_STEPS, trajectory_steps.MOST_ITEMS) == (1_000_000, 1_000_000)
    # Reached in milliseconds, and as far from what there is: 2 to the power of 40.
    monkeypatch.setattr(trajectory_steps, "MOST_STEPS", 20_000)
    monkeypatch.setattr(trajectory_steps, "MOST_ITEMS", 20_000)
    inner = [{"name": "leaf"}]
    value: list[Any] = [1]
    for _ in range(40):
        inner = [{"name": "run", "children": inner}, {"name": "run", "children": inner}]
        value = [value, value]
    with pytest.raises(InputError, match="more than 20,000 steps"):
        trajectory_of(inner)
    with pytest.raises(InputError, match="20,000 items"):
        compare_trajectories(steps("s", toolArgs=value), steps("s", toolArgs=[]))


NO_JSON = {"set": {1, 2}, "bytes": b"x", "object": object(), "digits": 10**5000, "key": {(): 1}}


@every_row("value", list(NO_JSON.values()), ids=list(NO_JSON))
def test_a_value_that_is_no_json_is_refused_where_it_is_compared(value: Any) -> None:
    assert compare_trajectories(steps("s", toolArgs=value), [{"name": "s"}]).score == 1
    with pytest.raises(InputError, match="toolArgs of step 's': not a JSON value"):
        compare_trajectories(steps("s", toolArgs=value), steps("s", toolArgs=1))


# ----------------------------------------------------------------------------------- other helpers


def test_a_repeated_call_is_redundant_only_right_after_and_with_the_same_arguments() -> None:
    calls = [*steps("aa", toolArgs={"q": 1}), *steps("a", toolArgs={"q": 2}), *steps("ba")]
    efficiency = check_trajectory_efficiency(calls)
    assert [(call.name, call.index) for call in efficiency.redundant_calls] == [("a", 1)]
    assert efficiency.score == 0.8
    assert check_trajectory_efficiency(calls, no_redundant_calls=False).score == 1
    other = [{"stepType": "workflow_step", "name": "a"}] * 2
    assert check_trajectory_efficiency(other).score == 1


def test_tokens_are_counted_at_any_depth() -> None:
    call = {"stepType": "model_generation", "name": "g", "promptTokens": 6, "completionTokens": 4}
    whole = [call, {"name": "agent", "children": [{"name": "inner", "children": [call]}]}]
    efficiency = check_trajectory_efficiency(whole, max_total_tokens=16)
    assert efficiency.total_tokens == 20
    assert check_trajectory_efficiency([{"name": "a"}]).total_tokens == 0
    assert efficiency.over_token_budget
    assert efficiency.score == round((0.75 + 1) / 2 + 1e-9, 2)


def test_the_duration_of_the_trajectory_goes_before_that_of_its_steps() -> None:
    whole = {"steps": steps("ab", durationMs=40), "totalDurationMs": 200}
    efficiency = check_trajectory_efficiency(whole, max_total_duration_ms=100)
    assert efficiency.total_duration_ms == 200
    assert efficiency.score == 0.5
    assert check_trajectory_efficiency(whole["steps"]).total_duration_ms == 80


@every_row(
    ("budget", "message"),
    [
        ({"max_steps": math.nan}, "max_steps"),
        ({"max_steps": -1}, "max_steps"),
        ({"max_steps": True}, "max_steps"),
        ({"max_total_tokens": 5}, "model_generation"),
        ({"max_total_duration_ms": 5}, "durationMs of every step, 'a' has none"),
        ({"max_total_duration_ms": math.inf}, "max_total_duration_ms"),
    ],
)
def test_a_budget_that_cannot_be_checked_is_refused(budget: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_trajectory_efficiency(steps("a"), **budget)


def test_a_duration_is_checked_only_where_there_is_one() -> None:
    with pytest.raises(InputError, match="max_total_duration_ms needs a duration"):
        check_trajectory_efficiency([], max_total_duration_ms=5)
    whole = {"steps": [], "totalDurationMs": 4}
    assert check_trajectory_efficiency(whole, max_total_duration_ms=5).score == 1


def test_an_amount_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="step 'g': promptTokens must be a number, got str"):
        check_trajectory_efficiency(
            [{"stepType": "model_generation", "name": "g", "promptTokens": "12"}]
        )


def test_a_budget_of_nothing_that_is_kept_scores_1() -> None:
    assert check_trajectory_efficiency([], max_steps=0).score == 1


def test_forbidden_sequences_have_to_be_right_in_a_row() -> None:
    def violated(names: str, *sequences: str) -> list[str]:
        found = check_trajectory_blacklist(
            steps(names), blacklisted_sequences=[list(each) for each in sequences]
        )
        return ["".join(names) for names in found.violated_sequences]

    assert violated("aabc", "abc", "ac", "", "abz", "c") == ["abc", "c"]
    assert violated("", "a") == []


def test_forbidden_tools_are_named_once_each() -> None:
    blacklist = check_trajectory_blacklist(steps("xaxb"), blacklisted_tools=["b", "x", "z"])
    assert blacklist.to_dict() == {
        "score": 0.0,
        "violatedTools": ["b", "x"],
        "violatedSequences": [],
    }


def test_retries_are_counted_run_by_run_of_one_tool() -> None:
    failed, ended = {"success": False}, {"success": True}
    calls = [*steps("a", **failed), {"stepType": "agent_run", "name": "z"}, *steps("a", **failed)]
    calls += [*steps("b", **ended), *steps("a", **failed), *steps("a", **ended)]
    analysis = analyze_tool_failures(calls, max_retries_per_tool=0)
    assert [pattern.to_dict() for pattern in analysis.patterns] == [
        {
            "toolName": "a",
            "retryCount": 1,
            "fellBackToAlternative": True,
            "eventuallySucceeded": False,
            "alternativeTool": "b",
        },
        {
            "toolName": "a",
            "retryCount": 1,
            "fellBackToAlternative": False,
            "eventuallySucceeded": True,
        },
    ]
    assert analysis.score == 0.6
    assert analysis.excessive_retry_tools == ("a", "a")


def test_a_tool_that_failed_at_the_end_has_no_alternative() -> None:
    (pattern,) = analyze_tool_failures(steps("aa", success=False)).patterns
    assert not pattern.fell_back_to_alternative
    assert not pattern.eventually_succeeded


def test_calls_in_messages_become_steps() -> None:
    output = [
        {"role": "assistant", "tool_calls": [{"tool": "a", "args": {"q": 1}, "result": 2}]},
        {
            "role": "assistant",
            "tool_calls": [
                {"tool": "b", "state": "call"},
                {"tool": "c", "state": "output-error"},
                {"tool": "d", "state": "partial-call"},
                {"tool": "e", "isError": True},
            ],
        },
    ]
    trajectory = extract_trajectory(output)
    assert trajectory["rawOutput"] is output
    assert trajectory["steps"] == [
        {
            "stepType": "tool_call",
            "name": "a",
            "toolArgs": {"q": 1},
            "toolResult": 2,
            "success": True,
        },
        {"stepType": "tool_call", "name": "b"},
        {"stepType": "tool_call", "name": "c", "success": False},
        {"stepType": "tool_call", "name": "e", "success": False},
    ]


def test_calls_that_a_message_holds_twice_in_two_orders_are_told_once() -> None:
    calls = [{"toolName": name, "toolCallId": name} for name in "abc"]
    parts = [{"type": "tool-invocation", "toolInvocation": call} for call in calls]
    message = {"role": "assistant", "parts": parts, "toolInvocations": calls[::-1]}
    assert [step["name"] for step in extract_trajectory([message])["steps"]] == ["a", "b", "c"]


# -------------------------------------------------------------------------------- scorers of runs


def test_a_run_of_messages_is_scored_by_the_calls_in_it() -> None:
    run = {"input": "q", "output": [{"role": "assistant", "tool_calls": ["a", "b"]}]}
    assert (
        create_trajectory_accuracy_scorer_code(expected_trajectory=steps("ab")).run(run).score == 1
    )
    assert create_trajectory_scorer_code(defaults={"maxSteps": 1}).run(run).score == 0.5


def test_steps_of_the_scorer_go_before_those_of_the_run_and_its_order_does_not() -> None:
    scorer = create_trajectory_accuracy_scorer_code(
        expected_trajectory=steps("ab"), comparison_options={"ordering": "unordered"}
    )
    run = {"output": {"steps": steps("ba")}, "expectedTrajectory": {"steps": steps("x")}}
    assert scorer.run(run).score == 1
    run["expectedTrajectory"]["ordering"] = "strict"
    assert scorer.run(run).score == 0


def test_a_run_of_which_nothing_is_expected_scores_0_as_it_does_there() -> None:
    result = create_trajectory_accuracy_scorer_code().run({"output": {"steps": steps("a")}})
    assert result.score == 0
    assert "comparison" not in result.preprocess_result


def test_what_a_run_expects_replaces_the_defaults_field_by_field() -> None:
    scorer = create_trajectory_scorer_code(defaults={"maxSteps": 1, "blacklistedTools": ["z"]})
    run = {"output": {"steps": steps("ab")}}
    assert scorer.run(run).score == 0.63  # (0.5 * 0.3 + 1 * 0.1) / 0.4
    assert scorer.run({**run, "expectedTrajectory": {"max_steps": 2}}).score == 1
    assert scorer.run({**run, "expectedTrajectory": {"blacklistedTools": ["b"]}}).score == 0


def test_something_forbidden_within_a_step_takes_the_whole_score() -> None:
    inner = {"name": "agent", "children": {"blacklistedTools": ["rm"]}}
    run = {"output": {"steps": [{"name": "agent", "children": steps("x")}]}}
    scorer = create_trajectory_scorer_code(defaults={"steps": [inner]})
    assert scorer.run(run).score == 1
    run["output"]["steps"][0]["children"] = [{"name": "rm"}]
    result = scorer.run(run)
    assert result.score == 0
    assert result.reason is not None
    assert "forbidden" in result.reason


def test_the_mean_of_parts_is_that_of_the_package_to_the_last_bit() -> None:
    """Half a hundredth is decided by it."""
    scorer = create_trajectory_scorer_code(
        defaults={"maxTotalTokens": 100, "blacklistedTools": ["z"]}
    )
    step = {"stepType": "model_generation", "name": "m"}
    step |= {"promptTokens": 100, "completionTokens": 5}
    assert scorer.run({"output": {"steps": [step]}}).score == 0.98


def test_the_duration_of_a_step_is_that_of_the_steps_within_it() -> None:
    inner = {"name": "agent", "children": {"maxTotalDurationMs": 50}}
    agent = {"name": "agent", "durationMs": 100, "children": steps("x", durationMs=10)}
    scorer = create_trajectory_scorer_code(defaults={"steps": [inner]})
    assert scorer.run({"output": {"steps": [agent]}}).score == 0.85
    (nested,) = scorer.run({"output": {"steps": [agent]}}).preprocess_result["nested"]
    assert nested["efficiency"]["totalDurationMs"] == 100
    del agent["durationMs"]
    assert scorer.run({"output": {"steps": [agent]}}).score == 1


def test_where_no_step_is_expected_the_comparison_tells_no_more() -> None:
    scorer = create_trajectory_scorer_code(defaults={"steps": []})
    found = scorer.run({"output": {"steps": steps("aa")}}).preprocess_result["accuracy"]
    assert (found["score"], found["repeatedSteps"]) == (0, [])
    outer = {"steps": [{"name": "agent", "children": {"steps": []}}]}
    run = create_trajectory_scorer_code(defaults=outer).run({"output": {"steps": []}})
    assert "accuracy" not in run.preprocess_result["nested"][0]


def test_steps_within_a_step_are_looked_for_by_its_name_and_type_whatever_its_values() -> None:
    child = {"name": "agent", "stepType": "agent_run", "children": {"steps": steps("x")}}
    agent = {"name": "agent", "stepType": "agent_run", "agentId": "2", "children": steps("x")}
    scorer = create_trajectory_scorer_code(defaults={"steps": [{**child, "agentId": "1"}]})
    (nested,) = scorer.run({"output": {"steps": [agent]}}).preprocess_result["nested"]
    assert nested["score"] == 1
    agent["stepType"] = "workflow_run"
    (nested,) = scorer.run({"output": {"steps": [agent]}}).preprocess_result["nested"]
    assert nested["score"] == 0


def test_the_reason_has_a_line_for_each_part_that_counts() -> None:
    defaults = {"steps": steps("abc"), "maxSteps": 1, "blacklistedTools": ["z"]}
    calls = [*steps("ax"), *steps("b", success=False), *steps("b", success=True)]
    reason = (
        create_trajectory_scorer_code(defaults=defaults).run({"output": {"steps": calls}}).reason
    )
    assert reason is not None
    lines = reason.splitlines()
    assert [line.split(":")[0].rsplit(" ", 1)[0] for line in lines[1:]] == [
        "- accuracy",
        "- efficiency",
        "- tool failures",
        "- blacklist",
    ]
    assert "2 of 3 expected steps were taken; missing: c" in lines[1]
    assert "4 steps over the budget" in lines[2]
    assert "1 retries of b" in lines[3]


@every_row("weight", [math.nan, "1", True])
def test_weights_are_finite_numbers(weight: Any) -> None:
    with pytest.raises(InputError, match="weight of accuracy"):
        create_trajectory_scorer_code(weights={"accuracy": weight})


def test_weights_that_are_left_out_keep_their_defaults_and_none_left_scores_1() -> None:
    run = {"output": {"steps": steps("a")}}
    defaults = {"steps": steps("ab"), "maxSteps": 0}
    zero = {"accuracy": 0, "efficiency": 0, "toolFailures": 0, "blacklist": 0}
    assert create_trajectory_scorer_code(defaults=defaults, weights=zero).run(run).score == 1
    # (0.5 * 0.3 + 0.5 * 0.3) / 0.6: efficiency kept its weight.
    half = create_trajectory_scorer_code(defaults=defaults, weights={"accuracy": 0.3}).run(run)
    assert half.score == 0.5


@every_row(
    "options",
    [
        {},
        {"expected_tool": ""},
        {"expected_tool": 3},
        {"expected_tool_order": "ab"},
        {"expected_tool_order": [1]},
        {"expected_tool": "a", "strict_mode": 1},
    ],
)
def test_a_tool_or_an_order_has_to_be_expected(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"expected_tool|strict_mode"):
        create_tool_call_accuracy_scorer_code(options)


def test_each_call_is_told_with_its_place() -> None:
    calls = [{"tool": "a", "id": "1", "state": "partial-call"}, {"tool": "b", "id": "2"}]
    run = {
        "input": "q",
        "output": [{"role": "assistant", "text": "x"}, {"role": "assistant", "tool_calls": calls}],
    }
    result = create_tool_call_accuracy_scorer_code(expected_tool="b", strict_mode=True).run(run)
    assert result.score == 1
    assert result.preprocess_result["toolCallInfos"] == [
        {"toolName": "b", "toolCallId": "2", "messageIndex": 1, "invocationIndex": 1}
    ]


# -------------------------------------------------------------------------------------------- hazel


def test_calls_are_read_from_names_mappings_and_trajectories() -> None:
    calls = [
        "a",
        {"toolName": "b"},
        {"function": {"name": "c", "arguments": "{"}},
        {"tool": "x", "state": "partial-call"},
    ]
    assert trajectory_score(calls, ["a", "b", "c"]) == 1
    assert tool_call_accuracy(AgentTrajectory(calls), AgentTrajectory(["c", "x"])) == 0.5


@every_row("calls", ["ab", {"a": 1}, None, 3, [""], [None], [{"args": 1}], [["a"]]])
def test_what_are_no_calls_is_refused(calls: Any) -> None:
    for score in (trajectory_score, tool_call_accuracy):
        with pytest.raises(InputError, match="actual"):
            score(calls, ["a"])
        with pytest.raises(InputError, match="expected"):
            score(["a"], calls)


# ------------------------------------------------------------------------------ scorers of samples


CALLS = {"tool_calls": ["a", "x", "b"]}
IN_MESSAGES = {
    "messages": [
        {"role": "user", "text": "q", "tool_calls": ["u"]},
        {"role": "assistant", "tool_calls": [{"tool": "a"}, {"tool": "x"}]},
        {"role": "assistant", "tool_calls": [{"tool": "b"}]},
    ]
}


@every_row("metric", ["hazel.trajectory_score", "mastra.tool_call_accuracy"])
@every_row("fields", [CALLS, IN_MESSAGES, {**CALLS, "messages": []}])
def test_calls_of_a_sample_are_its_own_or_those_of_its_messages(
    metric: str, fields: dict[str, Any]
) -> None:
    assert found(metric, {**fields, "expected_tool_calls": ["a", "b"]}).score == 1
    assert found(metric, {**fields, "expected_tool_calls": ["u"]}).score == 0


def test_a_sample_without_calls_has_no_score() -> None:
    for metric in (
        "hazel.trajectory_score",
        "hazel.tool_call_accuracy",
        "mastra.tool_call_accuracy",
    ):
        scored = found(metric, {"expected_tool_calls": ["a"]})
        assert scored.score is None
        assert scored.null_reason == NullReason.MISSING_FIELD
        assert "tool calls" in scored.explanation


@every_row("metric", ["mastra.trajectory_accuracy", "mastra.trajectory"])
def test_a_sample_without_steps_has_no_score(metric: str) -> None:
    scored = found(metric, {"expected_trajectory": steps("a")})
    assert scored.score is None
    assert scored.null_reason == NullReason.MISSING_FIELD


def test_nothing_expected_is_no_score_in_a_sample() -> None:
    fields = {"trajectory": {"steps": steps("a")}}
    assert found("mastra.trajectory_accuracy", fields).null_reason == NullReason.MISSING_FIELD
    assert found("mastra.trajectory", fields).null_reason == NullReason.NOTHING_TO_MEASURE
    assert found("mastra.tool_call_accuracy", CALLS).null_reason == NullReason.MISSING_FIELD


def test_retries_are_scored_even_where_nothing_is_expected() -> None:
    fields = {"trajectory": steps("aaaa", success=False)}
    assert found("mastra.trajectory", fields).score == 0.8


def test_no_call_is_an_expectation_only_where_others_are_not_allowed() -> None:
    fields = {**CALLS, "expected_tool_calls": []}
    lenient = found("mastra.tool_call_accuracy", fields)
    assert lenient.null_reason == NullReason.NOTHING_TO_MEASURE
    assert found("mastra.tool_call_accuracy", fields, strict_mode=True).score == 0
    quiet = {"tool_calls": [], "expected_tool_calls": []}
    assert found("mastra.tool_call_accuracy", quiet, strict_mode=True).score == 1
    assert found("hazel.trajectory_score", fields).score == 1


def test_a_tool_of_the_options_goes_before_what_the_sample_expects() -> None:
    fields = {**CALLS, "expected_tool_calls": ["z"]}
    assert found("mastra.tool_call_accuracy", fields, expected_tool="x").score == 1
    assert found("mastra.tool_call_accuracy", fields, expected_tool_order=["b", "a"]).score == 0
    assert found("mastra.tool_call_accuracy", fields).score == 0
    strict = {"expected_tool": "x", "strict_mode": True}
    assert found("mastra.tool_call_accuracy", fields, **strict).score == 0


def test_findings_say_what_was_called_and_what_should_have_been() -> None:
    fields = {"tool_calls": ["x"] * 50, "expected_tool_calls": [{"tool": "a"}]}
    for metric in ("hazel.tool_call_accuracy", "mastra.tool_call_accuracy"):
        (detail,) = found(metric, fields).details
        assert detail["passed"] is False
        assert detail["expected"] == ["a"]
        assert detail["actual"] == [*["x"] * 20, "and 30 more"]


def test_a_trajectory_of_a_sample_is_scored_part_by_part() -> None:
    child = {"name": "agent", "children": {"steps": [{"name": "s"}]}}
    fields = {
        "trajectory": [{"name": "agent", "children": [{"name": "t"}]}],
        "expected_trajectory": {"steps": [child], "maxSteps": 1},
    }
    scored = found("mastra.trajectory", fields)
    assert scored.score == 0.7
    assert [(each["check"], each["passed"]) for each in scored.details] == [
        ("trajectory.accuracy", True),
        ("trajectory.efficiency", True),
        ("trajectory.nested", False),
    ]


def test_calls_of_a_sample_are_its_trajectory_where_it_has_no_other() -> None:
    calls = [{"tool": "a", "args": {"q": 1}}, "b"]
    expected = [*steps("a", toolArgs={"q": 1}), {"name": "b"}]
    fields = {"tool_calls": calls, "expected_trajectory": expected}
    assert found("mastra.trajectory_accuracy", fields).score == 1
    assert (
        found(
            "mastra.trajectory_accuracy", {**IN_MESSAGES, "expected_trajectory": steps("ab")}
        ).score
        == 1
    )


@every_row(
    ("metric", "options"),
    [
        ("mastra.trajectory", {"defaults": {"maxSteps": math.nan}}),
        (
            "mastra.trajectory",
            {"defaults": {"steps": [{"name": "a", "children": {"maxSteps": -1}}]}},
        ),
        ("mastra.trajectory", {"defaults": {"maxRetriesPerTool": "2"}}),
        ("mastra.trajectory", {"weights": {"speed": 1}}),
        ("mastra.trajectory_accuracy", {"comparison_options": {"order": "strict"}}),
        ("mastra.trajectory_accuracy", {"expected_trajectory": "a"}),
        ("mastra.tool_call_accuracy", {"expected_tool_order": "a"}),
    ],
)
def test_values_of_options_are_checked_when_a_scorer_is_made(
    metric: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        scorer(metric, **options)


@every_row("spec", SPECS.values(), ids=lambda spec: spec.id)
def test_a_contract_is_made_by_its_defaults(spec: Metric) -> None:
    made = spec.create(**spec.options)
    fields = {"tool_calls": ["a"], "expected_tool_calls": ["a"], "expected_trajectory": steps("a")}
    read = {name: fields[name] for name in (*spec.fields, *spec.optional) if name in fields}
    assert made.score(read).score == 1


@every_row(
    "metric", ["hazel.trajectory_score", "hazel.tool_call_accuracy", "mastra.tool_call_accuracy"]
)
def test_a_column_is_its_rows_one_by_one(metric: str) -> None:
    rows: list[dict[str, Any]] = [
        {"tool_calls": ["a", "b"], "expected_tool_calls": ["a", "c"]},
        {"tool_calls": [{"tool": "a"}], "expected_tool_calls": ["a"]},
        {"expected_tool_calls": ["a"]},
        {"tool_calls": ["a"], "expected_tool_calls": []},
        {**IN_MESSAGES, "expected_tool_calls": ("a", "b")},
    ]
    made = scorer(metric)
    assert made.column is not None
    scores, reasons = made.column(rows)
    one_by_one = [made.score(row) for row in rows]
    assert scores.dtype == np.float64
    assert reasons.dtype == np.uint8
    assert reasons.tolist() == [int(each.null_reason) for each in one_by_one]
    expected = [math.nan if each.score is None else each.score for each in one_by_one]
    np.testing.assert_array_equal(scores, expected)


# --------------------------------------------------------------------------------------- long ones


def test_long_trajectories_take_work_in_proportion_to_their_length() -> None:
    """Looking each expected step up from the start takes the square of it."""

    def work(n_steps: int) -> int:
        taken = steps("a" * n_steps + "b" * n_steps)

        def run() -> None:
            for ordering in ("relaxed", "unordered", "strict"):
                compare_trajectories(taken, taken[::-1], ordering=ordering)
            check_trajectory_blacklist(
                taken, blacklisted_sequences=[["a"] * (n_steps // 2) + ["b", "a"]]
            )

        return operations(run)

    assert work(800) < 5 * work(200)


def test_many_steps_within_steps_are_scored() -> None:
    whole = [{"name": "agent", "children": steps("ab" * (MANY // 4))} for _ in range(2)]
    child = {"name": "agent", "children": {"steps": steps("b" * (MANY // 4))}}
    scorer = create_trajectory_scorer_code(defaults={"steps": [child, child]})
    assert scorer.run({"output": {"steps": whole}}).score == 1
