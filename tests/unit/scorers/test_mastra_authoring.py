"""What scorers of one's own read from runs, and the runs that are made up to test them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.scorers.mastra import (
    create_agent_test_run,
    create_test_message,
    create_test_run,
    create_tool_invocation,
    create_trajectory_test_run,
    extract_agent_response_messages,
    extract_input_messages,
    extract_tool_calls,
    extract_tool_results,
    get_assistant_message_from_run_output,
    get_combined_system_prompt,
    get_conversation_history_from_run_input,
    get_reasoning_from_run_output,
    get_system_messages_from_run_input,
    get_user_message_from_run_input,
    is_closer_to,
    round_to_two_decimals,
)
from rag_eval.scorers.mastra.runs import run_of
from rag_eval.trajectory import (
    create_tool_call_accuracy_scorer_code,
    create_trajectory_accuracy_scorer_code,
)
from tests.tables import every_row


def said(role: str, content: str, **more: Any) -> dict[str, Any]:
    return create_test_message(content=content, role=role, **more)


WEATHER = create_tool_invocation(
    tool_call_id="1", tool_name="weather", args={"city": "Bern"}, result={"t": 20}
)
RUN = create_agent_test_run(
    input_messages=[said("user", "When?"), said("assistant", "Now?"), said("user", "Well?")],
    output=[
        said("assistant", "Let me see", tool_invocations=[WEATHER]),
        said("tool", "raw"),
        {"role": "assistant", "content": {"content": "At 7", "reasoning": "It is late."}},
        said("assistant", ""),
    ],
    system_messages=[said("system", "Be brief.")],
    tagged_system_messages={"memory": [said("system", "It rained.")]},
    remembered_messages=[said("user", "Hello"), said("assistant", " "), said("assistant", "Hi")],
)


# ------------------------------------------------------------------------------------------- texts


def test_the_first_user_message_and_the_last_assistant_message_with_text_are_read() -> None:
    assert get_user_message_from_run_input(RUN["input"]) == "When?"
    assert get_assistant_message_from_run_output(RUN["output"]) == "At 7"


def test_all_texts_are_read_in_order() -> None:
    assert extract_input_messages(RUN["input"]) == ["When?", "Now?", "Well?"]
    assert extract_agent_response_messages(RUN["output"]) == ["Let me see", "At 7", ""]


def test_reasoning_is_read_from_the_message_or_its_parts() -> None:
    assert get_reasoning_from_run_output(RUN["output"]) == "It is late."
    parts = [{"type": "reasoning", "reasoning": "a"}, {"type": "reasoning", "text": "b"}]
    assert get_reasoning_from_run_output([{"role": "assistant", "parts": parts}]) == "a\nb"


def test_system_prompts_are_read_with_those_that_are_tagged() -> None:
    assert get_system_messages_from_run_input(RUN["input"]) == ["Be brief.", "It rained."]
    assert get_combined_system_prompt(RUN["input"]) == "Be brief.\n\nIt rained."


def test_the_history_is_what_is_remembered_and_says_something() -> None:
    assert get_conversation_history_from_run_input(RUN["input"]) == "user: Hello\nassistant: Hi"
    assert get_conversation_history_from_run_input(RUN["input"], 1) == "assistant: Hi"
    for most in (0, True, 1.5):
        with pytest.raises(InputError, match="max_messages"):
            get_conversation_history_from_run_input(RUN["input"], most)  # type: ignore[arg-type]


def test_what_is_not_there_is_none_or_empty() -> None:
    assert get_user_message_from_run_input(None) is None
    assert get_assistant_message_from_run_output([said("tool", "raw")]) is None
    assert get_reasoning_from_run_output(None) is None
    assert get_combined_system_prompt([]) == ""
    assert get_conversation_history_from_run_input("Hello") == ""
    assert extract_tool_calls(None) == ([], [])


# ------------------------------------------------------------------------------------------- tools


def test_calls_have_their_places_and_results_their_arguments() -> None:
    calls = extract_tool_calls([said("assistant", "x"), *RUN["output"]])
    assert calls.tools == ["weather"]
    assert [info.to_dict() for info in calls.tool_call_infos] == [
        {"toolName": "weather", "toolCallId": "1", "messageIndex": 1, "invocationIndex": 0}
    ]
    assert [found.to_dict() for found in extract_tool_results(RUN["output"])] == [
        {"toolName": "weather", "toolCallId": "1", "args": {"city": "Bern"}, "result": {"t": 20}}
    ]


def test_a_call_that_has_not_ended_has_no_result_and_one_not_written_is_none() -> None:
    begun = create_tool_invocation(tool_call_id="1", tool_name="a", state="call")
    partial = create_tool_invocation(tool_call_id="2", tool_name="b", state="partial-call")
    output = [said("assistant", "", tool_invocations=[partial, begun])]
    assert extract_tool_calls(output).tools == ["a"]
    assert extract_tool_calls(output).tool_call_infos[0].invocation_index == 1
    assert extract_tool_results(output) == []


# ----------------------------------------------------------------------------------------- numbers


@every_row(
    ("value", "rounded"),
    [(0.125, 0.13), (1.005, 1.01), (-1 / 3, -0.33), (-0.125, -0.12), (2.0, 2.0), (1e300, 1e300)],
)
def test_half_a_hundredth_is_rounded_up(value: float, rounded: float) -> None:
    assert round_to_two_decimals(value) == rounded


def test_what_is_no_number_stays_so() -> None:
    assert math.isnan(round_to_two_decimals(math.nan))
    assert round_to_two_decimals(math.inf) == math.inf


def test_nearer_means_nearer_and_not_as_near() -> None:
    assert is_closer_to(0.4, 0.5, 0.2)
    assert not is_closer_to(0.3, 0.5, 0.2)
    assert not is_closer_to(1.0, 0.0, 2.0)


# ------------------------------------------------------------------------------------ made-up runs


def test_a_run_that_was_made_up_is_read_by_scorers() -> None:
    assert create_tool_call_accuracy_scorer_code(expected_tool="weather").run(RUN).score == 1
    run = create_test_run("When?", "At 7", {"rubric": "x"})
    assert run_of(run).additional_context == {"rubric": "x"}
    assert get_user_message_from_run_input(run["input"]) == "When?"
    assert get_assistant_message_from_run_output(run["output"]) == "At 7"


def test_a_trajectory_that_was_made_up_is_read_by_scorers() -> None:
    steps = [{"name": "a"}, {"name": "b"}]
    scorer = create_trajectory_accuracy_scorer_code()
    for trajectory in (steps, {"steps": steps, "totalDurationMs": 3}):
        run = create_trajectory_test_run(trajectory=trajectory, expected_trajectory=steps[:1])
        assert scorer.run(run).score == 1
    assert run["output"]["totalDurationMs"] == 3


def test_what_was_made_up_is_the_same_each_time() -> None:
    assert create_test_run("a", "b") == create_test_run("a", "b")
    assert create_agent_test_run() == create_agent_test_run()
    assert said("user", "a") == said("user", "a")


def test_what_is_made_up_wrongly_is_refused() -> None:
    with pytest.raises(InputError, match="the state of a tool call must be one of result"):
        create_tool_invocation(tool_call_id="1", tool_name="a", state="done")
    with pytest.raises(InputError, match="no name"):
        create_test_message(content="", role="assistant", tool_invocations=[{"args": {}}])
    with pytest.raises(InputError, match="list of steps"):
        create_trajectory_test_run(trajectory="a")  # type: ignore[arg-type]
