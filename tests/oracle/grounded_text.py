"""Tokens, sentences and capitals of a text in the `grounded` profile; no language is known yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tests.oracle import grounded_markup
from tests.oracle.grounded_characters import (
    APOSTROPHES,
    category,
    fold,
    is_token_character,
    kinds,
)
from tests.oracle.grounded_lists import ABBREVIATIONS
from tests.oracle.grounded_markup import SPACE, Cleaned, Span, is_citation, lines
from tests.oracle.unicode17 import WHITESPACE

# Patterns over kinds of characters, see `grounded_characters.kinds`.
_TOKEN_BEGIN = re.compile("[gnwd]")
_GLUED_RUN = re.compile("g[gmi]*")
_GLUED_LETTER = re.compile("g[mi]*")
_NUMERALS = re.compile("n+")
_SPACED_RUN = re.compile("[wd][wdmi]*")
_FRACTION = re.compile(r"\.d+")
_THOUSAND = re.compile("(?:,| , )ddd(?![wdmig])")
_CASED_WORD = re.compile("[wd][wdmin_.'-]*")

STEMS_OF_NOT = {"ca": "can", "wo": "will", "sha": "shall"}

# What ends a sentence before a blank, and what ends one anywhere.
_STOP = re.compile("[.!?…]|[。！？｡।॥؟۔։።။។]+")
_BLANKS = re.compile(SPACE + "+")
BEFORE_BLANK = frozenset(".!?…")
CLOSING = frozenset("\"')]”’»›」』）】")
# What opens a clause, whose first word may be capitalised as that of a sentence, and what may
# stand between the two.
CLAUSE_OPENERS = frozenset(":;–—•|：；")
OPENING = frozenset("\"'“”‘’„«»([")
HEADING_WORDS = range(2, 9)
SMALL_WORD = 4  # characters; a longer one is capitalised in a heading
LONGEST_ABBREVIATION = 7  # letters looked at; more are a word


class Token(NamedTuple):
    norm: str
    begin: int
    end: int


class Sentence(NamedTuple):
    """Characters ``begin:end`` and tokens ``first:last``; a label is nothing but citations."""

    begin: int
    end: int
    first: int
    last: int
    is_label: bool


class Text:
    """A cleaned string with its tokens and sentences, all offsets into the cleaned text.

    ``runs`` are the tokens with glued runs left whole, ``capitals`` a number for each token: 2 in
    a capitalised word, 1 in one that opens a sentence or clause or is of a heading and so has to
    be, 0 in any other.
    """

    def __init__(self, string: str, keep_square: bool = False) -> None:
        self.cleaned = grounded_markup.clean(string, keep_square)
        self.text = self.cleaned.text
        scanner = _Scanner(self.text)
        self.tokens, self.runs = scanner.tokens, scanner.runs
        self.norms = [token.norm for token in self.tokens]
        self.sentences = _with_tokens(self.text, self.tokens)
        self.capitals = _capitals(self)

    def original(self, begin: int, end: int) -> Span:
        return self.cleaned.original(begin, end)


@lru_cache(maxsize=256)  # a benchmark's rows share their chunks
def read(string: str, keep_square: bool = False) -> Text:
    return Text(string, keep_square)


def clean(string: str, keep_square: bool = False) -> Cleaned:
    """The cleaned text, and for each of its characters where its original begins and ends."""
    return grounded_markup.clean(string, keep_square)


def tokens(string: str, keep_square: bool = False) -> list[tuple[str, int, int]]:
    """Normal form and offsets in the string as given."""
    text = read(string, keep_square)
    return [(norm, *text.original(begin, end)) for norm, begin, end in text.tokens]


def runs(string: str, keep_square: bool = False) -> list[str]:
    """Normal forms with runs of glued scripts left whole: what letter trigrams are made of."""
    return list(read(string, keep_square).runs)


def sentences(string: str, keep_square: bool = False) -> list[tuple[int, int, int, int]]:
    """Offsets in the string as given, then first token and one past the last; none is empty."""
    text = read(string, keep_square)
    return [(*text.original(s.begin, s.end), s.first, s.last) for s in text.sentences]


def capitals(string: str, keep_square: bool = False) -> list[int]:
    return list(read(string, keep_square).capitals)


# ------------------------------------------------------------------------------------------ tokens


class _Scanner:
    """Goes through a cleaned text once and collects its tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds = kinds(text)
        self.tokens: list[Token] = []
        self.runs: list[str] = []
        at = 0
        while begin := _TOKEN_BEGIN.search(self.kinds, at):
            at = self._take(begin.start())

    def _take(self, begin: int) -> int:
        """The token or tokens that begin here; returns where they end."""
        kind = self.kinds[begin]
        if kind == "g":
            end = _past(_GLUED_RUN, self.kinds, begin)
            self._glued(begin, end)
        elif kind == "n":
            end = _past(_NUMERALS, self.kinds, begin)
            self._add(self.text[begin:end], begin, end)
        else:
            end = self._spaced_end(begin)
            self._spaced(begin, end)
        return end

    def _add(self, norm: str, begin: int, end: int) -> None:
        self.tokens.append(Token(norm, begin, end))
        self.runs.append(norm)

    def _glued(self, begin: int, end: int) -> None:
        """Overlapping pairs of letters, each with its marks; a letter alone is a token."""
        letters = [found.span() for found in _GLUED_LETTER.finditer(self.kinds, begin, end)]
        self.runs.append(fold(self.text[begin:end]))
        for left, right in zip(letters, letters[1:] or letters, strict=False):
            pair = self.text[left[0] : right[1]]
            self.tokens.append(Token(fold(pair), left[0], right[1]))

    def _spaced_end(self, begin: int) -> int:
        """A word, then fractions and thousands: 3.14, v2.0.1, 1,234 and ``1 , 234``."""
        end = _past(_SPACED_RUN, self.kinds, begin)
        while True:
            further = _past(_FRACTION, self.kinds, end)
            if further == end and self.kinds[end - 1] == "d":
                further = _past(_THOUSAND, self.kinds, end)
            if further == end:
                return end
            end = further

    def _spaced(self, begin: int, end: int) -> None:
        """'s says nothing, n't is a word of its own."""
        if self._is_tail(begin, end):
            return
        norm = fold(self.text[begin:end])
        if not self._is_negated(norm, end):
            self._add(norm, begin, end)
            return
        verb = STEMS_OF_NOT.get(norm[:-1], norm[:-1])
        if verb:
            self._add(verb, begin, end - 1)
        self._add("not", end - 1, end + 2)

    def _is_tail(self, begin: int, end: int) -> bool:
        """A lone s after an apostrophe, or a lone t after an n and an apostrophe."""
        if end - begin > 1 or begin == 0 or self.kinds[begin - 1] != "'":
            return False
        letter = self.text[begin]
        return letter in "sS" or (letter in "tT" and begin > 1 and self.text[begin - 2] in "nN")

    def _is_negated(self, norm: str, end: int) -> bool:
        """Word-final n't; what it is the end of is the folded form, so ``ñ't`` counts."""
        return (
            norm.endswith("n")
            and self.kinds[end : end + 1] == "'"
            and self.text[end + 1 : end + 2] in ("t", "T")
            and not is_token_character(self.text[end + 2 : end + 3])
        )


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


