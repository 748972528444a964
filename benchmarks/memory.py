"""The command line on files of any size: time, peak memory, and whether time grows as the rows do.

Rows of 1 KB are generated into the temporary folder, one file at a time, and removed. A file that
was just written is read from the page cache. Everything runs on all cores.

    python -m benchmarks.memory [--rows N,N,...] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks import corpora

ROWS: Final = (10_000, 100_000, 1_000_000, 5_000_000)
SLOPE_BAR: Final = (0.95, 1.05)
SAMPLE: Final = corpora.Shape(
    answer_words=30, n_contexts=2, context_words=40, truth_words=15, truth_sentences=1
)
_N_TEXTS: Final = 2_000
# A bound of what the generator makes of one row; Parquet takes half of that.
_ROW_BYTES: Final = 1_200
# About 64 MB of text a row group.
_GROUP_ROWS: Final = 1 << 16
# Runs of a small file, of which the median counts: its start-up is most of its time.
_LARGE_ROWS: Final = 1_000_000
_SMALL_ROUNDS: Final = 5
_ROOT: Final = Path(__file__).resolve().parents[1]


class Way(NamedTuple):
    """One way through the command line; ``target`` is the suffix of what it writes, if anything."""

    name: str
    command: str
    source: str
    target: str | None
    bar_mb: int


# Those that read the same file come one after the other, so that it is written once.
WAYS: Final = (
    Way("`rag-eval score`, JSONL → JSONL", "score", "jsonl", "jsonl", 200),
    Way("`rag-eval run`, JSONL", "run", "jsonl", None, 600),
    Way("`rag-eval score`, Parquet → Parquet", "score", "parquet", "parquet", 400),
)


# --------------------------------------------------------------------------------- generating


def _draws(n_rows: int) -> Iterator[tuple[int, int]]:
    """Per row the sample it is and the sample whose contexts it has."""
    rng = random.Random("memory")
    numbers = range(min(n_rows, _N_TEXTS))
    for _ in range(n_rows):
        yield rng.choice(numbers), rng.choice(numbers)


def lines(n_rows: int) -> Iterator[bytes]:
    """JSON lines of about 1 KB, their texts drawn anew for each from two thousand samples.

    Texts are encoded once and joined: five million rows take seconds, not minutes.
    """
    heads, contexts, tails = [], [], []
    for row in corpora.samples_of(SAMPLE, min(n_rows, _N_TEXTS)):
        question, answer, truth = (
            _json(row[name]) for name in ("question", "answer", "groundTruth")
        )
        heads.append(b'", "question": %b, "answer": %b, "contexts": ' % (question, answer))
        contexts.append(_json(row["contexts"]))
        tails.append(b', "groundTruth": %b}\n' % truth)
    for number, (drawn, other) in enumerate(_draws(n_rows)):
        yield b'{"id": "m%d%b%b%b' % (number, heads[drawn], contexts[other], tails[drawn])


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def write_lines(path: Path, n_rows: int) -> None:
    """The rows as JSON lines."""
    with path.open("wb") as file:
        file.writelines(lines(n_rows))


def write_parquet(path: Path, n_rows: int) -> None:
    """The same rows as Parquet, a row group at a time.

    Without dictionaries: two thousand texts would fit in one, which texts of real rows do not.
    """
    import pyarrow as pa
    from pyarrow import parquet

    pool = corpora.samples_of(SAMPLE, min(n_rows, _N_TEXTS))
    texts = pa.Table.from_pylist(pool)
    draws = _draws(n_rows)
    with parquet.ParquetWriter(path, texts.schema, use_dictionary=False) as writer:
        for begin in range(0, n_rows, _GROUP_ROWS):
            drawn = list(islice(draws, _GROUP_ROWS))
            rows, others = (pa.array(column) for column in zip(*drawn, strict=True))
            group = texts.take(rows)
            ids = pa.array([f"m{number}" for number in range(begin, begin + len(drawn))])
            group = group.set_column(0, "id", ids)
            contexts = texts.column("contexts").take(others)
            writer.write_table(group.set_column(3, "contexts", contexts))


def write_rows(path: Path, n_rows: int) -> int:
    """Write the file that the suffix asks for; its size in bytes.

    Parquet is written by another process: see :func:`run`.
    """
    if path.suffix == ".parquet":
        command = [sys.executable, "-m", "benchmarks.memory", "--write-parquet"]
        subprocess.run([*command, str(path), str(n_rows)], cwd=_ROOT, check=True)
    else:
        write_lines(path, n_rows)
    # Else it is brought to disk while the command line is timed, which waits for its own.
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path.stat().st_size


# ---------------------------------------------------------------------------------- measuring


class Ran(NamedTuple):
    """What one process took."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    output_mb: float


def run(way: Way, path: Path) -> Ran:
    """The command line on a file, its output written and removed.

    A child's peak begins at what its parent held when it was started, so this process stays small:
    it imports neither numpy nor pyarrow and writes files row by row.
    """
    arguments = [way.command, str(path)]
    target = path.with_name(f"scores.{way.target}") if way.target else None
    if target is not None:
        arguments.append(str(target))
    with tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "rag_eval", *arguments, "--quiet"],
            cwd=_ROOT,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        # Of this child alone; what is asked of all children would keep the largest peak so far.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        # 1 is a gate that failed: the scores of made-up texts are low.
        if process.returncode not in (0, 1):
            errors.seek(0)
            raise RuntimeError(
                f"rag-eval {way.command} ended with {process.returncode}: {errors.read()[-2000:]}"
            )
    output_mb = 0.0
    if target is not None:
        output_mb = target.stat().st_size / 1e6
        target.unlink()
    # Kilobytes on Linux.
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Ran(seconds, cpu_seconds, usage.ru_maxrss * 1024 / 1e6, output_mb)


