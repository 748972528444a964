"""Text of samples, made safe to print on a terminal."""

from __future__ import annotations

import unicodedata


def plain_text(text: str, limit: int | None = None) -> str:
    """``text`` on one line, without what could move a cursor or hide words.

    White space becomes one space, control and formatting characters (escape sequences and
    directional overrides among them) are left out, lone surrogates are shown as their escapes. What
    is over ``limit`` characters is cut off with an ellipsis.
    """
    if limit is not None and len(text) > 4 * limit:
        text = text[: 4 * limit] + "…"  # the rest will not show whatever becomes of this part
    shown = " ".join("".join(map(_shown, text)).split())
    if limit is not None and len(shown) > limit:
        return shown[: limit - 1] + "…"
    return shown


def _shown(character: str) -> str:
    if character.isprintable() or character.isspace():
        return character
    category = unicodedata.category(character)
    if category == "Cs":
        return f"\\u{ord(character):04x}"
    # Joiners shape the letters around them.
    return character if character in "\u200c\u200d" else ""
