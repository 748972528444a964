"""Cells of a table in; what each of them gives, from several processes, out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

PROCESSES = "RAG_EVAL_SIMULATIONS"
"""A variable of the environment: how many processes simulate."""

_Found = TypeVar("_Found")


def in_processes(work: Callable[..., _Found], cells: Sequence[tuple[Any, ...]]) -> list[_Found]:
    """``work`` of each cell, in the order of the cells.

    A cell has its own seed among its arguments, so the number of processes changes no figure.
    """
    n_processes = int(os.environ.get(PROCESSES, "1"))
    if n_processes == 1:
        return [work(*cell) for cell in cells]
    with ProcessPoolExecutor(n_processes) as pool:
        return list(pool.map(work, *zip(*cells, strict=True)))


def seeded(
    work: Callable[..., _Found], cells: Sequence[tuple[Any, ...]], seeds: Sequence[int]
) -> Iterator[_Found]:
    """What each cell gives, with a generator of its own."""
    return iter(in_processes(work, [(*cell, [*seeds, at]) for at, cell in enumerate(cells)]))


def seconds_so_far() -> float:
    """What this process and those that it waited for took of the processors."""
    return sum(os.times()[:4])
