"""How far chunks carry a claim, sentence by sentence, in the `grounded` profile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.oracle.grounded_characters import category
from tests.oracle.grounded_lists import MULTIPLIERS
from tests.oracle.grounded_markup import Span
from tests.oracle.grounded_text import CLOSING, Sentence
from tests.oracle.grounded_words import Reading

SMALLEST_WINDOW = 30
TOKENS_FOR_ONE = 3  # a window's tokens for one of the sentence's
NEAR = 20  # tokens between two names, or as many as lie between them in the sentence
FREQUENT = 60  # two names that both occur more often are near each other somewhere
COUNTED_BY = 3  # tokens before a word among which a number counts it
MOST_COUNTS = 4  # numbers looked at of those that count a word

Pair = tuple[str, str]


class Losses(NamedTuple):
    """What a claim lacks: shares from 0 to 1, and two flags."""

    window: float
    bigram: float
    skip: float
    number: float
    name: float
    near: float
    contradiction: int
    new_name: int

    def score(self, weights: Sequence[float]) -> float:
        """The order of the additions is part of the definition."""
        loss = 0.0
        for weight, part in zip(weights, self, strict=True):
            loss += weight * part
        return clamped(1 - loss)


WEIGHTS = (0.40, 0.20, 0.20, 0.08, 0.06, 0.06, 0.12, 0.06)


class Evidence(NamedTuple):
    """What was found for one sentence; spans are offsets in the strings as given."""

    span: Span
    score: float
    chunk: int | None
    window: Span | None
    covered: float
    missing_numbers: list[str]
    contradiction: Pair | None
    missing_names: list[str]
    far_names: list[Pair]
    no_claim: bool
    losses: Losses


class Counted(NamedTuple):
    """How many there are, and how many of them are wrong."""

    n: int
    wrong: int

    def share(self) -> float:
        return 1 - self.wrong / self.n if self.n else 1.0


class Support(NamedTuple):
    score: float
    losses: Losses
    sentences: list[Evidence]
    numbers: Counted
    names: Counted


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
        self.skips = {pair for chunk in chunks for pair in _skip_pairs(chunk)}
        self.values = {value for chunk in chunks for value in chunk.numbers.all}
        self.places: dict[str, list[tuple[int, int]]] = {}
        for number, chunk in enumerate(chunks):
            for at, stem in enumerate(chunk.stems):
                self.places.setdefault(stem, []).append((number, at))

    def near(self, left: str, right: str, distance: int) -> bool:
        ours, theirs = self.places[left], self.places[right]
        if min(len(ours), len(theirs)) > FREQUENT:
            return True
        return any(
            chunk == other and abs(at - there) <= distance
            for chunk, at in ours
            for other, there in theirs
        )


def _skip_pairs(chunk: Reading) -> Iterator[Pair]:
    """Content stems with at most one other between them."""
    content = chunk.meaning(0, len(chunk.stems))
    yield from pairwise(content)
    yield from zip(content, content[2:], strict=False)


class _Known:
    """What numbers and names are looked up in: the chunks and the question."""

    def __init__(self, claim: Reading, chunks: Chunks, question: Reading | None) -> None:
        self.words = chunks.words.union(question.words if question else ())
        self.stems = chunks.stems.union(question.stems if question else ())
        self.values = chunks.values.union(question.numbers.all if question else ())
        self.read_otherwise = {
            place
            for first, last, value in claim.numbers.readings
            if value in self.values
            for place in range(first, last + 1)
        }

    def has_number(self, claim: Reading, place: int) -> bool:
        if claim.words[place] in self.words or place in self.read_otherwise:
            return True
        return not self.values.isdisjoint(claim.numbers.values.get(place, ()))


class _Found(NamedTuple):
    """What is summed over sentences, and what of the chunks carries this one."""

    weight: int
    window: float
    bigram: float
    skip: float
    numbers: Counted
    names: Counted
    pairs: Counted
    missing_numbers: list[str]
    contradiction: Pair | None
    missing_names: list[str]
    far_names: list[Pair]
    chunk: int | None
    place: Span | None

    def losses(self) -> Losses:
        return Losses(
            1 - self.window,
            1 - self.bigram,
            1 - self.skip,
            1 - self.numbers.share(),
            1 - self.names.share(),
            1 - self.pairs.share(),
            int(self.contradiction is not None),
            int(self.names.wrong > 0),
        )


def support(
    claim: Reading,
    chunks: Chunks,
    question: Reading | None,
    weights: Sequence[float] = WEIGHTS,
) -> Support:
    """Claim and chunks have tokens; words of the question count as known.

    The weights are those of the claim's own score; its sentences have the shipped ones.
    """
    known = _Known(claim, chunks, question)
    found = [_find(claim, sentence, chunks, known) for sentence in claim.text.sentences]
    evidence = [_evidence(claim, *one) for one in zip(claim.text.sentences, found, strict=True)]
    numbers, names, pairs = (
        Counted(sum(one.n for one in kind), sum(one.wrong for one in kind))
        for kind in zip(*((one.numbers, one.names, one.pairs) for one in found), strict=True)
    )
    losses = Losses(
        1 - _mean(found, lambda one: one.window),
        1 - _mean(found, lambda one: one.bigram),
        1 - _mean(found, lambda one: one.skip),
        1 - numbers.share(),
        1 - names.share(),
        1 - pairs.share(),
        int(any(one.contradiction for one in found)),
        int(names.wrong > 0),
    )
    return Support(losses.score(weights), losses, evidence, numbers, names)


def _mean(found: Sequence[_Found], part: Callable[[_Found], float]) -> float:
    """By content, sentence by sentence; the order of the operations is part of the definition."""
    total = 0.0
    for one in found:
        total += one.weight * part(one)
    return total / sum(one.weight for one in found)


def clamped(score: float) -> float:
    return min(max(score, 0.0), 1.0)


def _evidence(claim: Reading, sentence: Sentence, found: _Found) -> Evidence:
    losses = found.losses()
    return Evidence(
        span=claim.text.original(sentence.begin, sentence.end),
        score=losses.score(WEIGHTS),
        chunk=found.chunk,
        window=found.place,
        covered=found.window,
        missing_numbers=found.missing_numbers,
        contradiction=found.contradiction,
        missing_names=found.missing_names,
        far_names=found.far_names,
        no_claim=sentence.is_label or _leads_in(claim.text.text[sentence.begin : sentence.end]),
        losses=losses,
    )


def _leads_in(sentence: str) -> bool:
    """ "There are three of them:", whatever quotes and brackets close behind the colon."""
    return sentence.rstrip("".join(CLOSING) + "\u00a0 ").endswith((":", "："))


def _find(claim: Reading, sentence: Sentence, chunks: Chunks, known: _Known) -> _Found:
    first, last = sentence.first, sentence.last
    content = claim.content_stems(first, last)
    types = frozenset(content)
    width = max(SMALLEST_WINDOW, TOKENS_FOR_ONE * (last - first))
    chunk, window = _best_chunk(types, chunks.chunks, width)
    covered = window.found / len(types)
    numbers = [i for i in range(first, last) if is_number_at(claim, i)]
    missing = [i for i in numbers if not known.has_number(claim, i)]
    names = [i for i in range(first, last) if claim.named[i] and claim.text.capitals[i] == CHECKED]
    new_names = [i for i in names if claim.stems[i] not in known.stems]
    pairs, far = _name_pairs(claim, names, chunks)
    opposed = None
    if chunk is not None:
        opposed = _contradiction(claim, sentence, missing, chunks.chunks[chunk], window)
    return _Found(
        weight=len(content),
        window=covered,
        bigram=_bigram_share(claim.stems[first:last], chunks),
        skip=_skip_share(claim.meaning(first, last), chunks, covered),
        numbers=Counted(len(numbers), len(missing)),
        names=Counted(len(names), len(new_names)),
        pairs=Counted(pairs, len(far)),
        missing_numbers=list(dict.fromkeys(claim.words[i] for i in missing)),
        contradiction=opposed,
        missing_names=list(dict.fromkeys(claim.words[i] for i in new_names)),
        far_names=far,
        chunk=chunk,
        place=None if chunk is None else _place(chunks.chunks[chunk], window),
    )


CHECKED = 2  # capitalised for another reason than that a sentence begins


def is_number(word: str) -> bool:
    return category(word[0])[0] == "N"


def is_number_at(claim: Reading, place: int) -> bool:
    """Ordinals in words are numbers too."""
    return place in claim.numbers.values or is_number(claim.words[place])


def _name_pairs(claim: Reading, names: list[int], chunks: Chunks) -> tuple[int, list[Pair]]:
    """How many pairs of neighbours the known names make, and those far from each other."""
    known: dict[str, int] = {}
    for place in names:
        if claim.stems[place] in chunks.stems:
            known.setdefault(claim.stems[place], place)
    pairs = list(pairwise(known.values()))
    far = [
        (claim.words[left], claim.words[right])
        for left, right in pairs
        if not chunks.near(claim.stems[left], claim.stems[right], max(NEAR, right - left))
    ]
    return len(pairs), far


def _contradiction(
    claim: Reading, sentence: Sentence, missing: list[int], chunk: Reading, window: Window
) -> Pair | None:
    """The first missing number in whose place the chunk has another, near the window."""
    length = sentence.last - sentence.first
    around = range(window.first - length, window.last + length + 1)
    stated = {
        value
        for place in range(sentence.first, sentence.last)
        for value in claim.numbers.values.get(place, ())
    }
    for place in missing:
        if place not in claim.numbers.values:
            continue
        ordinal = place in claim.numbers.ordinals
        opposed = [
            at
            for counted in _counted_words(claim, place, sentence.last)
            for at in _first_against(chunk, counted, ordinal, around, stated)
        ]
        if opposed:
            return claim.words[place], chunk.words[min(opposed)]
    return None


def _counted_words(claim: Reading, number: int, end: int) -> list[str]:
    """Stems of the content words among the two after a number."""
    return [
        claim.stems[at]
        for at in range(number + 1, min(number + 3, end))
        if claim.is_content[at]
        and not is_number_at(claim, at)
        and claim.words[at] not in MULTIPLIERS
    ]


def _first_against(
    chunk: Reading, stem: str, ordinal: bool, around: range, stated: set[float]
) -> list[int]:
    """The first number of a kind there that counts a stem and that the sentence does not state."""
    counts = [
        number
        for at, other in enumerate(chunk.stems)
        if other == stem
        for number in _number_before(chunk, at)
        if (number in chunk.numbers.ordinals) == ordinal and number >= around.start
    ]
    return [
        number
        for number in counts[:MOST_COUNTS]
        if number in around and stated.isdisjoint(chunk.numbers.values[number])
    ][:1]


def _number_before(chunk: Reading, at: int) -> list[int]:
    """The number that counts a word: the nearest of those just before it."""
    before = range(at - 1, at - 1 - COUNTED_BY, -1)
    return [number for number in before if number in chunk.numbers.values][:1]


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


def _skip_share(meaning: Sequence[str], chunks: Chunks, covered: float) -> float:
    """Of the distinct pairs of neighbouring content stems; without one, as the window."""
    pairs = set(pairwise(meaning))
    return len(pairs & chunks.skips) / len(pairs) if pairs else covered


def _place(chunk: Reading, window: Window) -> Span:
    tokens = chunk.text.tokens
    return chunk.text.original(tokens[window.first].begin, tokens[window.last].end)
