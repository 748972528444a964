"""Names in snake_case, as here, and in camelCase, as in result files; nouns after their number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any


@cache  # every row of a result file asks for dozens
def camel_case(name: str) -> str:
    """``answer_relevance`` -> ``answerRelevance``, the spelling of result files."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def camel_fields(record: Any, names: Iterable[str]) -> dict[str, Any]:
    """Those attributes of a record as JSON values, under their names in camelCase."""
    return {camel_case(name): _json_value(getattr(record, name)) for name in names}


def _json_value(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def snake_case(name: str) -> str:
    """``answerRelevance`` -> ``answer_relevance``; snake_case stays as it is."""
    if name.islower():  # as most are, of the options of each call
        return name
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


def counted(n: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``1,200 rows``."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def decimal_text(value: float, digits: int, sign: str = "") -> str:
    """``0.021``, ``+0.021`` with ``sign="+"``; what rounds to zero has no sign."""
    text = f"{value:{sign}.{digits}f}"
    return text if float(text) else f"{0:.{digits}f}"


def p_text(p_value: float) -> str:
    """``p 0.012``, ``p < 0.001``."""
    return f"p {p_value:.3f}" if p_value >= 0.0005 else "p < 0.001"


def some_are(n: int, total: int, noun: str) -> str:
    """``1 of 3 rows is``, ``2 of 3 rows are``, ``0 of 1 row is``."""
    return f"{n:,} of {counted(total, noun)} {'is' if 1 in (n, total) else 'are'}"
