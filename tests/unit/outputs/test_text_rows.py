"""Cells of CSV: a column is written as its values are one by one, and as Python reads them."""

from __future__ import annotations

import csv
import io
import math
from datetime import date
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval.outputs.text_rows import _cell, _cells, _csv_bytes
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
        [1e308, 1e308],
        [math.inf, -math.inf],
        [1e-4, 0.5],
        [9.9999e-5, 0.5],
        [1e-5, -1e-300],
        [1e15, 1e16],
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
    assert _cells(column) == list(map(_cell, column))


@given(st.lists(st.one_of(st.none(), st.floats())))
@example([1e22, 1e21, 0.1, 5e-324, 1 / 3, 2 / 3, -0.0001, 123456.789e3])
def test_numbers_are_written_as_python_does(column: list[float | None]) -> None:
    assert _cells(column) == [
        "" if value is None or not math.isfinite(value) else repr(value) for value in column
    ]


TEXTS = st.text(st.sampled_from([*"ab,;\" \t\r\n\0é=-'"]), max_size=6)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1))
@example([("", ""), ('"', "a,b"), ("a\rb", "a\nb")])
def test_cells_are_quoted_as_the_standard_library_does(rows: list[tuple[str, str]]) -> None:
    """Told to end lines with a line feed, Python before 3.13 leaves carriage returns bare."""
    written = _csv_bytes(map(_cells, map(list, zip(*rows, strict=True)))).decode()
    cells = [list(map(guarded_cell, row)) for row in rows]
    assert list(csv.reader(io.StringIO(written, newline=""), strict=True)) == cells
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(cells)
    lines = [",".join(map(_cell, row)) for row in rows]
    assert text.getvalue() == "".join(f"{line}\r\n" for line in lines)
