"""Results of ``bench_files.py`` and ``memory.py`` -> sections of the page, and their bars."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import memory
from benchmarks.call_groups import STAGE_NAMES
from benchmarks.rendering import Bar, Info, of_kind, spread, table


def file_lines(infos: Sequence[Info]) -> list[str]:
    """Rates of files beside the rate in memory, and where the time goes."""
    rates, stages = [], []
    for info in of_kind(infos, "files"):
        source = info["source"]
        for name, seconds in info["seconds"].items():
            median, low, high = seconds
            rate = spread([info["rows"] / value for value in (median, high, low)], 0)
            shares = [
                spread([100 * value for value in info[kind][name]], 0) if name in info[kind] else ""
                for kind in ("shares", "processor_shares")
            ]
            rates.append([source, name, rate, f"{info['text_mb'] / median:,.0f}", *shares])
            stages.append(
                [
                    source,
                    name,
                    *(f"{100 * info['profile'][name][stage]:.0f}" for stage in STAGE_NAMES),
                ]
            )
            source = ""
    return [
        "One thread scores; for files the caller's reads and writes meanwhile, and of Parquet one",
        "more decodes. So the rate is given by the clock and by the processor time of all threads.",
        "",
        *table(
            [
                "rows", "from → to", "rows/s", "MB/s of text", "% of the in-memory rate",
                "% by processor time",
            ],
            rates,
        ),
        "Where the time goes when one thread does all of it, in % under Python's profiler, which",
        "makes short functions of Python dearer than they are:",
        "",
        *table(["rows", "from → to", *STAGE_NAMES], stages),
    ]  # fmt: skip


def arrow_lines(infos: Sequence[Info]) -> list[str]:
    """An Arrow table beside dicts."""
    names = {
        "table": "`evaluate_batch(table)`",
        "dicts": "the same rows as dicts, made before",
        "to_pylist": "`evaluate_batch(table.to_pylist())`",
    }
    rows = [
        [
            info["source"] if name == "table" else "",
            what,
            spread([value * 1e3 for value in info["seconds"][name]], 0),
            spread(info["times"].get(name, [1, 1, 1]), 2),
            f"{info['more_mb'][name]:,.0f}" if name in info["more_mb"] else "",
        ]
        for info in of_kind(infos, "arrow")
        for name, what in names.items()
    ]
    return table(["rows", "what", "ms", "times the table's time", "MB of RSS over the table"], rows)


def size_lines(figures: Info | str) -> list[str]:
    """What the command line took on files of growing size."""
    if isinstance(figures, str):
        return [f"Not measured: {figures}"]
    rows, last = [], ""
    for one in sorted(figures["runs"], key=lambda one: _place(one["way"])):
        rows.append([
            "" if one["way"] == last else one["way"],
            f"{one['rows']:,}",
            f"{one['file_mb']:,.0f}",
            f"{one['output_mb']:,.0f}" if one["output_mb"] else "",
            f"{one['seconds']:,.2f}",
            f"{one['rows_per_second']:,.0f}",
            f"{one['peak_mb']:,.0f}",
        ])  # fmt: skip
        last = one["way"]
    growth = [
        [
            one["way"],
            f"{one['startup_seconds']:.2f}",
            memory.slope_text(one["slope"]),
            memory.slope_text(one["cpu_slope"]),
        ]
        for one in figures["growth"]
    ]
    return [
        f"Rows of 1 KB on {figures['threads']} cores. Files were just written: they are read from",
        "the page cache.",
        "",
        *table(["command", "rows", "MB in", "MB out", "s", "rows/s", "peak RSS, MB"], rows),
        "Start-up is the time of a file of one row. The slope is that of the logarithm of the time",
        "beyond it over the logarithm of the size: 1 is linear.",
        "",
        *table(["command", "start-up, s", "slope", "slope of processor time"], growth),
    ]


def _place(way: str) -> int:
    return [known.name for known in memory.WAYS].index(way)


def rate_bars(infos: Sequence[Info]) -> list[Bar]:
    """The bars on rates of files."""
    bars = []
    for info in of_kind(infos, "files"):
        for direction, bar in info["bars"].items():
            share = info["shares"][direction]
            what = f"{direction}, 1 thread, {info['set']}"
            measured = f"{spread([100 * value for value in share], 0)} %"
            bars.append(
                Bar(what, f"≥ {100 * bar:.0f} % of the in-memory rate", measured, share[0] >= bar)
            )
    return bars


def size_bars(figures: Info | str) -> list[Bar]:
    """The bars on peak memory and on growth."""
    if isinstance(figures, str):
        return [
            Bar(f"peak RSS of {way.name}", f"≤ {way.bar_mb} MB", "—", None) for way in memory.WAYS
        ]
    bars = []
    for way in memory.WAYS:
        runs = [one for one in figures["runs"] if one["way"] == way.name]
        highest = max(runs, key=lambda one: one["peak_mb"])
        most = max(one["rows"] for one in runs)
        measured = f"{highest['peak_mb']:.0f} MB, at {highest['rows']:,} rows"
        what = f"peak RSS of {way.name}, up to {most:,} rows"
        met = highest["peak_mb"] <= way.bar_mb
        bars.append(Bar(what, f"≤ {way.bar_mb} MB", measured, met))
    for one in figures["growth"]:
        low, high = one["bar"]
        found = one["slope"]
        bars.append(
            Bar(
                f"log-log slope of time over size, {one['way']}",
                f"{low}–{high}",
                memory.slope_text(found),
                None if found is None else low <= found <= high,
            )
        )
    return bars
