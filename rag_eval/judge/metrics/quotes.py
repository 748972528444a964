"""Quotes of evidence, looked up in the chunks they are said to come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

# Judges change these when they copy, and leave out words between dots.
_SAME: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
_LEFT_OUT: Final = re.compile(r"\[?(?:\.{3,}|…)\]?")
_EDGES: Final = " \t\r\n\"'.,;:!?()[]«»"


class QuotedChunks:
    """The chunks of a row, to look up quotes in."""

    def __init__(self, chunks: Sequence[str]) -> None:
        self._chunks = [_letters(chunk) for chunk in chunks]

    def place(self, quote: str, named: int | None) -> int | None:
        """The chunk that has all parts of a quote: the one that was named, or the first.

        Case, white space, the form of quotation marks and dashes, and punctuation at the ends of a
        part make no difference. None if no chunk has it, or if it has no letter and no digit.
        """
        parts = [_letters(part.strip(_EDGES)) for part in _LEFT_OUT.split(quote)]
        wanted = [part for part in parts if any(map(str.isalnum, part))]
        if not wanted:
            return None
        places = range(len(self._chunks))
        order = sorted(places, key=lambda place: place != named)
        has_all = (place for place in order if all(part in self._chunks[place] for part in wanted))
        return next(has_all, None)


def _letters(text: str) -> str:
    """A text without the details that judges change when they copy it."""
    return "".join(text.translate(_SAME).casefold().split())
