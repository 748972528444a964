"""Texts as findings show them, and the lists of words that scorers go by."""

from __future__ import annotations

import functools
from typing import Any, Final

MOST_CHARACTERS: Final = 80


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text cut at this many characters, with an ellipsis if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


@functools.cache
def word_lists(tool: str, name: str) -> dict[str, Any]:
    """What ``NAME.toml`` in the tool's folder holds, read once."""
    import tomllib
    from importlib import resources

    listed = resources.files(f"rag_eval.scorers.{tool}") / f"{name}.toml"
    return tomllib.loads(listed.read_text("utf-8"))
