"""Files of real tools: at least nine in ten need no flag, and the page says what each gives."""

from __future__ import annotations

from pathlib import Path

import rag_eval
from rag_eval.errors import InputError
from tests.unit.inputs.real_shapes import SHAPES, found, table

PAGE = Path(__file__).parents[3] / "docs" / "files.md"


def test_the_table_of_the_page_is_what_happens() -> None:
    """``python -m tests.unit.inputs.real_shapes`` prints the table anew."""
    assert table() in PAGE.read_text("utf-8")


def test_at_least_nine_in_ten_are_scored_without_a_flag() -> None:
    n_scored = 0
    for shape in SHAPES:
        try:
            result = rag_eval.evaluate_batch([shape.row], profile="grounded")
        except InputError:
            assert found(shape.row).startswith("error: ")
            continue
        assert result.null_reasons.min() == 0, shape.tool  # something was measured
        n_scored += 1
    assert n_scored >= 0.9 * len(SHAPES)
