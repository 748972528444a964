"""Times this library beside others on the same rows, in one run, on one thread.

    python -m benchmarks.peers [--node FOLDER] [--seconds S] [--write]

Packages that are not installed are named and left out; so is rag-eval-node-ts, unless ``--node``
names a built checkout. ``--write`` writes ``PEERS.md``, of which README.md shows a part. Each row
of the page says what is computed for a row of the data: only rows of one section do equal work, and
even there peers compute scores of their own, which agree with people more or less
(``validity/RESULTS.md``).
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from benchmarks.corpora import Sample, benchmark_set, text_bytes
from benchmarks.peer_calls import PEERS, Peer
from benchmarks.peer_node import node_peer
from benchmarks.rendering import table
from benchmarks.timing import Spread
from rag_eval import __version__

PAGE: Final = Path(__file__).with_name("PEERS.md")
ROUNDS: Final = 5
Rows: TypeAlias = Sequence[Sample]


class Timed(NamedTuple):
    """A peer with its microseconds a row and the rows that were timed."""

    peer: Peer
    versions: str
    n_rows: int
    micros: Spread


def versions_of(peer: Peer) -> str | None:
    """``rapidfuzz 3.14``; None where a package is missing."""
    if peer.is_ours:
        return __version__
    try:
        return ", ".join(f"{name} {version(name)}" for name in peer.packages)
    except PackageNotFoundError:
        return None


def rows_within(score: Callable[[Rows], object], rows: Rows, seconds: float) -> int:
    """How many of the rows take about so long, and at least four."""
    n_rows, taken = 4, 0.0
    while n_rows < len(rows):
        begin = time.process_time()
        score(rows[:n_rows])
        taken = time.process_time() - begin
        if taken >= seconds / 4:
            break
        n_rows = min(len(rows), n_rows * 4)
    return max(4, min(len(rows), int(n_rows * seconds / taken))) if taken else n_rows


def timed(peers: Sequence[tuple[Peer, str]], rows: Rows, seconds: float) -> list[Timed]:
    """Microseconds of processor time a row, the peers taking turns."""
    calls = [peer.make() for peer, _ in peers]
    numbers = [rows_within(call, rows, seconds) for call in calls]
    micros: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for place, (call, n_rows) in enumerate(zip(calls, numbers, strict=True)):
            begin = time.process_time()
            # A peer of another process says itself how long it took.
            taken = call(rows[:n_rows])
            own = taken if isinstance(taken, float) else time.process_time() - begin
            micros[place].append(own / n_rows * 1e6)
    return [
        Timed(peer, versions, n_rows, Spread.of(values))
        for (peer, versions), n_rows, values in zip(peers, numbers, micros, strict=True)
    ]


def section(title: str, found: Sequence[Timed]) -> list[str]:
    """The table of a section, the fastest first; times are over the first of ours."""
    ours = next(one for one in found if one.peer.is_ours)
    lines = []
    for one in sorted(found, key=lambda one: one.micros.median):
        micros = one.micros
        lines.append(
            (
                one.peer.name,
                one.versions,
                one.peer.work,
                f"{one.n_rows:,}",
                f"{micros.median:,.1f} ({micros.low:,.1f}–{micros.high:,.1f})",
                f"{1e6 / micros.median:,.0f}",
                f"{micros.median / ours.micros.median:,.1f} ×",
            )
        )
    head = ["scorer", "version", "work for a row", "rows", "µs a row", "rows/s", "time"]
    return [f"## {title}", "", *table(head, lines)]


def page(found: dict[str, list[Timed]], missing: Sequence[str], rows: Rows, source: str) -> str:
    """The page of results."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    size = text_bytes(list(rows)) / len(rows)
    lines = [
        "# Beside other libraries",
        "",
        "`python -m benchmarks.peers --write`, in an environment with the packages named below",
        "",
        "Processor time on one thread: the median of "
        f"{ROUNDS} rounds in turns, least and most. Rows are the first of {source}, of "
        f"{size:,.0f} bytes; slow scorers get fewer. Only rows of one table do comparable work. "
        "How well scores agree with people is on [another page](validity/RESULTS.md).",
        "",
        f"{cpu}, Python {platform.python_version()}.",
        "",
    ]
    for title, each in found.items():
        lines += section(title, each)
    lines.append(f"Not measured: {'; '.join(missing) or 'nothing'}.")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--node", type=Path, help="a built checkout of rag-eval-node-ts")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each scorer and round")
    parser.add_argument("--write", action="store_true", help="write PEERS.md")
    asked = parser.parse_args(arguments)
    rows, source = benchmark_set("typical")
    peers = [(peer, versions_of(peer)) for peer in PEERS]
    missing = [f"{peer.name} (not installed)" for peer, found in peers if found is None]
    if asked.node is None:
        missing.append("rag-eval-node-ts (no checkout named: --node)")
    else:
        try:
            peers.append(node_peer(asked.node))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            sys.exit(f"--node {asked.node}: {error}")
    by_title: dict[str, list[tuple[Peer, str]]] = {}
    for peer, found in peers:
        if found is not None:
            by_title.setdefault(peer.title, []).append((peer, found))
    results = {title: timed(each, rows, asked.seconds) for title, each in by_title.items()}
    text = page(results, missing, rows, source)
    print(text)
    if asked.write:
        PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
