"""Rows that are made to be costly take Python steps in proportion to their size.

``make gate`` counts the instructions that the kernels take for them, by ``benchmarks/growth.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from benchmarks.growth import FACTOR, LIMIT, Pair, growing
from tests.counted_work import operations
from tests.tables import every_row

GROWING = dict(growing())


@every_row("pair", GROWING.values(), ids=list(GROWING))
def test_steps_grow_with_the_row(pair: Pair) -> None:
    pair.small()  # what is imported or set up once
    assert operations(pair.large) <= LIMIT * operations(pair.small)


def test_steps_that_grow_with_the_square_are_seen() -> None:
    def pairs_of(n: int) -> Callable[[], object]:
        return lambda: [len("") for _ in range(n) for _ in range(n)]

    before = sys.gettrace()
    assert operations(pairs_of(10 * FACTOR)) > LIMIT * operations(pairs_of(10))
    with pytest.raises(ZeroDivisionError):
        operations(lambda: 1 / 0)
    assert sys.gettrace() is before
