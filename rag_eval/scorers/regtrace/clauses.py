"""Texts -> clauses with their content words, numbers, names, and whether they deny something.

What denies, in the languages that have a list, is in ``negation.toml``.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from rag_eval.scorers.texts import word_lists

# A comma inside of a number ends nothing, nor does a full stop without a blank. Every cut begins
# with a letter of one class, for which the search skips all others; a run of marks is tried once.
_MARKS: Final = r"[.!?…;:,]"
_FULL_MARKS: Final = "[。！？；，、।۔؟։]"
_JOINING: Final = r"(?i:but|while|whereas|although|though|however|yet)\b"
_CUTS: Final = re.compile(
    r"[\s.!?…;:,。！？；，、।۔؟։](?:"
    rf"(?<={_MARKS})(?<!{_MARKS}{_MARKS}){_MARKS}*+(?=[\s\"'”’)\]»]|$)(?:\s++{_JOINING})?"
    rf"|(?<={_FULL_MARKS}){_FULL_MARKS}*+|(?<=\n)\n*+|(?<=\s)[-–—]+\s|(?<=\s){_JOINING})"
)
_WORD: Final = re.compile(r"[^\s.,;:!?…。！？；，、।۔؟։\"“”„«»()\[\]{}<>/\\*_#|–—-]+(?:[.,]\d+)*")
_NUMBER: Final = re.compile(r"\d{1,40}(?:[.,]\d{1,40}){0,12}")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# Scripts without spaces: each letter stands for a word.
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LONGEST_KEPT: Final = 32
# Without "one", which is a pronoun more often.
_COUNTS: Final = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS: Final = {word: Decimal(value) for value, word in enumerate(_COUNTS.split(), start=2)}
_FUNCTIONS: Final = """
    a about after all also am an and any are as at be because been before being both by can could
    did do does doing during each for from had has have having he her here hers him his how i if in
    into is it its may me might more most must my of off on or other our out over own shall she
    should so some such than that the their them then there these they this those through to too
    under until up very was we were what when where which who whom whose why will with would you
    your not no never none neither nor cannot without only just
"""
_FUNCTION_WORDS: Final = frozenset(_FUNCTIONS.split())


class Clause:
    """A part of a sentence, cut at commas and the like.

    Attributes
    ----------
    key : str
        The same for clauses that differ in case and white space only.
    tokens : list of str
        Words in lower case, apostrophes straight.
    words : frozenset of str
        Content words without their endings, numbers left out.
    names : frozenset of str
        Capitalised words in lower case, function words left out.
    numbers : frozenset of Decimal
        Those in English words up to twelve among them.
    is_negated : bool
        It denies something.
    """

    __slots__ = ("is_negated", "key", "names", "numbers", "tokens", "words")

    def __init__(self, text: str, language: str) -> None:
        written = [word.strip("'") for word in _WORD.findall(text.replace("’", "'"))]
        self.key = _key(text)
        self.tokens = [word.lower() for word in written]
        self.words = frozenset(stem for token in self.tokens for stem in _content(token))
        self.names = frozenset(
            token
            for word, token in zip(written, self.tokens, strict=True)
            if word[:1].isupper() and token not in _FUNCTION_WORDS
        )
        spelled = [_NUMBER_WORDS[token] for token in self.tokens if token in _NUMBER_WORDS]
        self.numbers = numbers_of(text).union(spelled)
        self.is_negated = is_negated(self.tokens, text, language)


class ClausedText:
    """A text that is cut into clauses, which are read when they are asked for."""

    def __init__(self, text: str, language: str) -> None:
        self._text = text
        self._language = language
        self._read: dict[int, Clause] = {}

    @cached_property
    def _cuts(self) -> list[int]:
        return [0, *(match.end() for match in _CUTS.finditer(self._text)), len(self._text)]

    def touching(self, begin: int, end: int, most: int) -> list[Clause]:
        """The clauses that a part of the text lies in, with one more on each side.

        None of them where they are more than ``most``.
        """
        first = max(0, bisect_right(self._cuts, begin) - 2)
        return self._between(first, bisect_left(self._cuts, end) + 1, most)

    def clauses(self, most: int) -> list[Clause]:
        """All of them; none where they are more than ``most``."""
        return self._between(0, len(self._cuts), most)

    def _between(self, first: int, last: int, most: int) -> list[Clause]:
        places = range(first, min(last, len(self._cuts) - 1))
        if len(places) > most:
            return []
        return [clause for clause in map(self._clause, places) if clause.tokens]

    def _clause(self, place: int) -> Clause:
        if place not in self._read:
            begin, end = self._cuts[place : place + 2]
            self._read[place] = Clause(self._text[begin:end], self._language)
        return self._read[place]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of all clauses."""
        return frozenset(_key(self._text[begin:end]) for begin, end in pairwise(self._cuts))

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """All numbers of the text that are written in digits."""
        return numbers_of(self._text)


