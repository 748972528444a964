"""Statistics of a run in; the widest table of them that a window has room for, out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.reports.plain_text import plain_text
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchSummary
from rag_eval.results.summaries import MeanScore
from rag_eval.samples import MetricId
from rag_eval.stats.intervals import Interval

NONE: Final = "–"
"""In a cell that has nothing to show."""

Aggregate: TypeAlias = MetricAggregate | CompositeAggregate

_MEAN: Final = "mean [95%]"
# What a narrow window does without, the first to go first; a wide one has all of it.
_SPARE: Final = ("nulls", "threshold", "std", "max", "min", "median")
_COLUMNS: Final = (
    _MEAN,
    "median",
    "min",
    "max",
    "std",
    "threshold",
    "pass rate",
    "nulls",
    "null rate",
)
# Wider than any table: one that is measured is not squeezed.
_UNBOUNDED: Final = 10_000


class _Layout(NamedTuple):
    """How much room a table takes."""

    n_spared: int
    roomy: bool
    beside: bool


# From the widest to the narrowest: columns three spaces apart or one, intervals beside the means or
# below them, and then ever fewer columns.
_LAYOUTS: Final = (
    _Layout(0, roomy=True, beside=True),
    _Layout(2, roomy=True, beside=True),
    _Layout(2, roomy=True, beside=False),
    *(_Layout(n, roomy=False, beside=False) for n in range(2, len(_SPARE) + 1)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """What a table of a run shows.

    Attributes
    ----------
    summary : BatchSummary
    thresholds : mapping of float or None
        Per metric; those without neither pass nor fail.
    verdicts : mapping of bool or None
        Of each metric and of ``composite``; None for a table without verdicts.
    """

    summary: BatchSummary
    thresholds: Mapping[MetricId, float | None]
    verdicts: Mapping[str, bool | None] | None = None

    def fitting(self, console: Console, width: int) -> Table:
        """The table with the most columns that has room in ``width``, cut nowhere."""
        wide = console.options.update(width=_UNBOUNDED)
        for layout in _LAYOUTS:
            table = self._laid_out(layout)
            if console.measure(table, options=wide).maximum <= width:
                return table
        # Names that leave no room for numbers go over several lines.
        table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
        return table

    def _laid_out(self, layout: _Layout) -> Table:
        spared = _SPARE[: layout.n_spared]
        shown = [name for name in _COLUMNS if name not in spared]
        table = columns_of_numbers(shown, roomy=layout.roomy)
        if self.verdicts is not None:
            table.add_column("verdict", no_wrap=True)
        for name, cells in self._rows(layout):
            if name == "composite":
                table.add_section()
            row: list[str | Text] = [cells[column] for column in shown]
            if self.verdicts is not None:
                row.append(_verdict_text(self.verdicts.get(name)))
            table.add_row(plain_text(name), *row)
        return table

    def _rows(self, layout: _Layout) -> Iterator[tuple[str, dict[str, str]]]:
        for metric, aggregate in self.summary.aggregates.items():
            threshold = self.thresholds.get(metric)
            cells = _cells(aggregate, layout)
            cells["threshold"] = NONE if threshold is None else f"{threshold:g}"
            if threshold is None:
                cells["pass rate"] = NONE
            yield metric, cells
        yield "composite", {**_cells(self.summary.composite_aggregate, layout), "threshold": NONE}


def columns_of_numbers(names: list[str], *, roomy: bool, first: str = "metric") -> Table:
    """An empty table of a name and numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, int(roomy)))
    table.add_column(first, no_wrap=True)
    for name in names:
        # A mean with its share may wrap at the space between them; a number never.
        header = name if roomy else name.replace(" ", "\n")
        table.add_column(header, justify="right", no_wrap="mean" not in name)
    return table


def _number(value: float) -> str:
    return NONE if math.isnan(value) else f"{value:.2f}"


def _cells(aggregate: Aggregate, layout: _Layout) -> dict[str, str]:
    n_rows, n_null = aggregate.n_rows, aggregate.n_rows - aggregate.n
    return {
        _MEAN: _mean_cell(aggregate, layout.beside),
        "median": _number(aggregate.median),
        "min": _number(aggregate.min),
        "max": _number(aggregate.max),
        "std": _number(aggregate.std_dev),
        "pass rate": _number(aggregate.pass_rate),
        "nulls": f"{n_null:,}",
        "null rate": _number(n_null / n_rows if n_rows else 0.0),
    }


def _mean_cell(aggregate: Aggregate, beside: bool) -> str:
    """``0.83 [0.79, 0.86] (412/500)``, or the interval in a line of its own."""
    mean = mean_text(MeanScore(aggregate.mean, aggregate.n, aggregate.n_rows))
    if aggregate.interval is None:
        return mean
    interval = f"[{_bounds_text(aggregate.interval)}]"
    return mean.replace(" ", f" {interval} ", 1) if beside else f"{mean}\n{interval}"


def _bounds_text(interval: Interval) -> str:
    if interval.too_few or interval.low is None or interval.high is None:
        return "too few"
    return f"{interval.low:.2f}, {interval.high:.2f}"


def mean_text(mean: MeanScore) -> str:
    """``0.83 (412/500)``; the share is left out where it is not known."""
    text = NONE if math.isnan(mean.mean) else f"{mean.mean:.2f}"
    return text if mean.n is None else f"{text} ({mean.n}/{mean.n_rows})"


def _verdict_text(passed: bool | None) -> Text:
    if passed is None:
        return Text(NONE)
    return Text("pass", "green") if passed else Text("FAIL", "bold red")
