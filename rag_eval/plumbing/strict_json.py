"""Strict JSON with bounds.  In: a text of unknown origin.  Out: its value, or why it is invalid."""

from __future__ import annotations

import json
import math
import re
from array import array
from itertools import accumulate
from typing import Any, Final, NamedTuple, NoReturn

MOST_DEPTH: Final = 500
"""Arrays and objects within one another; deeper texts are refused."""

_MOST_REPEATED: Final = 10
# The largest double has 309 digits and a sign; int() is quadratic in digits.
_MOST_DIGITS: Final = 310
# A string, or what is left of one that never ends: so no start is tried twice.
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKET: Final = re.compile(r"[^\[\]{}]+")
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class JsonFault(ValueError):
    """A text is not JSON that can be read here.

    Attributes
    ----------
    reason : str
        One short sentence without the text itself.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class JsonDocument(NamedTuple):
    """A text that is JSON.

    Attributes
    ----------
    value : object
        Of a key that an object has twice, the last value, as JavaScript has it.
    repeated_keys : tuple of str
        Keys that an object has more than once; the first ten.
    """

    value: Any
    repeated_keys: tuple[str, ...]


def parse_json(text: str) -> Any:
    """The value of a JSON text; see `read_json`."""
    return read_json(text).value


def read_json(text: str) -> JsonDocument:
    """The value of a JSON text and the keys that are repeated in it.

    Takes time linear in the text. Whole numbers are exact. A lone surrogate in a string is kept.

    Raises
    ------
    JsonFault
        No JSON (NaN and Infinity are none, nor is a text after the value), nested more than 500
        deep, or a number beyond the range of a double.
    """
    if json_depth(text) > MOST_DEPTH:
        raise JsonFault(f"nested more than {MOST_DEPTH} deep")
    repeated: dict[str, None] = {}

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            _note_repeated(pairs, repeated)
        return made

    try:
        value = json.loads(
            text,
            object_pairs_hook=unique,
            # Only where there is such a number: calls from there take most of the time.
            parse_int=_whole if _may_have_long_number(text) else None,
            parse_float=_finite,
            parse_constant=_refuse,
        )
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise JsonFault(f"not JSON: {what} at character {error.pos}") from None
    except RecursionError:
        # A caller that is deep down itself leaves less room than the depth checked above.
        raise JsonFault("nested too deeply") from None
    return JsonDocument(value, tuple(repeated))


def json_depth(text: str) -> int:
    """How deep arrays and objects are nested in a JSON text; for other texts at least no less.

    0 for what has no more brackets than the depth that is allowed, which no count can exceed.
    """
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return 0
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text)).encode()
    steps = array("b", brackets.translate(_STEPS))
    return max(accumulate(steps), default=0)


def _note_repeated(pairs: list[tuple[str, Any]], repeated: dict[str, None]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen and len(repeated) < _MOST_REPEATED:
            repeated[key] = None
        seen.add(key)


def _may_have_long_number(text: str) -> bool:
    # A run of digits that is too long covers one of these pieces whole.
    piece = _MOST_DIGITS // 2
    return any(text[at : at + piece].isdigit() for at in range(0, len(text), piece))


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS or not math.isfinite(float(text)):
        raise JsonFault("a number is beyond the range of a double")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonFault("a number is beyond the range of a double")
    return number


def _refuse(name: str) -> NoReturn:
    raise JsonFault(f"not JSON: {name} is not a JSON value")
