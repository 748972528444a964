"""Values of steps as JSON text, equal where JavaScript would write the same text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from rag_eval.errors import InputError

DEEPEST_VALUE: Final = 200
"""How many lists and mappings a value of a step may be nested."""

MOST_ITEMS: Final = 1_000_000
"""How many items the lists and mappings of a value may have in all."""

_WRITE: Final = json.JSONEncoder(separators=(",", ":")).encode


def value_text(value: object) -> str:
    """A JSON value as text.

    The order of keys counts, as it does there; 1 and 1.0 are one number, and numbers that are not
    finite are null.

    Raises
    ------
    InputError
        When it is nested deeper than ``DEEPEST_VALUE``, has more than ``MOST_ITEMS`` items, or
        holds what JSON has no form for.
    """
    try:
        return _WRITE(_plain(value, DEEPEST_VALUE, [MOST_ITEMS]))
    except (TypeError, ValueError) as error:
        raise InputError(f"no JSON value: {error}") from None


def _plain(value: object, deepest: int, left: list[int]) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    # Counted and not remembered: lists that share their parts grow without end as text.
    left[0] -= len(value)
    if not deepest or left[0] < 0:
        limits = f"{DEEPEST_VALUE} levels or {MOST_ITEMS:,} items"
        raise TypeError(f"it has more than {limits}")
    if isinstance(value, Mapping):
        return {key: _plain(item, deepest - 1, left) for key, item in value.items()}
    return [_plain(item, deepest - 1, left) for item in value]
