"""Texts with sentences and windows in; pieces that do not overlap, cut to what is shown, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rag_eval.views.sentences import Level, SentenceView

# A piece that more windows share names the first of them.
_MOST_KEYS: Final = 20
_LEAST_SHARE: Final = 20
_RANKS: Final[dict[Level, int]] = {"supported": 0, "weak": 1, "unsupported": 2}


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """A stretch of an answer: a sentence, or with ``view`` None what stands between two.

    ``href`` is where its window or its chunk begins; None where neither is on the page.
    """

    text: str
    view: SentenceView | None = None
    key: str = ""
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The best passage for a sentence, which ``key`` names, in code points of a chunk."""

    key: str
    begin: int
    end: int
    level: Level


@dataclass(frozen=True, slots=True)
class ChunkPiece:
    """A stretch of a chunk; in no window where ``level`` is None.

    Attributes
    ----------
    text : str
        Empty for a stretch that is left out.
    level : str or None
        That of the best supported sentence.
    keys : tuple of str
        The sentences whose windows it is in.
    anchor : str or None
        Set where a window begins.
    n_left_out : int
        Characters that are not shown in its place.
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
        The first letter of the keys: of the answer, or of the ground truth.
    targets : dict
        The anchor of each sentence's window, by key.
    """
    pieces = []
    end = 0
    text = text[:limit]
    for number, view in enumerate(views):
        begin, stop = view.span[0], min(view.span[1], limit)
        if not end <= begin < stop <= len(text):
            continue  # beyond the cut, or not a place in this text
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

    At most about ``limit`` characters are shown, those in and around windows first. Windows may
    overlap or nest: pieces do neither.
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
    """The pieces of one stretch, each with the keys of the windows that begin there."""
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
        level = min((w.level for w in active), key=_RANKS.__getitem__, default=None)
        keys = tuple(window.key for window in active[:_MOST_KEYS])
        yield ChunkPiece(text[low:high], level, keys, anchor), starting


def kept_ranges(length: int, spans: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """What is shown of a text: all of a short one, else what is in and around some spans.

    Each span gets its share of ``limit``; one that is longer than its share is cut at its end.
    """
    if length <= limit:
        return [(0, length)] if length else []
    if not spans:
        return [(0, limit)]
    # Each has some characters at least, or a chunk with thousands of windows would show none.
    taken = sorted(set(spans))[: max(limit // _LEAST_SHARE, 1)]
    share = max(limit // len(taken), _LEAST_SHARE)
    shown = []
    for begin, end in taken:
        around = max(share - (end - begin), 0) // 2
        shown.append((max(begin - around, 0), min(min(end, begin + share) + around, length)))
    return joined_spans(shown)


def joined_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch as one."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined
