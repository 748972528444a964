"""docs/how-to/coming-from.md names metrics that exist, and fields where they are looked for."""

from __future__ import annotations

import re

import click

from rag_eval.cli.program import program
from rag_eval.inputs.schemas.tools import known_paths
from rag_eval.metrics.registry import metric_of
from tests.docs_pages import ROOT

TEXT = (ROOT / "docs" / "how-to" / "coming-from.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, its head first."""
    rows = re.findall(r"^\|.*\|$", TEXT.partition(f"\n{heading}\n")[2].partition("\n#")[0], re.M)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [cells[0], *cells[2:]]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_metrics_of_the_table_exist() -> None:
    names = [name for row in table("## Metrics")[1:] for name in quoted(row[0])]
    assert len(names) > 20
    for name in names:
        assert metric_of(name, "grounded") is not None, name


def test_fields_of_the_table_are_looked_for() -> None:
    head, *rows = table("## Fields of a sample")
    for row in rows:
        (field,) = quoted(row[0])
        for tool, cell in zip(head[1:-1], row[1:-1], strict=True):
            for path in quoted(cell):
                if path != "context-recall":  # an assertion, whose value is set beside the row
                    assert path in known_paths(tool.lower(), field), (tool, path)


def test_flags_of_the_tables_exist() -> None:
    flags = {
        name
        for command in ("run", "score", "gate")
        for flag in program.get_command(click.Context(program), command).params  # type: ignore[union-attr]
        for name in flag.opts
    }
    cells = [
        row[-1] for name in ("## Commands and functions", "## Thresholds") for row in table(name)
    ]
    named = set(re.findall(r"--[a-z-]+", " ".join(cells)))
    assert len(named) > 5
    assert named <= flags
