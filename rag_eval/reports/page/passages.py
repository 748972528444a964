"""Splits texts into pieces at sentences and matching passages, cut to what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rag_eval.views.sentences import LEVELS, Level, SentenceView

# A piece that is in more windows names only the first ones.
_MOST_KEYS: Final = 20
_LEAST_SHARE: Final = 20


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """Part of an answer: a sentence, or with ``view`` None the text between two.

    ``href`` leads to its window or its chunk; None if neither is on the page.
    """

    text: str
    view: SentenceView | None = None
    key: str = ""
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The best match for the sentence named ``key``, in code points of a chunk."""

    key: str
    begin: int
    end: int
    level: Level


@dataclass(frozen=True, slots=True)
class ChunkPiece:
    """Part of a chunk; outside of all windows if ``level`` is None.

    Attributes
    ----------
    text : str
        Empty for a part that is not shown.
    level : str or None
        The level of the best supported sentence.
    keys : tuple of str
        The sentences whose windows contain it.
    anchor : str or None
        Set if a window begins here.
    n_left_out : int
        The number of characters that are not shown.
    """

    text: str
    level: Level | None = None
    keys: tuple[str, ...] = ()
    anchor: str | None = None
    n_left_out: int = 0


def sentence_pieces(
    text: str, views: Sequence[SentenceView], limit: int, side: str, targets: dict[str, str]
) -> list[SentencePiece]:
    """The first ``limit`` characters of a text, sentence by sentence.

    Parameters
    ----------
    side : {"a", "t"}
        The first letter of the keys: ``a`` for the answer, ``t`` for the ground truth.
    targets : dict
        The anchor of each sentence's window, by key.
    """
    pieces = []
    end = 0
    text = text[:limit]
    for number, view in enumerate(views):
        begin, stop = view.span[0], min(view.span[1], limit)
        if not end <= begin < stop <= len(text):
            continue  # beyond the cut, or not a span of this text
        if begin > end:
            pieces.append(SentencePiece(text[end:begin]))
        key = f"{side}{number}"
        pieces.append(SentencePiece(text[begin:stop], view, key, targets.get(key)))
        end = stop
    if end < len(text):
        pieces.append(SentencePiece(text[end:]))
    return pieces


def windows_by_chunk(views: Sequence[SentenceView], side: str) -> dict[int, list[Window]]:
    """The windows of some sentences, per chunk."""
    found: dict[int, list[Window]] = {}
    for number, view in enumerate(views):
        if view.chunk is not None and view.window is not None:
            window = Window(f"{side}{number}", *view.window, view.level)
            found.setdefault(view.chunk, []).append(window)
    return found


def chunk_pieces(
    text: str, windows: Sequence[Window], limit: int, prefix: str
) -> tuple[list[ChunkPiece], dict[str, str]]:
    """A chunk split wherever a window begins or ends, and the anchor of each window.

    About ``limit`` characters are shown, in and around windows first. Windows may overlap or nest;
    pieces do not.
    """
    inside = [w for w in windows if 0 <= w.begin < w.end <= len(text)]
    kept = kept_ranges(len(text), [(w.begin, w.end) for w in inside], limit)
    pieces: list[ChunkPiece] = []
    anchors: dict[str, str] = {}
    end = 0
    for begin, stop in kept:
        if begin > end:
            pieces.append(ChunkPiece("", n_left_out=begin - end))
        for piece, starting in _split(text, begin, stop, inside, prefix):
            pieces.append(piece)
            for key in starting:
                anchors.setdefault(key, piece.anchor or prefix)
        end = stop
    if end < len(text):
        pieces.append(ChunkPiece("", n_left_out=len(text) - end))
    return pieces, anchors


def _split(
    text: str, begin: int, stop: int, windows: Sequence[Window], prefix: str
) -> Iterator[tuple[ChunkPiece, list[str]]]:
    """The pieces of one part, each with the keys of the windows that begin there."""
    touching = sorted(
        (w for w in windows if w.begin < stop and w.end > begin), key=lambda w: (w.begin, w.end)
    )
    bounds = {begin, stop}
    for window in touching:
        bounds |= {max(window.begin, begin), min(window.end, stop)}
    ordered = sorted(bounds)
    active: list[Window] = []
    following = 0
    for low, high in pairwise(ordered):
        active = [window for window in active if window.end > low]
        starting = []
        while following < len(touching) and max(touching[following].begin, begin) <= low:
            active.append(touching[following])
            starting.append(touching[following].key)
            following += 1
        anchor = f"{prefix}-{low}" if starting else None
        level = min((w.level for w in active), key=LEVELS.__getitem__, default=None)
        keys = tuple(window.key for window in active[:_MOST_KEYS])
        yield ChunkPiece(text[low:high], level, keys, anchor), starting


def kept_ranges(length: int, spans: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """The parts of a text to show: all of a short text, else those in and around the spans.

    Each span gets an equal share of ``limit`` and is cut at its end if it is longer.
    """
    if length <= limit:
        return [(0, length)] if length else []
    if not spans:
        return [(0, limit)]
    # A minimum per span, or a chunk with thousands of windows would show none of them.
    taken = sorted(set(spans))[: max(limit // _LEAST_SHARE, 1)]
    share = max(limit // len(taken), _LEAST_SHARE)
    shown = []
    for begin, end in taken:
        around = max(share - (end - begin), 0) // 2
        shown.append((max(begin - around, 0), min(min(end, begin + share) + around, length)))
    return joined_spans(shown)


def joined_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, with touching ones joined."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined
