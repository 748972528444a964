"""Results of ``bench_decisions.py`` -> a section of the page, and its bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.comparing import MB_BAR, METRICS, RESAMPLES, SECONDS_BAR
from benchmarks.rendering import Bar, Info, of_kind, table


def decision_lines(infos: Sequence[Info]) -> list[str]:
    """What it takes to decide about large runs."""
    rows, last = [], ""
    for info in of_kind(infos, "decisions_compare"):
        rows += [_row(f"compare: {one['way']}", one) for one in info["runs"]]
        last = f"Load average at the end of compare: {_load(info)}"
    for info in of_kind(infos, "decisions_others"):
        rows += [_row(one["way"], one) for one in info["runs"]]
        last += f"; of the others: {_load(info)}. The store grew by {info['store_mb']:.1f} MB a run"
    return [
        f"Two runs of {len(METRICS)} metrics, 40 % of the rows of which differ; {RESAMPLES:,} "
        "resamples. Each command is a",
        "process of its own; seconds are medians, memory the largest. Numbers are asserted first.",
        "",
        *table(["command", "rows", "s", "s of processor time", "peak RSS, MB"], rows),
        f"{last}.",
        "",
    ]


def decision_bars(infos: Sequence[Info]) -> list[Bar]:
    """The bars on comparing two runs."""
    bars = []
    for info in of_kind(infos, "decisions_compare"):
        for one in info["runs"]:
            if "slices" in one["way"]:
                continue
            what = f"`compare` of 2 × {one['rows']:,} rows, {one['way']}"
            met = one["seconds"] < SECONDS_BAR and one["peak_mb"] < MB_BAR
            measured = f"{one['seconds']:.1f} s, {one['peak_mb']:.0f} MB"
            bars.append(Bar(what, f"< {SECONDS_BAR:g} s, < {MB_BAR:g} MB", measured, met))
    return bars


def _row(name: str, one: Mapping[str, Any]) -> list[str]:
    return [
        name,
        f"{one['rows']:,}",
        f"{one['seconds']:.1f}",
        f"{one['cpu_seconds']:.1f}",
        f"{one['peak_mb']:.0f}",
    ]


def _load(info: Info) -> str:
    return ", ".join(f"{value:.1f}" for value in info["load"])