def _median(way: Way, path: Path, rounds: int) -> Ran:
    """The medians of the times and the largest of the peaks."""
    ran = [run(way, path) for _ in range(rounds)]
    return Ran(
        seconds=statistics.median(one.seconds for one in ran),
        cpu_seconds=statistics.median(one.cpu_seconds for one in ran),
        peak_mb=max(one.peak_mb for one in ran),
        output_mb=ran[0].output_mb,
    )


def check_disk(folder: Path, n_rows: int) -> None:
    """End when the largest file, and what is written beside it, may not fit."""
    wanted, free = 2 * n_rows * _ROW_BYTES, shutil.disk_usage(folder).free
    if wanted > free:
        raise SystemExit(
            f"{n_rows:,} rows need {wanted / 1e9:,.1f} GB in the temporary folder, where "
            f"{free / 1e9:,.1f} GB are free: set TMPDIR to another, or take fewer --rows"
        )


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """By which power of the size time grows; None where that cannot be told."""
    if len(sizes) < 2 or min(seconds) <= 0:
        return None
    logs = [[math.log(value) for value in values] for values in (sizes, seconds)]
    return statistics.linear_regression(*logs).slope


def slope_text(found: float | None) -> str:
    """A slope, or a dash."""
    return "–" if found is None else f"{found:.3f}"


def measure(sizes: Sequence[int]) -> dict[str, Any]:
    """Write files of so many rows, run the command line on each, and give what it took."""
    runs: list[dict[str, Any]] = []
    startups: dict[str, Ran] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_disk(folder, max(sizes))
        for n_rows in [1, *sorted(sizes)]:
            rounds = _SMALL_ROUNDS if n_rows < _LARGE_ROWS else 1
            for way in WAYS:
                path = folder / f"rows.{way.source}"
                if not path.exists():
                    _empty(folder)
                    write_rows(path, n_rows)
                ran = _median(way, path, rounds)
                if n_rows == 1:
                    startups[way.name] = ran
                else:
                    runs.append(_figures(way, n_rows, path, ran))
            _empty(folder)
    return {
        "threads": len(os.sched_getaffinity(0)),
        "runs": runs,
        "growth": [_growth(way, runs, startups[way.name]) for way in WAYS],
    }


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def _figures(way: Way, n_rows: int, path: Path, ran: Ran) -> dict[str, Any]:
    return {
        "way": way.name,
        "rows": n_rows,
        "file_mb": path.stat().st_size / 1e6,
        "output_mb": ran.output_mb,
        "seconds": ran.seconds,
        "cpu_seconds": ran.cpu_seconds,
        "rows_per_second": n_rows / ran.seconds,
        "peak_mb": ran.peak_mb,
        "bar_mb": way.bar_mb,
    }


def _growth(way: Way, runs: Sequence[dict[str, Any]], startup: Ran) -> dict[str, Any]:
    """How the time beyond start-up, and that of the processor, grow with the bytes of the file."""
    mine = [one for one in runs if one["way"] == way.name]
    sizes = [one["file_mb"] for one in mine]
    return {
        "way": way.name,
        "startup_seconds": startup.seconds,
        "slope": slope(sizes, [one["seconds"] - startup.seconds for one in mine]),
        "cpu_slope": slope(sizes, [one["cpu_seconds"] - startup.cpu_seconds for one in mine]),
        "bar": list(SLOPE_BAR),
    }


# ------------------------------------------------------------------------------------- running


def complaints(figures: dict[str, Any]) -> Iterator[str]:
    """The bars that were lost."""
    for one in figures["runs"]:
        if one["peak_mb"] > one["bar_mb"]:
            yield (
                f"{one['way']}, {one['rows']:,} rows: {one['peak_mb']:.0f} MB, "
                f"the bar is {one['bar_mb']} MB"
            )
    for one in figures["growth"]:
        low, high = one["bar"]
        if one["slope"] is not None and not low <= one["slope"] <= high:
            yield f"{one['way']}: slope {one['slope']:.3f}, the bar is {low} to {high}"


def row_counts(text: str) -> list[int]:
    """``10000,100000`` as numbers."""
    counts = [int(part.replace("_", "")) for part in text.split(",")]
    if min(counts) < 2:
        raise argparse.ArgumentTypeError("wanted two rows or more: one is what start-up is")
    return counts


def add_rows_option(parser: argparse.ArgumentParser, flag: str) -> None:
    """The option that takes the numbers of rows."""
    parser.add_argument(
        flag, type=row_counts, default=list(ROWS), metavar="N,N,...", help="rows of the files"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when all bars are met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    add_rows_option(parser, "--rows")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write-parquet", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.write_parquet is not None:
        path, n_rows = options.write_parquet
        write_parquet(Path(path), int(n_rows))
        return 0
    figures = measure(options.rows)
    lost = list(complaints(figures))
    if options.json:
        print(json.dumps(figures))
        return 1 if lost else 0
    for one in figures["runs"]:
        print(
            f"{one['way']}: {one['rows']:,} rows, {one['file_mb']:,.0f} MB: "
            f"{one['seconds']:.2f} s, {one['rows_per_second']:,.0f} rows/s, peak RSS "
            f"{one['peak_mb']:.0f} MB (bar {one['bar_mb']} MB)"
        )
    for one in figures["growth"]:
        print(
            f"{one['way']}: start-up {one['startup_seconds']:.2f} s, log-log slope "
            f"{slope_text(one['slope'])}, of processor time {slope_text(one['cpu_slope'])}"
        )
    print("\n".join(["Lost:", *lost]) if lost else "Lost: none.")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
