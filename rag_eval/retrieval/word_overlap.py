"""An answer and a context in; HazelJS's word overlap out."""

from __future__ import annotations

import re
from typing import Final

# Letters and digits of any script; combining marks part words, as in HazelJS.
_WORD: Final = re.compile(r"[^\W_]+")
_SHORTEST: Final = 3


def answer_context_overlap(answer: str, context: str) -> float:
    """Share of the answer's distinct words that are in the context.

    Words are runs of letters and digits in lower case. Words of fewer than three characters (UTF-16
    units) are ignored; a Chinese or Japanese sentence is one long word. Python's Unicode tables
    decide which characters are letters.

    Returns
    -------
    float
        From 0 to 1; 0 if the answer has no such words, as in HazelJS.
    """
    words = long_words(answer)
    return len(words & long_words(context)) / len(words) if words else 0.0


def long_words(text: str) -> set[str]:
    """The distinct words of a text that count."""
    return {
        word
        for word in _WORD.findall(text.lower())
        if len(word) >= _SHORTEST or sum(1 + (c > "\uffff") for c in word) >= _SHORTEST
    }
