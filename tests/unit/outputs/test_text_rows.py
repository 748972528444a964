"""Cells of CSV: a column at once is written as its values are one by one."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

from rag_eval.outputs.text_rows import _cell, _cells
from rag_eval.plumbing.csv_cells import guarded_cell
from tests.tables import every_row


@every_row(
    "column",
    [
        [],
        [None, None],
        [0.5, -0.0, 1.0],
        [0.25, None, 0.0],
        [0.5, math.nan, math.inf],
        [1e308, 1e308],  # their sum is no number
        [math.inf, -math.inf],
        [True, False, None],
        [True, 0.5],
        [1, True],
        [1, None, 2.5],
        ["a", "=1+1", "-5", "-a", "ü1", "a;=b", "", "\ttab", "'=x", "\uff1d1", "\u0661"],
        ["a", None, 1],
        [["=a"], {"b": 1}, date(2026, 1, 1), "x\ud800"],
    ],
)
def test_a_column_is_written_as_its_values_are(column: list[Any]) -> None:
    found, expected = _cells(column), list(map(_cell, column))
    assert list(map(repr, found)) == list(map(repr, expected))
    assert not any(isinstance(cell, float) and not math.isfinite(cell) for cell in found)
    texts = [value for value in column if isinstance(value, str)]
    assert [_cell(text) for text in texts] == [guarded_cell(text) for text in texts]
