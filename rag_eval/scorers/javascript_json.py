"""JSON read and written as JavaScript does, for contracts that come from there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from rag_eval.number_text import shortest

# Longer integers are read as floats, which all numbers are there.
_MOST_DIGITS: Final = 15


def parsed(text: str) -> Any:
    """``JSON.parse(text)``; too large a number is infinity.

    Raises
    ------
    ValueError
        It is no JSON; Python's NaN and Infinity are none.
    """
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def written(value: object) -> str:
    """``JSON.stringify(value)`` of a JSON value; anything else as its ``str``.

    Raises
    ------
    RecursionError
        It is nested too deeply.
    """
    if isinstance(value, Mapping):
        items = (f"{_quoted(str(key))}:{written(item)}" for key, item in value.items())
        return f"{{{','.join(items)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(written, value))}]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return _number(value)
    return _quoted(str(value))


def _number(value: float) -> str:
    try:
        value = float(value)
    except OverflowError:
        return "null"
    return shortest(value) if math.isfinite(value) else "null"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")
