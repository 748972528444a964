"""Runs every benchmark and writes ``RESULTS.md``: commands, figures, machine, bars met and lost.

One after another, so run it on a machine that does nothing else.

    python -m benchmarks.write_results [--output FILE] [--memory-rows N,N,...]
    python -m benchmarks.write_results --sections NAME,NAME
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from benchmarks import gate, memory
from benchmarks.file_results import arrow_lines, file_lines, rate_bars, size_bars, size_lines
from benchmarks.rendering import Bar, Info, of_kind, spread, table
from benchmarks.result_sections import SECTIONS, bar_table, lost_line, with_section

HERE: Final = Path(__file__).resolve().parent
PACKAGES: Final = (
    "Cython", "numpy", "scipy", "msgspec", "openai", "anthropic", "pytest", "pytest-benchmark",
)  # fmt: skip
IMPORT_ROUNDS: Final = 11
_IMPORT: Final = "import time; b = time.perf_counter(); import {}; print(time.perf_counter() - b)"


# ----------------------------------------------------------------------------------- measuring


def run_benches(*chosen: str) -> list[Info]:
    """``extra_info`` of every bench, in the order of the file; lost bars do not stop it.

    ``chosen`` are further arguments of pytest, which may leave benches out.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "benches.json"
        command = [sys.executable, "-m", "pytest", "benchmarks", "-p", "no:randomly", *chosen]
        done = subprocess.run(
            [*command, f"--benchmark-json={out}"],
            cwd=HERE.parent,
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1) or not out.exists():
            raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}")
        print(done.stdout)
        return [bench["extra_info"] for bench in json.loads(out.read_text())["benchmarks"]]


def run_gate() -> dict[str, float] | None:
    """Instructions per byte, or None without valgrind."""
    try:
        return {cost.corpus: cost.per_byte for cost in gate.measure_costs()}
    except FileNotFoundError:
        return None


def run_memory(sizes: Sequence[int]) -> Info | str:
    """Figures of the benchmark of sizes, in a process of its own, or why there are none."""
    rows = ",".join(map(str, sizes))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", "--json", "--rows", rows],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
    )
    if not done.stdout.strip():
        return done.stderr.strip().splitlines()[-1]
    figures: Info = json.loads(done.stdout)
    return figures


def import_times() -> dict[str, float]:
    """Median milliseconds to import msgspec and rag_eval, each in a fresh process, in turns."""
    seconds: dict[str, list[float]] = {"msgspec": [], "rag_eval": []}
    for _ in range(IMPORT_ROUNDS):
        for name, taken in seconds.items():
            done = subprocess.run(
                [sys.executable, "-c", _IMPORT.format(name)],
                cwd=HERE.parent,
                capture_output=True,
                text=True,
                check=True,
            )
            taken.append(float(done.stdout))
    return {name: statistics.median(taken) * 1e3 for name, taken in seconds.items()}


# ------------------------------------------------------------------------------------- machine


