"""An answer and a context in; HazelJS's word overlap out."""

from __future__ import annotations

import re
from typing import Final

# Letters and digits of any script; combining marks part words, as in HazelJS.
_WORD: Final = re.compile(r"[^\W_]+")
_SHORTEST: Final = 3


def answer_context_overlap(answer: str, context: str) -> float:
    """The share of the answer's distinct words that the context holds.

    Words are runs of letters and digits in lower case; those below three characters, counted as
    UTF-16, are passed over, and so Chinese and Japanese sentences are one long word each. Which
    characters are letters is up to the Unicode tables of Python.

    Returns
    -------
    float
        From 0 to 1; 0 where the answer has no such words, as in HazelJS.
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
