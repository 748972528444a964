"""Files beside memory: the same answers first, then how much of the in-memory rate is left.

One thread scores. For files the caller's thread reads and writes meanwhile, and of Parquet another
one decodes: on a machine with cores to spare that hides some of the work, so processor time, which
counts all threads, is given as well.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import memory
from benchmarks.bench_overlap import loaded, note, race
from benchmarks.call_groups import shares_of
from benchmarks.corpora import Sample, text_bytes
from benchmarks.timing import Call, Spread, ratios
from rag_eval import evaluate_batch
from rag_eval.jobs.file_scoring import score_file
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.results.batch import BatchEvalResult
from rag_eval.samples import NullReason

pa = pytest.importorskip("pyarrow")
from pyarrow import ipc, parquet  # noqa: E402

ROUNDS: Final = 5
# Share of the in-memory rate, where a direction has a bar.
BARS: Final = {"jsonl → jsonl": 0.6, "csv → csv": 0.6, "parquet → parquet": 0.7}
DIRECTIONS: Final = ("jsonl → jsonl", "parquet → parquet", "jsonl → parquet", "csv → csv")
MEMORY: Final = "in memory"


# ---------------------------------------------------------------------------------------- rows


# Half a second in memory, as the small ones. In much less, what is done once for a file, which is
# measured by itself, would be a fifth of the time.
N_TYPICAL: Final = 40_000


def typical_rows(n_rows: int = N_TYPICAL) -> tuple[list[Sample], str]:
    """The rows of a benchmark set again and again, under new ids."""
    rows, source = loaded("typical")
    again = islice(cycle(rows), n_rows)
    return (
        [{**row, "id": f"t{number}"} for number, row in enumerate(again)],
        f"{n_rows:,} rows, repeated from {source}",
    )


def small_rows(n_rows: int = 100_000) -> tuple[list[Sample], str]:
    """Rows of 1 KB."""
    rows = [json.loads(line) for line in memory.lines(n_rows)]
    return rows, f"{n_rows:,} generated rows of 1 KB"


SETS: Final[dict[str, Callable[[], tuple[list[Sample], str]]]] = {
    "typical": typical_rows,
    "1 KB": small_rows,
}


def write_csv(path: Path, rows: Sequence[Sample]) -> None:
    """The rows with their contexts as a JSON array."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(
            {**row, "contexts": json.dumps(row["contexts"], ensure_ascii=False)} for row in rows
        )


@dataclass(frozen=True)
class Folder:
    """Rows in files of every kind.

    ``rows`` were read back from a file, so that texts that come twice are two objects, as in data
    that somebody has loaded.
    """

    path: Path
    name: str
    source: str
    rows: list[Sample]

    @classmethod
    def filled(cls, path: Path, name: str) -> Folder:
        """Write the files of a set."""
        rows, source = SETS[name]()
        lines = path / "rows.jsonl"
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_csv(path / "rows.csv", rows)
        # No dictionaries: rows that were repeated would fit in them.
        table = pa.Table.from_pylist(list(rows))
        parquet.write_table(
            table, path / "rows.parquet", row_group_size=1 << 14, use_dictionary=False
        )
        with ipc.new_file(path / "rows.arrow", table.schema) as writer:
            writer.write_table(table, 1 << 14)
        with lines.open(encoding="utf-8") as file:
            return cls(path, name, source, [json.loads(line) for line in file])

    def score(self, direction: str) -> Path:
        """Score a file into another one."""
        source, target = direction.split(" → ")
        scores = self.path / f"scores.{target}"
        score_file(self.path / f"rows.{source}", scores, threads=1)
        return scores

    def score_in_memory(self) -> BatchEvalResult:
        """Score the dicts."""
        return evaluate_batch(self.rows, threads=1, keep_texts=False)


@pytest.fixture(scope="module", params=list(SETS))
def folder(request: pytest.FixtureRequest) -> Iterator[Folder]:
    with tempfile.TemporaryDirectory() as path:
        yield Folder.filled(Path(path), request.param)


# ------------------------------------------------------------------------------------- answers


