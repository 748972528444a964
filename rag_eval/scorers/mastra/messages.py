"""Messages of a conversation, in the shapes that agents and servers log them in."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_eval.errors import InputError, glance
from rag_eval.scorers.tool_calls import ToolCall, tool_call_of


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its role, text, reasoning and tool calls.

    Attributes
    ----------
    text : str
        Its own text; where that is empty, its last text part.
    """

    role: str
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    id: str | None = None


def messages_of(value: object, owner: str) -> tuple[Message, ...]:
    """A list of messages, read.

    Each is a mapping of ``role`` and ``text``, ``content`` or ``parts``; its tool calls are under
    ``toolInvocations``, ``tool_calls`` or among its parts. A message of role ``tool`` that answers
    a call by its id finishes that call.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise InputError(f"{owner} must be a list of messages, got {type(value).__name__}")
    found = tuple(_message(item, f"{owner}[{place}]") for place, item in enumerate(value))
    return _with_answers(found, _answers(value))


def _message(value: object, owner: str) -> Message:
    if not isinstance(value, Mapping):
        raise InputError(f"{owner} must be a mapping, got {type(value).__name__}")
    role = value.get("role")
    if not isinstance(role, str):
        raise InputError(f"{owner} must have a role that is a text, got {glance(role)}")
    body = _body(value, owner)
    texts = [text for part in body.parts if (text := _part_text(part)) is not None]
    own = body.text or (texts[-1] if texts else "")
    in_parts = _part_calls(body.parts, owner)
    listed = [tool_call_of(call, owner) for call in body.calls]
    return Message(
        role=role,
        text=own,
        reasoning=body.reasoning or "\n".join(_part_reasonings(body.parts)),
        tool_calls=tuple(_merged_calls(listed, in_parts)),
        id=value.get("id"),
    )


@dataclass(frozen=True, slots=True)
class _Body:
    text: str
    parts: Sequence[Any]
    calls: Sequence[Any]
    reasoning: str


def _body(value: Mapping[str, Any], owner: str) -> _Body:
    """What a message holds, whether beside its role or within its content."""
    content = value.get("content")
    inner = content if isinstance(content, Mapping) else {}
    own = value.get("text") or (content if isinstance(content, str) else inner.get("content"))
    listed = content if isinstance(content, (list, tuple)) else None
    calls = ("toolInvocations", "tool_invocations", "tool_calls")
    return _Body(
        text=own if isinstance(own, str) else "",
        parts=_first_list((value, inner), ("parts",), owner) or listed or (),
        calls=_first_list((value, inner), calls, owner),
        reasoning=str(value.get("reasoning") or inner.get("reasoning") or ""),
    )


def _first_list(
    places: Iterable[Mapping[str, Any]], names: Iterable[str], owner: str
) -> Sequence[Any]:
    for place, name in itertools.product(places, names):
        found = place.get(name)
        if found and not isinstance(found, (list, tuple)):
            raise InputError(f"{owner}: {name} must be a list, got {type(found).__name__}")
        if found:
            return list(found)
    return ()


def _part_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") == "text":
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


def _part_reasonings(parts: Iterable[Any]) -> list[str]:
    found = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == "reasoning":
            text = part.get("reasoning") or part.get("text")
            if isinstance(text, str) and text:
                found.append(text)
    return found


def _part_calls(parts: Iterable[Any], owner: str) -> list[ToolCall]:
    return [
        tool_call_of(part.get("toolInvocation"), owner)
        for part in parts
        if isinstance(part, Mapping) and part.get("type") == "tool-invocation"
    ]


def _merged_calls(listed: Sequence[ToolCall], in_parts: Sequence[ToolCall]) -> Iterable[ToolCall]:
    """The calls of a message, which may keep them in a list, in its parts, or in both.

    They come in the order of the parts. One that is in both is taken from the parts; one that is
    only listed comes right before the next that is shared, or after all parts.
    """
    in_both = {call.id for call in in_parts} - {None}
    places = {call.id: place for place, call in enumerate(listed) if call.id in in_both}
    begin = 0
    for call in in_parts:
        # One that is listed earlier than one before it holds nothing back.
        place = places.get(call.id, -1)
        if place >= begin:
            yield from (other for other in listed[begin:place] if other.id not in in_both)
            begin = place + 1
        yield call
    yield from (other for other in listed[begin:] if other.id not in in_both)


def _answers(messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What messages of tools answer, by the id of the call."""
    return {
        str(message["tool_call_id"]): message.get("content")
        for message in messages
        if message.get("role") == "tool" and message.get("tool_call_id") is not None
    }


def _with_answers(messages: tuple[Message, ...], answers: Mapping[str, Any]) -> tuple[Message, ...]:
    if not answers:
        return messages
    return tuple(
        replace(message, tool_calls=tuple(_finished(call, answers) for call in message.tool_calls))
        for message in messages
    )


def _finished(call: ToolCall, answers: Mapping[str, Any]) -> ToolCall:
    if call.state == "call" and call.id is not None and call.id in answers:
        return replace(call, state="result", result=answers[call.id])
    return call
