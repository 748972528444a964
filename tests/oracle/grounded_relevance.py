"""How relevant chunks are to a question in the `grounded` profile, and how well they are ranked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest

from tests.oracle.grounded_claims import best_window, clamped
from tests.oracle.grounded_lists import KINDS
from tests.oracle.grounded_words import Reading

WINDOW, COSINE, ANSWER_TYPE = 0.40, 0.45, 0.15
WINDOW_TOKENS = 20
RELEVANT = 0.30
NOTHING_ASKED_FOR = 0.5

# What kind of answer the words of an English question ask for: the first rule that fits anywhere.
ASKING: tuple[tuple[str, str, frozenset[str] | None], ...] = (
    ("number", "how", KINDS["how_many"]),
    ("number", "what", KINDS["what_number"]),
    ("date", "when", None),
    ("date", "what", KINDS["what_date"]),
    ("date", "which", KINDS["which_date"]),
    ("name", "who whom whose where", None),
    ("name", "what", KINDS["what_name"]),
)
_DIGIT = re.compile("[0-9]")  # normal forms know no other decimal digits
_DATE = re.compile("[0-9][0-9]|^[0-9]th$")


class Query:
    """The question, or the question and a ground truth read as one."""

    def __init__(self, *readings: Reading) -> None:
        self.stems = {stem for reading in readings for stem in reading.stems}
        self.content = [
            stem
            for reading in readings
            for stem, content in zip(reading.stems, reading.is_content, strict=True)
            if content
        ] or [stem for reading in readings for stem in reading.stems]
        self.types = frozenset(self.content)
        norms = [norm for reading in readings for norm in reading.norms]
        self.asks_for = asked_kind(norms) if readings[0].language == "en" else None


def asked_kind(norms: Sequence[str]) -> str | None:
    pairs = list(zip_longest(norms, norms[1:]))
    for kind, asking, asked in ASKING:
        openers = asking.split()
        if any(a in openers and (asked is None or b in asked) for a, b in pairs):
            return kind
    return None


def type_match(query: Query, chunk: Reading) -> float:
    """1 if the chunk has what is asked for, 0 if not."""
    if query.asks_for is None:
        return NOTHING_ASKED_FOR
    if query.asks_for == "name":
        names = zip(chunk.named, chunk.stems, strict=True)
        return float(any(named and stem not in query.stems for named, stem in names))
    return float(any(map(ANSWERS[query.asks_for], chunk.norms)))


def _is_count(norm: str) -> bool:
    return norm in KINDS["count"] or _DIGIT.search(norm) is not None


def _is_date(norm: str) -> bool:
    return norm in KINDS["date"] or _DATE.search(norm) is not None


ANSWERS: dict[str, Callable[[str], bool]] = {"number": _is_count, "date": _is_date}


class _Weights:
    """Inverse document frequencies of these documents, one of which is the query."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        containing = Counter(term for document in documents for term in dict.fromkeys(document))
        n = len(documents)
        self.of = {term: math.log((1 + n) / (1 + df)) + 1 for term, df in containing.items()}

    def length(self, counts: Counter[str]) -> float:
        total = 0.0
        for term, count in counts.items():
            total += (count * self.of[term]) ** 2
        return math.sqrt(total)

    def cosine(self, query: Counter[str], chunk: Counter[str]) -> float:
        """Terms in order of first occurrence, so that every sum has one value."""
        dot = 0.0
        for term, count in query.items():
            if term in chunk:
                dot += count * chunk[term] * self.of[term] ** 2
        return clamped(dot / (self.length(query) * self.length(chunk)))


def relevance(query: Query, chunks: Sequence[Reading]) -> list[float]:
    """A chunk without tokens is irrelevant, and yet a document among the others."""
    documents = [chunk.content_stems() for chunk in chunks]
    weights = _Weights([*documents, query.content])
    asked = Counter(query.content)
    scores: list[float] = []
    for chunk, document in zip(chunks, documents, strict=True):
        if not document:
            scores.append(0.0)
            continue
        window = best_window(query.types, chunk.stems, WINDOW_TOKENS).found / len(query.types)
        cosine = weights.cosine(asked, Counter(document))
        scores.append(
            clamped(
                WINDOW * window
                + COSINE * math.sqrt(cosine)
                + ANSWER_TYPE * type_match(query, chunk)
            )
        )
    return scores


def average_precision(scores: Sequence[float]) -> float:
    """Mean precision at the ranks of the relevant chunks; 0 without any."""
    relevant = 0
    total = 0.0
    for rank, score in enumerate(scores, 1):
        if score >= RELEVANT:
            relevant += 1
            total += relevant / rank
    return total / relevant if relevant else 0.0