def processor() -> str:
    """Model and number of the cores this machine has."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    n_cores = text.count("processor\t:") or 1
    return f"{found[1].strip() if found else platform.machine()}, {n_cores} cores"


def machine_lines() -> list[str]:
    """Machine and versions: no host name, no path."""
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} not installed")
    return [
        f"- {processor()}, {platform.system()} {platform.release().split('-')[0]}",
        f"- {platform.python_implementation()} {platform.python_version()}, {gate.compiler()}",
        f"- {', '.join(versions)}",
        "- Free-threaded CPython: untested. msgspec builds there from 3.14 on, which could not be "
        "had; the kernels are built for it and hold no global state.",
    ]


# ------------------------------------------------------------------------------------ rendering


def plain_python_lines(infos: Sequence[Info]) -> list[str]:
    names = {
        "shared": "the shared script (the bar)",
        "baseline": "`pure_python_baseline.score`",
        "by_bytes": "the same, cut by `tokens_by_bytes`: the fastest known to us",
    }
    rows = []
    for info in of_kind(infos, "times_plain_python"):
        micros = info["us_per_sample"]
        rate = info["text_mb"] / info["rows"] * 1e6 / micros["library"][0]
        library = f"rag_eval, 1 thread: {rate:,.0f} MB/s"
        rows.append([info["source"], library, spread(micros["library"]), "1"])
        rows += [
            ["", names[other], spread(micros[other]), spread(info["times"][other])]
            for other in names
            if other in info["times"]
        ]
    return table(["rows", "what", "µs a sample", "times rag_eval's time"], rows)


def other_lines(infos: Sequence[Info]) -> list[str]:
    rows = [
        [
            f"{info['set']}, {info['rows']} rows",
            f"{info['text_mb'] / info['seconds'][0]:,.0f}",
            spread(info["times"]),
        ]
        for info in of_kind(infos, "other_texts")
    ]
    return table(["generated texts", "MB/s", "times plain Python"], rows)


def thread_lines(infos: Sequence[Info]) -> list[str]:
    rows = [
        [info["source"], spread(info["gain"], 2), spread(info["control"], 2)]
        for info in of_kind(infos, "two_threads")
    ]
    return table(["rows", "2 threads", "2 processes (what the machine gives)"], rows)


def growth_lines(infos: Sequence[Info]) -> list[str]:
    rows = [
        [
            f"{info['grows']} × 10",
            " → ".join(f"{size:,.2f}" for size in info["text_mb"]),
            " → ".join(f"{taken:,.1f}" for taken in info["ms"]),
            spread(info["growth"], 2),
        ]
        for info in of_kind(infos, "growth")
    ]
    return table(["what grows", "MB of text", "ms", "time grows by"], rows)


# ----------------------------------------------------------------------------------------- bars


def grounded_lines(infos: Sequence[Info]) -> list[str]:
    names = {
        "library": "grounded, 1 thread",
        "overlap": "overlap, 1 thread",
        "definition": "the definition's script",
        "oracle": "the tests' oracle, plain Python",
        "plain": "overlap in plain Python",
    }
    rows = [
        [info["source"] if name == "library" else "", names[name], spread(micros), spread(times, 2)]
        for info in of_kind(infos, "grounded")
        for name, micros in info["us_per_sample"].items()
        for times in [info["times"].get(name, [1, 1, 1])]
    ]
    return table(["rows", "what", "µs a sample", "grounded's time over it"], rows)


def ratio_bars(infos: Sequence[Info]) -> list[Bar]:
    """The bars on speed beside plain Python and on two threads."""
    bars = []
    for info in of_kind(infos, "times_plain_python"):
        yardstick = info["times"].get("shared", info["times"]["baseline"])
        met = yardstick[0] >= info["bar"]
        what = f"7 metrics, `overlap`, 1 thread, {info['set']}"
        bars.append(Bar(what, f"≥ {info['bar']:g} × plain Python", f"{spread(yardstick)} ×", met))
    for info in of_kind(infos, "grounded"):
        what = f"`grounded`, 1 thread, {info['set']}"
        times, plain = info["times"]["overlap"], info["times_plain"]
        for most, least in [info["bars"]] if info["bars"] else []:
            measured = f"{spread(times, 2)} ×"
            bars.append(
                Bar(f"{what}, beside overlap", f"≤ {most:g} × its time", measured, times[0] <= most)
            )
            measured = f"{spread(plain)} ×"
            bars.append(
                Bar(
                    f"{what}, beside plain Python's overlap",
                    f"≥ {least:g} ×",
                    measured,
                    plain[0] >= least,
                )
            )
    for info in of_kind(infos, "two_threads"):
        measured = f"{spread(info['gain'], 2)} ×, two processes {info['control'][0]:.2f} ×"
        met = info["gain"][0] >= info["bar"]
        bars.append(Bar(f"2 threads, {info['set']}", f"≥ {info['bar']} ×", measured, met))
    return bars


def time_bars(infos: Sequence[Info]) -> list[Bar]:
    """The bars on growth and on single samples."""
    bars = []
    for info in of_kind(infos, "growth"):
        growth = info["growth"][0]
        bars.append(
            Bar(f"{info['grows']} × 10", "time ≤ 11 ×", f"{growth:.2f} ×", growth <= info["bar"])
        )
    for info in of_kind(infos, "one_sample"):
        what = f"{info['call']}, {info['n_bytes']:,} bytes"
        measured = f"{info['ms'][0]:.3f} ms"
        bars.append(Bar(what, f"≤ {info['bar']:g} ms", measured, info["ms"][0] <= info["bar"]))
    for info in of_kind(infos, "long_samples"):
        slowest = info["ms"][2]
        what = f"any sample up to 10 × 2,000 words, explained, {info['profile']}"
        measured = f"{slowest:.2f} ms, the slowest"
        bars.append(Bar(what, "< 100 ms", measured, slowest < info["bar"]))
    return bars


def _cost_bar(name: str, cost: float) -> Bar:
    bar = gate.BARS[name]
    return Bar(f"instructions a byte, {name}", f"≤ {bar:g}", f"{cost:.2f}", cost <= bar)


def other_bars(costs: Mapping[str, float] | None, imports: Mapping[str, float]) -> list[Bar]:
    """The bars on instructions and on import."""
    bars = [_cost_bar(name, cost) for name, cost in (costs or {}).items()]
    if costs is None:
        bars.append(Bar("instructions a byte", "–", "valgrind is not installed", None))
    growth = imports["rag_eval"] / imports["msgspec"]
    measured = f"{growth:.2f} × ({imports['rag_eval']:.1f} and {imports['msgspec']:.1f} ms)"
    bars.append(Bar("`import rag_eval`", "≤ 2 × `import msgspec`", measured, growth <= 2))
    return bars


def render(
    infos: Sequence[Info],
    costs: Mapping[str, float] | None,
    imports: Mapping[str, float],
    figures: Info | str,
) -> str:
    """The whole page."""
    bars = [
        *ratio_bars(infos),
        *rate_bars(infos),
        *other_bars(costs, imports),
        *size_bars(figures),
        *time_bars(infos),
        *(bar for part in SECTIONS.values() for bar in part.bars(infos)),
    ]
    lost = [bar.what for bar in bars if bar.met is False]
    section: Callable[[str, list[str]], list[str]] = lambda title, lines: [  # noqa: E731
        f"## {title}", "", *lines
    ]  # fmt: skip
    lines = [
        "# Results",
        "",
        "Written by `python -m benchmarks.write_results`; do not edit. A figure is a median, with",
        "the range over the rounds in brackets; what is compared was timed in turns.",
        "",
        *machine_lines(),
        "",
        *section("Bars", bar_table(bars)),
        lost_line(lost),
        "",
        *section("Beside plain Python", ["`python -m pytest benchmarks -k plain_python`", ""]),
        *plain_python_lines(infos),
        *section("The grounded profile", ["`python -m pytest benchmarks -k grounded`", ""]),
        *grounded_lines(infos),
        *section("Other texts", ["`python -m pytest benchmarks -k other_texts`", ""]),
        *other_lines(infos),
        *section("Two threads", ["`python -m pytest benchmarks -k two_threads`", ""]),
        *thread_lines(infos),
        *section("Growth", ["`python -m pytest benchmarks -k growth`", ""]),
        *growth_lines(infos),
        *section("Files", ["`python -m pytest benchmarks -k files`", ""]),
        *file_lines(infos),
        "An Arrow table in memory, on one thread:",
        "",
        *arrow_lines(infos),
        *section("Any size", ["`python -m benchmarks.memory`", ""]),
        *size_lines(figures),
        *(line for part in SECTIONS.values() for line in part.render(infos)),
    ]  # fmt: skip
    return "\n".join(lines).rstrip("\n") + "\n"


def renewed(page: str, names: Sequence[str]) -> str:
    """The page with some sections measured anew."""
    for name in names:
        section = SECTIONS[name]
        page = with_section(page, section, run_benches("-k", section.benches))
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything, print and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.write_results", description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md", metavar="FILE")
    parser.add_argument(
        "--sections",
        metavar="NAME,NAME",
        help=f"measure only these anew and put them into the page: {', '.join(SECTIONS)}",
    )
    memory.add_rows_option(parser, "--memory-rows")
    options = parser.parse_args(arguments)
    if options.sections:
        page = renewed(options.output.read_text("utf-8"), options.sections.split(","))
        options.output.write_text(page, encoding="utf-8")
        return 0
    begin = time.perf_counter()
    # One after another: nothing runs beside what is timed.
    infos = run_benches()
    imports = import_times()
    figures = run_memory(options.memory_rows)
    page = render(infos, run_gate(), imports, figures)
    options.output.write_text(page, encoding="utf-8")
    print(page)
    print(f"Took {(time.perf_counter() - begin) / 60:.0f} minutes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
