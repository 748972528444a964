"""A text -> its voice: register, sentiment, assertiveness, persons and length, as numbers.

The words that tone goes by are short English lists of our own (``tone_words.toml``); a caller's
take their place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.judge.metrics.judgements import has_word
from rag_eval.scorers.regtrace.clauses import n_words
from rag_eval.scorers.sentiment_lexicon import Lexicon, load_lexicon, word_values
from rag_eval.scorers.texts import word_lists

# The constant by which VADER brings sums of valences to -1..1 (Hutto and Gilbert 2014), and the
# scale that its lexicon has there against the one here.
_ALPHA: Final = 15.0
_VADER_SCALE: Final = 0.8
# One marker in so many words is as much as no markers at all can weigh.
_WORDS_PER_MARKER: Final = 40
_CONTRACTION_WEIGHT: Final = 0.5

_CONTRACTION: Final = re.compile(
    r"\b(?:[a-z]+n't|[a-z]+'(?:re|ve|ll|m|d)|(?:it|that|there|what|let|he|she|who)'s)\b"
)
_EMOJI: Final = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]")
# A run of marks is tried once, from its beginning.
_SENTENCE_END: Final = re.compile(r"(?<![.!?…])[.!?…]++(?=\s|$)|[。！？।۔]+|\n+")
_I: Final = "i me my mine myself i'm i've i'll i'd"
_WE: Final = "we us our ours ourselves we're we've we'll we'd let's"
_YOU: Final = "you your yours yourself yourselves you're you've you'll you'd"
_PERSONS: Final = tuple(frozenset(words.split()) for words in (_I, _WE, _YOU))


@dataclass(frozen=True, slots=True)
class Voice:
    """How a text sounds.

    Attributes
    ----------
    register : float
        0 informal, 0.5 neither, 1 formal.
    sentiment : float
        -1 negative, 0 neutral, 1 positive.
    assertiveness : float
        0 in doubt, 0.5 neither, 1 certain.
    persons : tuple of float
        Shares of words for I, we and you among them and one that stands for nobody.
    n_words, n_sentences : int
    """

    register: float
    sentiment: float
    assertiveness: float
    persons: tuple[float, ...]
    n_words: int
    n_sentences: int

    @property
    def sentence_words(self) -> float:
        """Words in a sentence, on average."""
        return self.n_words / max(1, self.n_sentences)


class VoiceReader:
    """Reads voices by lists of words."""

    def __init__(self, lists: Mapping[str, frozenset[str]]) -> None:
        self._phrases = {name: PhraseList(lists.get(name, LISTS[name])) for name in LISTS}
        self._lexicon: Lexicon = lexicon_with(lists)
        # Contractions and emoji are no words of a list that a caller could replace.
        self._counts_contractions = "informal" not in lists

    def voice(self, text: str) -> Voice:
        """The voice of a text."""
        words = words_of(text)
        counts = {name: float(phrases.count(words)) for name, phrases in self._phrases.items()}
        if self._counts_contractions:
            counts["informal"] += _CONTRACTION_WEIGHT * len(_CONTRACTION.findall(" ".join(words)))
            counts["informal"] += len(_EMOJI.findall(text))
        return Voice(
            register=_balance(counts["formal"], counts["informal"], len(words)),
            sentiment=self._sentiment(text),
            assertiveness=_balance(counts["assertive"], counts["hedge"], len(words)),
            persons=_persons(words),
            n_words=n_words(text),
            n_sentences=_n_sentences(text),
        )

    def _sentiment(self, text: str) -> float:
        total = _VADER_SCALE * math.fsum(word_values(text, self._lexicon))
        return total / math.sqrt(total * total + _ALPHA)


def _balance(high: float, low: float, size: int) -> float:
    """0.5 without markers, nearer to 1 or 0 the more of them there are."""
    damping = max(1.0, size / _WORDS_PER_MARKER)
    return 0.5 + 0.5 * (high - low) / (high + low + damping)


def _persons(words: list[str]) -> tuple[float, ...]:
    times = Counter(words)
    counts = [sum(times[word] for word in listed) for listed in _PERSONS]
    total = sum(counts) + 1
    return tuple(count / total for count in (*counts, 1))


def _n_sentences(text: str) -> int:
    return sum(has_word(piece) for piece in _SENTENCE_END.split(text))


# ----------------------------------------------------------------------------------- lists of words


LISTS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(listed) for name, listed in word_lists("regtrace", "tone_words").items()
}
"""Formal and informal words, and those of doubt and of certainty; phrases among them."""

NAMES: Final = (*LISTS, "positive", "negative")
"""What a caller can replace; by default sentiment has a lexicon of its own."""

_MOST_WORDS: Final = 20_000
# What values the words of a caller's lists have on the scale of the lexicon, -5 to 5.
_LISTED_VALUE: Final = 3.0
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; apostrophes are straight and stay inside."""
    return _WORD.findall(text.lower().replace("’", "'"))


