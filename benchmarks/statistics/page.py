"""Simulated sections in; the page of all of them, with their bars on top, out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from benchmarks.rendering import Bar

SECTIONS: Final = ("coverage", "tests", "gates", "policies", "leaderboards", "predictions")
"""Modules of this folder, each with ``section(n_replicates, seed)``; in the order of the page."""

_BARS: Final = "| section | requirement | threshold | worst result | |\n|---|---|---|---|---|\n"


class Section(NamedTuple):
    """A section or a table of one: Markdown, and what it says of its bars."""

    text: str
    bars: Sequence[Bar] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares with one common threshold.

    Attributes
    ----------
    what : str
    asked : float
    slack : float
        What Monte-Carlo error is allowed.
    least : bool
        Whether a share has to be at least what is asked, not at most.
    found : list of (float, str)
        Shares, and where each was found.
    """

    what: str
    asked: float
    slack: float = 0.0
    least: bool = False
    found: list[tuple[float, str]] = field(default_factory=list)

    def add(self, share: float, where: str) -> None:
        """Add a share."""
        self.found.append((share, where))

    @property
    def missed(self) -> list[str]:
        """The shares that miss the threshold, in words."""
        return [f"{where}: {share:.3f}" for share, where in self.found if not self._held(share)]

    @property
    def bar(self) -> Bar:
        """The worst share and its threshold."""
        share, where = (min if self.least else max)(self.found)
        slack = f" {'−' if self.least else '+'} {self.slack:.3f}" if self.slack else ""
        asked = f"{'≥' if self.least else '≤'} {self.asked:g}{slack}"
        return Bar(self.what, asked, f"{share:.3f} ({where})", self._held(share))

    def _held(self, share: float) -> bool:
        if self.least:
            return share >= self.asked - self.slack
        return share <= self.asked + self.slack


def lost(*kinds: Figures) -> str:
    """The shares that missed their threshold, in a sentence."""
    missed = [text for figures in kinds for text in figures.missed]
    return "Missed: " + "; ".join(missed) + "." if missed else "Every row meets its threshold."


def two_errors(share: float, n_replicates: int) -> float:
    """Two Monte-Carlo standard errors of a share."""
    return 2 * math.sqrt(share * (1 - share) / n_replicates)


def mean_or_nan(values: Sequence[float]) -> float:
    """Their mean; NaN of none."""
    return math.fsum(values) / len(values) if values else math.nan


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def joined(parts: Sequence[Section]) -> Section:
    """Tables one after another as one section."""
    text = "\n\n".join(part.text.strip() for part in parts)
    return Section(text, [bar for part in parts for bar in part.bars])


def renewed(page: str, head: str, sections: Mapping[str, Section]) -> str:
    """The page with some sections as given, the others as they were."""
    parts, bars = [], []
    # Tables of sections may have rows of the same beginning.
    known = page.split("<!-- ")[0].splitlines()
    for name in SECTIONS:
        if name in sections:
            text, found = sections[name]
            parts.append(f"<!-- {name} -->\n{text.strip()}\n<!-- end of {name} -->\n")
            bars += [_row(name, bar) for bar in found]
        elif (begin := f"<!-- {name} -->\n") in page:
            end = f"<!-- end of {name} -->\n"
            parts.append(begin + page.split(begin)[1].split(end)[0] + end)
            bars += [line for line in known if line.startswith(f"| {name} |")]
    summary = "## Requirements and worst results\n\n" + _BARS + "\n".join(bars) + "\n"
    return "\n".join([head, summary, *parts])


def _row(name: str, bar: Bar) -> str:
    return f"| {name} | {bar.what} | {bar.bar} | {bar.measured} | {bar.verdict} |"