def numbers_of(text: str) -> frozenset[Decimal]:
    """The numbers of a text that are written in digits; 3.50 is 3.5, and 1,000 is a thousand."""
    found: set[Decimal] = set()
    for match in _NUMBER.finditer(text):
        written = match.group()
        plain = written.replace(",", "") if _GROUPED.fullmatch(written) else written
        try:
            found.add(Decimal(plain))
        except InvalidOperation:
            found.update(Decimal(part) for part in re.split("[.,]", written))
    return frozenset(found)


def n_words(text: str) -> int:
    """How many words a text has; in scripts without spaces each letter is one."""
    words = _WORD.findall(text)
    if text.isascii() or not _UNSPACED.search(text):
        return len(words)
    return sum(len(_letters(word)) for word in words)


def word_counts(text: str) -> Counter[str]:
    """How often each word of a text is there; in scripts without spaces each letter is one."""
    found = Counter(_WORD.findall(text.lower()))
    for word in [word for word in found if _UNSPACED.search(word)]:
        count = found.pop(word)
        for letter in word:
            found[letter] += count
    return found


def overlap(part: frozenset[str], whole: Sequence[str] | frozenset[str]) -> float:
    """Share of some words that others have; 0 if there are none."""
    return len(part.intersection(whole)) / len(part) if part else 0.0


def _letters(token: str) -> list[str]:
    """A token as it is, or its letters in a script without spaces."""
    return list(token) if _UNSPACED.search(token) else [token]


def _key(text: str) -> str:
    return " ".join(text.lower().split())


def _content(token: str) -> tuple[str, ...]:
    # Only words are kept for the next time: in some scripts a token is a whole sentence.
    return _short_content(token) if len(token) <= _LONGEST_KEPT else tuple(_stems(token))


@lru_cache(maxsize=1 << 16)
def _short_content(token: str) -> tuple[str, ...]:
    if token in _FUNCTION_WORDS or token in _NUMBER_WORDS:
        return ()
    if token[:1].isdigit() or token.endswith("n't"):
        return ()
    return tuple(_stems(token))


def _stems(token: str) -> list[str]:
    if not token.isascii():
        return _letters(token)
    word = token.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s"):
        if len(word) > len(ending) + 2 and word.endswith(ending) and not word.endswith("ss"):
            word = word.removesuffix(ending)
            if len(word) > 3 and word[-1] == word[-2]:
                word = word[:-1]
            break
    return [word.removesuffix("e") if len(word) > 3 else word]


# ------------------------------------------------------------------------------------------ denials


# Two of them make a statement; elsewhere they go together and still deny.
_CANCELLING: Final = frozenset(("en", "de", "nl", "sv", "da", "no"))

# Scripts that write no space between words, with what denies in them.
_UNSPACED_DENIALS: Final = re.compile(r"[不没沒无無未非]|ない|ません|なかった|않|없|아니|못|ไม่")
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")


def is_negated(words: Sequence[str], text: str, language: str) -> bool:
    """Whether a clause denies something.

    Parameters
    ----------
    words : sequence of str
        Its words in lower case, apostrophes straight.
    text : str
        The clause itself, for scripts without spaces.
    language : str
        Code of its language; "und" where it is not known.
    """
    if language == "und":
        if _CYRILLIC.search(text):
            language = "ru"
        else:
            return len(_UNSPACED_DENIALS.findall(text)) % 2 == 1
    listed = _words(language)
    if not listed:
        return len(_UNSPACED_DENIALS.findall(text)) % 2 == 1
    n_negations = _count(words, listed, language)
    return n_negations % 2 == 1 if language in _CANCELLING else n_negations > 0


@functools.cache
def _words(language: str) -> frozenset[str]:
    """What denies in a language; empty if it has no list."""
    return frozenset(word_lists("regtrace", "negation")["words"].get(language, "").split())


@functools.cache
def _exceptions(language: str) -> Mapping[str, frozenset[str]]:
    """By a word that denies: what follows where it does not."""
    listed = word_lists("regtrace", "negation")["exceptions"].get(language, {})
    return {word: frozenset(following.split()) for word, following in listed.items()}


def _count(words: Sequence[str], listed: frozenset[str], language: str) -> int:
    exceptions = _exceptions(language)
    count = 0
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if word == "nor" and "neither" in words[:place]:
            continue
        if word in listed:
            # "No. 5" is a number, not a denial.
            is_label = word == "no" and language == "en" and following[:1].isdigit()
            count += not is_label and following not in exceptions.get(word, ())
        else:
            count += (language == "en" and word.endswith("n't")) or (
                language == "fr" and word.startswith("n'")
            )
    return count
