"""What the pages of results are made of: bars, tables, medians with their ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Info: TypeAlias = Mapping[str, Any]


class Bar(NamedTuple):
    """One bar of the design and how it stands; ``met`` is None where nothing was measured."""

    what: str
    bar: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        """In a word."""
        return "not measured" if self.met is None else "met" if self.met else "**lost**"


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Median, and the range in brackets."""
    median, low, high = (f"{value:,.{digits}f}" for value in values)
    return f"{median} ({low}–{high})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table with an empty line after it."""
    lines = [" | ".join(head), " | ".join("---" for _ in head), *map(" | ".join, rows)]
    return [*(f"| {line} |" for line in lines), ""]


def of_kind(infos: Sequence[Info], what: str) -> list[Info]:
    """The benches of one kind."""
    return [info for info in infos if info.get("what") == what]
