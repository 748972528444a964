"""Regtrace's own shallow factuality: two texts -> overlap of their words, or of their JSON leaves.

The rule of Regtrace 0.10's code, which knows no claims: how many words two texts share is no proof
that one of them is true. ``regtrace.factuality`` counts claims.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.scorers.javascript_json import parsed
from rag_eval.scorers.javascript_strings import SPACE, SPACES
from rag_eval.scorers.regtrace.json_structure import Comparison, compare_json_as_code
from rag_eval.scorers.regtrace.judge import strip_code_fences

Mode: TypeAlias = Literal["strict", "lenient", "json_structural"]
"""Which claims fail: all that are not supported, those that are contradicted; or JSON leaves."""

MODES: Final[tuple[Mode, ...]] = ("strict", "lenient", "json_structural")

_WORD_SHARE: Final = 0.4
_PAIR_SHARE: Final = 0.6
_STRICT_FROM: Final = 0.3
_STRICT_LESS: Final = 0.1

_NO_WORD: Final = re.compile(f"[^a-z0-9{SPACE}]")


class ShallowFactuality(NamedTuple):
    """How alike two texts are.

    Attributes
    ----------
    score : float or None
        From 0 to 1; None where neither text has a letter from a to z or a digit.
    structure : Comparison or None
        Where both texts are JSON.
    """

    score: float | None
    structure: Comparison | None = None


def checked_mode(mode: object) -> Mode:
    """A mode, or an InputError that names it."""
    for known in MODES:
        if isinstance(mode, str) and mode == known:
            return known
    hint = suggestion(mode, MODES)
    raise InputError(f"mode must be strict, lenient or json_structural, got {glance(mode)}{hint}")


def ngram_factuality(actual: str, expected: str, mode: Mode = "strict") -> ShallowFactuality:
    """Overlap of two texts, or of their leaves where both are JSON.

    0.4 of the Jaccard index of the words and 0.6 of that of the word pairs; ``strict`` takes 0.1
    off a score between 0.3 and 1. Words are runs of ASCII letters and digits in lower case. Of a
    wanted text of one word, the words stand for the pairs. A code fence around JSON is no part of
    it.

    Returns
    -------
    ShallowFactuality
        A text without words beside one with words is 0. Two without words are None unless they are
        the same; the code of the tool has 1 for any two texts in Chinese.

    Raises
    ------
    InputError
        For an unknown mode.
    """
    mode = checked_mode(mode)
    structure = structure_as_code(actual, expected)
    if structure is not None:
        return ShallowFactuality(structure.score, structure)
    score = _overlap(words_of_letters(actual), words_of_letters(expected))
    if score is None:
        return ShallowFactuality(1.0 if actual == expected else None)
    if mode == "strict" and _STRICT_FROM < score < 1:
        score = max(0.0, score - _STRICT_LESS)
    return ShallowFactuality(score)


def structure_as_code(actual: str, expected: str) -> Comparison | None:
    """Two texts compared as the code of the tool compares JSON; None where one is no JSON."""
    try:
        return compare_json_as_code(
            parsed(strip_code_fences(expected)), parsed(strip_code_fences(actual))
        )
    except ValueError:
        return None


def words_of_letters(text: str) -> list[str]:
    """Runs of ASCII letters and digits in lower case; everything else parts them."""
    return [word for word in SPACES.split(_NO_WORD.sub(" ", text.lower())) if word]


def _overlap(found: list[str], wanted: list[str]) -> float | None:
    if not found or not wanted:
        return 0.0 if found or wanted else None
    words = _jaccard(set(found), set(wanted))
    if len(wanted) < 2:
        pairs = words
    elif len(found) < 2:
        pairs = 0.0
    else:
        pairs = _jaccard(set(pairwise(found)), set(pairwise(wanted)))
    return _WORD_SHARE * words + _PAIR_SHARE * pairs


def _jaccard(left: set[object], right: set[object]) -> float:
    return len(left & right) / len(left | right)
