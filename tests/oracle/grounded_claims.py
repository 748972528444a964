"""How far chunks carry a claim, sentence by sentence, in the `grounded` profile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.oracle.grounded_characters import category
from tests.oracle.grounded_markup import Span
from tests.oracle.grounded_text import Sentence
from tests.oracle.grounded_words import Reading

WINDOW, BIGRAMS, NUMBERS, NAMES = 0.40, 0.35, 0.10, 0.15
SMALLEST_WINDOW = 30
TOKENS_FOR_ONE = 3  # a window's tokens for one of the sentence's


class Evidence(NamedTuple):
    """What was found for one sentence; spans are offsets in the strings as given."""

    span: Span
    score: float
    chunk: int | None
    window: Span | None
    covered: float
    missing_numbers: list[str]
    missing_names: list[str]


class Support(NamedTuple):
    score: float
    sentences: list[Evidence]


class Window(NamedTuple):
    """How many types tokens ``first`` to ``last``, both included, hold."""

    found: int
    first: int
    last: int


NO_WINDOW = Window(0, 0, -1)


class Chunks:
    """The chunks, and what is in any of them."""

    def __init__(self, chunks: Sequence[Reading]) -> None:
        self.chunks = chunks
        self.words = {word for chunk in chunks for word in chunk.words}
        self.stems = {stem for chunk in chunks for stem in chunk.stems}
        self.bigrams = {pair for chunk in chunks for pair in pairwise(chunk.stems)}


class _Known(NamedTuple):
    """What numbers and names are looked up in: the chunks and the question."""

    words: Container[str]
    stems: Container[str]


class _Found(NamedTuple):
    """What is summed over sentences, and what of the chunks carries this one."""

    weight: int
    window: float
    bigram: float
    numbers: int
    names: int
    missing_numbers: list[str]
    missing_names: list[str]  # one for each time it occurs
    chunk: int | None
    place: Span | None

    def score(self) -> float:
        return _weighted(
            self.window,
            self.bigram,
            _share_found(self.numbers, len(self.missing_numbers)),
            _share_found(self.names, len(self.missing_names)),
        )


def support(claim: Reading, chunks: Chunks, question: Reading | None) -> Support:
    """Claim and chunks have tokens; words of the question count as known."""
    known = _Known(chunks.words, chunks.stems)
    if question is not None:
        known = _Known(chunks.words | {*question.words}, chunks.stems | {*question.stems})
    evidence: list[Evidence] = []
    weight = window = bigram = 0.0
    numbers = names = missing_numbers = missing_names = 0
    for sentence in claim.text.sentences:
        found = _find(claim, sentence, chunks, known)
        evidence.append(_evidence(claim, sentence, found))
        weight += found.weight
        window += found.weight * found.window
        bigram += found.weight * found.bigram
        numbers += found.numbers
        missing_numbers += len(found.missing_numbers)
        names += found.names
        missing_names += len(found.missing_names)
    number, name = _share_found(numbers, missing_numbers), _share_found(names, missing_names)
    return Support(_weighted(window, bigram, number, name, weight), evidence)


def _weighted(
    window: float, bigram: float, number: float, name: float, weight: float = 1.0
) -> float:
    """Of sums over that weight; the order of the operations is part of the definition."""
    score = WINDOW * window / weight + BIGRAMS * bigram / weight + NUMBERS * number + NAMES * name
    return clamped(score)


def clamped(score: float) -> float:
    return min(max(score, 0.0), 1.0)


def _share_found(count: int, missing: int) -> float:
    return 1 - missing / count if count else 1.0


def _evidence(claim: Reading, sentence: Sentence, found: _Found) -> Evidence:
    return Evidence(
        span=claim.text.original(sentence.begin, sentence.end),
        score=found.score(),
        chunk=found.chunk,
        window=found.place,
        covered=found.window,
        missing_numbers=found.missing_numbers,
        missing_names=list(dict.fromkeys(found.missing_names)),
    )


def _find(claim: Reading, sentence: Sentence, chunks: Chunks, known: _Known) -> _Found:
    first, last = sentence.first, sentence.last
    content = claim.content_stems(first, last)
    types = frozenset(content)
    width = max(SMALLEST_WINDOW, TOKENS_FOR_ONE * (last - first))
    chunk, window = _best_chunk(types, chunks.chunks, width)
    numbers = list(dict.fromkeys(word for word in claim.words[first:last] if is_number(word)))
    names = [i for i in range(first, last) if claim.named[i] and claim.text.capitals[i] == CHECKED]
    return _Found(
        weight=len(content),
        window=window.found / len(types),
        bigram=_bigram_share(claim.stems[first:last], chunks),
        numbers=len(numbers),
        names=len(names),
        missing_numbers=[number for number in numbers if number not in known.words],
        missing_names=[claim.words[i] for i in names if claim.stems[i] not in known.stems],
        chunk=chunk,
        place=None if chunk is None else _place(chunks.chunks[chunk], window),
    )


CHECKED = 2  # capitalised for another reason than that a sentence begins


def is_number(word: str) -> bool:
    return category(word[0])[0] == "N"


def _best_chunk(
    types: frozenset[str], chunks: Sequence[Reading], width: int
) -> tuple[int | None, Window]:
    """The first chunk among equals; none when no chunk has anything."""
    best_chunk, best = None, NO_WINDOW
    for i, chunk in enumerate(chunks):
        window = best_window(types, chunk.stems, width)
        if window.found > best.found:
            best_chunk, best = i, window
    return best_chunk, best


def best_window(types: frozenset[str], stems: Sequence[str], width: int) -> Window:
    """The run of at most ``width`` stems with most types: the first to end, then the shortest."""
    best = NO_WINDOW
    latest: OrderedDict[str, int] = OrderedDict()  # where each type last was, oldest first
    for at, stem in enumerate(stems):
        if stem not in types:
            continue
        latest[stem] = at
        latest.move_to_end(stem)
        while (first := next(iter(latest.values()))) <= at - width:
            latest.popitem(last=False)
        if len(latest) > best.found:
            best = Window(len(latest), first, at)
    return best


def _bigram_share(stems: Sequence[str], chunks: Chunks) -> float:
    """Of the distinct pairs of neighbours; a stem alone stands for itself."""
    if len(stems) == 1:
        return 1.0 if stems[0] in chunks.stems else 0.0
    pairs = set(pairwise(stems))
    return len(pairs & chunks.bigrams) / len(pairs)


def _place(chunk: Reading, window: Window) -> Span:
    tokens = chunk.text.tokens
    return chunk.text.original(tokens[window.first].begin, tokens[window.last].end)
