"""Files of real tools: at least nine in ten need no flag, and the page says what each gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.samples import PROFILES, Profile
from tests.unit.inputs.real_shapes import SHAPES, found, table

PAGE = Path(__file__).parents[3] / "docs" / "files.md"


def test_the_table_of_the_page_is_what_happens() -> None:
    """``python -m tests.unit.inputs.real_shapes`` prints the table anew."""
    assert table() in PAGE.read_text("utf-8")


@pytest.mark.parametrize("profile", PROFILES)
def test_at_least_nine_in_ten_are_scored_without_a_flag(profile: Profile, tmp_path: Path) -> None:
    n_scored = 0
    for shape in SHAPES:
        data = tmp_path / "a.json"
        data.write_text(json.dumps([shape.row]))
        try:
            result = rag_eval.evaluate_batch([shape.row], profile=profile)
        except InputError:
            assert found(shape.row).startswith("error: ")
            with pytest.raises(InputError):
                rag_eval.run_file(data, profile=profile)
            continue
        assert result.null_reasons.min() == 0, shape.tool  # something was measured
        in_file = rag_eval.run_file(data, profile=profile).result
        assert in_file.not_measured == result.not_measured, shape.tool
        n_scored += 1
    assert n_scored >= 0.9 * len(SHAPES)
