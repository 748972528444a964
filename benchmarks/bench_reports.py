"""``rag-eval run`` with files of results and a page beside ``rag-eval run`` alone: whole commands.

What a command takes besides its rows is taken off by a file of one row. The rows are asserted to be
those of the run first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.bench_files import typical_rows
from benchmarks.bench_overlap import note, run_rounds
from benchmarks.timing import Spread, ratios
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.samples import Profile

Ways: TypeAlias = Mapping[str, Sequence[str]]

ROOT: Final = Path(__file__).resolve().parents[1]
SHARE_BAR: Final = 0.5
PAGE_BAR_SECONDS: Final = 1.0
RESULT_ROWS: Final = 40_000
PAGE_ROWS: Final = 5_000
OUTPUTS: Final = ("r.json", "r.jsonl", "r.html")
ROUNDS: Final = 5
ALONE: Final = "alone"
# Else each command would translate all modules again, which takes longer than the rows.
KEPT_BYTECODE: Final = {"PYTHONDONTWRITEBYTECODE": ""}
RESULTS: Final[Ways] = {
    "`--output r.json`": ["--output", "r.json"],
    "`--output r.jsonl`": ["--output", "r.jsonl"],
    "`--output r.json --details`": ["--output", "r.json", "--details"],
    "`--output r.jsonl --details`": ["--output", "r.jsonl", "--details"],
}


class Taken(NamedTuple):
    """Seconds of a command, by the clock and of the processor, with those of one row taken off."""

    whole: float
    rows: float
    processor: float


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def write_rows(path: Path, n_rows: int) -> str:
    """Typical rows as JSON lines; where they are from."""
    rows, source = typical_rows(n_rows)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return source


def timed(folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds of ``rag-eval run``, by the clock and of the processor; no file is replaced."""
    for name in OUTPUTS:
        (folder / name).unlink(missing_ok=True)
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "rag_eval", "run", *arguments, "--quiet"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **KEPT_BYTECODE},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    clock = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return clock, usage.ru_utime + usage.ru_stime


def in_turns(folder: Path, profile: Profile, ways: Ways, n_rows: int) -> dict[str, list[Taken]]:
    """Every way in every round, after one round that is not counted."""
    taken: dict[str, list[Taken]] = {name: [] for name in ways}
    for counted in [False] + [True] * ROUNDS:
        for name, flags in ways.items():
            one, one_processor = timed(folder, "1.jsonl", "--profile", profile, *flags)
            whole, processor = timed(folder, f"{n_rows}.jsonl", "--profile", profile, *flags)
            if counted:
                taken[name].append(Taken(whole, whole - one, processor - one_processor))
    return taken


@pytest.mark.parametrize("profile", ["overlap", "grounded"])
def test_result_files_beside_a_run(
    benchmark: BenchmarkFixture, folder: Path, profile: Profile
) -> None:
    write_rows(folder / "1.jsonl", 1)
    source = write_rows(folder / f"{RESULT_ROWS}.jsonl", RESULT_ROWS)
    taken = run_rounds(
        benchmark, lambda: in_turns(folder, profile, {ALONE: [], **RESULTS}, RESULT_ROWS), 1
    )
    lines = (folder / "r.jsonl").read_bytes().splitlines()
    assert len(lines) == RESULT_ROWS
    metrics = msgspec.json.decode(lines[-1])["metrics"].values()
    assert all(metric["explanation"] for metric in metrics)
    assert len(metrics) == len(METRIC_IDS)
    alone = taken.pop(ALONE)
    shares = {
        name: {
            part: ratios(
                [getattr(one, part) for one in alone], [getattr(one, part) for one in mine]
            )
            for part in Taken._fields
        }
        for name, mine in taken.items()
    }
    note(
        benchmark,
        "result_files",
        profile=profile,
        source=source,
        seconds=Spread.of([one.whole for one in alone]),
        shares={
            name: {part: found.as_list() for part, found in parts.items()}
            for name, parts in shares.items()
        },
        bar=SHARE_BAR,
    )
    assert min(parts["rows"].median for parts in shares.values()) >= SHARE_BAR


@pytest.mark.parametrize("profile", ["overlap", "grounded"])
def test_a_page_beside_a_run(benchmark: BenchmarkFixture, folder: Path, profile: Profile) -> None:
    write_rows(folder / "1.jsonl", 1)
    source = write_rows(folder / f"{PAGE_ROWS}.jsonl", PAGE_ROWS)
    ways = {ALONE: [], "page": ["--html", "r.html"]}
    taken = run_rounds(benchmark, lambda: in_turns(folder, profile, ways, PAGE_ROWS), 1)
    assert (folder / "r.html").stat().st_size > 1000 * 10
    pairs = zip(taken["page"], taken[ALONE], strict=True)
    added = Spread.of([page.whole - alone.whole for page, alone in pairs])
    note(
        benchmark,
        "page",
        profile=profile,
        source=source,
        seconds=Spread.of([one.whole for one in taken[ALONE]]),
        added=added,
        bar=PAGE_BAR_SECONDS,
    )
    assert added.median <= PAGE_BAR_SECONDS
