"""``rag-eval compare`` on two large runs: right first, then time and peak memory by form of file.

python -m benchmarks.comparing [--rows N] [--resamples N] [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

METRICS: Final = (
    "faithfulness",
    "answer_relevance",
    "context_precision",
    "context_recall",
    "context_relevance",
    "answer_correctness",
    "hallucination_rate",
)
ROWS: Final = 100_000
RESAMPLES: Final = 9_999
SECONDS_BAR: Final = 20.0
MB_BAR: Final = 500.0
# Of a row of results, besides its scores: as long as a short answer's explanation.
_TEXT: Final = "supported by the second chunk, in part " * 8
_MOVED_SHARE: Final = 0.4
_DROP: Final = 0.02
_ROOT: Final = Path(__file__).resolve().parents[1]


class Way(NamedTuple):
    """A form of file; ``options`` go with it."""

    name: str
    files: tuple[str, str]
    options: tuple[str, ...] = ()


WAYS: Final = (
    Way("score files, JSON lines", ("old.jsonl", "new.jsonl")),
    Way("score files, Parquet", ("old.parquet", "new.parquet")),
    Way("result rows, JSON lines", ("old.results.jsonl", "new.results.jsonl")),
    Way("result files, JSON", ("old.json", "new.json")),
    Way("Parquet, ten slices", ("old.parquet", "new.parquet"), ("--slice", "topic")),
    Way("Parquet, clusters of ten", ("old.parquet", "new.parquet"), ("--cluster-by", "document")),
)


# --------------------------------------------------------------------------------- generating


def scores(n_rows: int) -> Iterator[tuple[list[float], list[float]]]:
    """Old and new scores of each row: 40 % of them move, down by 0.02 on average."""
    draw = random.Random("comparing")
    for _ in range(n_rows):
        old = [round(draw.betavariate(2, 1), 6) for _ in METRICS]
        new = [
            min(1.0, max(0.0, round(score + draw.gauss(-_DROP, 0.2), 6)))
            if draw.random() < _MOVED_SHARE
            else score
            for score in old
        ]
        yield old, new


def write_files(folder: Path, n_rows: int) -> None:
    """Both runs in each form, and the mean differences as ``wanted.json``."""
    differences: list[list[float]] = [[] for _ in METRICS]
    with (
        (folder / "old.jsonl").open("w") as old_file,
        (folder / "new.jsonl").open("w") as new_file,
        (folder / "old.results.jsonl").open("w") as old_results,
        (folder / "new.results.jsonl").open("w") as new_results,
    ):
        for number, (old, new) in enumerate(scores(n_rows)):
            for place, (before, after) in enumerate(zip(old, new, strict=True)):
                differences[place].append(after - before)
            for values, flat, nested in (
                (old, old_file, old_results),
                (new, new_file, new_results),
            ):
                flat.write(json.dumps(_flat(number, values)) + "\n")
                nested.write(json.dumps(_nested(number, values)) + "\n")
    wanted = [math.fsum(column) / n_rows for column in differences]
    (folder / "wanted.json").write_text(json.dumps(wanted))
    _write_parquet(folder)
    for name in ("old", "new"):
        with (
            (folder / f"{name}.results.jsonl").open("rb") as rows,
            (folder / f"{name}.json").open("wb") as file,
        ):
            file.write(b'{"results":[\n')
            for number, line in enumerate(rows):
                file.write((b",\n" if number else b"") + line.rstrip())
            file.write(b'\n],"aggregates":{}}\n')


def _write_parquet(folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import json as arrow_json
    from pyarrow import parquet

    for name in ("old", "new"):
        table = arrow_json.read_json(folder / f"{name}.jsonl")
        fields = [
            pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type)
            for f in table.schema
        ]
        parquet.write_table(table.cast(pa.schema(fields)), folder / f"{name}.parquet")


def _flat(number: int, values: Sequence[float]) -> dict[str, Any]:
    return {
        "id": f"q-{number:07}",
        "topic": f"topic {number % 10}",
        "document": number // 10,
        **dict(zip(METRICS, values, strict=True)),
        **dict.fromkeys([f"{metric}_null_reason" for metric in METRICS]),
        "composite_score": sum(values) / len(values),
        "passed": min(values) > 0.2,
    }


def _nested(number: int, values: Sequence[float]) -> dict[str, Any]:
    entries = {
        _camel(metric): {"score": value, "passed": value > 0.5, "explanation": _TEXT}
        for metric, value in zip(METRICS, values, strict=True)
    }
    return {
        "sample": {"id": f"q-{number:07}", "question": _TEXT, "answer": _TEXT},
        "metrics": entries,
        "compositeScore": sum(values) / len(values),
        "passed": min(values) > 0.2,
    }


def _camel(metric: str) -> str:
    head, *rest = metric.split("_")
    return head + "".join(word.capitalize() for word in rest)


# ---------------------------------------------------------------------------------- measuring


class Ran(NamedTuple):
    """What one process took."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: dict[str, Any]


