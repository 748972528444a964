"""Replies -> values: the JSON that bears the prompt's mark, or what is wrong with the reply."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.fencing import one_line
from rag_eval.judge.marked_json import holds_object, is_cut, marked_objects
from rag_eval.judge.replies import JudgeReply

Shape = TypeVar("Shape", bound=msgspec.Struct)

_CUT: Final = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
_REFUSED: Final = frozenset({"refusal", "content_filter", "safety"})
_THOUGHT: Final = "<think>"
_THOUGHT_END: Final = "</think>"
# A reply is a few thousand characters; a server that sends more is not answering the prompt.
_MOST_CHARACTERS: Final = 1 << 20
_MOST_SAID: Final = 300


def read_reply(
    reply: JudgeReply,
    mark: str,
    shape: type[Shape],
    check: Callable[[Shape], str | None] | None = None,
) -> Shape:
    """The value in a reply.

    Parameters
    ----------
    mark : str
        That of the prompt; an object that lacks it is not the judge's verdict.
    check : callable, optional
        Says what is missing from a value of the right shape.

    Raises
    ------
    JudgeFailure
        ``refused``, ``truncated``, ``unparsed`` or ``incomplete``. The message is one line that
        quotes no text of the reply, so that it can be put to the judge.
    """
    if reply.finish_reason in _REFUSED:
        raise JudgeFailure("refused", "the judge refused")
    try:
        found = marked_object(_said_aloud(reply.text), mark)
    except JudgeFailure as failure:
        if reply.finish_reason in _CUT:
            raise _truncated() from None
        raise failure from None
    if found is None:
        raise _no_object(reply)
    return value_of(found, shape, check)


def value_of(
    found: dict[str, Any],
    shape: type[Shape],
    check: Callable[[Shape], str | None] | None = None,
) -> Shape:
    """A decoded object as a value of ``shape``.

    Numbers in strings count as numbers, "true" and "false" as booleans, since their meaning is
    plain; "nan" and "inf" count as nothing, and labels have to be spelled as asked for.
    """
    try:
        value = msgspec.convert(found, shape, strict=False)
    except msgspec.ValidationError as error:
        raise JudgeFailure("unparsed", f"the reply has another form: {_said(error)}") from None
    if _has_endless(value):
        raise JudgeFailure("unparsed", "the reply has nan or infinity where a number is wanted")
    complaint = check(value) if check is not None else None
    if complaint:
        raise JudgeFailure("incomplete", one_line(complaint, _MOST_SAID))
    return value


def marked_object(text: str, mark: str) -> dict[str, Any] | None:
    """The JSON object in a text that bears the mark, without it; None where there is none.

    An object inside of another that bears the mark belongs to that. A judge may repeat itself, but
    where two objects differ there is no saying which is meant: the last would be a second thought
    of one judge and a quotation of another.

    Raises
    ------
    JudgeFailure
        ``truncated`` or ``unparsed``: the object is there and cannot be used.
    """
    if len(text) > _MOST_CHARACTERS:
        raise JudgeFailure("unparsed", f"the reply is longer than {_MOST_CHARACTERS} characters")
    found = marked_objects(text, mark)
    if not found:
        return None
    first = found[0]
    if any(not _same(first, other) for other in found[1:]):
        raise JudgeFailure("unparsed", "the reply holds several JSON objects that differ")
    return {key: value for key, value in first.items() if key != "mark"}


def _said_aloud(text: str) -> str:
    """A reply without the thoughts before it, which hold drafts of verdicts."""
    start = text.lstrip()
    if not start.startswith(_THOUGHT):
        return text
    _, end, said = start.partition(_THOUGHT_END)
    if not end:
        raise _truncated()
    return said


def _same(left: object, right: object) -> bool:
    # Not by ==, to which true and 1 are the same.
    return msgspec.json.encode(left, order="sorted") == msgspec.json.encode(right, order="sorted")


def _truncated() -> JudgeFailure:
    return JudgeFailure("truncated", "the reply was cut before its JSON ended")


def _no_object(reply: JudgeReply) -> JudgeFailure:
    if reply.finish_reason in _CUT or is_cut(reply.text):
        return _truncated()
    if holds_object(reply.text):
        return JudgeFailure("unparsed", "the reply does not repeat the mark of the prompt")
    return JudgeFailure("unparsed", "the reply holds no JSON object")


def _has_endless(value: object) -> bool:
    """Whether a NaN or infinity is in a value, as msgspec makes of the strings "nan" and "inf"."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, msgspec.Struct):
        return any(_has_endless(item) for item in msgspec.structs.astuple(value))
    if isinstance(value, dict):
        return any(_has_endless(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_has_endless(item) for item in value)


def _said(error: msgspec.ValidationError) -> str:
    """What is wrong and where, without the value that the reply has there."""
    said, _, place = str(error).rpartition(" - at ")
    if said.startswith(("Invalid enum value", "Invalid value")):
        said = "the value is none of those asked for"
    return one_line(f"{said} - at {place}" if said else place, _MOST_SAID)
