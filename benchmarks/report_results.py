"""Results of ``bench_reports`` -> a section, and its bars."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.rendering import Bar, Info, of_kind, spread, table


def report_lines(infos: Sequence[Info]) -> list[str]:
    """What result files and pages take beside the run that they are of."""
    files = [
        [
            "" if place else f"{info['profile']}, {info['source']}",
            name,
            *(_percent(parts[part]) for part in ("rows", "whole", "processor")),
        ]
        for info in of_kind(infos, "result_files")
        for place, (name, parts) in enumerate(info["shares"].items())
    ]
    pages = [
        [info["profile"], info["source"], spread(info["seconds"], 2), spread(info["added"], 2)]
        for info in of_kind(infos, "page")
    ]
    return [
        "`rag-eval run` on all cores, whole commands, in turns with the same run without outputs.",
        "Outputs of earlier commands are removed before. From the first and the last share, what a",
        "file of one row takes is taken off.",
        "",
        *table(
            [
                "rows",
                "written",
                "share of the rate of `run`",
                "with start-up",
                "by processor time",
            ],
            files,
        ),
        *table(["profile", "rows", "`run`, s", "`--html` adds, s"], pages),
    ]


def report_bars(infos: Sequence[Info]) -> list[Bar]:
    """The bars on the rate with result files, and on what a page adds."""
    bars = []
    for info in of_kind(infos, "result_files"):
        for name, parts in info["shares"].items():
            share, bar = parts["rows"], info["bar"]
            what = f"`run`, {info['profile']}, {name}"
            wanted = f"≥ {bar:.0%} of the rate without".replace("%", " %")
            bars.append(Bar(what, wanted, _percent(share), share[0] >= bar))
    for info in of_kind(infos, "page"):
        what = f"`run`, {info['profile']}, `--html`, {info['source'].partition(' rows')[0]} rows"
        measured = f"{spread(info['added'], 2)} s"
        bars.append(
            Bar(what, f"adds ≤ {info['bar']:g} s", measured, info["added"][0] <= info["bar"])
        )
    return bars


def _percent(share: Sequence[float]) -> str:
    return f"{spread([100 * value for value in share], 0)} %"
