"""What a row adds to the work of a result file, counted, since a busy machine changes no count."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import rag_eval
from rag_eval.samples import Profile
from rag_eval.stats.distributions import student_quantile
from tests.counted_work import operations
from tests.unit.reports.test_page_cost import write_samples

# With and without details; a tenth more than they are. It was 2,000 and more when each row was
# made Python objects on its way, and 3,000 when each number was put into its words by Python.
_MOST_STEPS: Final = 1_150


@pytest.mark.parametrize("profile", ["grounded", "overlap"])
def test_a_row_of_a_result_file_takes_few_steps(tmp_path: Path, profile: Profile) -> None:
    for details in (False, True):

        def steps(n_rows: int, details: bool = details) -> int:
            data = write_samples(tmp_path / f"{n_rows}.jsonl", n_rows)
            result = tmp_path / f"{n_rows}.json"
            student_quantile.cache_clear()  # other tests may have asked for some of them
            count = operations(
                lambda: rag_eval.run_file(
                    data, profile=profile, output=result, details=details, threads=1
                )
            )
            assert result.read_bytes().count(b'"sample":') == n_rows
            return count

        steps(2)  # what is imported or set up once
        per_row = (steps(256) - steps(128)) / 128
        assert per_row <= _MOST_STEPS
