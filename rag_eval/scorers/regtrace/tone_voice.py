"""A text -> its voice: register, sentiment, assertiveness, persons and length, as numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rag_eval.judge.metrics.judgements import has_word
from rag_eval.scorers.regtrace.clauses import n_words
from rag_eval.scorers.regtrace.tone_words import (
    LISTS,
    PhraseList,
    lexicon_with,
    words_of,
)
from rag_eval.scorers.sentiment_lexicon import Lexicon, word_values

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