# --------------------------------------------------------------------------------------- sentences


def sentence_spans(text: str) -> list[Span]:
    """Trimmed sentences of a cleaned text; lines are always apart."""
    return [span for line in lines(text) for span in _sentences_of_line(text, *line)]


def _sentences_of_line(text: str, begin: int, end: int) -> Iterator[Span]:
    """Pieces between stops, put together again where the stop was none."""
    current: Span | None = None
    words = 0
    for piece in _pieces(text, begin, end):
        if current is not None and _goes_on(text, current, words, piece):
            current = current[0], piece[1]
        else:
            if current is not None:
                yield current
            current, words = piece, 0
        words += 1 + len(_BLANKS.findall(text, *piece))
    if current is not None:
        yield current


def _pieces(text: str, begin: int, end: int) -> Iterator[Span]:
    for stop in [*_stops(text, begin, end), end]:
        first, last = begin, stop
        while first < last and text[first] in WHITESPACE:
            first += 1
        while first < last and text[last - 1] in WHITESPACE:
            last -= 1
        if first < last:
            yield first, last
        begin = stop


def _stops(text: str, begin: int, end: int) -> Iterator[int]:
    """After a stop and the quotes and brackets that close behind it."""
    for found in _STOP.finditer(text, begin, end):
        after = found.end()
        while after < end and text[after] in CLOSING:
            after += 1
        before_blank = after < end and text[after] in WHITESPACE
        if before_blank or found[0] not in BEFORE_BLANK:
            yield after


