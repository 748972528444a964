"""A table names every row that fails, and none that passes."""

from __future__ import annotations

import pytest

from tests.tables import every_row


@every_row("left, right", [(1, 1), (1, 2), (3, 4)], ids=["first", "second", "third"])
def _equal(left: int, right: int) -> None:
    assert left == right


@every_row("number", range(3))
def _skipped(number: int) -> None:
    if number == 1:
        pytest.skip()


@every_row("right", [2, 3])
@every_row("left", [2, 3])
def _crossed(left: int, right: int) -> None:
    assert left == right


def test_every_row_that_fails_is_named() -> None:
    with pytest.raises(
        ExceptionGroup, match=r"^2 of 3 rows failed: second; third( \(|$)"
    ) as raised:
        _equal()
    assert [str(failure.__notes__) for failure in raised.value.exceptions] == [
        "['row: second']",
        "['row: third']",
    ]


def test_a_row_that_skips_fails() -> None:
    with pytest.raises(BaseExceptionGroup, match=r"^1 of 3 rows failed: 1( \(|$)"):
        _skipped()


def test_tables_can_be_crossed() -> None:
    with pytest.raises(ExceptionGroup, match=r"^2 of 2 rows failed: 2; 3( \(|$)"):
        _crossed()


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="no rows"):
        every_row("number", [])
