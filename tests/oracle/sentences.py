"""What a sentence of the `overlap` profile is."""

from __future__ import annotations

from tests.oracle.unicode17 import is_space

MARKS = ".!?"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Code point offsets ``(begin, end)`` of the trimmed, non-empty pieces.

    A cut is a whitespace run right after one of `MARKS` and right before one of `CAPITALS`.
    """
    spans: list[tuple[int, int]] = []
    begin = 0
    i = 0
    while i < len(text):
        run_end = _skip_spaces(text, i)
        if i < run_end < len(text) and i > 0 and text[i - 1] in MARKS and text[run_end] in CAPITALS:
            _add_trimmed(spans, text, begin, i)
            begin = run_end
        i = max(run_end, i + 1)
    _add_trimmed(spans, text, begin, len(text))
    return spans


def split_sentences(text: str) -> list[str]:
    return [text[begin:end] for begin, end in sentence_spans(text)]


def filter_factual_sentences(sentences: list[str]) -> list[str]:
    """Those with at least three whitespace-separated chunks (chunks, not tokens)."""
    return [sentence for sentence in sentences if _chunk_count(sentence) >= 3]


def _skip_spaces(text: str, i: int) -> int:
    while i < len(text) and is_space(text[i]):
        i += 1
    return i


def _add_trimmed(spans: list[tuple[int, int]], text: str, begin: int, end: int) -> None:
    while begin < end and is_space(text[begin]):
        begin += 1
    while begin < end and is_space(text[end - 1]):
        end -= 1
    if begin < end:
        spans.append((begin, end))


def _chunk_count(text: str) -> int:
    count = 0
    inside = False
    for ch in text:
        if is_space(ch):
            inside = False
        elif not inside:
            inside = True
            count += 1
    return count
