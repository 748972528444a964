"""Samples -> names of the tools that were called and of those that should have been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rag_eval.metrics.contract import Fields, Scored
from rag_eval.samples import NullReason
from rag_eval.scorers.short_texts import cut
from rag_eval.scorers.tool_calls import UNWRITTEN, ToolCall, called_names, made_calls

CALL_FIELDS: Final = ("tool_calls", "messages")
"""Where calls are looked for: ``tool_calls`` goes before what the messages hold."""

EXPECTED: Final = "expected_tool_calls"

_SHOWN: Final = 20
_NOT_THE_AGENT: Final = ("user", "system")


def names_called(fields: Fields) -> list[str] | None:
    """Names of the tools that were called, in order; None where the sample does not say."""
    if "tool_calls" in fields:
        return called_names(fields["tool_calls"], "tool_calls")
    calls = calls_of_messages(fields)
    return None if calls is None else [call.name for call in calls]


def calls_made(fields: Fields) -> list[ToolCall] | None:
    """The calls themselves; None where the sample does not say."""
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


def no_calls_given() -> Scored:
    """The finding in a sample that does not say which tools were called."""
    return Scored(None, NullReason.MISSING_FIELD, "Neither tool calls nor messages given.")


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
