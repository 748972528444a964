"""The rows of the page: as data for its script, and the first ones as HTML for readers without."""

from __future__ import annotations

import math
import re
import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from rag_eval.metrics.ids import COMPOSITE
from rag_eval.reports.figures import score_text, shown_name
from rag_eval.reports.page.nearest import stop_words
from rag_eval.reports.page.packing import packed, packed_in_order
from rag_eval.reports.page.row_data import AnyScore, encoded, number, row_data, scores_of
from rag_eval.reports.page.row_detail import LONG, SHORT, Limits, RowTexts, detail_parts
from rag_eval.reports.page.templating import rendered
from rag_eval.samples import MetricId
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.sentences import RowSentences, sentences_of_rows
from rag_eval.views.texts import null_text

if TYPE_CHECKING:
    from markupsafe import Markup

RowStatus: TypeAlias = Literal["passed", "failed", "unmeasured"]
OldScores: TypeAlias = Mapping[str, Mapping[str, float]]
"""By row id and metric, ``composite`` among them."""

BUDGET: Final = 24_000_000
"""Bytes of all rows, packed."""

# The first rows are readable without scripts: these many, or as many as these bytes of HTML hold.
# They take the longest to make, and repeat what the page has as data.
_FIRST_PAGE: Final = 100
_FIRST_BYTES: Final = 1_000_000
# Opening a row unpacks its block.
_BLOCK_ROWS: Final = 50
_BLOCK_BYTES: Final = 1_500_000
_LARGE_DETAIL: Final = 1_000_000
# Characters of a text, and of all rows, in which the page searches. Lines show 160 of them, or of
# the first 640 if there are many blanks.
_SEARCHED: Final = 2_000
_SEARCHED_OF_ALL: Final = 10_000_000
_LEAST_SEARCHED: Final = 641
_ID_LIMIT: Final = 200
_RANKS: Final[dict[RowStatus, int]] = {"failed": 0, "unmeasured": 1, "passed": 2}
_DIGITS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class RowList:
    """The rows of the page.

    Attributes
    ----------
    rows : tuple of ViewedRow
        In page order.
    bodies : list of Markup
        One table body for each of the first rows, with its details.
    keys : str
        Packed JSON: what the script sorts, filters and searches by, and writes lines of.
    index : str
        Packed JSON: where blocks begin, and the commands that show rows without details.
    blocks : list of str
        Packed details of rows.
    n_closed : int
        Rows without details, to keep the page small.
    has_changes : bool
        Whether rows have scores in the baseline.
    """

    rows: tuple[ViewedRow, ...]
    bodies: Sequence[Markup]
    keys: Markup
    index: Markup
    blocks: Sequence[Markup]
    n_closed: int
    has_changes: bool


class _Row(NamedTuple):
    """A row in its place."""

    viewed: ViewedRow
    scores: Mapping[str, AnyScore]
    texts: RowTexts
    status: RowStatus
    change: float | None


