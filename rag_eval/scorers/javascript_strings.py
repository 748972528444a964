"""Texts trimmed and measured as JavaScript does, for contracts that come from there."""

from __future__ import annotations

import re
from typing import Final

SPACE: Final = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What counts as white space, as ranges of a regular expression."""
SPACES: Final = re.compile(f"[{SPACE}]+")
"""A run of white space."""

_TRIMMED: Final = SPACE.replace("-", "".join(map(chr, range(0x2001, 0x200A))))


def trimmed(text: str) -> str:
    """``text.trim()``."""
    return text.strip(_TRIMMED)


def utf16_length(text: str) -> int:
    """``text.length``: code units of UTF-16, of which characters beyond U+FFFF have two."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def well_formed(text: str) -> str:
    """``text.toWellFormed()``: halves of characters joined, and lone ones replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
