"""Rows of a run in; the rows that a report lists (the worst, and a random sample) out."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

MOST_ROWS: Final = 20_000
_Row = TypeVar("_Row")
_Floats = npt.NDArray[np.float64]
# Composite scores are cut to this, so that a verdict weighs more than any of them.
_WIDEST: Final = 1e5


class RowChoice(Generic[_Row]):
    """Keeps all rows of a short run; of a long one half the worst, half drawn from the rest.

    The worst are those that failed, by their composite score, then those without one. The draw
    takes each row with the same chance, and the same rows every time.

    Parameters
    ----------
    most : int
    """

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most = most
        self._worst: _Least[_Row] = _Least(most // 2)
        self._drawn: _Least[_Row] = _Least(most)

    def add(
        self,
        first: int,
        composite: _Floats,
        passed: npt.NDArray[np.bool_],
        row: Callable[[int], _Row],
    ) -> None:
        """Consider rows from number ``first`` on; ``row`` gives the one at a place among these."""
        numbers = np.arange(first, first + len(composite), dtype=np.uint64)
        badness = np.nan_to_num(np.clip(composite, -_WIDEST, _WIDEST), nan=2 * _WIDEST)
        self._worst.add(np.where(passed, 8 * _WIDEST, 0.0) + badness, first, row)
        # 53 bits of the hash are a float without rounding.
        self._drawn.add((_mixed(numbers) >> np.uint64(11)).astype(np.float64), first, row)

    def chosen(self) -> list[_Row]:
        """The rows in the order of the run."""
        drawn = self._drawn.rows()
        if len(drawn) < self._most:
            return [drawn[number] for number in sorted(drawn)]
        found = self._worst.rows()
        for number, row in drawn.items():
            if len(found) == self._most:
                break
            found.setdefault(number, row)
        return [found[number] for number in sorted(found)]


class _Least(Generic[_Row]):
    """The rows with the N least keys; of equal ones the earlier."""

    def __init__(self, most: int) -> None:
        self._most = most
        # The greatest is on top: (-key, -number, row); numbers differ, so rows are not compared.
        self._heap: list[tuple[float, int, _Row]] = []

    def add(self, keys: _Floats, first: int, row: Callable[[int], _Row]) -> None:
        for place in np.flatnonzero(keys < self._limit()).tolist():
            key = float(keys[place])
            if key >= self._limit():
                continue
            entry = (-key, -(first + place), row(place))
            if len(self._heap) < self._most:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heapreplace(self._heap, entry)

    def _limit(self) -> float:
        if not self._most:
            return -np.inf
        return np.inf if len(self._heap) < self._most else -self._heap[0][0]

    def rows(self) -> dict[int, _Row]:
        """By number, the least key first."""
        return {-number: row for _, number, row in sorted(self._heap, reverse=True)}


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers scattered over 64 bits, by the finalizer of SplitMix64 (Steele et al. 2014)."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
