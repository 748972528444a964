"""Texts -> how many words they have, between the spaces of JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rag_eval.scorers.javascript_strings import SPACE

_WORD: Final = re.compile(f"[^{SPACE}]+")
# Where Python and JavaScript differ on what a space is.
_DISPUTED: Final = "\x1c\x1d\x1e\x1f\x85\ufeff"
# 1 for each ASCII character that is no space.
_IN_WORD: Final = bytes(chr(code) not in "\t\n\v\f\r " for code in range(256))
_PIECE: Final = 1 << 19


def word_count(text: str) -> int:
    """Runs of characters that are no spaces."""
    for letter in _DISPUTED:
        if letter in text:
            return sum(1 for _ in _WORD.finditer(text))
    return len(text.split())


def word_counts(texts: Sequence[str]) -> list[int]:
    """The same for many texts, in about a quarter of the time for those that are ASCII."""
    counts: list[int] = []
    for piece in _pieces(texts):
        joined = " ".join(piece) + " "
        counts += _ascii_counts(joined, piece) if joined.isascii() else map(word_count, piece)
    return counts


def _pieces(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in pieces that stay in the processor's cache; a longer text is one by itself."""
    begin = size = 0
    for end, text in enumerate(texts):
        if size and size + len(text) > _PIECE:
            yield texts[begin:end]
            begin, size = end, 0
        size += len(text) + 1
    if begin < len(texts):
        yield texts[begin:]


def _ascii_counts(joined: str, texts: Sequence[str]) -> Iterable[int]:
    """Words that begin in each text, of texts joined with a space after each."""
    import numpy as np

    in_word = np.frombuffer(joined.encode().translate(_IN_WORD), dtype=np.bool_)
    begins = in_word.copy()
    np.greater(in_word[1:], in_word[:-1], out=begins[1:])
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 1
    counts: Iterable[int] = np.add.reduceat(begins, np.cumsum(sizes) - sizes, dtype=np.int64)
    return map(int, counts)