def _goes_on(text: str, current: Span, words: int, following: Span) -> bool:
    """Whether the sentence so far, ``words`` long, only seemed to end before the next piece."""
    begin, end = current
    next_character = text[following[0]]
    if _ends_abbreviated(text, begin, end, next_character):
        return True
    detached = text[end - 1] in ".!?" and end - 2 >= begin and text[end - 2] in WHITESPACE
    return words < 3 and not detached and category(next_character) == "Ll"


def _ends_abbreviated(text: str, begin: int, end: int, next_character: str) -> bool:
    """``Mr.``, ``e.g.``, ``J.``; ``No.`` only before a digit."""
    stop = end - 1
    if text[stop] != ".":
        return False
    at = stop
    while at > max(begin, stop - LONGEST_ABBREVIATION) and _is_ascii_letter(text[at - 1]):
        at -= 1
    before = text[at - 1] if at > begin else ""
    if at == stop or before == "_" or before in APOSTROPHES or is_token_character(before):
        return False
    word = text[at:stop].lower()
    if word == "no":
        return category(next_character) == "Nd"
    return len(word) == 1 or word in ABBREVIATIONS


def _is_ascii_letter(ch: str) -> bool:
    return ch.isascii() and ch.isalpha()


def _with_tokens(text: str, all_tokens: list[Token]) -> list[Sentence]:
    """Sentences without a token are none; a token belongs where it begins."""
    kept: list[Sentence] = []
    at = 0
    for begin, end in sentence_spans(text):
        first = at
        while at < len(all_tokens) and all_tokens[at].begin < end:
            at += 1
        if at > first:
            label = is_citation(text, begin, end)
            kept.append(Sentence(begin, end, first, at, label))
    return kept


# ---------------------------------------------------------------------------------------- capitals


def _capitals(text: Text) -> list[int]:
    levels = [0] * len(text.tokens)
    character_kinds = kinds(text.text)
    for sentence in text.sentences:
        words = [found.span() for found in _CASED_WORD.finditer(character_kinds, *sentence[:2])]
        heading_end = _heading_end(text.text, sentence, words)
        at = sentence.first
        for begin, end in words:
            opens = (
                begin == words[0][0]
                or begin < heading_end
                or _opens_clause(text.text, sentence.begin, begin)
            )
            word_end = begin + len(character_kinds[begin:end].rstrip(".-'"))
            level = _capital_level(text.text[begin:word_end], opens)
            while at < sentence.last and text.tokens[at].begin < word_end:
                if text.tokens[at].begin >= begin:
                    levels[at] = level
                at += 1
    return levels


def _heading_end(text: str, sentence: Sentence, words: list[Span]) -> int:
    """Where ``Less Flexible Hours:`` ends, before its colon; 0 without such a heading."""
    last = next((i for i, (_, end) in enumerate(words) if _ends_heading(text, end, sentence)), -1)
    heading = [text[begin:end] for begin, end in words[: last + 1]]
    capitalised = [category(word[0]) == "Lu" for word in heading]
    if len(heading) not in HEADING_WORDS or 2 * sum(capitalised) < len(heading):
        return 0
    long = [len(word) > SMALL_WORD for word in heading]
    if any(is_long and not upper for is_long, upper in zip(long, capitalised, strict=True)):
        return 0
    return words[last][1]


def _ends_heading(text: str, end: int, sentence: Sentence) -> bool:
    if end == sentence.end or text[end] != ":":
        return False
    return end + 1 == sentence.end or text[end + 1] in WHITESPACE


def _opens_clause(text: str, begin: int, word: int) -> bool:
    at = word - 1
    while at >= begin and (text[at] in OPENING or text[at] in WHITESPACE):
        at -= 1
    return at >= begin and text[at] in CLAUSE_OPENERS


def _capital_level(word: str, opens: bool) -> int:
    """Where any word is capitalised, one is of itself only when all of it is ("NASA")."""
    if category(word[0]) != "Lu":
        return 0
    if opens and (len(word) == 1 or any(category(ch) in ("Ll", "Lt") for ch in word)):
        return 1
    return 2
