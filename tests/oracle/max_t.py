"""Step-down max-T over all sign patterns, as Westfall and Young define it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction


def adjusted_p_worse(columns: Sequence[Sequence[float]]) -> list[Fraction]:
    """Of columns of whole numbers (so that sums are exact), each with a value in every row."""
    found = [_t(column) for column in columns]
    patterns = [
        [
            _t([sign * value for sign, value in zip(signs, column, strict=True)])
            for column in columns
        ]
        for signs in itertools.product((1, -1), repeat=len(columns[0]))
    ]
    order = sorted(range(len(columns)), key=lambda test: (-found[test], test))
    p_values, least = [Fraction(1)] * len(columns), Fraction(0)
    for step, test in enumerate(order):
        left = order[step:]
        extreme = sum(max(pattern[one] for one in left) >= found[test] for pattern in patterns)
        least = p_values[test] = max(least, Fraction(extreme, len(patterns)))
    return p_values


def _t(column: Sequence[float]) -> float:
    """High is worse; rounded, so that sums of different columns that are equal tie."""
    squares = sum(value * value for value in column)
    return round(-sum(column) / math.sqrt(squares), 9) if squares else 0.0
