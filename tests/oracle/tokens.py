"""What a token and an n-gram of the `overlap` profile are."""

from __future__ import annotations

from functools import lru_cache

from tests.oracle.unicode17 import is_separator, lower


def tokenize(text: str) -> list[str]:
    """Lower-case the whole text first (final sigma looks past separators), then cut it."""
    return list(_tokens(text))


@lru_cache(maxsize=256)  # the metrics ask for the same texts pair after pair
def _tokens(text: str) -> tuple[str, ...]:
    tokens: list[str] = []
    token = ""
    for ch in lower(text):
        if not is_separator(ch):
            token += ch
        elif token:
            tokens.append(token)
            token = ""
    if token:
        tokens.append(token)
    return tuple(tokens)


def get_ngrams(tokens: list[str], n: float | None = None) -> list[str]:
    """Windows of ``n`` tokens joined by a space; no ``n`` gives none.

    No ``n`` is rejected: a window is JavaScript's ``slice(begin, begin + n)``, which cuts
    fractions off and counts a negative end from the back, as a Python slice does.
    """
    ngrams: list[str] = []
    if n is None or len(tokens) < n:
        return ngrams
    begin = 0
    while begin <= len(tokens) - n:
        ngrams.append(" ".join(tokens[begin : int(begin + n)]))
        begin += 1
    return ngrams
