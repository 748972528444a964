"""The catalogue of metrics as a table for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.metrics.catalogue import CatalogueEntry
from rag_eval.reports.plain_text import plain_text


def print_metrics(entries: Iterable[CatalogueEntry], console: Console) -> None:
    """Print a line or two per metric."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for name in ("metric", "kind", "cost", "range", "better", "needs", "what it is"):
        table.add_column(name, no_wrap=name != "what it is" and name != "needs", overflow="fold")
    for entry in entries:
        table.add_row(*(Text(plain_text(cell)) for cell in _cells(entry)))
    console.print(table)


def _cells(entry: CatalogueEntry) -> tuple[str, ...]:
    return (
        entry.id,
        entry.kind + ("*" if entry.judge == "can" else ""),
        entry.cost,
        range_text(entry.range),
        _direction(entry),
        ", ".join(entry.needs) or "–",
        entry.summary,
    )


def range_text(bounds: tuple[float, float]) -> str:
    """``0–1``."""
    low, high = ("∞" if end == float("inf") else f"{end:g}" for end in bounds)
    return f"{low}–{high}"


def print_metric(entry: CatalogueEntry, console: Console) -> None:
    """Print all that is known of one metric."""
    lines = [
        (entry.id, entry.summary),
        ("rule of", entry.source),
        ("kind", f"{entry.kind}; a judge {_JUDGE[entry.judge]}"),
        ("cost", entry.cost),
        ("range", f"{range_text(entry.range)}, {_direction(entry)} is better"),
        ("needs", ", ".join(entry.needs) or "no field by itself"),
        ("also reads", ", ".join(entry.reads)),
        ("options", ", ".join(entry.options)),
        ("threshold", ", ".join(f"{bar:g} ({name})" for name, bar in entry.thresholds.items())),
        ("extra", entry.extra),
    ]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        if value:
            console.print(Text(plain_text(f"{name.ljust(width)}  {value}")), soft_wrap=True)


_JUDGE = {"no": "has no say", "can": "can score it", "must": "scores it"}


def _direction(entry: CatalogueEntry) -> str:
    return "higher" if entry.higher_is_better else "lower"
