"""Columns of numbers -> count and sums of powers, exact whatever the order of the rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rag_eval._native import exact_sums

_SCALE = 1074  # exact sums count in units of 2**-1074, the least double above 0
_FLUSH_ROWS = 1 << 24


class ExactMoments:
    """Count, sum and sum of squares of doubles, without rounding, and of their cubes; mergeable.

    Sums are Python integers in units of 2**-1074 and, for squares, 2**-2148. Each cube is rounded
    once, and 0 where it is beyond all doubles.
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
            sums = np.zeros((2048, 2), np.int64)
            squares = np.zeros((2048, 4), np.int64)
            block = values[begin : begin + _FLUSH_ROWS]
            count, first, end = exact_sums.add_column(block, sums, squares)
            self.count += count
            for exponent, (low, high) in enumerate(sums[first:end].tolist(), first):
                self.total += (low + (high << 32)) << exponent
            for exponent, pieces in enumerate(squares[first:end].tolist(), first):
                whole = sum(piece << (32 * place) for place, piece in enumerate(pieces))
                self.squares += whole << (2 * exponent)
            with np.errstate(over="ignore", under="ignore"):
                cubes = block * block * block
            cubes[np.isinf(cubes)] = 0.0
            sums = np.zeros((2048, 2), np.int64)
            _, first, end = exact_sums.add_column(cubes, sums, np.zeros((2048, 4), np.int64))
            for exponent, (low, high) in enumerate(sums[first:end].tolist(), first):
                self.cubes += (low + (high << 32)) << exponent

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
