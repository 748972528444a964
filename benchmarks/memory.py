"""Peak memory of the command line on a large file: 1,000,000 samples of 1 KB.

The file is written to the temporary folder, about 1 GB, and removed.

    python -m benchmarks.memory [--rows N] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks import corpora

BAR_MB: Final = 600
N_ROWS: Final = 1_000_000
SAMPLE: Final = corpora.Shape(
    answer_words=30, n_contexts=2, context_words=40, truth_words=15, truth_sentences=1
)
_N_TEXTS: Final = 2_000


def lines(n_rows: int) -> Iterator[str]:
    """JSON lines of about 1 KB, their texts drawn anew for each from two thousand samples."""
    pool = corpora.samples_of(SAMPLE, min(n_rows, _N_TEXTS))
    rng = random.Random("memory")
    for number in range(n_rows):
        row, other = rng.choice(pool), rng.choice(pool)
        row = {**row, "id": f"m{number}", "contexts": other["contexts"]}
        yield json.dumps(row, ensure_ascii=False)


def write_rows(path: Path, n_rows: int) -> int:
    """Write the file, row by row; its size in bytes."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines(n_rows))
    return path.stat().st_size


def run(path: Path) -> tuple[int, float, float]:
    """Exit code, seconds and peak RSS in MB of the command line on a file.

    A child's peak begins at what its parent held when it was started, so this process stays small:
    it imports no numpy and writes the file row by row.
    """
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "rag_eval", "run", str(path), "--quiet"],
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    seconds = time.perf_counter() - begin
    # 1 is a gate that failed: the scores of made-up texts are low.
    if done.returncode not in (0, 1):
        raise RuntimeError(f"rag_eval run ended with {done.returncode}: {done.stderr[-2000:]}")
    # Kilobytes on Linux.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    return done.returncode, seconds, peak


def measure(n_rows: int) -> dict[str, float]:
    """Write the rows, run the command line on them, and give what it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        n_bytes = write_rows(path, n_rows)
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        _, seconds, peak = run(path)
    return {
        "rows": n_rows,
        "file_mb": n_bytes / 1e6,
        "seconds": seconds,
        "rows_per_second": n_rows / seconds,
        "peak_mb": peak,
        "parent_mb": own,
        "bar_mb": BAR_MB,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 below the bar, 1 above."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    figures = measure(options.rows)
    if options.json:
        print(json.dumps(figures))
    else:
        print(
            f"{figures['rows']:,} rows, {figures['file_mb']:,.0f} MB: {figures['seconds']:.1f} s, "
            f"{figures['rows_per_second']:,.0f} rows/s, peak RSS {figures['peak_mb']:.0f} MB "
            f"(bar {BAR_MB} MB)"
        )
    return 0 if figures["peak_mb"] < BAR_MB else 1


if __name__ == "__main__":
    sys.exit(main())
