"""The table of a run: its metrics with their statistics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.metrics.ids import COMPOSITE
from rag_eval.reports.console import (
    UNBOUNDED,
    columns_of_numbers,
    metric_cell,
    print_line,
    window_width,
)
from rag_eval.reports.figures import NONE, limit_text, mean_bounds, number_text
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchSummary
from rag_eval.samples import MetricId

Aggregate: TypeAlias = MetricAggregate | CompositeAggregate
_COLUMNS: Final = ("mean", "95 % interval", "scored", "pass rate", "threshold")
# Columns that a narrow window drops, in this order.
_SPARE: Final = ("threshold", "95 % interval", "pass rate")
# The table of a run drops columns down to this width.
_LEAST_RUN_WIDTH: Final = 50
# What stands in place of an interval.
_ON_BOUNDS: Final = {
    "[too few]": "too few scores differ for a reliable interval",
    "[all equal]": "all scores are equal, so no interval can be estimated",
}


def print_table(table: RunTable, console: Console) -> None:
    """Print statistics of a run, with as many columns as fit."""
    width = max(window_width(console), _LEAST_RUN_WIDTH)
    console.print(table.fitting(console, width), width=width)
    for mark, meaning in _ON_BOUNDS.items():
        if mark in table.bounds:
            print_line(console, f"{mark}: {meaning}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """What a table of a run shows.

    Attributes
    ----------
    summary : BatchSummary
    thresholds : mapping of float or None
        Per metric; a metric without a threshold neither passes nor fails.
    verdicts : mapping of bool or None
        For each metric and ``composite``; None for a table without verdicts.
    """

    summary: BatchSummary
    thresholds: Mapping[MetricId, float | None]
    verdicts: Mapping[str, bool | None] | None = None

    @property
    def on_nulls(self) -> str:
        """What nulls do to the pass rates of the table, after another remark; empty without."""
        counted_in = (
            aggregate.n < aggregate.n_rows
            for metric, aggregate in self.summary.shown_aggregates.items()
            if self.thresholds.get(metric) is not None
        )
        told = "; a null lowers a metric's pass rate but does not by itself fail a row"
        return told if any(counted_in) else ""

    @property
    def bounds(self) -> set[str]:
        """The intervals of the means, or what stands in their place."""
        shown = map(mean_bounds, self.summary.shown_aggregates.values())
        return {*shown, mean_bounds(self.summary.composite_aggregate)}

    def fitting(self, console: Console, width: int) -> Table:
        """The table with the most columns that fits into ``width`` uncut.

        Columns stand three spaces apart, or one where these do not fit.
        """
        wide = console.options.update(width=UNBOUNDED)
        rows = list(self._rows())
        table = self._laid_out((), rows, roomy=True)
        for n_spared in range(len(_SPARE) + 1):
            if console.measure(table, options=wide).maximum <= width:
                return table
            table = self._laid_out(_SPARE[:n_spared], rows, roomy=False)
        # Names that leave no room for numbers wrap.
        table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
        return table

    def _laid_out(
        self, spared: Collection[str], rows: Iterable[tuple[str, dict[str, str]]], *, roomy: bool
    ) -> Table:
        shown = [name for name in _COLUMNS if name not in spared]
        table = columns_of_numbers(shown, roomy=roomy)
        if self.verdicts is not None:
            table.add_column("verdict", no_wrap=True)
        for name, cells in rows:
            if name == COMPOSITE:
                table.add_section()
            row: list[str | Text] = [cells[column] for column in shown]
            if self.verdicts is not None:
                row.append(_verdict_text(self.verdicts.get(name)))
            table.add_row(metric_cell(name), *row)
        return table

    def _rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        for metric, aggregate in self.summary.shown_aggregates.items():
            threshold = self.thresholds.get(metric)
            cells = _cells(aggregate)
            if threshold is None:
                cells["pass rate"] = NONE
            else:
                cells["threshold"] = limit_text(threshold)
            yield metric, cells
        yield COMPOSITE, _cells(self.summary.composite_aggregate)


def _cells(aggregate: Aggregate) -> dict[str, str]:
    return {
        "mean": number_text(aggregate.mean),
        "95 % interval": mean_bounds(aggregate) or NONE,
        "scored": f"{aggregate.n:,}/{aggregate.n_rows:,}",
        "pass rate": number_text(aggregate.pass_rate),
        "threshold": NONE,
    }


def _verdict_text(passed: bool | None) -> Text:
    if passed is None:
        return Text(NONE)
    return Text("PASS", "green") if passed else Text("FAIL", "bold red")
