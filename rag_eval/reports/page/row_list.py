"""The rows of the page: the first as HTML, all others packed, to be made when they are shown."""

from __future__ import annotations

import base64
import json
import math
import re
import shlex
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rag_eval.reports.page.row_detail import LONG, SHORT, Limits, detail_parts
from rag_eval.reports.page.templating import rendered
from rag_eval.results.row import EvalResult
from rag_eval.results.summaries import COMPOSITE
from rag_eval.samples import MetricId
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.texts import null_text, text_of, truths_of

if TYPE_CHECKING:
    from markupsafe import Markup

RowStatus: TypeAlias = Literal["passed", "failed", "unmeasured"]
OldScores: TypeAlias = Mapping[str, Mapping[str, float]]
"""By row id and metric, ``composite`` among them."""

BUDGET: Final = 24_000_000
"""Bytes of all rows, packed."""

# Rows on a page of the table; the first page is readable without scripts.
_FIRST_PAGE: Final = 100
_FIRST_BYTES: Final = 1_500_000
# Opening a row unpacks its block.
_BLOCK_ROWS: Final = 50
_BLOCK_BYTES: Final = 1_500_000
_LARGE_DETAIL: Final = 1_000_000
# Characters of a row, and of all rows, in which the page searches.
_SEARCHED: Final = 2_000
_SEARCHED_OF_ALL: Final = 10_000_000
# What the line of a row takes, packed.
_LINE_SHARE: Final = 300
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
    keys, lines : str
        Packed JSON: what the script sorts, filters and searches by; and the table bodies of the
        other rows.
    blocks : list of str
        Packed details of the other rows.
    n_closed : int
        Rows without details, to keep the page small.
    has_changes : bool
        Whether rows have scores in the baseline.
    """

    rows: tuple[ViewedRow, ...]
    bodies: Sequence[Markup]
    keys: str
    lines: str
    blocks: Sequence[str]
    n_closed: int
    has_changes: bool


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
    changes = [_change(row, olds) for row in rows]
    moves = [_movement(change) if moved_first else () for change in changes]
    ranks = [(move, _rank(row)) for move, row in zip(moves, rows, strict=True)]
    places = sorted(range(len(rows)), key=ranks.__getitem__)
    ordered, changes = [rows[place] for place in places], [changes[place] for place in places]
    limit = min(_SEARCHED, _SEARCHED_OF_ALL // max(len(rows), 1))
    keys = {
        "columns": _columns(ordered, metrics, changes if olds else None),
        "failing": _failing(ordered, metrics),
        "texts": [_searched(row, limit) for row in ordered],
    }
    packed_keys = packed(keys)
    writer = _Writer(metrics, olds, budget - len(packed_keys) - _LINE_SHARE * len(rows))
    for row, change in zip(ordered, changes, strict=True):
        writer.add(row, change)
    writer.end_block()
    return RowList(
        rows=tuple(ordered),
        bodies=writer.bodies,
        keys=packed_keys,
        lines=packed({"lines": writer.lines, "blocks": writer.starts}),
        blocks=writer.blocks,
        n_closed=writer.n_closed,
        has_changes=bool(olds),
    )


def packed(value: Any) -> str:
    """JSON that a script element can hold, and that the script of the page unpacks."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode("ascii")


