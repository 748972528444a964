"""Where the time of a call goes: a profile of Python's, its functions put together into stages.

A function of rag_eval belongs to the stage of its module. What it calls elsewhere (numpy, msgspec,
the file system) and helpers that several stages use count for whoever called them. The profiler
makes short Python functions look dearer than they are: read shares, not times.
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from benchmarks.timing import Call
from rag_eval.inputs import parquet_files
from rag_eval.jobs import stream as streaming
from rag_eval.scoring import engine

Function: TypeAlias = tuple[str, int, str]
Shares: TypeAlias = dict[str, float]

OTHER: Final = "other"
# The first that is in the file name and, where there is a second, in the name of the function.
STAGES: Final = (
    ("outputs/", "assemble", "writing"),
    ("outputs/", "_concatenate", "writing"),
    ("outputs/", "regrouped", "writing"),
    ("outputs/", "_steps", "writing"),
    ("outputs/", "_pieces", "writing"),
    ("outputs/", "_batches", "writing"),
    ("outputs/arrow_rows.py", "_write", "writing"),
    ("outputs/arrow_rows.py", "_content_bytes", "writing"),
    ("outputs/arrow_rows.py", "_array_bytes", "writing"),
    ("outputs/parts.py", "score_blocks", "statistics"),
    ("outputs/parts.py", "", "writing"),
    ("outputs/journal.py", "", "writing"),
    ("durable_files.py", "", "writing"),
    ("outputs/", "", "encoding"),
    ("inputs/byte_files.py", "", "reading"),
    ("inputs/file_lines.py", "", "reading"),
    ("inputs/opened.py", "_identity", "reading"),
    ("inputs/row_blocks.py", "", "packing"),
    ("inputs/row_texts.py", "", "packing"),
    ("inputs/scanned_blocks.py", "", "packing"),
    ("inputs/arrow/", "", "packing"),
    ("inputs/", "", "decoding"),
    ("kernels/columns.py", "", "packing"),
    ("kernels/scoring.py", "", "kernels"),
    ("kernels/settings.py", "", "kernels"),
    ("results/totals.py", "", "statistics"),
    ("results/aggregates.py", "", "statistics"),
    ("results/batch.py", "", "statistics"),
    ("results/summary.py", "", "statistics"),
    ("scoring/batch.py", "", "statistics"),
    ("plumbing/repeated_ids.py", "", "statistics"),
)
STAGE_NAMES: Final = (
    "reading", "decoding", "packing", "kernels", "encoding", "writing", "statistics", OTHER
)  # fmt: skip


def stage_of(function: Function) -> str | None:
    """The stage of a function, None where that is up to its callers."""
    file, _, name = function
    place = file.replace("\\", "/").rpartition("rag_eval/")
    if not place[1]:
        return None
    for part, wanted, stage in STAGES:
        if place[2].startswith(part) and (not wanted or name == wanted):
            return stage
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let files be read, scored and written by the calling thread alone, one after the other.

    A profile sees one thread, and there it would see waits for the others.
    """

    def score_blocks(*arguments: Any, **options: Any) -> Any:
        return engine.score_blocks(*arguments, **{**options, "reads_apart": False})

    def read_ahead(items: Iterable[Any]) -> Generator[Any, None, None]:
        yield from items

    with (
        patch.object(streaming, "score_blocks", score_blocks),
        patch.object(parquet_files, "read_ahead", read_ahead),
    ):
        yield


def shares_of(call: Call) -> Shares:
    """The share of each stage in the time of the call, of which the first is not looked at."""
    profile = cProfile.Profile()
    with one_thread():
        call()
        profile.enable()
        call()
        profile.disable()
    return grouped(pstats.Stats(profile).stats)  # type: ignore[attr-defined]  # has no types


def grouped(stats: Mapping[Function, tuple[Any, ...]]) -> Shares:
    """The share of each stage in the time of a profile."""
    known: dict[Function, Shares] = {}

    def stages(function: Function, above: frozenset[Function]) -> Shares:
        stage = stage_of(function)
        if stage is not None:
            return {stage: 1.0}
        if function in known:
            return known[function]
        callers = {
            caller: counts[3]
            for caller, counts in stats[function][4].items()
            if caller not in above and caller != function and caller in stats
        }
        weight = sum(callers.values())
        if not weight:
            return {OTHER: 1.0}
        found: Shares = {}
        for caller, taken in callers.items():
            for name, share in stages(caller, above | {function}).items():
                found[name] = found.get(name, 0.0) + share * taken / weight
        if not above:
            known[function] = found
        return found

    seconds = dict.fromkeys(STAGE_NAMES, 0.0)
    for function, (_, _, own, _, _) in stats.items():
        for name, share in stages(function, frozenset()).items():
            seconds[name] += share * own
    total = sum(seconds.values())
    return {name: taken / total for name, taken in seconds.items()}
