"""The seven `overlap` scores in plain Python: the yardstick of the speed bars, each text cut once.

In: samples with all four fields there and not empty.  Out: seven floats, bit for bit those of
``rag_eval.evaluate_batch``: the same quotients, added up in the same order.

``tokens`` cuts as one writes it and is what the bars are measured by; ``tokens_by_bytes`` is the
fastest plain Python known to us, two and a half times faster on text that is not all ASCII, and is
reported beside it. Both are exact for all of ASCII, the typographic marks, and the marks of the
scripts in ``corpora``; neither knows what the kernels know of U+FEFF and of other scripts' marks.

    python -m benchmarks.pure_python_baseline bench_typical.jsonl.gz
"""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

Sample: TypeAlias = Mapping[str, Any]
Cutter: TypeAlias = Callable[[str], list[str]]
Counts: TypeAlias = Mapping[str, int]
Grams: TypeAlias = tuple[set[str], set[tuple[str, str]]]

ORDER: Final = (
    "faithfulness",
    "answer_relevance",
    "context_precision",
    "context_recall",
    "context_relevance",
    "answer_correctness",
    "hallucination_rate",
)

_ASCII_MARKS: Final = "!\"#%&'()*,-./:;?@[\\]_{}"
_OTHER_MARKS: Final = (
    "¡§«¶·»¿‐‑‒–—―‘’‚“”„†‡•…‰′″‹›"  # typographic
    "、。〈〉《》「」『』！（），．：；？・"  # Chinese, Japanese
    "،؛؟٪।॥"  # Arabic, Hindi
)
# str.split() cuts at these and the library does not. After lower-casing no capital is left, so one
# can stand for each.
_NOT_SPACES: Final = {"\x1c": "A", "\x1d": "B", "\x1e": "C", "\x1f": "D", "\x85": "E"}
_SEPARATORS: Final = str.maketrans(dict.fromkeys(_ASCII_MARKS + _OTHER_MARKS, " ") | _NOT_SPACES)
_CAPITALS: Final = bytes(range(ord("A"), ord("Z") + 1))
_BYTE_TABLE: Final = bytes.maketrans(
    _CAPITALS + _ASCII_MARKS.encode() + b"\x1c\x1d\x1e\x1f",
    _CAPITALS.lower() + b" " * len(_ASCII_MARKS) + b"ABCD",
)
_ANY_OTHER_MARK: Final = re.compile(f"[{_OTHER_MARKS}]")

_SPACES: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_BOUNDARY: Final = re.compile(f"(?<=[.!?])[{_SPACES}]+(?=[A-Z])")
_UNSHARED_IDF: Final = 1.4054651081081644  # ln(3/2) + 1: the term is in one of the two texts


def tokens(text: str) -> list[str]:
    """Tokens of a text, as one writes it."""
    return text.lower().translate(_SEPARATORS).split()


def tokens_by_bytes(text: str) -> list[str]:
    """The same: a table of bytes lower-cases ASCII and drops its marks in one pass."""
    if text.isascii():
        return text.encode().translate(_BYTE_TABLE).decode().split()
    plain = text.lower().encode().translate(_BYTE_TABLE).decode()
    return _ANY_OTHER_MARK.sub(" ", plain).replace("\x85", "E").split()


def sentences(text: str) -> list[str]:
    """Sentences of a text."""
    return [piece for part in _BOUNDARY.split(text) if (piece := part.strip(_SPACES))]


def grams(words: list[str]) -> Grams:
    """The distinct tokens and token pairs."""
    return set(words), set(pairwise(words))


def jaccard(n_left: int, n_right: int, n_shared: int) -> float:
    """Shared share of two sets: 1 when both are empty, 0 when just one is."""
    if not n_left or not n_right:
        return 1.0 if n_left == n_right else 0.0
    return n_shared / (n_left + n_right - n_shared)


def overlaps(probe: Grams, chunks: list[Grams]) -> tuple[list[float], list[float]]:
    """Unigram and weighted overlap of a text with each chunk."""
    words, pairs = probe
    n_words, n_pairs = len(words), len(pairs)
    by_words = [jaccard(n_words, len(chunk[0]), len(words & chunk[0])) for chunk in chunks]
    weighted = [
        (overlap * 0.7 + jaccard(n_pairs, len(chunk[1]), len(pairs & chunk[1])) * 0.3) / (0.7 + 0.3)
        for overlap, chunk in zip(by_words, chunks, strict=True)
    ]
    return by_words, weighted