class _Writer:
    """Writes rows one after the other: a few as they are, then blocks, within a budget."""

    def __init__(self, metrics: Sequence[MetricId], old: OldScores, budget: int) -> None:
        self.bodies: list[Markup] = []
        self.lines: list[str] = []
        self.blocks: list[str] = []
        self.starts: list[int] = []
        self.n_closed = 0
        self._metrics = metrics
        self._old = old
        self._left = budget
        self._first_left = min(_FIRST_BYTES, budget)
        self._waiting: list[tuple[ViewedRow, float | None, str]] = []
        self._n_waiting_bytes = 0

    def add(self, row: ViewedRow, change: float | None) -> None:
        """Write the next row."""
        detail = self._detail(row, LONG) if self._left > 0 else ""
        if not self.lines and not self._waiting and len(self.bodies) < _FIRST_PAGE:
            self._first_left -= len(detail)
            if self._first_left >= 0 and detail:
                self._left -= len(detail)
                self.bodies.append(self._body(row, change, "inside", detail))
                return
        self._waiting.append((row, change, detail))
        self._n_waiting_bytes += len(detail)
        if len(self._waiting) == _BLOCK_ROWS or self._n_waiting_bytes > _BLOCK_BYTES:
            self.end_block()

    def end_block(self) -> None:
        """Pack the rows that wait: in short, or without details, where there is no room."""
        block, state = "", "closed"
        for short in (False, True):
            details = [
                self._detail(row, SHORT) if short and detail else detail
                for row, _, detail in self._waiting
            ]
            block = packed(details) if any(details) else ""
            if block and len(block) <= self._left:
                self._left -= len(block)
                self.starts.append(len(self.bodies) + len(self.lines))
                self.blocks.append(block)
                state = "packed"
                break
        else:
            self.n_closed += len(self._waiting)
        self.lines += [self._body(row, change, state) for row, change, _ in self._waiting]
        self._waiting.clear()
        self._n_waiting_bytes = 0

    def _body(
        self, row: ViewedRow, change: float | None, state: str, detail: Markup | str = ""
    ) -> Markup:
        result = row.result
        return rendered(
            "row.html.j2",
            row=row,
            name=row.name if row.id is None else row.id,
            anchor=row_anchor(row),
            question=text_of(result, "question"),
            answer=text_of(result, "answer"),
            cells=[(name, result.metrics.get(name)) for name in self._metrics],
            null_text=null_text,
            status=_status(result),
            has_change=bool(self._old),
            change=change,
            state=state,
            detail=detail,
            command=show_command(row),
            n_columns=len(self._metrics) + 5 + bool(self._old),
        )

    def _detail(self, row: ViewedRow, limits: Limits) -> Markup:
        """The details of a row, shortened if they are large."""
        old = self._old.get(row.id or "", {})
        parts = detail_parts(row, limits, row_anchor(row), old)
        detail = rendered("row_detail.html.j2", limits=limits, **parts)
        if len(detail) > _LARGE_DETAIL and limits is not SHORT:
            return self._detail(row, SHORT)
        return detail


def _status(result: EvalResult) -> RowStatus:
    """``unmeasured`` if no metric has a score."""
    if all(metric.score is None for metric in result.metrics.values()):
        return "unmeasured"
    return "passed" if result.passed else "failed"


def _rank(row: ViewedRow) -> tuple[int, float, int]:
    """Failed rows first, then rows without scores; each group by composite score."""
    score = row.result.composite_score
    return _RANKS[_status(row.result)], math.inf if score is None else score, row.number


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


def _columns(
    rows: Sequence[ViewedRow], metrics: Sequence[MetricId], changes: Sequence[float | None] | None
) -> dict[str, list[float | None]]:
    """Numbers to sort by, for each column."""
    found: dict[str, list[float | None]] = {
        "number": [row.number for row in rows],
        "id": _places([row.name if row.id is None else row.id for row in rows]),
        "question": _places([text_of(row.result, "question") for row in rows]),
        "status": [_RANKS[_status(row.result)] for row in rows],
        COMPOSITE: [_number(row.result.composite_score) for row in rows],
    }
    for name in metrics:
        results = (row.result.metrics.get(name) for row in rows)
        found[name] = [None if one is None else _number(one.score) for one in results]
    if changes is not None:
        found["change"] = [_number(change) for change in changes]
    return found


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)


def _places(texts: Sequence[str]) -> list[float | None]:
    """The place of each text in their order, in which row 9 is before row 10."""
    keys = [_natural(text[:_ID_LIMIT]) for text in texts]
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return [places[key] for key in keys]


def _natural(text: str) -> tuple[tuple[int, int | str], ...]:
    parts = _DIGITS.split(text.casefold())
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts if part)


def _failing(rows: Sequence[ViewedRow], metrics: Sequence[MetricId]) -> dict[str, list[int]]:
    """The places of the rows that fail each metric."""
    found: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for name in metrics:
            one = row.result.metrics.get(name)
            if one is not None and one.passed is False:
                found.setdefault(name, []).append(place)
    return found


def _searched(row: ViewedRow, limit: int) -> str:
    result = row.result
    parts = (text_of(result, "question"), text_of(result, "answer"), *truths_of(result)[:3])
    return "\n".join((row.id or row.name, *(part[:limit] for part in parts))).lower()
