"""Sentences that the contexts do not support, beside the passages that come nearest to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple, TypeAlias

from rag_eval.views.sentences import SentenceView

Mark: TypeAlias = Literal["", "absent", "differs", "window", "other"]

_WORD: Final = re.compile(r"[^\W_]+(?:['’.,:-][^\W_]+)*")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:['’]s|ing|ied|ies|ed|es|ly|s|e|y)$")
_SENTENCE_END: Final = re.compile(r"[.!?。！？]\s+|\n+")
# Characters of a context that are shown before and after the passage.
_AROUND: Final = 90
_LONGEST: Final = 1_500


class Piece(NamedTuple):
    """Part of a text.

    Attributes
    ----------
    text : str
    mark : str
        ``absent``: in no context. ``differs``: not in the passage beside it. ``window``: part of
        the passage. ``other``: the number in the place of that of the sentence. Or empty.
    """

    text: str
    mark: Mark = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """A sentence beside the nearest passage.

    Attributes
    ----------
    number : int
        Of the sentence, from 1.
    view : SentenceView
    claim, passage : list of Piece
        The passage is empty if no context shares a word with the sentence.
    href : str or None
        Leads to the passage in its context.
    """

    number: int
    view: SentenceView
    claim: Sequence[Piece]
    passage: Sequence[Piece]
    href: str | None


def unsupported(
    views: Sequence[SentenceView],
    contexts: Sequence[str],
    targets: Mapping[str, str],
    side: str,
    most: int,
    cut: dict[int, list[Part]],
) -> list[Unsupported]:
    """The sentences that are not supported, those with the least support first.

    ``targets`` are the anchors of passages by key; ``side`` is the first letter of a key; ``cut``
    keeps the sentences of contexts for other views of the row.
    """
    made = []
    for place, view in least_supported(views)[:most]:
        part = nearest_part(view, contexts, cut)
        known: Collection[str] = () if part is None else part.words
        made.append(
            Unsupported(
                number=place + 1,
                view=view,
                claim=list(_claim(view, known)),
                passage=[] if part is None else list(_passage(view, part)),
                href=targets.get(f"{side}{place}"),
            )
        )
    return made


def least_supported(views: Sequence[SentenceView]) -> list[tuple[int, SentenceView]]:
    """The sentences that are not supported with their numbers from 0, the worst first."""
    found = [(place, view) for place, view in enumerate(views) if view.level != "supported"]
    found.sort(key=lambda one: (one[1].level != "unsupported", one[1].support))
    return found


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a context, and the stems of its words."""

    text: str
    begin: int
    end: int
    words: frozenset[str]


def _part(text: str, begin: int, end: int) -> Part:
    return Part(text, begin, end, frozenset(map(_stem, _words(text[begin:end]))))


def nearest_part(
    view: SentenceView, contexts: Sequence[str], cut: dict[int, list[Part]]
) -> Part | None:
    """The passage of a sentence; of a whole context its sentence with the most words in common."""
    if view.chunk is None or not 0 <= view.chunk < len(contexts):
        return None
    if view.window is not None:
        return _part(contexts[view.chunk], *view.window)
    if view.chunk not in cut:
        cut[view.chunk] = _sentences(contexts[view.chunk])
    words = set(map(_stem, _words(view.text)))
    return max(cut[view.chunk], key=lambda part: len(part.words & words), default=None)


def _sentences(text: str) -> list[Part]:
    """The sentences of a context, for profiles that only know which context is nearest."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    spans = zip([0, *ends], [*ends, len(text)], strict=True)
    return [_part(text, begin, end) for begin, end in spans if begin < end]


def _claim(view: SentenceView, known: Collection[str]) -> Iterator[Piece]:
    """The sentence with what the words of the passage, or every context, lack of it."""
    opposed = () if view.contradiction is None else view.contradiction[:1]
    absent = {_stem(word) for name in (*view.missing, *opposed) for word in _words(name)}

    def mark(word: str) -> Mark:
        stem = _stem(word)
        if stem in absent:
            return "absent"
        if not known or stem in known:
            return ""
        is_told = word[0].isdigit() or (len(word) > 2 and word.casefold() not in stop_words())
        return "differs" if is_told else ""

    return _marked(view.text[:_LONGEST], mark, "")


def _passage(view: SentenceView, part: Part) -> Iterator[Piece]:
    """The passage with some of the text around it."""
    text, begin = part.text, part.begin
    end = min(part.end, begin + _LONGEST)
    low, high = max(0, begin - _AROUND), min(len(text), end + _AROUND)
    if low:
        low = text.find(" ", low, begin) + 1 or low
        yield Piece("… ")
    if high < len(text):
        high = max(text.rfind(" ", end, high), end)
    opposed = None if view.contradiction is None else _stem(view.contradiction[1])
    parts: tuple[tuple[int, int, Mark], ...]
    parts = ((low, begin, ""), (begin, end, "window"), (end, high, ""))
    for first, last, mark in parts:
        if first < last:
            yield from _with_number(text[first:last], opposed, mark)
    if high < len(text):
        yield Piece(" …")


def _with_number(text: str, number: str | None, mark: Mark) -> Iterator[Piece]:
    """A text of one mark, and the number that stands in the place of another."""
    if number is None:
        yield Piece(text, mark)
    else:
        yield from _marked(text, lambda word: "other" if _stem(word) == number else mark, mark)


def _marked(text: str, mark: Callable[[str], Mark], between: Mark) -> Iterator[Piece]:
    """The text in pieces of one mark each."""
    pending, kind, end = "", between, 0
    for found in _WORD.finditer(text):
        for part, its in ((text[end : found.start()], between), (found[0], mark(found[0]))):
            if not part:
                continue
            # Blanks between two marked words are marked, too.
            if its == kind or not part.strip():
                pending += part
                continue
            if pending:
                yield from _trimmed(pending, kind, between)
            pending, kind = part, its
        end = found.end()
    yield from _trimmed(pending, kind, between)
    if end < len(text):
        yield Piece(text[end:], between)


def _trimmed(text: str, mark: Mark, between: Mark) -> Iterator[Piece]:
    """A piece whose mark does not cover white space at its end."""
    bare = text.rstrip() if mark != between else text
    if bare:
        yield Piece(bare, mark)
    if len(bare) < len(text):
        yield Piece(text[len(bare) :], between)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


@lru_cache(100_000)
def _stem(word: str) -> str:
    """A word without common English endings, or a number without separators of thousands."""
    found = word.casefold()
    if found[0].isdigit():
        return found.replace(",", "").replace("’", "").replace("'", "")
    return _ENDING.sub("", found)


@cache
def stop_words() -> frozenset[str]:
    text = files("rag_eval.scorers.mastra").joinpath("stop_words.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))
