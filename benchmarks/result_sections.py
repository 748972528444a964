"""Sections of ``RESULTS.md`` that can be measured anew by themselves, and put into the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from benchmarks.decision_results import decision_bars, decision_lines
from benchmarks.judge_results import judge_bars, judge_lines
from benchmarks.rendering import Bar, Info, table
from benchmarks.report_results import report_bars, report_lines
from benchmarks.scoring_results import scoring_bars, scoring_lines

_BAR_HEAD: Final = "| what | bar | measured |  |"


class Section(NamedTuple):
    """What a section is made of; ``benches`` is what ``pytest -k`` chooses."""

    title: str
    benches: str
    bars: Callable[[Sequence[Info]], list[Bar]]
    lines: Callable[[Sequence[Info]], list[str]]

    def render(self, infos: Sequence[Info]) -> list[str]:
        """Its lines, with title and command."""
        command = f"`python -m pytest benchmarks -k '{self.benches}'`"
        return [f"## {self.title}", "", command, "", *self.lines(infos)]


SECTIONS: Final = {
    "judging": Section("Judging", "judge", judge_bars, judge_lines),
    "decisions": Section("Decisions", "decisions", decision_bars, decision_lines),
    "reports": Section("Result files and pages", "bench_reports", report_bars, report_lines),
    "scoring": Section(
        "Retrieval, strings and checks",
        "bench_retrieval or bench_strings or bench_scorers",
        scoring_bars,
        scoring_lines,
    ),
}


def bar_table(bars: Sequence[Bar]) -> list[str]:
    """The bars, a row each."""
    rows = [[bar.what, bar.bar, bar.measured, bar.verdict] for bar in bars]
    return table(["what", "bar", "measured", ""], rows)


def lost_line(lost: Sequence[str]) -> str:
    """What the page says of bars that were lost."""
    return f"Lost: {'; '.join(lost) if lost else 'none'}."


def with_section(page: str, section: Section, infos: Sequence[Info]) -> str:
    """The page with one section and its bars as they were measured now; all else as it was."""
    body = "\n".join(section.render(infos)).rstrip("\n") + "\n"
    old = re.compile(rf"^## {re.escape(section.title)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if old.search(page):
        page = old.sub(lambda _: body + "\n", page)
    else:
        page = page.rstrip("\n") + "\n\n" + body
    return _with_bars(page, section.bars(infos)).rstrip("\n") + "\n"


def _with_bars(page: str, bars: Sequence[Bar]) -> str:
    before, head, rest = page.partition(_BAR_HEAD)
    assert head, "the page has no table of bars"
    lines, _, after = rest.partition("\n\nLost: ")
    _, _, after = after.partition("\n")
    new = bar_table(bars)[2:]
    names = {row.split(" | ")[0] for row in new}
    kept = [row for row in lines.strip("\n").split("\n")[1:] if row.split(" | ")[0] not in names]
    rows = [*kept, *(row for row in new if row)]
    lost = [
        row.split(" | ")[0].strip("| ") for row in rows if row.rstrip(" |").endswith("**lost**")
    ]
    table_text = "\n".join([head, lines.strip("\n").split("\n")[0], *rows])
    return f"{before}{table_text}\n\n{lost_line(lost)}\n{after}"
