"""Calls of tools, in the shapes that agents and servers log them in -> one form, or names alone.

Samples say which tools were called, and which should have been.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import Fields, Scored
from rag_eval.samples import NullReason
from rag_eval.scorers.texts import cut

CallState: TypeAlias = Literal["result", "call", "partial-call", "output-error"]

UNWRITTEN: Final = "partial-call"
"""The state of a call that was never completed; it counts as none."""

_STATES: Final = ("result", "call", "partial-call", "output-error")
_NAMES_ALONE: Final = frozenset({str})
_NAMES: Final = ("toolName", "tool_name", "tool", "name")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Attributes
    ----------
    name : str
    args, result : any JSON value
    state : {"result", "call", "partial-call", "output-error"}
        Finished, begun, still being written, failed.
    id : str or None
    is_error : bool
        It is finished, and what it gave is an error.
    """

    name: str
    args: Any = None
    result: Any = None
    state: CallState = "result"
    id: str | None = None
    is_error: bool = False


def tool_call_of(value: object, owner: str) -> ToolCall:
    """A call from its name, or from a mapping as an agent or a server logs it.

    Raises
    ------
    InputError
        When it is neither, has no name, or is in a state that there is not.
    """
    if isinstance(value, str) and value:
        return ToolCall(value)
    if not isinstance(value, Mapping):
        found = "''" if isinstance(value, str) else type(value).__name__
        raise InputError(f"{owner}: a tool call must be a mapping or a name, got {found}")
    function = value.get("function")
    called = function if isinstance(function, Mapping) else value
    names = (called.get(key) for key in _NAMES)
    name = next((found for found in names if isinstance(found, str)), None)
    if name is None:
        raise InputError(f"{owner}: a tool call has no name")
    # A call as a server logs it is begun; its answer is another message.
    state = value.get("state", "call" if called is function else "result")
    if state not in _STATES:
        known = ", ".join(_STATES)
        found = repr(state)[:80] if isinstance(state, str) else type(state).__name__
        raise InputError(f"{owner}: the state of a tool call must be one of {known}, got {found}")
    place = value.get("toolCallId") or value.get("tool_call_id") or value.get("id")
    return ToolCall(
        name=name,
        args=_arguments(called.get("args", called.get("arguments"))),
        result=value.get("result"),
        state=state,
        id=None if place is None else _id(place, owner),
        is_error=value.get("isError", value.get("is_error")) is True,
    )


def called_names(calls: object, owner: str) -> list[str]:
    """Names of the tools that were called, in order; a call that was never completed is left out.

    Parameters
    ----------
    calls : list of str or mapping
        Names, or calls as :func:`tool_call_of` takes them.
    owner : str
        What to call the list in an error.
    """
    if type(calls) is not list:
        calls = _listed(calls, owner)
    if set(map(type, calls)) <= _NAMES_ALONE and "" not in calls:
        return list(calls)
    return [call.name for call in made_calls(calls, owner)]


def made_calls(calls: object, owner: str) -> list[ToolCall]:
    """The same calls as :func:`called_names` tells the names of."""
    found = enumerate(_listed(calls, owner))
    read = [tool_call_of(call, f"{owner}[{place}]") for place, call in found]
    return [call for call in read if call.state != UNWRITTEN]


def _listed(calls: object, owner: str) -> list[Any]:
    if isinstance(calls, (str, bytes, Mapping)) or not isinstance(calls, Sequence):
        raise InputError(f"{owner} must be a list of names or calls, got {type(calls).__name__}")
    return list(calls)


def _id(value: object, owner: str) -> str:
    if isinstance(value, (str, float)) or (isinstance(value, int) and value.bit_length() <= 128):
        return str(value)
    raise InputError(f"{owner}: the id of a tool call must be a text, got {glance(value)}")


def _arguments(value: object) -> object:
    """Arguments as values, where a server wrote them as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


# --------------------------------------------------------------------------------- calls of samples


CALL_FIELDS: Final = ("tool_calls", "messages")
"""Where calls are looked for: ``tool_calls`` goes before what the messages hold."""

EXPECTED: Final = "expected_tool_calls"

_SHOWN: Final = 20
_NOT_THE_AGENT: Final = ("user", "system")


def names_called(fields: Fields) -> list[str] | None:
    """Names of the tools that were called, in order; None if the sample does not say."""
    if "tool_calls" in fields:
        return called_names(fields["tool_calls"], "tool_calls")
    calls = calls_of_messages(fields)
    return None if calls is None else [call.name for call in calls]


def calls_made(fields: Fields) -> list[ToolCall] | None:
    """The calls themselves; None if the sample does not say."""
    if "tool_calls" not in fields:
        return calls_of_messages(fields)
    return made_calls(fields["tool_calls"], "tool_calls")


def calls_of_messages(fields: Fields) -> list[ToolCall] | None:
    """The calls in the messages of a sample, but those of the user; None without messages."""
    if "messages" not in fields:
        return None
    from rag_eval.scorers.mastra.messages import messages_of

    spoken = messages_of(fields["messages"], "messages")
    agent = [message for message in spoken if message.role not in _NOT_THE_AGENT]
    return [call for each in agent for call in each.tool_calls if call.state != UNWRITTEN]


def names_expected(fields: Fields) -> list[str]:
    """Names of the tools that should have been called."""
    return called_names(fields[EXPECTED], EXPECTED)


NO_CALLS: Final = Scored(None, NullReason.MISSING_FIELD, "Neither tool calls nor messages given.")
"""The finding in a sample that does not say which tools were called."""


def check(
    name: str, passed: bool, expected: Sequence[str], actual: Sequence[str]
) -> dict[str, Any]:
    """One finding: what was called and what should have been, of long lists the beginning."""
    return {
        "check": name,
        "passed": passed,
        "expected": _shown(expected),
        "actual": _shown(actual),
    }


def _shown(names: Sequence[str]) -> list[str]:
    if len(names) <= _SHOWN:
        return [cut(name) for name in names]
    return [*map(cut, names[:_SHOWN]), f"and {len(names) - _SHOWN} more"]
