"""Results of ``bench_judge.py`` -> a section of the page, and its bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.rendering import Bar, Info, of_kind, spread, table

_PARTS: Final = {
    "whole": "a call to an async callable, the whole of it",
    "prompt": "of it, making the prompt",
    "reading": "of it, reading the reply",
}


def judge_lines(infos: Sequence[Info]) -> list[str]:
    """What judging takes besides the judge."""
    return [
        "Judges answer at once: a callable in the process, or a server on this machine in a",
        "process of its own. What is timed is the library's part, and that of a vendor's SDK.",
        "",
        *_machinery_lines(infos),
        *_sdk_lines(infos),
        *_run_lines(infos),
    ]


def judge_bars(infos: Sequence[Info]) -> list[Bar]:
    """The bars on rates beside the SDKs, on calls a second, and on jobs that wait."""
    bars = []
    for info in of_kind(infos, "judge_sdk"):
        ratio = info["ratio"]
        what = f"judging by the SDK of {info['provider']}, {info['concurrency']} calls at a time"
        wanted = f"≥ {100 * info['bar']:.0f} % of the SDK's rate by itself"
        measured = f"{spread([100 * value for value in ratio], 0)} %"
        bars.append(Bar(what, wanted, measured, ratio[0] >= info["bar"]))
    for info in of_kind(infos, "judge_machinery"):
        bar = info["calls_per_second_bar"]
        for name, rates in info["calls_per_second"].items():
            what = f"calls of a judge that is {_with_article(name)}"
            bars.append(Bar(what, f"≥ {bar:,.0f} a second", spread(rates, 0), rates[0] >= bar))
    for info in of_kind(infos, "judge_memory"):
        grown, bar = info["growth_mb"], info["growth_bar_mb"]
        what = f"{info['pending']:,} calls that wait for their turn"
        bars.append(Bar(what, f"≤ {bar:.0f} MB of RSS", f"{grown:.1f} MB", grown <= bar))
    return bars


def _with_article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _machinery_lines(infos: Sequence[Info]) -> list[str]:
    lines: list[str] = []
    for info in of_kind(infos, "judge_machinery"):
        lines += table(
            ["judge", "calls/s"],
            [[name, spread(rates, 0)] for name, rates in info["calls_per_second"].items()],
        )
        lines += table(
            ["part", "µs of processor time"],
            [[_PARTS[name], spread(micros, 0)] for name, micros in info["part_us"].items()],
        )
        lines += _load_lines(info)
    return lines


def _sdk_lines(infos: Sequence[Info]) -> list[str]:
    rows = [
        [
            info["provider"],
            str(info["concurrency"]),
            spread(info["calls_per_second"]["library"], 0),
            spread(info["calls_per_second"]["sdk"], 0),
            spread(info["ratio"], 2),
            spread(info["processor_ratio"], 2),
            f"{info['server_us']:,.0f}",
            f"{info['load'][0]:.1f}",
        ]
        for info in of_kind(infos, "judge_sdk")
    ]
    if not rows:
        return []
    return [
        "The same question through the library and through the SDK by itself, in turns. The SDK",
        "gives the text of the reply to a finished prompt. The library also makes the prompt,",
        "keeps limits and counts, and reads the reply; it does without the SDK's reply objects.",
        "",
        *table(
            [
                "SDK", "calls at a time", "library, calls/s", "SDK, calls/s", "ratio",
                "by processor time", "server, µs a call", "load",
            ],
            rows,
        ),
    ]  # fmt: skip


def _run_lines(infos: Sequence[Info]) -> list[str]:
    lines: list[str] = []
    for info in of_kind(infos, "judge_runs"):
        lines += [
            f"`evaluate_batch` on {info['rows']:,} rows of 1 KB, all seven metrics judged by an "
            "async callable:",
            "",
        ]
        lines += table(
            ["style", "rows/s", "calls a row", "calls/s", "µs of processor time a call"],
            [
                [
                    style,
                    spread(one["rows_per_second"], 0),
                    f"{one['calls_a_row']:g}",
                    spread(one["calls_per_second"], 0),
                    spread(one["processor_us"], 0),
                ]
                for style, one in info["runs"].items()
            ],
        )
        lines += _load_lines(info)
    return lines


def _load_lines(info: Info) -> list[str]:
    loads = ", ".join(f"{load:.1f}" for load in info["load"])
    return [f"Load average at the end: {loads}.", ""]
