"""A chunk and the passages that matter in it, in; a text on one line that marks them, out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.text import Text

from rag_eval.reports.plain_text import plain_text

# What is shown on either side of a passage of a chunk that is cut.
_MARGIN: Final = 150
_GAP: Final = " … "


class Passage(NamedTuple):
    """A part of a chunk, in code points, half-open, and how it looks."""

    begin: int
    end: int
    style: str


def passage_text(
    chunk: str, passages: Sequence[Passage], *, marks: tuple[str, str], limit: int | None
) -> Text:
    """The chunk with its passages marked; of one over ``limit`` only what is around them.

    Passages that overlap are marked as one, in the style of the first of them.
    """
    apart = _merged(passages, len(chunk))
    shown = Text()
    reached = 0
    for begin, end, style in apart:
        _add_between(shown, chunk[reached:begin], limit, is_first=reached == 0, is_last=False)
        _join(shown, chunk[max(0, begin - 1) : begin])
        passage = plain_text(chunk[begin:end], limit)
        shown.append(marks[0]).append(passage, style).append(marks[1])
        reached = end
        _join(shown, chunk[end : end + 1])
    _add_between(shown, chunk[reached:], limit, is_first=not apart, is_last=True)
    return shown


def _merged(passages: Sequence[Passage], n: int) -> list[Passage]:
    merged: list[Passage] = []
    for begin, end, style in sorted(passages):
        begin, end = max(0, begin), min(n, end)
        if begin >= end:
            continue
        if merged and begin < merged[-1].end:
            last = merged[-1]
            merged[-1] = Passage(last.begin, max(last.end, end), last.style)
        else:
            merged.append(Passage(begin, end, style))
    return merged


def _add_between(
    shown: Text, text: str, limit: int | None, *, is_first: bool, is_last: bool
) -> None:
    """What stands before, between or after passages; its middle or far end may be left out."""
    if limit is None or (is_first and is_last):
        shown.append(plain_text(text, limit))
        return
    if len(text) <= 2 * _MARGIN:
        shown.append(plain_text(text))
        return
    if not is_first:
        shown.append(plain_text(text[:_MARGIN])).append("…" if is_last else _GAP)
    if not is_last:
        shown.append("…" if is_first else "").append(plain_text(text[-_MARGIN:]))


def _join(shown: Text, character: str) -> None:
    """A space where the white space between two parts was lost with the ends of their lines."""
    if character.isspace() and shown.plain and not shown.plain.endswith(" "):
        shown.append(" ")
