"""Replies -> values: the JSON that bears the prompt's mark, or what is wrong with the reply.

An object is looked for where it begins with the mark, as prompts ask, so that braces in the prose
around it cost nothing; a mark further inside is found too, among the first objects of the reply.
Every search is bounded: a reply of n characters is read some dozens of times at the most.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Set
from typing import Any, Final, TypeVar

import msgspec

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.fencing import is_free, one_line
from rag_eval.judge.replies import JudgeReply

Shape = TypeVar("Shape", bound=msgspec.Struct)

_CUT: Final = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
_REFUSED: Final = frozenset({"refusal", "content_filter", "safety"})
_THOUGHT: Final = "<think>"
_THOUGHT_END: Final = "</think>"
# A reply is a few thousand characters; a server that sends more is not answering the prompt.
_MOST_CHARACTERS: Final = 1 << 20
_MOST_SAID: Final = 300
_HEADED: Final = re.compile(r'\{\s*"mark"\s*:\s*"([^"\\]{1,64})"')
_OPENING: Final = re.compile(r'\{\s*(?:"|\Z)')
# Possessive: with thousands of escapes there is nothing to go back to.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MOST_MARKED: Final = 8
_MOST_TRIES: Final = 64
_DEEPEST: Final = 64
# Longer integers need not fit into any machine type.
_MOST_DIGITS: Final = 18


def read_reply(
    reply: JudgeReply,
    mark: str,
    shape: type[Shape],
    check: Callable[[Shape], str | None] | None = None,
    examples: Set[str] = frozenset(),
) -> Shape:
    """The value in a reply.

    Parameters
    ----------
    mark : str
        That of the prompt; an object that lacks it is not the judge's verdict.
    check : callable, optional
        Says what is missing from a value of the right shape.
    examples : set of str
        Sentences of the prompt's examples, which small models repeat as if they were material.

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
    value = value_of(found, shape, check)
    said = list(strings_in(msgspec.to_builtins(value)))
    if not is_free(mark, said):
        # Texts of a reply become material of later prompts under the same mark.
        raise JudgeFailure("unparsed", "the reply repeats the mark inside of its values")
    if not examples.isdisjoint(said):
        raise JudgeFailure("unparsed", "the reply repeats an example of the prompt")
    return value


def strings_in(value: object) -> Iterator[str]:
    """The keys and texts of a decoded value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings_in(item)


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
        raise JudgeFailure(
            "unparsed", f"the reply has an unexpected structure: {_said(error)}"
        ) from None
    if _has_endless(value):
        raise JudgeFailure("unparsed", "the reply has nan or infinity where a number is expected")
    complaint = check(value) if check is not None else None
    if complaint:
        raise JudgeFailure("incomplete", one_line(complaint, _MOST_SAID))
    return value


def marked_object(text: str, mark: str) -> dict[str, Any] | None:
    """The JSON object in a text that bears the mark, without it; None if there is none.

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
        said = "the value is not one of the allowed values"
    return one_line(f"{said} - at {place}" if said else place, _MOST_SAID)


def marked_objects(text: str, mark: str) -> list[dict[str, Any]]:
    """The objects that bear the mark, in order; those inside of one of them are part of it.

    Raises
    ------
    JudgeFailure
        One begins with the mark and is cut, or no JSON: nothing else in the reply can be trusted
        to be the verdict.
    """
    if mark not in text:
        return []
    text = _LONE_SURROGATE.sub("\ufffd", text)
    found: list[dict[str, Any]] = []
    between, place = [], 0
    for head in _HEADED.finditer(text):
        start = head.start()
        if head[1] != mark or start < place:
            continue
        if len(found) == _MOST_MARKED:
            raise JudgeFailure("unparsed", "the reply holds too many JSON objects")
        value, end = _decoded_or_failure(text, start)
        found.append(value)
        # What has been read counts as a value where an object around it is read.
        between += [text[place:start], "null"]
        place = end
    rest = "".join(between) + text[place:]
    if mark in rest:
        found += [
            value
            for _, value in _outermost(rest, before=rest.rindex(mark))
            if value is not None and value.get("mark") == mark
        ]
    return found


def holds_object(text: str) -> bool:
    """Whether there is any JSON object among the first things that look like one."""
    return any(value is not None for _, value in _outermost(text, before=len(text)))


def is_cut(text: str) -> bool:
    """Whether a text ends inside of the last object that could not be decoded."""
    undecoded = [start for start, value in _outermost(text, before=len(text)) if value is None]
    return bool(undecoded) and _is_open(text, undecoded[-1])


def _outermost(text: str, before: int) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Where objects may begin, up to a place, and what they hold; None if it is not JSON."""
    end = tries = 0
    for opening in _OPENING.finditer(text):
        start = opening.start()
        if start > before or tries == _MOST_TRIES:
            return
        if start < end:
            continue
        tries += 1
        try:
            value, end = _decoded(text, start)
        except (ValueError, RecursionError):
            yield start, None
        else:
            yield start, value


def _decoded_or_failure(text: str, start: int) -> tuple[dict[str, Any], int]:
    try:
        return _decoded(text, start)
    except (ValueError, RecursionError) as error:
        if _is_open(text, start):
            raise JudgeFailure("truncated", "the reply was cut before its JSON ended") from None
        said = str(error) if isinstance(error, _RefusedError) else "is not valid"
        raise JudgeFailure("unparsed", f"the JSON of the reply {said}") from None


def _decoded(text: str, start: int) -> tuple[dict[str, Any], int]:
    """The object that begins at a place, and where it ends."""
    value, end = _DECODER.raw_decode(text, start)
    if _is_deep(value):
        raise _RefusedError("is nested too deeply")
    if "\\u" in text:
        value = _without_surrogates(value)
    return value, end


class _RefusedError(ValueError):
    """JSON that can be decoded and has no one meaning."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Readers take the first, or the last: either may be a quotation.
        raise _RefusedError("has a key twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _RefusedError("has a number that is too large")
    return value


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS else _finite(text)


def _no_number(text: str) -> float:
    raise _RefusedError(f"has {text}, which is not a number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_int=_integer,
    parse_constant=_no_number,
    strict=False,  # judges leave line breaks in strings
)


def _is_deep(value: object) -> bool:
    """Whether lists and objects are nested past what any reply is; a loop, as they may be."""
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        if not inner:
            return False
        level = inner
    return True


def _without_surrogates(value: Any) -> Any:
    """A value that can be written as UTF-8, which JSON's escapes can get around."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _is_open(text: str, start: int) -> bool:
    """Whether a text ends before the object that begins at a place does."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        found = token[0]
        if found in "{[":
            depth += 1
        elif found in "}]":
            depth -= 1
            if depth <= 0:
                return False
    return True
