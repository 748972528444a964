"""``gate``, ``estimate`` and ``run --store`` at size: right first, then time and peak memory.

python -m benchmarks.deciding [--rows N] [--run-rows N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.comparing import METRICS, RESAMPLES, ROWS, Ran, run_command

RUN_ROWS: Final = 50_000
"""Samples of 1 KB that are scored with and without a store."""
_N_LABELS: Final = 200
_METRIC: Final = METRICS[0]
_ROOT: Final = Path(__file__).resolve().parents[1]


def gated(folder: Path, ending: str) -> Ran:
    """The default policy on the two runs; their means fell, so it is red."""
    files = [str(folder / f"{name}.{ending}") for name in ("new", "old")]
    options = ["--resamples", str(RESAMPLES), "--format", "json"]
    ran = run_command("gate", ["gate", files[0], "--baseline", files[1], *options], (1,))
    assert ran.output["passed"] is False
    return ran


def estimated(folder: Path) -> Ran:
    """Labels say whether a score is above a half, so that their mean over all rows is known."""
    labels, scores = folder / "labels.jsonl", str(folder / "new.parquet")
    if not labels.exists():
        draw = ["labels", "sample", str(_N_LABELS), scores, "-o", str(labels)]
        run_command("labels sample", draw)
        _fill(labels, folder / "new.jsonl")
    arguments = ["estimate", scores, str(labels), "--metric", _METRIC, "--format", "json"]
    ran = run_command("estimate", arguments)
    mean, found = _mean(folder / "new.jsonl"), ran.output["interval"]
    assert abs(ran.output["estimate"] - mean) < 3 * (found["high"] - found["low"]), (mean, found)
    return ran


def _fill(labels: Path, scores: Path) -> None:
    drawn = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    ids = {row.get("id") for row in drawn}
    with scores.open() as file:
        known = {row["id"]: row[_METRIC] for row in map(json.loads, file) if row["id"] in ids}
    for row in drawn:
        if row.get("id") in known:
            row["label"] = int(known[row["id"]] > 0.5)
    labels.write_text("".join(json.dumps(row) + "\n" for row in drawn), "utf-8")


def _mean(scores: Path) -> float:
    with scores.open() as file:
        return statistics.fmean(json.loads(line)[_METRIC] > 0.5 for line in file)


def scored(folder: Path, store: bool) -> Ran:
    """``run`` on samples, its scores kept or not."""
    arguments = ["run", str(folder / "samples.jsonl"), "--format", "json"]
    arguments += ["--output", str(folder / "run.jsonl")]
    if store:
        arguments += ["--store", str(folder / "runs.db")]
    return run_command("run", arguments)


def measure(n_rows: int, n_run_rows: int, rounds: int) -> dict[str, Any]:
    """Figures of every command, in turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, n_rows, n_run_rows)
        ways: dict[str, tuple[int, Callable[[], Ran]]] = {
            "gate, JSON lines": (n_rows, lambda: gated(folder, "jsonl")),
            "gate, Parquet": (n_rows, lambda: gated(folder, "parquet")),
            f"estimate, {_N_LABELS} labels": (n_rows, lambda: estimated(folder)),
            "run": (n_run_rows, lambda: scored(folder, store=False)),
            "run --store": (n_run_rows, lambda: scored(folder, store=True)),
        }
        taken: dict[str, list[Ran]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, (_, call) in ways.items():
                taken[way].append(call())
        stored = (folder / "runs.db").stat().st_size / 1e6 / rounds
    figures = [_figures(way, ways[way][0], ran) for way, ran in taken.items()]
    return {"runs": figures, "store_mb": stored, "load": list(os.getloadavg())}


def _figures(way: str, n_rows: int, ran: Sequence[Ran]) -> dict[str, Any]:
    return {
        "way": way,
        "rows": n_rows,
        "seconds": statistics.median(one.seconds for one in ran),
        "cpu_seconds": statistics.median(one.cpu_seconds for one in ran),
        "peak_mb": max(one.peak_mb for one in ran),
    }


def _write(folder: Path, n_rows: int, n_run_rows: int) -> None:
    """Files, written by other processes: a child's peak begins at what its parent held."""
    for module, *rest in (
        ("benchmarks.comparing", "--write", str(folder), str(n_rows)),
        ("benchmarks.deciding", "--write", str(folder), str(n_run_rows)),
    ):
        subprocess.run([sys.executable, "-m", module, *rest], cwd=_ROOT, check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deciding", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--run-rows", type=int, default=RUN_ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.write is not None:
        from benchmarks import memory

        memory.write_lines(Path(options.write[0]) / "samples.jsonl", int(options.write[1]))
        return 0
    figures = measure(options.rows, options.run_rows, options.rounds)
    if options.json:
        print(json.dumps(figures))
        return 0
    for one in figures["runs"]:
        print(
            f"{one['way']}: {one['rows']:,} rows: {one['seconds']:.1f} s "
            f"({one['cpu_seconds']:.1f} s of processor time), peak RSS {one['peak_mb']:.0f} MB"
        )
    print(f"the store: {figures['store_mb']:.1f} MB a run; load {figures['load'][0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
