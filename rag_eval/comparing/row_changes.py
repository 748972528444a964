"""Paired scores of one metric in; how each row changed, and which moved the mean, out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from rag_eval.comparing.pairing import RowTable
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.stats.arrays import Flags, Whole

RowStatus: TypeAlias = Literal[
    "improved", "regressed", "unchanged", "new", "removed", "not comparable"
]
STATUSES: Final[tuple[RowStatus, ...]] = (
    "improved",
    "regressed",
    "unchanged",
    "new",
    "removed",
    "not comparable",
)


class RowChange(NamedTuple):
    """How a row changed; a score is None if the row has none."""

    id: str
    status: RowStatus
    old: float | None
    new: float | None


@dataclass(frozen=True, slots=True)
class MovedRow(JsonRecord):
    """A row that moved the mean; ``contribution`` is its share of the mean difference."""

    id: str
    old: float
    new: float
    contribution: float


def row_statuses(table: RowTable, name: str, rises: bool, epsilon: float) -> Whole:
    """The number of each row's status in :data:`STATUSES`, shape (U,).

    Scores that differ by at most ``epsilon`` are unchanged; a row of both runs that lacks a score
    in one of them is not comparable.
    """
    old, new = table.column(name)
    better = new - old if rises else old - new
    with np.errstate(invalid="ignore"):
        conditions = [
            ~table.in_old,
            ~table.in_new,
            np.isnan(better),
            better > epsilon,
            better < -epsilon,
        ]
    numbers = [STATUSES.index(s) for s in ("new", "removed", "not comparable")] + [0, 1]
    return np.select(conditions, numbers, STATUSES.index("unchanged"))


def row_changes(table: RowTable, name: str, rises: bool, epsilon: float) -> Iterator[RowChange]:
    """How each row changed, in the order of ids."""
    old, new = table.column(name)
    statuses = row_statuses(table, name, rises, epsilon).tolist()
    for place, status in enumerate(statuses):
        yield RowChange(
            table.ids[place],
            STATUSES[status],
            _score(float(old[place])),
            _score(float(new[place])),
        )


def _score(value: float) -> float | None:
    return value if value == value else None


def status_counts(statuses: Whole) -> dict[RowStatus, int]:
    """How many rows have each status."""
    counts = np.bincount(statuses, minlength=len(STATUSES)).tolist()
    return dict(zip(STATUSES, counts, strict=True))


def moved_rows(
    table: RowTable, name: str, most: int, epsilon: float, rows: Flags | None = None
) -> tuple[MovedRow, ...]:
    """At most ``most`` pairs with the largest differences; ties go to the first ids."""
    old, new = table.column(name)
    difference = new - old
    paired = ~np.isnan(difference)
    if rows is not None:
        paired &= rows
    size = np.where(paired, np.abs(difference), 0.0)
    n_pairs = int(paired.sum())
    n_moved = int((size > epsilon).sum())
    n_taken = min(most, n_moved)
    if not n_taken:
        return ()
    # Only pairs as large as the last one taken are sorted.
    least = np.partition(size, len(size) - n_taken)[len(size) - n_taken]
    candidates = np.flatnonzero(size >= least)
    order = candidates[np.argsort(-size[candidates], kind="stable")][:n_taken]
    return tuple(
        MovedRow(
            table.ids[place],
            float(old[place]),
            float(new[place]),
            float(difference[place]) / n_pairs,
        )
        for place in order.tolist()
    )
