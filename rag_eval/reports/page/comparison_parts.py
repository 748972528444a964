"""A comparison in; the lines of its tables, its drawings and the rows that moved, out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rag_eval.comparing.row_changes import MovedRow
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.tested_changes import MetricChange, Slice, Verdict
from rag_eval.reports.page.charts import BarChart, Span, difference_chart, spans
from rag_eval.reports.page.figures import interval_text, p_value_text, score_text, signed_text

_MOST_MOVED: Final = 10
_MOST_SLICES: Final = 100
_FOUND: Final[tuple[Verdict, ...]] = ("regression", "improvement")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLine:
    """One metric in both runs."""

    name: str
    rises: bool
    gating: bool
    old: str
    new: str
    delta: str
    interval: str
    span: Span | None
    p: str
    verdict: str
    n_pairs: int


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """All rows, or those of one slice; ``found`` is what the tests found there, in words."""

    title: str
    is_slice: bool
    found: str
    has_regression: bool
    lines: Sequence[ChangeLine]


@dataclass(frozen=True, slots=True)
class Moved:
    """A row that moved; ``anchor`` is its place on the page, where it is there."""

    row: MovedRow
    better: bool
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Movement:
    """How the rows of one metric moved; no chart where none did."""

    name: str
    chart: BarChart | None
    chart_text: str
    counts: Sequence[tuple[str, int]]
    rows: Sequence[Moved]


@dataclass(frozen=True, slots=True)
class ComparisonParts:
    """All that the page says of a comparison."""

    comparison: RunComparison
    tables: Sequence[ChangeTable]
    n_more_tables: int
    movements: Sequence[Movement]


def comparison_parts(comparison: RunComparison, anchors: Mapping[str, str]) -> ComparisonParts:
    """Tables of all rows and of slices; ``anchors`` are the places of rows by id."""
    grouped = [
        (within, list(found)) for within, found in groupby(comparison.changes, lambda c: c.slice)
    ]
    tables = [_table(within, found) for within, found in grouped]
    movements = list(_movements(comparison, anchors)) if comparison.paired else []
    return ComparisonParts(
        comparison,
        tables[: _MOST_SLICES + 1],
        max(0, len(tables) - _MOST_SLICES - 1),
        movements,
    )


def _table(within: Slice | None, changes: Sequence[MetricChange]) -> ChangeTable:
    verdicts = Counter(change.verdict for change in changes)
    told = [
        f"{verdicts[name]} {name}{'s' if verdicts[name] > 1 else ''}"
        for name in _FOUND
        if verdicts[name]
    ]
    return ChangeTable(
        title="All rows" if within is None else f"{within.field}: {within.value}",
        is_slice=within is not None,
        found=", ".join(told) or "nothing found",
        has_regression=verdicts["regression"] > 0,
        lines=_lines(changes),
    )


def _lines(changes: Sequence[MetricChange]) -> list[ChangeLine]:
    drawn = spans([change.difference for change in changes])
    return [_line(change, span) for change, span in zip(changes, drawn, strict=True)]


def _line(change: MetricChange, span: Span | None) -> ChangeLine:
    test = change.test
    return ChangeLine(
        name=change.name,
        rises=change.higher_is_better,
        gating=change.gating,
        old=score_text(change.old.mean),
        new=score_text(change.new.mean),
        delta=signed_text(change.delta),
        interval=interval_text(change.difference, signed=True),
        span=span,
        p="" if test is None else p_value_text(min(test.adjusted_p_worse, test.adjusted_p_better)),
        verdict=change.verdict,
        n_pairs=change.n_pairs,
    )


def _movements(comparison: RunComparison, anchors: Mapping[str, str]) -> Iterator[Movement]:
    for change in comparison.changes:
        if change.slice is not None or not change.n_pairs:
            continue
        chart = difference_chart(comparison.improvements(change.name))
        counts = [(name, n) for name, n in change.rows.items() if n]
        told = ", ".join(f"{n:,} {name}" for name, n in counts)
        moved = [
            Moved(row, (row.new > row.old) == change.higher_is_better, anchors.get(row.id))
            for row in comparison.moved_rows(change.name, _MOST_MOVED)
        ]
        text = f"{change.name}: paired differences of {change.n_pairs:,} rows; {told}"
        yield Movement(change.name, chart, text, counts, moved)
