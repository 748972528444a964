"""Columns of numbers -> count, sum and sum of squares, exact whatever the order of the rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rag_eval._native import exact_sums

_SCALE = 1074  # exact sums count in units of 2**-1074, the least double above 0
_FLUSH_ROWS = 1 << 24


class ExactMoments:
    """Count, sum and sum of squares of doubles, without rounding; mergeable.

    Sums are Python integers in units of 2**-1074 and, for squares, 2**-2148.
    """

    __slots__ = ("count", "squares", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.squares = 0

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

    def merge(self, other: ExactMoments) -> None:
        """Add all that ``other`` has seen."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares

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