def run(way: Way, folder: Path, resamples: int) -> Ran:
    """The command line on two files, in a process of its own.

    A child's peak begins at what its parent held, so this process holds next to nothing.
    """
    files = [str(folder / name) for name in way.files]
    options = ["--resamples", str(resamples), "--format", "json"]
    return run_command(way.name, ["compare", *files, *way.options, *options])


def run_command(name: str, arguments: Sequence[str], codes: Sequence[int] = (0,)) -> Ran:
    """A command of the program; RuntimeError for another exit code than ``codes``."""
    command = [sys.executable, "-m", "rag_eval", *arguments]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=_ROOT, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            errors.seek(0)
            raise RuntimeError(f"{name} ended with {process.returncode}: {errors.read()[-2000:]}")
        output.seek(0)
        text = output.read()
    value = json.loads(text) if text.startswith("{") else {}
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Ran(seconds, cpu_seconds, usage.ru_maxrss * 1024 / 1e6, value)


def check(value: dict[str, Any], wanted: Sequence[float], n_rows: int) -> None:
    """Raise an AssertionError unless the mean differences are those of the rows."""
    assert value["nPairs"] == n_rows
    found = [c["delta"] for c in value["changes"] if c["slice"] is None][: len(METRICS)]
    for metric, delta, mean in zip(METRICS, found, wanted, strict=True):
        assert math.isclose(delta, mean, abs_tol=1e-12), (metric, delta, mean)


def measure(n_rows: int, resamples: int, rounds: int) -> list[dict[str, Any]]:
    """Seconds (medians) and peak memory (largest) of each way."""
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "benchmarks.comparing", "--write", name, str(n_rows)]
        subprocess.run(command, cwd=_ROOT, check=True)
        wanted = json.loads((folder / "wanted.json").read_text())
        for way in WAYS:
            ran = [run(way, folder, resamples) for _ in range(rounds)]
            check(ran[0].output, wanted, n_rows)
            figures.append(
                {
                    "way": way.name,
                    "rows": n_rows,
                    "resamples": resamples,
                    "mb": sum((folder / file).stat().st_size for file in way.files) / 1e6,
                    "tests": ran[0].output["nTests"],
                    "seconds": statistics.median(one.seconds for one in ran),
                    "cpu_seconds": statistics.median(one.cpu_seconds for one in ran),
                    "peak_mb": max(one.peak_mb for one in ran),
                }
            )
    return figures


def complaints(figures: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The bars that were lost; they are for runs without slices."""
    for one in figures:
        if one["seconds"] > SECONDS_BAR and "slices" not in one["way"]:
            yield f"{one['way']}: {one['seconds']:.1f} s, the bar is {SECONDS_BAR:g} s"
        if one["peak_mb"] > MB_BAR:
            yield f"{one['way']}: {one['peak_mb']:.0f} MB, the bar is {MB_BAR:g} MB"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when all bars are met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparing", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.write is not None:
        folder, n_rows = options.write
        write_files(Path(folder), int(n_rows))
        return 0
    figures = measure(options.rows, options.resamples, options.rounds)
    lost = list(complaints(figures))
    if options.json:
        print(json.dumps({"threads": len(os.sched_getaffinity(0)), "runs": figures}))
        return 1 if lost else 0
    for one in figures:
        print(
            f"{one['way']}: 2 x {one['rows']:,} rows x {len(METRICS)} metrics, {one['mb']:.0f} MB, "
            f"{one['resamples']:,} resamples, {one['tests']} tests: {one['seconds']:.1f} s "
            f"({one['cpu_seconds']:.1f} s of processor time), peak RSS {one['peak_mb']:.0f} MB"
        )
    print("\n".join(["Lost:", *lost]) if lost else "Lost: none.")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
