"""Runs -> texts, calls and results for custom scorers; and made-up runs for their tests.

The names are those of ``@mastra/evals/scorers/utils``, in snake_case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rag_eval.plumbing.checked_values import whole_from_one
from rag_eval.scorers.mastra.messages import messages_of
from rag_eval.scorers.mastra.runs import (
    assistant_texts,
    run_of,
    system_prompt,
    tool_results,
)
from rag_eval.scorers.mastra.scorer import Findings
from rag_eval.scorers.mastra.tool_call_accuracy_code import ToolCallInfo, tool_call_infos
from rag_eval.scorers.mastra.trajectory_steps import steps_of
from rag_eval.scorers.tool_calls import tool_call_of

_RUN_ID: Final = "test-run"
_REMEMBERED: Final = ("rememberedMessages", "remembered_messages")

Messages = Sequence[Mapping[str, Any]]


class ToolCalls(NamedTuple):
    """The tools that were called, and their places.

    Attributes
    ----------
    tools : list of str
        Names in the order of the calls.
    tool_call_infos : list of ToolCallInfo
        For each call its tool, its id, the place of its message, and its place within that.
    """

    tools: list[str]
    tool_call_infos: list[ToolCallInfo]


@dataclass(frozen=True, slots=True)
class ToolResultInfo(Findings):
    """The result of a finished call."""

    tool_name: str
    tool_call_id: str | None
    args: Any
    result: Any


# ------------------------------------------------------------------------------------------- texts


def get_user_message_from_run_input(source: object) -> str | None:
    """The text of the first user message in the input of a run; None without one."""
    given = run_of({"input": source}).input
    return next((message.text for message in given if message.role == "user"), None)


def get_assistant_message_from_run_output(source: object) -> str | None:
    """The text of the last non-empty assistant message; None without one."""
    return next(iter(assistant_texts(run_of({"output": source}))[::-1]), None)


def get_reasoning_from_run_output(source: object) -> str | None:
    """The reasoning of the assistant, one line per message or part; None without any."""
    given = run_of({"output": source}).output
    return "\n".join(message.reasoning for message in given if message.reasoning) or None


def extract_input_messages(source: object) -> list[str]:
    """The texts of all messages in the input of a run except system prompts."""
    return [message.text for message in run_of({"input": source}).input]


def extract_agent_response_messages(source: object) -> list[str]:
    """The texts of all assistant messages in the output of a run, empty ones included."""
    given = run_of({"output": source}).output
    return [message.text for message in given if message.role == "assistant"]


def get_system_messages_from_run_input(source: object) -> list[str]:
    """The texts of all system prompts in the input of a run, tagged ones included."""
    return list(run_of({"input": source}).system)


def get_combined_system_prompt(source: object) -> str:
    """All system prompts with an empty line between; empty without any."""
    return system_prompt(run_of({"input": source}))


def get_conversation_history_from_run_input(source: object, max_messages: int = 10) -> str:
    """The earlier conversation that the agent remembers.

    Parameters
    ----------
    source : mapping
        The input of a run; its ``rememberedMessages`` are read.
    max_messages : int, default 10
        Number of the last non-empty messages to include.

    Returns
    -------
    str
        One line ``role: text`` per message; empty if nothing is remembered.
    """
    whole_from_one(max_messages, "max_messages")
    remembered = next(
        (source[key] for key in _REMEMBERED if isinstance(source, Mapping) and source.get(key)), ()
    )
    said = [each for each in messages_of(remembered, _REMEMBERED[0]) if each.text.strip()]
    return "\n".join(f"{each.role}: {each.text}" for each in said[-max_messages:])


# ------------------------------------------------------------------------------------------- tools


def extract_tool_calls(source: object) -> ToolCalls:
    """The completed tool calls in the output of a run."""
    infos = tool_call_infos(run_of({"output": source}))
    return ToolCalls([info.tool_name for info in infos], infos)


def extract_tool_results(source: object) -> list[ToolResultInfo]:
    """The results of the finished tool calls."""
    return [
        ToolResultInfo(call.name, call.id, call.args, call.result)
        for call in tool_results(run_of({"output": source}))
    ]


# ----------------------------------------------------------------------------------------- numbers


def is_closer_to(value: float, target_1: float, target_2: float) -> bool:
    """Whether a value is nearer to the first target than to the second; false for a tie.

    Parameters
    ----------
    value, target_1, target_2 : float
    """
    return abs(value - target_1) < abs(value - target_2)


# -------------------------------------------------------------------------------- runs made up


def create_tool_invocation(
    *,
    tool_call_id: str,
    tool_name: str,
    args: Mapping[str, Any] | None = None,
    result: Any = None,
    state: str = "result",
) -> dict[str, Any]:
    """A tool call for a message in a test.

    Parameters
    ----------
    tool_call_id, tool_name : str
    args : mapping, optional
    result : JSON value
    state : str
        Such as ``call`` for an unfinished call, or ``result`` for a finished one.
    """
    invocation = {
        "toolCallId": tool_call_id,
        "toolName": tool_name,
        "args": dict(args or {}),
        "result": result,
        "state": state,
    }
    tool_call_of(invocation, "create_tool_invocation")
    return invocation


def create_test_message(
    *,
    content: str,
    role: str,
    id: str = "test-message",
    tool_invocations: Messages = (),
) -> dict[str, Any]:
    """A message for a test, in the form that Mastra stores.

    Parameters
    ----------
    content : str
    role : str
        Such as ``user`` or ``assistant``.
    id : str
    tool_invocations : sequence of mapping
        As from :func:`create_tool_invocation`.
    """
    body: dict[str, Any] = {
        "format": 2,
        "content": content,
        "parts": [{"type": "text", "text": content}],
    }
    if tool_invocations:
        body["toolInvocations"] = [dict(call) for call in tool_invocations]
    message = {"id": id, "role": role, "content": body}
    messages_of([message], "create_test_message")
    return message


def create_agent_test_run(
    *,
    input_messages: Messages = (),
    output: Messages = (),
    system_messages: Messages = (),
    tagged_system_messages: Mapping[str, Messages] | None = None,
    remembered_messages: Messages = (),
    request_context: Mapping[str, Any] | None = None,
    run_id: str = _RUN_ID,
) -> dict[str, Any]:
    """A run of an agent for a test.

    Parameters
    ----------
    input_messages, output : sequence of mapping
        Messages of the user and of the agent.
    system_messages : sequence of mapping
    tagged_system_messages : mapping of messages, optional
        System messages by tag.
    remembered_messages : sequence of mapping
        Earlier messages of the conversation.
    request_context : mapping, optional
    run_id : str
    """
    run = {
        "runId": run_id,
        "input": {
            "inputMessages": list(input_messages),
            "rememberedMessages": list(remembered_messages),
            "systemMessages": list(system_messages),
            "taggedSystemMessages": dict(tagged_system_messages or {}),
        },
        "output": list(output),
        "requestContext": dict(request_context or {}),
    }
    run_of(run)
    return run


def create_test_run(
    question: str,
    answer: str,
    additional_context: Mapping[str, Any] | None = None,
    request_context: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A run of one question and one answer for a test.

    Parameters
    ----------
    question, answer : str
    additional_context, request_context : mapping, optional
        Added to the run as they are.
    """
    return {
        "runId": _RUN_ID,
        "input": [{"role": "user", "content": question}],
        "output": [{"role": "assistant", "content": answer}],
        "additionalContext": dict(additional_context or {}),
        "requestContext": dict(request_context or {}),
    }


def create_trajectory_test_run(
    *,
    trajectory: Mapping[str, Any] | Messages,
    input_messages: Messages = (),
    expected_trajectory: Any = None,
    run_id: str = _RUN_ID,
) -> dict[str, Any]:
    """A run whose output is a trajectory, for a test; steps alone are made one.

    Parameters
    ----------
    trajectory : mapping or sequence of mapping
        A trajectory, or its steps.
    input_messages : sequence of mapping
    expected_trajectory : optional
        The expectations of the run.
    run_id : str
    """
    steps = steps_of(trajectory, "trajectory")
    own = trajectory if isinstance(trajectory, Mapping) else {}
    run = create_agent_test_run(input_messages=input_messages, run_id=run_id)
    run["output"] = {**own, "steps": steps}
    if expected_trajectory is not None:
        run["expectedTrajectory"] = expected_trajectory
    return run
