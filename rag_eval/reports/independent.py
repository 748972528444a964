"""Two runs on different rows as a table on a terminal, and as Markdown."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

from rag_eval.comparing.independent_runs import IndependentChange, IndependentComparison
from rag_eval.reports.comparison import interval_text
from rag_eval.reports.console import number_table, print_line
from rag_eval.reports.markdown_text import markdown_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.reports.run_table import mean_text

_NONE: Final = "–"
_NAME_LIMIT: Final = 60
_EFFECTS: Final = (
    "Hedges' g: difference in standard deviations; Cliff's delta: chance that a new score is above "
    "an old one, less the reverse. They describe; rows of both runs are needed to decide."
)


def print_independent(comparison: IndependentComparison, console: Console) -> None:
    """Print two runs side by side, without a verdict."""
    for kind, name, n in _runs(comparison):
        print_line(console, f"{kind}  {plain_text(name, _NAME_LIMIT)}  {n:,} rows")
    console.print()
    table = number_table(
        console, "old mean", "new mean", "difference", "Hedges' g", "Cliff's delta"
    )
    for change in comparison.changes:
        table.add_row(Text(plain_text(change.name, _NAME_LIMIT)), *_cells(change))
    console.print(table)
    console.print()
    print_line(console, _EFFECTS)


def independent_markdown(comparison: IndependentComparison) -> str:
    """The same for a pull request."""
    lines = [
        f"{kind} {markdown_text(name, limit=_NAME_LIMIT)}, {n:,} rows  "
        for kind, name, n in _runs(comparison)
    ]
    level = f"{comparison.level * 100:g} %"
    lines += [
        "",
        f"| metric | old | new | difference [{level}] | Hedges' g | Cliff's delta |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for change in comparison.changes:
        lines.append(f"| {markdown_text(change.name)} | {' | '.join(_cells(change))} |")
    return "\n".join([*lines, "", _EFFECTS]) + "\n"


def _runs(comparison: IndependentComparison) -> list[tuple[str, str, int]]:
    return [
        ("old", comparison.old, comparison.n_old),
        ("new", comparison.new, comparison.n_new),
    ]


def _cells(change: IndependentChange) -> list[str]:
    effects = (change.hedges_g, change.cliffs_delta)
    return [
        mean_text(change.old),
        mean_text(change.new),
        interval_text(change.difference),
        *(_NONE if effect is None else f"{effect:+.2f}" for effect in effects),
    ]
