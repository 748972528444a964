"""Seconds of Spark, Ray and Dask against a single process, on this machine.

``python -m benchmarks.engines.measure`` writes rows into Parquet files, and then has each engine
read them, score them and write a Parquet file of scores, each in a process of its own. Start-up is
the time until a job of a few rows is through; the jobs after it are the steady state.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.corpora import generate, text_bytes
from benchmarks.timing import Spread, seconds_of

ROOT: Final = Path(__file__).resolve().parents[2]
_DISTINCT_ROWS: Final = 2000
_N_FILES: Final = 8
_FEW: Final = "few.parquet"
_MANY: Final = "many"
_PACKAGES: Final = (
    *("pyspark", "ray", "dask", "distributed", "datasets"),
    *("pyarrow", "pandas", "numpy", "pytest"),
)


class Job(NamedTuple):
    """What is timed: a file or folder of rows -> a folder of scores, or statistics alone."""

    score: Callable[[Path, Path], Any]
    totals: Callable[[Path], Any]


def write_rows(folder: Path, n_rows: int) -> int:
    """Rows in some files, and few in another; gives the bytes of text."""
    import pyarrow as pa
    from pyarrow import parquet

    distinct = generate("typical", min(n_rows, _DISTINCT_ROWS))
    rows = [{**distinct[i % len(distinct)], "id": f"g{i}"} for i in range(n_rows)]
    (folder / _MANY).mkdir()
    for number in range(_N_FILES):
        part = rows[n_rows * number // _N_FILES : n_rows * (number + 1) // _N_FILES]
        parquet.write_table(pa.Table.from_pylist(part), folder / _MANY / f"{number}.parquet")
    parquet.write_table(pa.Table.from_pylist(rows[:10]), folder / _FEW)
    return text_bytes(rows)


@contextmanager
def single_process() -> Iterator[Job]:
    from rag_eval.jobs.file_scoring import score_file

    def score(source: Path, target: Path) -> None:
        target.mkdir()
        files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
        score_file([*files], target / "scores.parquet", threads=2, quantiles="sketch")

    # There is no pass without a file: its summary is that of the same pass.
    yield Job(score, lambda source: None)


@contextmanager
def spark() -> Iterator[Job]:
    from pyspark.sql import SparkSession

    from rag_eval.distributed import score_spark, totals_spark

    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )

    def score(source: Path, target: Path) -> None:
        score_spark(session.read.parquet(str(source)), columns=["id"]).write.parquet(str(target))

    yield Job(score, lambda source: totals_spark(session.read.parquet(str(source))))
    session.stop()


@contextmanager
def ray() -> Iterator[Job]:
    import ray
    import ray.data

    from rag_eval.distributed import score_ray, totals_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def score(source: Path, target: Path) -> None:
        scored = score_ray(ray.data.read_parquet(str(source)), columns=["id"])
        scored.write_parquet(str(target))

    yield Job(score, lambda source: totals_ray(ray.data.read_parquet(str(source))))
    ray.shutdown()


@contextmanager
def dask() -> Iterator[Job]:
    import dask.dataframe
    from dask.distributed import Client, LocalCluster

    from rag_eval.distributed import score_dask, totals_dask

    def score(source: Path, target: Path) -> None:
        score_dask(dask.dataframe.read_parquet(source), columns=["id"]).to_parquet(target)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        yield Job(score, lambda source: totals_dask(dask.dataframe.read_parquet(source)))


ENGINES: Final = {"one process": single_process, "Spark": spark, "Ray": ray, "Dask": dask}


def measure(name: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Seconds of one engine: to start, to score, to total; and what it totalled."""
    target = folder / "scores"

    def score(source: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        job.score(source, target)

    found: dict[str, Any] = {}

    def begin() -> None:
        nonlocal job
        job = opened.__enter__()
        score(folder / _FEW)

    job: Job
    opened = ENGINES[name]()
    found["start"] = seconds_of(begin)
    try:
        found["score"] = [seconds_of(lambda: score(folder / _MANY)) for _ in range(rounds)]
        found["total"] = [seconds_of(lambda: job.totals(folder / _MANY)) for _ in range(rounds)]
        found["scores"] = checksum(target)
    finally:
        opened.__exit__(None, None, None)
    return found


def checksum(folder: Path) -> list[Any]:
    """Ids and scores, in the order of the ids: what is timed must be right."""
    from pyarrow import compute, parquet

    tables = [parquet.read_table(path) for path in sorted(folder.rglob("*.parquet"))]
    names = ["id", "faithfulness", "answer_relevance", "context_recall", "composite_score"]
    rows = sorted(
        row for table in tables for row in zip(*(table[n].to_pylist() for n in names), strict=True)
    )
    passed = sum(compute.sum(table["passed"]).as_py() for table in tables)
    return [len(rows), hash(tuple(rows)), passed]


def in_own_process(name: str, folder: Path, rounds: int) -> dict[str, Any]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "PYTHONWARNINGS": "ignore",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, "-m", __spec__.name, "--engine", name]
    command += ["--folder", str(folder), "--rounds", str(rounds)]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(n_rows: int, rounds: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_bytes = write_rows(folder, n_rows)
        found = {engine: in_own_process(engine, folder, rounds) for engine in ENGINES}
    checksums = [result["scores"] for result in found.values()]
    assert all(one == checksums[0] for one in checksums), f"scores differ: {checksums}"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    yield f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores."
    yield ""
    yield (
        f"{n_rows:,} rows of {n_bytes / n_rows / 1000:.1f} KB in {_N_FILES} Parquet files; median "
        f"of {rounds} (least to most). All wrote the same scores of {checksums[0][0]:,} rows."
    )
    yield ""
    yield "| | start-up, s | score and write, s | times one process | totals, s |"
    yield "|---|---|---|---|---|"
    own = Spread.of(found["one process"]["score"]).median
    for engine, result in found.items():
        score, total = Spread.of(result["score"]), Spread.of(result["total"])
        shown = "in the same pass" if engine == "one process" else _shown(total)
        yield (
            f"| {engine} | {result['start']:.1f} | {_shown(score)} | {score.median / own:.1f} "
            f"| {shown} |"
        )


def _shown(spread: Spread) -> str:
    return f"{spread.median:.1f} ({spread.low:.1f} to {spread.high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=list(ENGINES))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(given.engine, given.folder, given.rounds)))
    else:
        print(*report(given.rows, given.rounds), sep="\n")


if __name__ == "__main__":
    main()
