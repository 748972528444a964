"""Regtrace's own rules of factuality and tone: two texts -> overlaps and heuristics.

The rules of Regtrace 0.10's code, which knows no claims: how many words two texts share is no proof
that one of them is true. ``regtrace.factuality`` counts claims. Formality and assertiveness are
those of the answer alone, so that neutral words score 0 and 0.5; ``regtrace.tone`` holds both
against what is expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.plumbing.javascript_numbers import plain_sum
from rag_eval.scorers.javascript import SPACE, SPACES, parsed, utf16_length
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
    """The similarity of two texts.

    Attributes
    ----------
    score : float or None
        From 0 to 1; None if neither text has a letter from a to z or a digit.
    structure : Comparison or None
        Whether both texts are JSON.
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
    """Overlap of two texts, or of their leaves if both are JSON.

    0.4 times the Jaccard index of the words plus 0.6 times that of the word pairs; ``strict``
    subtracts 0.1 from a score between 0.3 and 1. Words are runs of ASCII letters and digits in
    lower case. If the expected text has one word, words are used in place of pairs. A code fence
    around JSON is ignored.

    Parameters
    ----------
    actual, expected : str
    mode : {"strict", "lenient", "json_structural"}

    Returns
    -------
    ShallowFactuality
        0 if only one of the texts has words. None for two different texts without words; the code
        of the tool gives 1 for any two texts in Chinese.

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
    """Two texts compared as the code of the tool compares JSON; None if one is not JSON."""
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


# --------------------------------------------------------------------------------------------- tone


Dimension: TypeAlias = Literal[
    "formality", "sentiment", "assertiveness", "persona_consistency", "verbosity"
]

DIMENSIONS: Final[tuple[Dimension, ...]] = (
    "formality",
    "sentiment",
    "assertiveness",
    "persona_consistency",
    "verbosity",
)

CONFIDENCE: Final = 0.7
"""How sure the tool calls itself of its heuristics."""

Words: TypeAlias = Mapping[str, Collection[str]]
"""Words and phrases in lower case: formal, informal, positive, negative, hedge, assertive."""

_FORMAL_SHARE: Final = 0.05
_INFORMAL_WEIGHT: Final = 0.5
_NEUTRAL: Final = 0.5
_SHORTEST: Final = 0.5
_LONGEST: Final = 2.0

_PRONOUNS: Final = re.compile(r"\b(?:i|you|he|she|it|we|they)\b", re.ASCII | re.IGNORECASE)


class HeuristicTone(NamedTuple):
    """The tone of an answer by the tool's rules.

    Attributes
    ----------
    score : float
        Mean of the dimensions; 1 if none was requested.
    confidence : float
    dimensions : dict
    """

    score: float
    confidence: float
    dimensions: dict[Dimension, float]


def tone_heuristic(
    actual: str, expected: str, words: Words, sub_dimensions: Collection[str] = DIMENSIONS
) -> HeuristicTone:
    """The mean of some dimensions of an answer; unknown names are ignored.

    Parameters
    ----------
    actual, expected : str
    words : Words
        Word lists.
    sub_dimensions : collection of str
    """
    found = {
        name: _RULES[name](actual, expected, words) for name in DIMENSIONS if name in sub_dimensions
    }
    if not found:
        return HeuristicTone(1.0, 1.0, {})
    return HeuristicTone(_share(plain_sum(found.values()) / len(found)), CONFIDENCE, found)


def formality(actual: str, words: Words) -> float:
    """Formal words of an answer less half of the informal ones, both at most 1.

    Each is counted against a twentieth of the words. 0 for a text without either.
    """
    tokens = words_of_letters(actual)
    # What a split at spaces has: an empty piece at an end that is a space.
    most = max(1.0, _FORMAL_SHARE * len(SPACES.split(actual)))
    formal = min(1.0, _hits(tokens, words, "formal") / most)
    informal = min(1.0, _hits(tokens, words, "informal") / most)
    return _share(formal - _INFORMAL_WEIGHT * informal)


def sentiment(actual: str, expected: str, words: Words) -> float:
    """Share of the expected polarity that an answer has; 1 if none is expected.

    Polarity is positive words less negative ones; one of the other sign, or none, is 0.
    """
    wanted, found = polarity(expected, words), polarity(actual, words)
    if wanted == 0:
        return 1.0
    return min(1.0, abs(found) / abs(wanted)) if found * wanted > 0 else 0.0


def polarity(text: str, words: Words) -> int:
    """Positive words of a text less its negative ones."""
    tokens = words_of_letters(text)
    return _hits(tokens, words, "positive") - _hits(tokens, words, "negative")


def assertiveness(actual: str, words: Words) -> float:
    """Share of phrases of certainty among those of certainty and doubt; 0.5 without any.

    A phrase counts once, however often the answer has it; one that a list has twice counts twice.
    """
    certain, doubtful = (_phrases(actual, words, name) for name in ("assertive", "hedge"))
    both = certain + doubtful
    return certain / both if both else _NEUTRAL


def persona_consistency(actual: str, expected: str) -> float:
    """How many subject pronouns an answer has, against those expected, at most 1.

    1 if none is expected; 0.5 where some are and the answer has none.
    """
    wanted, found = (len(_PRONOUNS.findall(text)) for text in (expected, actual))
    if not wanted:
        return 1.0
    return min(1.0, found / wanted) if found else _NEUTRAL


def verbosity(actual: str, expected: str) -> float:
    """1 for an answer of half to double the length that is expected, in UTF-16 units.

    Below and above it falls in a line, to 0 for an empty one and one four times as long.
    """
    wanted = utf16_length(expected)
    if not wanted:
        return float(not actual)
    return length_score(utf16_length(actual) / wanted)


def length_score(ratio: float) -> float:
    """1 from 0.5 to 2, falling to 0 at 0 and at 4."""
    if ratio < _SHORTEST:
        return ratio / _SHORTEST
    return 1.0 if ratio <= _LONGEST else max(0.0, (2 * _LONGEST - ratio) / _LONGEST)


def _hits(tokens: list[str], words: Words, name: str) -> int:
    listed = frozenset(words.get(name, ()))
    return sum(token in listed for token in tokens)


def _phrases(text: str, words: Words, name: str) -> int:
    lowered = text.lower()
    # Most are not there at all, and a search for letters tells so in a fraction of the time.
    there = [phrase for phrase in words.get(name, ()) if phrase in lowered]
    return sum(
        re.search(rf"\b{re.escape(phrase)}\b", lowered, re.ASCII) is not None for phrase in there
    )


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


_RULES: Final[Mapping[Dimension, Callable[[str, str, Words], float]]] = {
    "formality": lambda actual, _, words: formality(actual, words),
    "sentiment": sentiment,
    "assertiveness": lambda actual, _, words: assertiveness(actual, words),
    "persona_consistency": lambda actual, expected, _: persona_consistency(actual, expected),
    "verbosity": lambda actual, expected, _: verbosity(actual, expected),
}
