"""Strict JSON both ways: no NaN, no Infinity, lone surrogates escaped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, NoReturn


def dumps(value: Any, *, indent: int | None = None) -> bytes:
    """``value`` as UTF-8 JSON.

    Text stays readable; one that holds lone surrogates, which UTF-8 has no bytes for, is escaped.

    Raises
    ------
    ValueError
        For NaN and infinities.
    TypeError
        For what JSON has no form for.
    """
    separators = (",", ":") if indent is None else None
    try:
        return readable(value, indent=indent).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent, separators=separators).encode()


def readable(value: Any, *, indent: int | None = None) -> str:
    """``value`` as JSON, in which lone surrogates are not escaped."""
    return json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=(",", ":") if indent is None else None,
    )


def loads(text: str | bytes) -> Any:
    """The value of a JSON text; lone surrogates may be escaped in it.

    Raises
    ------
    ValueError
        For what is not JSON, NaN and infinities among it.
    """
    if type(text) is str and not text.startswith(_MARK):
        return _DECODER.decode(text)
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def syntax_fault(error: Exception) -> str:
    """What `loads` found wrong with a text, and where."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    where = f"column {error.colno}"
    if error.lineno > 1:
        where = f"line {error.lineno}, {where}"
    if error.msg.startswith("Unterminated string"):
        return f"the string that starts at {where} is not closed"
    return f"{error.msg.removesuffix(' at')} at {where}"


def is_deeper(value: Any, most: int) -> bool:
    """Whether objects and arrays are nested more than ``most`` deep; without recursion."""
    depth, level = 0, [value]
    while level and depth <= most:
        depth += 1
        level = [
            below
            for one in level
            for below in (one.values() if isinstance(one, dict) else one)
            if isinstance(below, (dict, list))
        ]
    return depth > most


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON; write null")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is beyond the range of a double")
    return value


def number_or_null(value: float | None) -> float | None:
    """A number that exists, or null in the place of NaN, which JSON does not have."""
    return None if value != value else value


def json_value(value: Any) -> Any:
    """A value as JSON returns it; what JSON cannot hold, such as a function, becomes its name."""
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: json_value(getattr(value, each.name)) for each in fields(value)}
    return getattr(value, "__qualname__", type(value).__qualname__)


# Made once: json.loads makes one for each text, which takes longer than to read a short one.
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_MARK: Final = "\ufeff"  # of byte order, about which json.loads complains
