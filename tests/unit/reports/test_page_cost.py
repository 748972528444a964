"""What a row adds to the work of an HTML report, counted: a report of thousands is made at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

import rag_eval
from rag_eval.samples import Profile
from tests.counted_work import operations

HANDBOOK: Final = Path(__file__).parents[3] / "examples" / "handbook.jsonl"
# Some 9,500 in the overlap profile, 10,500 in the other; 44,000 and more when rows were written as
# HTML.
_MOST_STEPS: Final = 11_000


def write_samples(path: Path, n_rows: int) -> Path:
    """The example as often as it takes, each time under other ids."""
    lines = HANDBOOK.read_text("utf-8").splitlines()
    with path.open("w", encoding="utf-8") as file:
        for number in range(n_rows):
            sample = {**json.loads(lines[number % len(lines)]), "id": f"row-{number}"}
            file.write(json.dumps(sample) + "\n")
    return path


@pytest.mark.parametrize("profile", ["grounded", "overlap"])
def test_a_row_that_is_only_data_takes_few_steps(tmp_path: Path, profile: Profile) -> None:
    """Beyond the first hundred, which are HTML, too."""

    def steps(n_rows: int) -> int:
        data = write_samples(tmp_path / f"{n_rows}.jsonl", n_rows)
        page = tmp_path / f"{n_rows}.html"
        count = operations(
            lambda: rag_eval.run_file(data, profile=profile, view=True, threads=1).to_html(page)
        )
        assert f"All {n_rows} rows" in page.read_text("utf-8")
        return count

    steps(2)  # what is imported or set up once
    per_row = (steps(256) - steps(128)) / 128
    assert per_row <= _MOST_STEPS
