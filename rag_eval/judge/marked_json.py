"""JSON in prose.  In: a reply and the mark of its prompt.  Out: the objects that bear the mark.

An object is looked for where it begins with the mark, as prompts ask, so that braces in the prose
around it cost nothing; a mark further inside is found too, among the first objects of the reply.
Every search is bounded: a reply of n characters is read some dozens of times at the most.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from rag_eval.judge.failures import JudgeFailure

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
    """Where objects may begin, up to a place, and what they hold; None where it is no JSON."""
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
    raise _RefusedError(f"has {text}, which is no number")


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
