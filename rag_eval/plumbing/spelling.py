"""Names in snake_case, as here, and in camelCase, as in result files."""

from __future__ import annotations

import re
from functools import cache


@cache  # every row of a result file asks for dozens
def camel_case(name: str) -> str:
    """``answer_relevance`` -> ``answerRelevance``, the spelling of result files."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def snake_case(name: str) -> str:
    """``answerRelevance`` -> ``answer_relevance``; snake_case stays as it is."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)
