"""Rows in; their HTML, the worst first, within a budget of bytes, out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rag_eval.reports.page.row_parts import (
    TIGHT,
    Limits,
    null_reason_text,
    row_anchor,
    row_parts,
    row_status,
    worst_first,
)
from rag_eval.reports.page.templating import rendered
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.texts import text_of

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS: Final = 5_000
ROW_BUDGET: Final = 12_000_000
"""Bytes of all rows: so many are read by a browser in one to two seconds."""

# Of it for the lines of the table, before any row can be opened.
_LINE_BUDGET: Final = 8_000_000
_LARGE_DETAIL: Final = 1_000_000
_FIRST_PAGE: Final = 100
_ID_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class RowList:
    """The rows of the page.

    Attributes
    ----------
    rows : tuple of ViewedRow
        In the order of the page.
    bodies : list of Markup
        One table body each.
    n_closed : int
        Rows that cannot be opened, to keep the page small.
    """

    rows: tuple[ViewedRow, ...]
    bodies: Sequence[Markup]
    n_closed: int


def row_list(
    rows: Sequence[ViewedRow], metrics: Sequence[str], budget: int = ROW_BUDGET
) -> RowList:
    """As many rows as fit, and of these as many details, from the worst on."""
    ordered = worst_first(rows)[:MOST_ROWS]
    lines: list[Markup] = []
    left = min(budget, _LINE_BUDGET)
    for row in ordered:
        line = _line(row, metrics)
        left -= _size(line)
        if left < 0:
            break
        lines.append(line)
    shown = ordered[: len(lines)]
    left = budget - sum(map(_size, lines))
    bodies = []
    n_closed = 0
    n_columns = len(metrics) + 5
    for place, (row, line) in enumerate(zip(shown, lines, strict=True)):
        detail = _detail(row, left) if left > 0 else None
        if detail is None:
            n_closed += 1
        body = rendered(
            "row.html.j2",
            number=row.number,
            id=_id_text(row),
            anchor=row_anchor(row),
            status=row_status(row.result),
            is_shown=place < _FIRST_PAGE,
            line=line,
            detail=detail,
            answer=text_of(row.result, "answer"),
            command=show_command(row),
            n_columns=n_columns,
        )
        left -= _size(body) - _size(line)
        bodies.append(body)
    return RowList(tuple(shown), bodies, n_closed)


def _line(row: ViewedRow, metrics: Sequence[str]) -> Markup:
    return rendered(
        "row_line.html.j2",
        row=row,
        name=row.name if row.id is None else row.id,
        question=text_of(row.result, "question"),
        cells=[(name, row.result.metrics.get(name)) for name in metrics],
        null_reason_text=null_reason_text,
        status=row_status(row.result),
    )


def _detail(row: ViewedRow, left: int) -> Markup | None:
    """What the opened row holds; less of it where it would be large, None for no room."""
    for limits in (Limits(), TIGHT):
        detail = rendered("row_detail.html.j2", parts=row_parts(row, limits), result=row.result)
        if _size(detail) <= min(left, _LARGE_DETAIL):
            return detail
    return None


def _size(text: str) -> int:
    return len(text.encode())


def _id_text(row: ViewedRow) -> str:
    return "" if row.id is None else row.id[:_ID_LIMIT]


def show_command(row: ViewedRow) -> str:
    """How to see the row on a terminal."""
    if row.id is None or not row.id.isprintable() or len(row.id) > _ID_LIMIT:
        return "rag-eval show RESULT"
    return f"rag-eval show RESULT {shlex.quote(row.id)}"


def anchors_by_id(rows: Sequence[ViewedRow]) -> dict[str, str]:
    """Where the row of an id stands; of repeated ids the first."""
    found: dict[str, str] = {}
    for row in rows:
        if row.id is not None:
            found.setdefault(row.id, row_anchor(row))
    return found
