"""Runs: what an agent was given and gave, as Mastra logs it, and the texts that scorers read.

Texts are read as version 1.10.2 does: the first user message, and the last assistant message that
says something. What comes before the last is often no more than "let me check".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import MissingFieldError
from rag_eval.samples import EvalSample, NullReason
from rag_eval.scorers.mastra.messages import Message, messages_of
from rag_eval.scorers.tool_calls import UNWRITTEN, ToolCall

_TEXT_KEYS: Final = ("prompt", "text", "content")


class RunError(MissingFieldError):
    """A field that a scorer needs is missing in a run."""

    null_reason: Final = NullReason.MISSING_FIELD


@dataclass(frozen=True, slots=True)
class Run:
    """A run, read.

    Attributes
    ----------
    input, output : tuple of Message
        Messages that came in and that went out; system prompts are apart.
    system : tuple of str
        Texts of the system prompts.
    contexts : tuple of str or None
        Chunks that were retrieved, where the run names them.
    ground_truth : any JSON value
    trajectory : mapping or None
        ``{"steps": [...]}``, where the output is the way and not the messages.
    source : mapping
        The run as it was given.
    """

    input: tuple[Message, ...]
    output: tuple[Message, ...]
    system: tuple[str, ...] = ()
    contexts: tuple[str, ...] | None = None
    ground_truth: Any = None
    run_id: str | None = None
    additional_context: Mapping[str, Any] = field(default_factory=dict)
    expected_trajectory: Any = None
    trajectory: Mapping[str, Any] | None = None
    source: Mapping[str, Any] = field(default_factory=dict)


def run_of(source: Mapping[str, Any]) -> Run:
    """A run from its mapping.

    Parameters
    ----------
    source : mapping
        ``input`` and ``output`` are a text, a list of messages, or a mapping that holds one of
        them: ``prompt``, ``text``, ``content``, ``messages``, or ``inputMessages`` beside
        ``systemMessages`` and ``taggedSystemMessages``. An output with ``steps`` is a trajectory.
        Further keys: ``groundTruth``, ``runId``, ``additionalContext``, ``expectedTrajectory``,
        ``trajectory``, ``contexts``; snake_case is accepted.
    """
    if not isinstance(source, Mapping):
        raise InputError(f"a run must be a mapping, got {type(source).__name__}")
    given, system = _input(source.get("input"))
    trajectory = _mapping(source.get("trajectory"), "trajectory")
    output = source.get("output")
    if isinstance(output, Mapping) and "steps" in output:
        trajectory, output = output, None
    if trajectory is not None and output is None:
        output = trajectory.get("rawOutput", trajectory.get("raw_output"))
    run_id = _either(source, "runId", "run_id")
    contexts = source.get("contexts")
    return Run(
        input=given,
        output=_messages(output, "assistant", "output"),
        system=system,
        contexts=None if contexts is None else tuple(listed_texts(contexts, "contexts of a run")),
        ground_truth=_either(source, "groundTruth", "ground_truth"),
        run_id=None if run_id is None else str(run_id),
        additional_context=_mapping(
            _either(source, "additionalContext", "additional_context"), "additionalContext"
        )
        or {},
        expected_trajectory=_either(source, "expectedTrajectory", "expected_trajectory"),
        trajectory=trajectory,
        source=source,
    )


def _either(source: Mapping[str, Any], camel: str, snake: str) -> Any:
    return source[camel] if camel in source else source.get(snake)


def _mapping(value: object, owner: str) -> Mapping[str, Any] | None:
    if value is not None and not isinstance(value, Mapping):
        raise InputError(f"{owner} must be a mapping, got {type(value).__name__}")
    return value


def listed_texts(value: object, name: str) -> list[str]:
    """A list of strings, or an InputError that names it."""
    listed = isinstance(value, (list, tuple))
    if not listed or not all(isinstance(text, str) for text in value):  # type: ignore[attr-defined]
        raise InputError(f"{name} must be a list of strings, got {glance(value)}")
    return list(value)  # type: ignore[call-overload,no-any-return]


def _input(value: Any) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The messages that came in, and the system prompts."""
    system: list[str] = []
    if isinstance(value, Mapping) and ("inputMessages" in value or "input_messages" in value):
        system += _system_texts(_either(value, "systemMessages", "system_messages"))
        tagged = _either(value, "taggedSystemMessages", "tagged_system_messages")
        for messages in (_mapping(tagged, "input.taggedSystemMessages") or {}).values():
            system += _system_texts(messages)
        value = _either(value, "inputMessages", "input_messages")
    messages = _messages(value, "user", "input")
    system += [message.text for message in messages if message.role == "system" and message.text]
    return tuple(message for message in messages if message.role != "system"), tuple(system)


