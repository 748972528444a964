"""The metric catalogue as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.metrics.catalogue import CatalogueEntry
from rag_eval.reports.console import UNBOUNDED
from rag_eval.reports.plain_text import plain_text

_COLUMNS: Final = ("metric", "kind", "cost", "range", "better", "needs", "description")
# Columns that a narrow window drops, in this order: `rag-eval metrics NAME` has them.
_SPARE: Final = ("range", "better", "cost", "kind")
_OF_WORDS: Final = ("needs", "description")
# Width that columns of words have beyond their longest words.
_SLACK: Final = 20


def print_metrics(entries: Iterable[CatalogueEntry], console: Console) -> None:
    """Print a table with a row per metric, with as many columns as fit."""
    rows = [_cells(entry) for entry in entries]
    unbounded = console.options.update(width=UNBOUNDED)
    for n_spared in range(len(_SPARE) + 1):
        table = _table([name for name in _COLUMNS if name not in _SPARE[:n_spared]], rows)
        if console.measure(table, options=unbounded).minimum + _SLACK <= console.width:
            break
    console.print(table)


def _table(names: list[str], rows: Iterable[dict[str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for name in names:
        table.add_column(name, no_wrap=name not in _OF_WORDS, overflow="fold")
    for cells in rows:
        table.add_row(*(Text(plain_text(cells[name])) for name in names))
    return table


def _cells(entry: CatalogueEntry) -> dict[str, str]:
    kind = entry.kind + ("*" if entry.judge == "can" else "")
    needs = ", ".join(entry.needs) or "–"
    words = (entry.id, kind, entry.cost, range_text(entry.range), _direction(entry), needs)
    return dict(zip(_COLUMNS, (*words, entry.summary), strict=True))


def range_text(bounds: tuple[float, float]) -> str:
    """``0–1``."""
    low, high = ("∞" if end == float("inf") else f"{end:g}" for end in bounds)
    return f"{low}–{high}"


def print_metric(entry: CatalogueEntry, console: Console, profile: str = "") -> None:
    """Print everything known about one metric, as the profile has it if it is one of several."""
    lines = [
        (entry.id, entry.summary),
        ("profile", profile),
        ("source", entry.source),
        ("kind", f"{entry.kind}; LLM judge {_JUDGE[entry.judge]}"),
        ("cost", entry.cost),
        ("range", f"{range_text(entry.range)}, {_direction(entry)} is better"),
        ("needs", ", ".join(entry.needs) or "no particular field"),
        ("also reads", ", ".join(entry.reads)),
        ("options", ", ".join(entry.options)),
        ("threshold", ", ".join(f"{bar:g} ({name})" for name, bar in entry.thresholds.items())),
        ("extra", entry.extra),
    ]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        if value:
            console.print(Text(f"{name.ljust(width)}  {plain_text(value)}"), soft_wrap=True)


_JUDGE = {"no": "not used", "can": "optional", "must": "required"}


def _direction(entry: CatalogueEntry) -> str:
    return "higher" if entry.higher_is_better else "lower"
