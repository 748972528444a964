"""What the `grounded` profile reads of a text: NFC, without list markers, citations, emphasis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.oracle.grounded_characters import category, is_token_character, normalize
from tests.oracle.grounded_lists import KINDS
from tests.oracle.unicode17 import WHITESPACE

Span = tuple[int, int]

SPACE = "[" + "".join(sorted(WHITESPACE)) + "]"
_LINE = re.compile("[^\n\r\u2028\u2029]+")

_SPACES = re.compile(SPACE + "*")
_QUOTE = re.compile(f"(?:>{SPACE}*){{0,8}}")
_HEADING = re.compile(f"#{{1,6}}{SPACE}+")
_BULLET = re.compile(f"[-*+•‣◦▪●·–—]{SPACE}+")
_NUMBERED = re.compile(rf"\(?([0-9]{{1,2}})[.)]{SPACE}+")
_LETTERED = re.compile(rf"[a-zA-Z]\){SPACE}+")

_REFERENCE = r"\^?[1-9][0-9]{0,2}"
_BRACKETED = re.compile(
    rf"\[{_REFERENCE}(?: ?[,;–-] ?{_REFERENCE}){{0,30}}\]"
    "|【[0-9]{1,3}(?:[:†][^】\n]{0,60})?】"
)
_CITATIONS = re.compile(f"(?:[ \u00a0]{{0,2}}(?:{_BRACKETED.pattern}))+")
_LABEL = re.compile(rf"{SPACE}*\[{_REFERENCE}\]")
_ROUND = re.compile(
    "[ \u00a0]\\([1-9][0-9]?(?:, ?[1-9][0-9]?){0,9}\\)"
    "(?=[.!?]|[ \t\u00a0]*(?:[\n\r\u2028\u2029]|\\Z))"
)
_RAISED = re.compile("[.,;:!?]([⁰¹²³⁴⁵⁶⁷⁸⁹]{1,8})")
_EMPHASIS = re.compile("[*_`]+|~{2,}")

LOOK_BACK = 12  # characters; a longer word before the bracket is no counted word


class Cleaned(NamedTuple):
    """Character ``k`` of the text stands for ``begin[k]:end[k]`` of the original."""

    text: str
    begin: list[int]
    end: list[int]

    def original(self, begin: int, end: int) -> Span:
        return self.begin[begin], self.end[end - 1]


def composed(string: str) -> Cleaned:
    """NFC, piece by piece; the characters of a piece that changes its length all stand for it."""
    parts: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    for begin, end in _pieces(string):
        part = normalize("NFC", string[begin:end])
        parts.append(part)
        if len(part) == end - begin:
            begins.extend(range(begin, end))
            ends.extend(range(begin + 1, end + 1))
        else:
            begins.extend([begin] * len(part))
            ends.extend([end] * len(part))
    return Cleaned("".join(parts), begins, ends)


def _pieces(string: str) -> Iterator[Span]:
    """A piece goes on over marks and over Hangul vowels and finals, and over nothing else."""
    if string.isascii():
        yield 0, len(string)
        return
    begin = 0
    for i, ch in enumerate(string):
        if i > begin and not ("\u1160" <= ch <= "\u11ff" or category(ch)[0] == "M"):
            yield begin, i
            begin = i
    if string:
        yield begin, len(string)


def begins_with_label(chunk: str) -> bool:
    """A chunk that begins with ``[2]`` makes ``[2]`` in the other texts a word, not a citation."""
    return _LABEL.match(chunk) is not None


def is_citation(text: str, begin: int, end: int) -> bool:
    """Nothing stands there but square citations."""
    return _CITATIONS.fullmatch(text, begin, end) is not None


def lines(text: str) -> list[Span]:
    return [match.span() for match in _LINE.finditer(text)]


def clean(string: str, keep_square: bool = False) -> Cleaned:
    """The text without its markup; a blank where two token characters would come together."""
    whole = composed(string)
    kept: list[str] = []
    places: list[int] = []
    done = 0
    for begin, end in markup(whole.text, keep_square):
        begin = max(begin, done)
        kept.extend(whole.text[done:begin])
        places.extend(range(done, begin))
        if begin < end and kept and _would_glue(kept[-1], whole.text[end : end + 1]):
            kept.append(" ")
            places.append(begin)
        done = max(done, end)
    kept.extend(whole.text[done:])
    places.extend(range(done, len(whole.text)))
    begins = [whole.begin[place] for place in places]
    return Cleaned("".join(kept), begins, [whole.end[place] for place in places])


def _would_glue(before: str, after: str) -> bool:
    return is_token_character(before) and is_token_character(after)


def markup(text: str, keep_square: bool) -> list[Span]:
    """Spans of the composed text that claim nothing, in order; they may overlap."""
    found = [*_line_markers(text), *_round_citations(text), *_emphasis(text)]
    found += [match.span(1) for match in _RAISED.finditer(text)]
    if not keep_square:
        found += _bracketed_citations(text)
    return sorted(found)


# ----------------------------------------------------------------------------------- line markers


class _Marker(NamedTuple):
    """What stands before the text of a line; ``number`` is None if nothing counts the line."""

    begin: int
    number: int | None
    number_begin: int
    end: int
    line_end: int


def _line_markers(text: str) -> Iterator[Span]:
    """A number marks a list item only if it can: 0, 1, or one that a neighbour counts on from.

    Where it does not, it is the text of its line. A line of nothing but markers keeps them, and
    its number is nobody's neighbour.
    """
    markers = [_marker(text, *line) for line in lines(text)]
    numbers = {marker.number for marker in markers if marker.end < marker.line_end}
    for marker in markers:
        number, end = marker.number, marker.end
        if number is not None and number > 1 and numbers.isdisjoint((number - 1, number + 1)):
            end = marker.number_begin
        if marker.begin < end < marker.line_end:
            yield marker.begin, end


def _marker(text: str, begin: int, line_end: int) -> _Marker:
    """Spaces, up to eight quotation signs, a heading sign, a bullet, a number or letter."""
    begin = _past(_SPACES, text, begin, line_end)
    at = begin
    for sign in (_QUOTE, _HEADING, _BULLET):
        at = _past(sign, text, at, line_end)
    counted = _NUMBERED.match(text, at, line_end)
    if counted is not None:
        return _Marker(begin, int(counted[1]), at, counted.end(), line_end)
    return _Marker(begin, None, at, _past(_LETTERED, text, at, line_end), line_end)


def _past(pattern: re.Pattern[str], text: str, at: int, end: int) -> int:
    match = pattern.match(text, at, end)
    return at if match is None else match.end()


# -------------------------------------------------------------------------- citations, emphasis


def _bracketed_citations(text: str) -> Iterator[Span]:
    """``[3]``, ``[1, 2-4]``, ``[^2]``, ``【1†source】``, with up to two blanks before."""
    done = 0
    for match in _BRACKETED.finditer(text):
        begin = match.start()
        while begin > max(done, match.start() - 2) and text[begin - 1] in " \u00a0":
            begin -= 1
        yield begin, match.end()
        done = match.end()


def _round_citations(text: str) -> Iterator[Span]:
    """``(2)`` or ``(1, 3)`` after a word and a blank, where a sentence or line ends.

    Not after a number, written "2" or "two", which the one in brackets may repeat.
    """
    for match in _ROUND.finditer(text):
        word = _word_before(text, match.start())
        short_number = word.isascii() and word.isdigit() and len(word) <= 3
        if word and not short_number and word.lower() not in KINDS["counting"]:
            yield match.span()


def _word_before(text: str, end: int) -> str:
    begin = end
    while begin > max(0, end - LOOK_BACK) and is_token_character(text[begin - 1]):
        begin -= 1
    return text[begin:end]


def _emphasis(text: str) -> Iterator[Span]:
    """Not inside a word or sum (snake_case, 2*3) and not between blanks (2 * 3)."""
    for match in _EMPHASIS.finditer(text):
        before = text[match.start() - 1] if match.start() else ""
        after = text[match.end() : match.end() + 1]
        apart = (before == "" or before in WHITESPACE) and (after == "" or after in WHITESPACE)
        if not apart and not _would_glue(before, after):
            yield match.span()
