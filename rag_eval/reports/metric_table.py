"""The metric catalogue as a table."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.metrics.catalogue import CatalogueEntry
from rag_eval.reports.plain_text import plain_text


def print_metrics(entries: Iterable[CatalogueEntry], console: Console) -> None:
    """Print one or two lines per metric."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for name in ("metric", "kind", "cost", "range", "better", "needs", "description"):
        table.add_column(name, no_wrap=name != "description" and name != "needs", overflow="fold")
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
    """Print everything known about one metric."""
    lines = [
        (entry.id, entry.summary),
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
            console.print(Text(plain_text(f"{name.ljust(width)}  {value}")), soft_wrap=True)


_JUDGE = {"no": "not used", "can": "optional", "must": "required"}


def _direction(entry: CatalogueEntry) -> str:
    return "higher" if entry.higher_is_better else "lower"
