"""What assertions are about: an answer, calls of tools, cost and time, read from a sample."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.scorers.javascript import parsed, written

RUN_FIELDS: Final = (
    "answer",
    "tool_calls",
    "cost_usd",
    "latency_ms",
    "n_turns",
    "mock_hits",
    "question",
    "contexts",
    "messages",
)
"""Fields of a sample that a run is read from."""

_NAMES: Final = ("tool", "name", "tool_name", "toolName")
_ARGUMENTS: Final = ("args", "arguments", "parameters")
_OUTPUTS: Final = ("output", "result")


@dataclass(frozen=True, slots=True)
class AssertionCall:
    """One tool call; its arguments and its result are any JSON values."""

    tool: str
    input: Any = None
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionRun:
    """The data that assertions are checked on.

    Attributes
    ----------
    output : str or None
        The answer. An assertion about an answer that is None fails, with or without ``not``.
    tool_calls : tuple of AssertionCall
        In order.
    cost_usd, latency_ms, n_turns : float or None
        None if unknown: an infinite cost or duration, too many turns for a limit and none for a
        minimum.
    mock_hits : mapping or None
        How often each mock of a tool was used, by name. None if unknown: no mock was hit.
    question : str or None
    contexts : tuple of str
        The text that judges compare with.
    """

    output: str | None = None
    tool_calls: tuple[AssertionCall, ...] = ()
    cost_usd: float | None = None
    latency_ms: float | None = None
    n_turns: float | None = None
    mock_hits: Mapping[str, float] | None = None
    question: str | None = None
    contexts: tuple[str, ...] = ()


def run_of_fields(fields: Mapping[str, Any]) -> AssertionRun:
    """The run of a sample, from its fields by their snake_case names.

    An answer or calls of tools that have no field of their own are taken from ``messages``.

    Raises
    ------
    InputError
        For a field of a type or range that it cannot have.
    """
    output = _text(fields.get("answer"), "answer")
    calls = fields.get("tool_calls")
    messages = fields.get("messages")
    if messages is not None and (output is None or calls is None):
        said, called = _of_messages(messages)
        output = said if output is None else output
        calls = called if calls is None else calls
    return AssertionRun(
        output=output,
        tool_calls=calls_of(() if calls is None else calls),
        cost_usd=_amount(fields.get("cost_usd"), "cost_usd"),
        latency_ms=_amount(fields.get("latency_ms"), "latency_ms"),
        n_turns=_amount(fields.get("n_turns"), "n_turns"),
        mock_hits=_hits(fields.get("mock_hits")),
        question=_text(fields.get("question"), "question"),
        contexts=_texts(fields.get("contexts")),
    )


def calls_of(value: object) -> tuple[AssertionCall, ...]:
    """Calls of tools from a list of names or mappings.

    A mapping has the tool under ``tool``, ``name`` or ``tool_name``, or within ``function``; what
    it was given under ``input``, ``args``, ``arguments`` or ``parameters``; what it gave under
    ``output`` or ``result``. Arguments may be a text that is a JSON object, as vendors write them;
    ``input``, omk's own name, is taken as it is.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise InputError(f"tool_calls must be a list, got {type(value).__name__}")
    return tuple(_call(item, f"tool_calls[{place}]") for place, item in enumerate(value))


def given_text(call: AssertionCall) -> str:
    """The input of a call as JSON, texts too, with an empty one for null, false and 0."""
    return _json_text("" if call.input is None or call.input == 0 else call.input)


def result_text(call: AssertionCall) -> str:
    """The output of a call, as JSON unless it is a text."""
    if isinstance(call.output, str):
        return call.output
    return "" if call.output is None else _json_text(call.output)


def _json_text(value: object) -> str:
    """JSON as JavaScript writes it."""
    try:
        return written(value)
    except RecursionError:
        raise InputError(
            "a value of tool_calls cannot be written as JSON: it is nested too deeply"
        ) from None


def _call(value: object, owner: str) -> AssertionCall:
    if isinstance(value, AssertionCall):
        return value
    if isinstance(value, str) and value:
        return AssertionCall(value)
    if not isinstance(value, Mapping):
        raise InputError(f"{owner} must be a name or a mapping, got {glance(value)}")
    function = value.get("function")
    called = function if isinstance(function, Mapping) else value
    name = _first(called, _NAMES)
    if not isinstance(name, str) or not name:
        raise InputError(f"{owner} must name its tool with a text, got {glance(name)}")
    given, result = _given(called), _first(called, _OUTPUTS)
    return AssertionCall(name, given, _first(value, _OUTPUTS) if result is None else result)


def _given(called: Mapping[str, Any]) -> Any:
    if called.get("input") is not None:
        return called["input"]
    given = _first(called, _ARGUMENTS)
    if not isinstance(given, str):
        return given
    try:
        read = parsed(given)
    except ValueError:
        return given
    return read if isinstance(read, dict) else given


def _first(source: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((source[name] for name in names if source.get(name) is not None), None)


def _of_messages(messages: object) -> tuple[str | None, list[AssertionCall]]:
    """The last that the assistant said, and all calls."""
    from rag_eval.scorers.mastra.messages import messages_of

    read = messages_of(messages, "messages")
    said = [m.text for m in read if m.role == "assistant" and m.text.strip()]
    called = [AssertionCall(c.name, c.args, c.result) for m in read for c in m.tool_calls]
    return (said[-1] if said else None), called


def _text(value: object, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} must be a text, got {type(value).__name__}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise InputError(f"contexts must be a list of texts, got {glance(value)}")
    return tuple(value)


def _amount(value: object, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name} must be a number, got {type(value).__name__}")
    if not 0 <= value <= sys.float_info.max:
        raise InputError(f"{name} must be a finite number of at least 0, got {glance(value)}")
    return value


def _hits(value: object) -> Mapping[str, float] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputError(f"mock_hits must map names to counts, got {type(value).__name__}")
    for name, count in value.items():
        _amount(count, f"mock_hits[{glance(name)}]")
    return value