def row_list(
    rows: Sequence[ViewedRow],
    metrics: Sequence[MetricId],
    *,
    old: OldScores | None = None,
    moved_first: bool = False,
    budget: int = BUDGET,
) -> RowList:
    """All rows, and details of as many as fit, starting with the worst.

    Parameters
    ----------
    rows : sequence of ViewedRow
    metrics : sequence of MetricId
        The columns.
    old : mapping, optional
        The scores of the baseline.
    moved_first : bool
        Start with the rows whose composite score fell most, then those where it rose.
    budget : int
        Bytes of all rows, packed.
    """
    olds = old or {}
    every = [_row(row, olds) for row in rows]
    every.sort(key=lambda row: (_movement(row.change) if moved_first else (), _rank(row)))
    n_known = max(_LEAST_SEARCHED, min(_SEARCHED, _SEARCHED_OF_ALL // max(len(rows), 1)))
    found = encoded(_keys(every, metrics, n_known, has_changes=bool(olds)))
    reserved = min(_FIRST_BYTES, budget // 8)
    details = _Details(olds, n_known, budget - reserved)
    with closing(packed_in_order(chain([(_KEYS, found)], details.blocks_of(every)))) as parts:
        _, keys = next(parts)
        details.n_left -= len(keys)
        bodies, waiting = _Bodies(metrics, olds, reserved), deque[_Opened]()
        for first in details.add(parts):
            waiting += first
            if waiting:
                bodies.add(waiting.popleft())  # packing goes on meanwhile
        for opened in waiting:
            bodies.add(opened)
    places = sorted({*range(len(every))} - set(details.places))
    closed = {place: show_command(every[place].viewed) for place in places}
    return RowList(
        rows=tuple(row.viewed for row in every),
        bodies=bodies.made,
        keys=keys,
        index=packed(encoded({"blocks": details.starts, "closed": closed})),
        blocks=details.blocks,
        n_closed=len(closed),
        has_changes=bool(olds),
    )


def _row(row: ViewedRow, old: OldScores) -> _Row:
    found = scores_of(row.result)
    scores = {one.metric_id: one for one in found}
    return _Row(row, scores, RowTexts.of(row.result), _status(row, found), _change(row, old))


_Opened: TypeAlias = tuple[_Row, RowSentences, Limits]
_Block: TypeAlias = tuple[int, list[_Opened]]
"""The place of the first row, and rows to open by one piece of data."""

_KEYS: Final[_Block] = -1, []


@dataclass(slots=True)
class _Details:
    """Packs details in blocks, as many as find room.

    Attributes
    ----------
    n_left : int
        Bytes.
    starts : list of int
        The place of the first row of each block.
    """

    old: OldScores
    n_known: int
    n_left: int
    blocks: list[Markup] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def blocks_of(self, rows: Sequence[_Row]) -> Iterator[tuple[_Block, bytes]]:
        """All rows in blocks small enough to be unpacked at once, with their data."""
        for begin in range(0, len(rows), _BLOCK_ROWS):
            some = rows[begin : begin + _BLOCK_ROWS]
            views = sentences_of_rows(
                (row.viewed.result, row.texts.answer, row.texts.truth, row.texts.contexts)
                for row in some
            )
            block: list[_Opened] = []
            parts: list[bytes] = []
            for row, found in zip(some, views, strict=True):
                opened, data = self._opened(row, found)
                block.append(opened)
                parts.append(data)
                if sum(map(len, parts)) > _BLOCK_BYTES:
                    yield (begin, block), _joined(parts)
                    begin, block, parts = begin + len(block), [], []
            if block:
                yield (begin, block), _joined(parts)

    def add(self, blocks: Iterable[tuple[_Block, Markup]]) -> Iterator[list[_Opened]]:
        """Take packed blocks; for each, those of its rows that belong to the first page.

        None belongs there from a block on that found no room.
        """
        n_first = 0
        for (begin, rows), block in blocks:
            if self.n_left <= 0 and begin % _BLOCK_ROWS == 0:
                break
            taken = self._taken(begin, rows, block)
            is_first = n_first == begin < _FIRST_PAGE
            n_first += len(taken) if is_first else 0
            yield taken if is_first else []

    def _taken(self, begin: int, rows: list[_Opened], block: Markup) -> list[_Opened]:
        """Rows as they are in a block for which there is room: in short, if need be, or none."""
        if len(block) > self.n_left:
            rows = [(row, views, SHORT) for row, views, _ in rows]
            block = packed(_joined([self._data(*row) for row in rows]))
        if len(block) > self.n_left:
            return []
        self.n_left -= len(block)
        self.starts.append(begin)
        self.blocks.append(block)
        self.places += range(begin, begin + len(rows))
        return rows

    def _opened(self, row: _Row, views: RowSentences) -> tuple[_Opened, bytes]:
        """A row with its data, in short if that is large."""
        data = self._data(row, views, LONG)
        if len(data) <= _LARGE_DETAIL:
            return (row, views, LONG), data
        return (row, views, SHORT), self._data(row, views, SHORT)

    def _data(self, row: _Row, views: RowSentences, limits: Limits) -> bytes:
        old = self.old.get(row.viewed.id or "", {})
        scores = tuple(row.scores.values())
        return encoded(row_data(row.viewed, scores, row.texts, views, limits, old, self.n_known))


def _joined(rows: Sequence[bytes]) -> bytes:
    return b"[%b]" % b",".join(rows)


@dataclass(slots=True)
class _Bodies:
    """Makes table bodies of the first rows, with their details.

    Attributes
    ----------
    n_left : int
        Bytes of details; below 0 once a row has found no room, and none is made from then on.
    """

    metrics: Sequence[MetricId]
    old: OldScores
    n_left: int
    made: list[Markup] = field(default_factory=list)

    def add(self, opened: _Opened) -> None:
        """The body of the next row, if there is room for it."""
        if self.n_left < 0 or len(self.made) == _FIRST_PAGE:
            return
        row, views, limits = opened
        viewed, result = row.viewed, row.viewed.result
        anchor, before = row_anchor(viewed), self.old.get(viewed.id or "", {})
        parts = detail_parts(viewed, row.texts, views, limits, anchor, before)
        detail = rendered("row_detail.html.j2", limits=limits, **parts)
        self.n_left -= len(detail)
        if self.n_left < 0:
            return
        self.made.append(
            rendered(
                "row.html.j2",
                row=viewed,
                name=_name(viewed),
                anchor=anchor,
                question=row.texts.question,
                answer=row.texts.answer,
                cells=[(name, result.metrics.get(name)) for name in self.metrics],
                null_text=null_text,
                status=row.status,
                has_change=bool(self.old),
                change=row.change,
                detail=detail,
                n_columns=len(self.metrics) + 5 + bool(self.old),
            )
        )


def _name(row: ViewedRow) -> str:
    return row.name if row.id is None else row.id


def _status(row: ViewedRow, scores: Sequence[AnyScore]) -> RowStatus:
    """``unmeasured`` if no metric has a score."""
    for one in scores:
        if one.score is not None:
            return "passed" if row.result.passed else "failed"
    return "unmeasured"


def _rank(row: _Row) -> tuple[int, float, int]:
    """Failed rows first, then rows without scores; each group by composite score."""
    score = row.viewed.result.composite_score
    return _RANKS[row.status], math.inf if score is None else score, row.viewed.number


def _change(row: ViewedRow, old: OldScores) -> float | None:
    before, now = old.get(row.id or "", {}).get(COMPOSITE), row.result.composite_score
    return None if before is None or now is None else now - before


def _movement(change: float | None) -> tuple[int, float]:
    """Rows that got worse first, by how much; then those that got better; then the rest."""
    if not change:
        return 2, 0.0
    return (0, change) if change < 0 else (1, -change)


def row_anchor(row: ViewedRow) -> str:
    """Made from the number, because ids are data."""
    return f"row-{row.number}"


def show_command(row: ViewedRow) -> str:
    """The command that shows the row on a terminal."""
    if row.id is None or not row.id.isprintable() or len(row.id) > _ID_LIMIT:
        return "rag-eval show RESULT"
    return f"rag-eval show RESULT {shlex.quote(row.id)}"


def anchors_by_id(rows: Sequence[ViewedRow]) -> dict[str, str]:
    """The anchor of each id's row; the first one for repeated ids."""
    return {row.id: row_anchor(row) for row in reversed(rows) if row.id is not None}


# ----------------------------------------------------------------------- what the script works with


def _keys(
    rows: Sequence[_Row], metrics: Sequence[MetricId], n_known: int, *, has_changes: bool
) -> dict[str, Any]:
    """All that the lines of rows say, column by column.

    ``nulls`` has the places of cells without a number by what they say instead; ``failing`` those
    of rows that fail a metric. ``texts`` are question, answer and ground truths, of ``n_known``
    characters each.
    """
    viewed = [row.viewed for row in rows]
    columns: dict[str, list[float | None]] = {
        "number": [row.number for row in viewed],
        "id": _order([_name(row) for row in viewed]),
        "question": _order([row.texts.question for row in rows]),
        "status": [_RANKS[row.status] for row in rows],
        COMPOSITE: [number(row.result.composite_score) for row in viewed],
    }
    nulls: dict[str, dict[str, list[int]]] = {}
    failing: dict[str, list[int]] = {}
    for name in metrics:
        column = columns[name] = []
        for place, row in enumerate(rows):
            found = row.scores.get(name)
            score = None if found is None else number(found.score)
            column.append(score)
            if score is None:
                nulls.setdefault(name, {}).setdefault(_no_number(found), []).append(place)
            if found is not None and found.passed is False:
                failing.setdefault(name, []).append(place)
    if has_changes:
        columns["change"] = [row.change for row in rows]
    return {
        "columns": columns,
        "metrics": [(name, shown_name(name)) for name in metrics],
        "nulls": nulls,
        "failing": failing,
        "ids": [row.id for row in viewed],
        "names": {place: row.name for place, row in enumerate(viewed) if not row.id},
        "lines": {place: row.line for place, row in enumerate(viewed) if _line_differs(row)},
        "texts": [
            [
                row.texts.question[:n_known],
                row.texts.answer[:n_known],
                *(text[:n_known] for text in row.texts.truths[:3]),
            ]
            for row in rows
        ],
        "stopWords": sorted(stop_words()),
    }


def _no_number(found: AnyScore | None) -> str:
    if found is None:
        return "not computed"
    return null_text(found) if found.score is None else score_text(found.score)


def _line_differs(row: ViewedRow) -> bool:
    return row.line is not None and row.line != row.number + 1


def _order(texts: Sequence[str]) -> list[float | None]:
    """The place of each text in their order, in which row 9 is before row 10."""
    keys = [_natural(text[:_ID_LIMIT]) for text in texts]
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return [places[key] for key in keys]


def _natural(text: str) -> tuple[tuple[int, int | str], ...]:
    folded = text.casefold()
    if _DIGITS.search(folded) is None:
        return ((1, folded),) if folded else ()
    parts = _DIGITS.split(folded)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts if part)