def _system_texts(value: Any) -> list[str]:
    found = messages_of(value or (), "input.systemMessages")
    return [message.text for message in found if message.text]


def _messages(value: Any, role: str, owner: str) -> tuple[Message, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (Message(role, value),)
    if isinstance(value, Mapping):
        if "messages" in value:
            return _messages(value["messages"], role, owner)
        if "role" in value:
            return messages_of([value], owner)
        text = next((value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)), None)
        if text is not None:
            return (Message(role, text),)
    return messages_of(value, owner)


# --------------------------------------------------------------------------- what scorers read


def user_text(run: Run) -> str:
    """Text of the first user message; empty if there is none."""
    return next((message.text for message in run.input if message.role == "user"), "")


def assistant_text(run: Run) -> str:
    """Text of the last assistant message that has any; empty if there is none."""
    return next(iter(assistant_texts(run)[::-1]), "")


def assistant_texts(run: Run) -> list[str]:
    """Texts of all assistant messages that say something, in order."""
    return [m.text for m in run.output if m.role == "assistant" and m.text.strip()]


def system_prompt(run: Run) -> str:
    """All system prompts, with an empty line between; empty if there is none."""
    return "\n\n".join(run.system)


def tool_calls(run: Run) -> list[ToolCall]:
    """The tool calls of all messages in order, except those that were never completed."""
    return [call for m in run.output for call in m.tool_calls if call.state != UNWRITTEN]


def tool_results(run: Run) -> list[ToolCall]:
    """The calls that have a result."""
    return [call for call in tool_calls(run) if call.state == "result"]


def ground_truth_text(run: Run) -> str | None:
    """The ground truth, as JSON if it is not a text; None if there is none."""
    if run.ground_truth is None or isinstance(run.ground_truth, str):
        return run.ground_truth
    return json_text(run.ground_truth)


def json_text(value: object) -> str:
    """A value as JSON for a judge to read."""
    return json.dumps(value, ensure_ascii=False, default=str)


# ------------------------------------------------------------------------------------- samples


def run_of_sample(sample: Mapping[str, Any] | EvalSample) -> dict[str, Any]:
    """A run made from a sample.

    Parameters
    ----------
    sample : mapping or EvalSample
        The question becomes the input, the answer the output. A mapping may hold ``messages``
        instead: those of the user and the system become the input and all others the output; or,
        beside its answer, ``tool_calls``; or a ``trajectory``.

    Returns
    -------
    dict
        A mapping for :func:`run_of`, without the fields that the sample lacks.
    """
    fields = sample.to_dict() if isinstance(sample, EvalSample) else sample
    messages = fields.get("messages")
    if messages is None:
        given, output = fields.get("question"), _answer(fields)
    else:
        if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
            raise InputError(f"messages must be a list of messages, got {type(messages).__name__}")
        given = [item for item in messages if _role(item) in ("user", "system")]
        output = [item for item in messages if _role(item) not in ("user", "system")]
    run = {
        "input": given,
        "output": output,
        "contexts": fields.get("contexts"),
        "groundTruth": _one_truth(_either(fields, "groundTruth", "ground_truth")),
        "runId": _either(fields, "runId", "run_id") or fields.get("id"),
        "additionalContext": _either(fields, "additionalContext", "additional_context"),
        "expectedTrajectory": _either(fields, "expectedTrajectory", "expected_trajectory"),
        "trajectory": fields.get("trajectory"),
    }
    return {name: value for name, value in run.items() if value is not None}


def run_of_messages(messages: object) -> Run:
    """The run that the messages of a sample are; an InputError names them."""
    try:
        return run_of(run_of_sample({"messages": messages}))
    except InputError as error:
        if str(error).startswith("messages"):
            raise
        raise InputError(f"messages: {error}") from None


def _answer(fields: Mapping[str, Any]) -> Any:
    calls = _either(fields, "toolCalls", "tool_calls")
    if not calls:
        return fields.get("answer")
    return [{"role": "assistant", "text": fields.get("answer") or "", "tool_calls": calls}]


def _role(message: object) -> object:
    if not isinstance(message, Mapping):
        raise InputError(f"messages must be mappings, got {type(message).__name__}")
    return message.get("role")


def _one_truth(value: Any) -> Any:
    """The one ground truth there is; the empty text means none, as in samples."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) > 1:
            raise InputError(f"mastra scorers take one ground_truth, got {len(value)}")
        value = value[0] if value else None
    return value or None
