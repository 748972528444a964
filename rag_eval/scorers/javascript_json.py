"""JSON decoded as JavaScript does, for contracts that come from there."""

from __future__ import annotations

import json
from typing import Any, Final

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


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")