class PhraseList:
    """Words and phrases that can be counted in a text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        starts: dict[str, list[tuple[str, ...]]] = {}
        for phrase in sorted(phrases):
            words = tuple(words_of(phrase))
            starts.setdefault(words[0], []).append(words)
        for following in starts.values():
            following.sort(key=len, reverse=True)
        self._starts = starts

    def count(self, words: Sequence[str]) -> int:
        """How often a text has one of them; the longest where several begin at a word."""
        found, free = 0, 0
        places = [place for place, word in enumerate(words) if word in self._starts]
        for place in places:
            if place < free:
                continue
            for phrase in self._starts[words[place]]:
                if tuple(words[place : place + len(phrase)]) == phrase:
                    found, free = found + 1, place + len(phrase)
                    break
        return found


def lexicon_with(lists: Mapping[str, frozenset[str]]) -> Lexicon:
    """The lexicon of sentiment, a caller's positive or negative words in place of its own."""
    values = load_lexicon()
    if not lists.keys() & {"positive", "negative"}:
        return values
    kept = {
        word: value
        for word, value in values.items()
        if ("positive" if value > 0 else "negative") not in lists
    }
    kept.update(dict.fromkeys(lists.get("negative", ()), -_LISTED_VALUE))
    kept.update(dict.fromkeys(lists.get("positive", ()), _LISTED_VALUE))
    return kept


def heuristic_words(lists: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """All six lists: a caller's, ours for the others."""
    lexicon = load_lexicon()
    own = {
        **LISTS,
        "positive": frozenset(word for word, value in lexicon.items() if value > 0),
        "negative": frozenset(word for word, value in lexicon.items() if value < 0),
    }
    return {**own, **lists}


def checked_lexicon(lexicon: object) -> dict[str, frozenset[str]]:
    """A caller's lists by their names, in lower case.

    Raises
    ------
    InputError
        For anything but a mapping of known names to lists of texts.
    """
    if lexicon is None:
        return {}
    if not isinstance(lexicon, Mapping):
        raise InputError(f"lexicon must be a mapping, got {type(lexicon).__name__}")
    return {_known(name): _checked(name, words) for name, words in lexicon.items()}


def _known(name: object) -> str:
    if not isinstance(name, str) or name not in NAMES:
        hint = suggestion(name, NAMES)
        raise InputError(
            f"lexicon must have lists named {', '.join(NAMES)}, got {glance(name)}{hint}"
        )
    return str(name)


def _checked(name: object, words: Any) -> frozenset[str]:
    if isinstance(words, (str, bytes)) or not isinstance(words, (list, tuple, set, frozenset)):
        raise InputError(f"lexicon[{name!r}] must be a list of words, got {type(words).__name__}")
    if len(words) > _MOST_WORDS:
        raise InputError(f"lexicon[{name!r}] has {len(words)} words; at most {_MOST_WORDS} can be")
    for word in words:
        if not isinstance(word, str) or not words_of(word):
            raise InputError(f"lexicon[{name!r}] must hold words, got {glance(word)}")
        if name in ("positive", "negative") and len(word.split()) > 1:
            raise InputError(f"lexicon[{name!r}] must hold single words, got {glance(word)}")
    return frozenset(" ".join(word.lower().replace("’", "'").split()) for word in words)
