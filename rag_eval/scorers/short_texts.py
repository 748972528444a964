"""Texts as findings show them: at most so many characters."""

from __future__ import annotations

from typing import Final

MOST_CHARACTERS: Final = 80


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text of at most so many characters; an ellipsis ends one that was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