def best_word_overlap(words: set[str], chunks: list[Grams]) -> float:
    """The best unigram overlap of a text with a chunk."""
    n_words = len(words)
    return max(jaccard(n_words, len(chunk), len(words & chunk)) for chunk, _ in chunks)


def tfidf_cosine(left: Counts, n_left: int, right: Counts, n_right: int) -> float:
    """Cosine of two counted texts, the two being the whole corpus."""
    dot = left_squares = right_squares = 0.0
    for word, count in left.items():
        weight = count / n_left
        there = right.get(word)
        if there:
            dot += weight * (there / n_right)
        else:
            weight *= _UNSHARED_IDF
        left_squares += weight * weight
    for word, count in right.items():
        weight = count / n_right
        if word not in left:
            weight *= _UNSHARED_IDF
        right_squares += weight * weight
    if not left_squares or not right_squares:
        return 0.0
    return dot / (math.sqrt(left_squares) * math.sqrt(right_squares))


def token_f1(truth: Counts, n_truth: int, answer: Counts, n_answer: int) -> float:
    """Harmonic mean of token precision and recall, tokens counted with repeats."""
    common = sum(min(count, answer.get(word, 0)) for word, count in truth.items())
    if not common:
        return 0.0
    precision, recall = common / n_answer, common / n_truth
    return 2 * precision * recall / (precision + recall)


def mean(values: Iterable[float], n_values: int) -> float:
    """A plain sum from left to right: ``sum`` adds floats in another way from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total / n_values


def counted_overlap(left: Counts, right: Counts) -> float:
    """Unigram overlap of two counted texts."""
    return jaccard(len(left), len(right), len(left.keys() & right.keys()))


def score(sample: Sample, cut: Cutter = tokens) -> tuple[float, ...]:
    """The seven scores in ``ORDER``."""
    question = cut(sample["question"])
    claims = [cut(sentence) for sentence in sentences(sample["answer"])]
    truths = [cut(sentence) for sentence in sentences(sample["groundTruth"])]
    # The tokens of the sentences, end to end, are those of the text.
    answer, truth = list(chain.from_iterable(claims)), list(chain.from_iterable(truths))
    chunks = [cut(context) for context in sample["contexts"]]
    chunk_grams = [grams(chunk) for chunk in chunks]
    q_counts, a_counts, t_counts = Counter(question), Counter(answer), Counter(truth)
    n_question, n_answer = len(question), len(answer)
    claim_overlaps = [overlaps(grams(claim), chunk_grams) for claim in claims]
    f1 = token_f1(t_counts, len(truth), a_counts, n_answer)
    covered = sum(best_word_overlap(set(words), chunk_grams) >= 0.3 for words in truths)
    return (
        mean((max(weighted) for _, weighted in claim_overlaps), len(claims)),
        (
            tfidf_cosine(q_counts, n_question, a_counts, n_answer)
            + counted_overlap(q_counts, a_counts)
        )
        / 2,
        mean(
            (tfidf_cosine(q_counts, n_question, Counter(chunk), len(chunk)) for chunk in chunks),
            len(chunks),
        ),
        covered / len(truths),
        sum(w >= 0.2 for w in overlaps(grams(question), chunk_grams)[1]) / len(chunks),
        0.7 * f1 + 0.3 * counted_overlap(t_counts, a_counts),
        1 - sum(max(by_words) < 0.15 for by_words, _ in claim_overlaps) / len(claims),
    )


def main(path: str) -> None:
    """Print samples per second of both cutters, and the means."""
    with gzip.open(Path(path), "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for cut in (tokens, tokens_by_bytes):
        seconds = []
        for _ in range(3):
            begin = time.perf_counter()
            table = [score(row, cut) for row in rows]
            seconds.append(time.perf_counter() - begin)
        print(f"{cut.__name__}: {len(rows) / min(seconds):,.0f} samples/s")
    columns = zip(ORDER, zip(*table, strict=True), strict=True)
    print({name: round(mean(column, len(rows)), 6) for name, column in columns})


if __name__ == "__main__":
    main(sys.argv[1])
