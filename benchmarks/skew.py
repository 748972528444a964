"""How unequal rows keep workers waiting: a simulation of many workers, no library involved.

Rows have sizes that follow Zipf's law, in KB, and cost what they are long. They are cut into blocks
by bytes, which workers take from a queue; beside that, into as many parts of equal numbers of rows
as there are workers. What it costs to start a task is left out.

    python -m benchmarks.skew [--rows N] [--seed N]
"""

from __future__ import annotations

import argparse
import heapq
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Sizes: TypeAlias = npt.NDArray[np.int64]

EXPONENTS: Final = (1.1, 1.5, 2.0)
WORKERS: Final = (64, 1024)
ROWS: Final = 1_000_000
UNIT_BYTES: Final = 1_000
LARGEST_BYTES: Final = 100_000_000
# As the library cuts files.
BLOCK_BYTES: Final = 1 << 20
BLOCK_ROWS: Final = 1024


class Case(NamedTuple):
    """One distribution of sizes on one number of workers.

    ``queue`` and ``equal_rows`` are the time until the last worker is done, ``least`` is that of
    the largest row alone; all in times of the ideal, in which every worker has the same work.
    """

    exponent: float
    workers: int
    mean_bytes: float
    n_largest: int
    ideal_bytes: float
    least: float
    queue: float
    equal_rows: float


def row_sizes(rng: np.random.Generator, exponent: float, n_rows: int) -> Sizes:
    """Sizes whose probability falls with this power of the size, up to 100 MB."""
    return np.minimum(rng.zipf(exponent, n_rows), LARGEST_BYTES // UNIT_BYTES) * UNIT_BYTES


def block_costs(sizes: Sizes) -> list[int]:
    """What blocks cost that end with the row that fills them, or with the last they may have."""
    ends = np.cumsum(sizes)
    costs: list[int] = []
    begin = done = 0
    while begin < len(sizes):
        end = int(np.searchsorted(ends, done + BLOCK_BYTES)) + 1
        end = min(end, begin + BLOCK_ROWS, len(sizes))
        costs.append(int(ends[end - 1]) - done)
        begin, done = end, int(ends[end - 1])
    return costs


def queue_makespan(costs: Sequence[int], workers: int) -> int:
    """When the last is done if whoever is free takes the next."""
    free_at = [0] * workers
    for cost in costs:
        heapq.heapreplace(free_at, free_at[0] + cost)
    return max(free_at)


def equal_rows_makespan(sizes: Sizes, workers: int) -> int:
    """When the last is done if each has an equal number of consecutive rows."""
    begins = np.arange(workers, dtype=np.int64) * len(sizes) // workers
    return int(np.add.reduceat(sizes, begins).max())


def simulate(n_rows: int = ROWS, seed: int = 0) -> list[Case]:
    """All exponents on all numbers of workers; the same rows for each of these."""
    rng = np.random.default_rng(seed)
    cases = []
    for exponent in EXPONENTS:
        sizes = row_sizes(rng, exponent, n_rows)
        costs = block_costs(sizes)
        for workers in WORKERS:
            ideal = float(sizes.sum()) / workers
            cases.append(
                Case(
                    exponent,
                    workers,
                    mean_bytes=float(sizes.mean()),
                    n_largest=int((sizes == LARGEST_BYTES).sum()),
                    ideal_bytes=ideal,
                    least=float(sizes.max()) / ideal,
                    queue=queue_makespan(costs, workers) / ideal,
                    equal_rows=equal_rows_makespan(sizes, workers) / ideal,
                )
            )
    return cases


def table(cases: Sequence[Case]) -> list[str]:
    """The cases as a Markdown table, times in those of the ideal."""
    head = (
        "exponent", "mean row", "rows of 100 MB", "workers", "data per worker",
        "the largest row alone", "blocks from a queue", "equal numbers of rows",
    )  # fmt: skip
    rows = [
        (
            f"{case.exponent}",
            f"{case.mean_bytes / 1e3:,.0f} KB",
            f"{case.n_largest:,}",
            f"{case.workers:,}",
            f"{case.ideal_bytes / 1e6:,.0f} MB",
            f"{case.least:.3f}",
            f"{case.queue:.3f}",
            f"{case.equal_rows:.3f}",
        )
        for case in cases
    ]
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.skew", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    options = parser.parse_args(arguments)
    print("\n".join(table(simulate(options.rows, options.seed))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