def table_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of scores, None where null."""
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
        return rows
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            return [
                {name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)
            ]
        return [json.loads(line) for line in file]


def check_scores(path: Path, rows: Sequence[Sample], result: BatchEvalResult) -> None:
    """A file has the ids, the scores to the bit, and the null reasons of a result."""
    table = table_of(path)
    assert [row["id"] for row in table] == [row["id"] for row in rows]
    got = np.array(
        [
            [np.nan if row[metric] is None else float(row[metric]) for metric in METRIC_IDS]
            for row in table
        ]
    )
    np.testing.assert_array_equal(got, result.scores)
    for column, metric in enumerate(METRIC_IDS):
        reasons = [
            None if reason == NullReason.MEASURED else NullReason(reason).name.lower()
            for reason in result.null_reasons[:, column].tolist()
        ]
        assert [row[f"{metric}_null_reason"] for row in table] == reasons


# --------------------------------------------------------------------------------------- files


def noting_processor_time(call: Call, taken: list[float]) -> Call:
    """The call, which also leaves the processor time of all its threads in a list."""

    def run() -> None:
        begin = time.process_time()
        call()
        taken.append(time.process_time() - begin)

    return run


def test_files(benchmark: BenchmarkFixture, folder: Folder) -> None:
    rows = folder.rows
    result = folder.score_in_memory()
    for direction in DIRECTIONS:
        check_scores(folder.score(direction), rows, result)
    calls: dict[str, Call] = {
        MEMORY: folder.score_in_memory,
        **{direction: partial(folder.score, direction) for direction in DIRECTIONS},
    }
    processor: dict[str, list[float]] = {name: [] for name in calls}
    noted = {name: noting_processor_time(call, processor[name]) for name, call in calls.items()}
    library = noted.pop(MEMORY)
    seconds = race(benchmark, library, noted, ROUNDS)
    seconds = {MEMORY: seconds.pop("library"), **seconds}
    # The round that race does not count is in these.
    processor = {name: taken[-ROUNDS:] for name, taken in processor.items()}
    shares = {name: ratios(seconds[MEMORY], seconds[name]) for name in DIRECTIONS}
    note(
        benchmark,
        "files",
        set=folder.name,
        source=folder.source,
        rows=len(rows),
        text_mb=text_bytes(rows) / 1e6,
        file_mb={
            kind: (folder.path / f"rows.{kind}").stat().st_size / 1e6
            for kind in ("jsonl", "parquet", "csv")
        },
        seconds={name: Spread.of(taken).as_list() for name, taken in seconds.items()},
        processor_seconds={name: Spread.of(taken).as_list() for name, taken in processor.items()},
        shares={name: spread.as_list() for name, spread in shares.items()},
        processor_shares={
            name: ratios(processor[MEMORY], processor[name]).as_list() for name in DIRECTIONS
        },
        profile={name: shares_of(call) for name, call in calls.items()},
        bars=BARS,
    )
    for direction, bar in BARS.items():
        assert shares[direction].median >= bar, direction


# --------------------------------------------------------------------------------------- Arrow

# What a process does with a table that it has read into memory; its peak tells what that takes.
WAYS: Final = {
    "nothing": "pass",
    "table": "evaluate_batch(table, threads=1, keep_texts=False)",
    "to_pylist": "evaluate_batch(table.to_pylist(), threads=1, keep_texts=False)",
}
# The peak since the program began: what getrusage gives starts at the size of the parent.
_PROGRAM: Final = """
import re, sys
from pathlib import Path
import pyarrow as pa
from rag_eval import evaluate_batch
with pa.OSFile(sys.argv[1]) as file:
    table = pa.ipc.open_file(file).read_all()
evaluate_batch(table.slice(0, 10), threads=1)
evaluate_batch(table.slice(0, 10).to_pylist(), threads=1)
{}
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def peak_mb(path: Path, way: str) -> float:
    """Peak RSS of a process that scores the table in a file in one of the ways."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(WAYS[way]), str(path)],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) * 1024 / 1e6


def test_arrow_in_memory(benchmark: BenchmarkFixture, folder: Folder) -> None:
    """No bar: what the columns save over making dicts of them."""
    with pa.OSFile(str(folder.path / "rows.arrow")) as file:
        table = ipc.open_file(file).read_all()
    score = partial(evaluate_batch, threads=1, keep_texts=False)
    want = folder.score_in_memory()
    got = score(table)
    assert got.scores.tobytes() == want.scores.tobytes()
    assert got.null_reasons.tobytes() == want.null_reasons.tobytes()
    seconds = race(
        benchmark,
        lambda: score(table),
        {
            "dicts": folder.score_in_memory,
            "to_pylist": lambda: score(table.to_pylist()),
        },
        ROUNDS,
    )
    seconds["table"] = seconds.pop("library")
    peaks = {way: peak_mb(folder.path / "rows.arrow", way) for way in WAYS}
    note(
        benchmark,
        "arrow",
        set=folder.name,
        source=folder.source,
        rows=len(folder.rows),
        table_mb=table.nbytes / 1e6,
        seconds={name: Spread.of(taken).as_list() for name, taken in seconds.items()},
        times={
            name: ratios(seconds[name], seconds["table"]).as_list()
            for name in ("dicts", "to_pylist")
        },
        more_mb={way: peaks[way] - peaks["nothing"] for way in WAYS if way != "nothing"},
    )
