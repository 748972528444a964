"""JSON and texts as JavaScript reads, writes, trims and measures them, for contracts from there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rag_eval.plumbing.javascript_numbers import shortest

# Longer integers are read as floats, which all numbers are there.
_MOST_DIGITS: Final = 15
# Up to here, each integer is a float of its own.
_MOST_EXACT: Final = 2**53
_DECIMAL: Final = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_HALVES: Final = re.compile("[\ud800-\udfff]")
_INDEX: Final = re.compile("0|[1-9][0-9]{0,9}")
_LAST_INDEX: Final = 2**32 - 2
_OTHER_BASE: Final = re.compile("0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")


def parsed(text: str) -> Any:
    """``JSON.parse(text)``; too large a number is infinity.

    Raises
    ------
    ValueError
        It is not JSON; Python's NaN and Infinity are none.
    """
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def number_of(value: object) -> float:
    """``Number(value)`` of a plain JSON value; NaN for other values, and for lists and objects.

    A text may have space around it, be empty, which is 0, and be of base 2, 8 or 16 (``0xff``).
    """
    if isinstance(value, (int, float)):
        return _double(value)
    if not isinstance(value, str):
        return math.nan
    text = trimmed(value)
    if not text:
        return 0.0
    if _OTHER_BASE.fullmatch(text):
        return _double(int(text, 0))
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def written(value: object) -> str:
    """``JSON.stringify(value)`` of a JSON value; anything else as its ``str``.

    Raises
    ------
    RecursionError
        It is nested too deeply.
    """
    if isinstance(value, Mapping):
        items = (f"{_quoted(str(key))}:{written(value[key])}" for key in keys_in_order(value))
        return f"{{{','.join(items)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(written, value))}]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return _number(value)
    return _quoted(str(value))


def keys_in_order(value: Mapping[Any, Any]) -> Iterable[Any]:
    """``Object.keys(value)``: indices (``"0"``, ``"12"``) by size, then the others as they are."""
    indices = [key for key in value if _is_index(str(key))]
    if not indices:
        return value
    return [*sorted(indices, key=int), *(key for key in value if not _is_index(str(key)))]


def _is_index(key: str) -> bool:
    return _INDEX.fullmatch(key) is not None and int(key) <= _LAST_INDEX


def string_of(value: object) -> str:
    """``String(value)`` of a JSON value: objects are ``[object Object]``, lists joined by commas.

    Raises
    ------
    RecursionError
        It is nested too deeply.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "[object Object]"
    if isinstance(value, (list, tuple)):
        return ",".join("" if item is None else string_of(item) for item in value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return shortest(_double(value))
    return json.dumps(value)


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) <= _MOST_EXACT:
        return int.__repr__(value)
    value = _double(value)
    return shortest(value) if math.isfinite(value) else "null"


def _double(value: float) -> float:
    """A number as all are there; of whole ones beyond its range an infinite one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isascii() else _HALVES.sub(_escaped, quoted)


def _escaped(half: re.Match[str]) -> str:
    return f"\\u{ord(half[0]):x}"


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


# -------------------------------------------------------------------------------------------- texts


SPACE: Final = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What counts as white space, as ranges of a regular expression."""
SPACES: Final = re.compile(f"[{SPACE}]+")
"""A run of white space."""

_TRIMMED: Final = SPACE.replace("-", "".join(map(chr, range(0x2001, 0x200A))))


def trimmed(text: str) -> str:
    """``text.trim()``."""
    return text.strip(_TRIMMED)


def utf16_length(text: str) -> int:
    """``text.length``: code units of UTF-16; characters beyond U+FFFF have two."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_start(text: str, most: int) -> str:
    """``text.slice(0, most)``: the first units of UTF-16, without half a character at the end."""
    if len(text) <= most // 2:
        return text
    units = text[:most].encode("utf-16-le", "surrogatepass")[: 2 * most]
    return units.decode("utf-16-le", "ignore")


def well_formed(text: str) -> str:
    """``text.toWellFormed()``: halves of characters joined, and lone ones replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
