"""Columns of numbers -> count and sums of powers, exact whatever the order of the rows."""

from __future__ import annotations

import math
import threading
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval._native import score_columns

_SCALE = 1074  # exact sums count in units of 2**-1074, the least double above 0
_FLUSH_ROWS = 1 << 24

_Pieces: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
# A thread's pieces of sums and squares between two calls, all of them 0. A new pair takes longer to
# clear than the few scores of a small batch to add.
_idle: Final = threading.local()


class ExactMoments:
    """Count, sum and sum of squares of doubles, without rounding, and of their cubes; mergeable.

    Sums are Python integers in units of 2**-1074 and, for squares, 2**-2148. Each cube is rounded
    once, and 0 if it is beyond all doubles.
    """

    __slots__ = ("count", "cubes", "squares", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.squares = 0
        self.cubes = 0

    def add(self, values: npt.NDArray[np.float64]) -> None:
        """Add the values that are not NaN."""
        for begin in range(0, len(values), _FLUSH_ROWS):
            block = values[begin : begin + _FLUSH_ROWS]
            count, total, squares = _power_sums(block)
            self.count += count
            self.total += total
            self.squares += squares
            with np.errstate(over="ignore", under="ignore"):
                cubes = block * block * block
            cubes[np.isinf(cubes)] = 0.0
            self.cubes += _power_sums(cubes)[1]

    def merge(self, other: ExactMoments) -> None:
        """Add all that ``other`` has seen."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        self.cubes += other.cubes

    @property
    def mean(self) -> float:
        """The mean, correctly rounded; NaN of nothing."""
        return self.total / (self.count << _SCALE) if self.count else math.nan

    @property
    def standard_deviation(self) -> float:
        """The population's, from the exact variance; NaN of nothing."""
        if not self.count:
            return math.nan
        spread = self.count * self.squares - self.total**2
        # Rooted as an integer of 140 bits and more: a variance may lie beyond all doubles.
        shift = max(0, (141 - spread.bit_length()) // 2)
        return math.isqrt(spread << (2 * shift)) / (self.count << (_SCALE + shift))

    @property
    def third_moment(self) -> float:
        """The third central moment, to a few parts in 1e16 of the largest cube; NaN of nothing."""
        if not self.count:
            return math.nan
        n, total = self.count, self.total
        cubes = (n * n * self.cubes) << (2 * _SCALE)
        apart = cubes - 3 * n * total * self.squares + 2 * total**3
        try:
            return apart / (n**3 << (3 * _SCALE))
        except OverflowError:
            return math.nan


def _power_sums(values: npt.NDArray[np.float64]) -> tuple[int, int, int]:
    """How many values there are, their sum and that of their squares."""
    # Taken, not borrowed: pieces that an exception leaves half full are used by nobody.
    pieces: _Pieces | None = _idle.__dict__.pop("pieces", None)
    sums, squares = pieces or (np.zeros((2048, 2), np.int64), np.zeros((2048, 4), np.int64))
    count, first, end = score_columns.add_column(values, sums, squares)
    total = total_squares = 0
    for exponent, (low, high) in enumerate(sums[first:end].tolist(), first):
        total += (low + (high << 32)) << exponent
    for exponent, parts in enumerate(squares[first:end].tolist(), first):
        whole = sum(part << (32 * place) for place, part in enumerate(parts))
        total_squares += whole << (2 * exponent)
    sums[first:end] = squares[first:end] = 0
    _idle.pieces = sums, squares
    return count, total, total_squares
