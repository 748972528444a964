"""What kernels kept of rows: rows can be taken from it, and are as by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds, SampleLike
from rag_eval.kernels.columns import KeptRows
from rag_eval.kernels.scoring import explained_batch, metric_numbers
from rag_eval.kernels.settings import GroundedSettings, OverlapSettings, Settings
from rag_eval.metrics.ids import ALL_METRIC_IDS

ROWS: list[dict[str, Any]] = [
    {
        "question": "Who led the trial?",
        "answer": f"Ellen Marsh led trial {n}. It took {n} years. " * n,
        "contexts": ["Ellen Marsh led the trial."] * n,
        "ground_truth": "It was led by Ellen Marsh of Ulm.",
    }
    for n in range(5)
]


def kept(settings: Settings, rows: Sequence[SampleLike] = ROWS) -> KeptRows:
    metrics = ALL_METRIC_IDS[:7]
    batch = read_rows(list(rows), 0, FieldNeeds.of(metrics, settings.profile)).pack()
    return explained_batch(batch, settings, metric_numbers(metrics))[1]


@pytest.mark.parametrize("settings", [GroundedSettings(), OverlapSettings()])
def test_rows_alone_are_what_they_were_and_hold_nothing_of_others(settings: Settings) -> None:
    found = kept(settings)
    rows = [found.alone(index) for index in range(len(ROWS))]
    assert [[*map(repr, row)] for row in rows] == [[repr(row)] for row in found]
    for name in ("numbers", "values", "texts"):
        assert b"".join(getattr(row, name) for row in rows) == getattr(found, name)


@pytest.mark.parametrize("settings", [GroundedSettings(), OverlapSettings()])
def test_rows_of_a_block_are_kept_as_each_by_itself(settings: Settings) -> None:
    """Nothing of a row is left to the next, which has as many sentences and other contexts."""
    rows = [*ROWS, {**ROWS[0], "contexts": [*reversed(ROWS[0]["contexts"]), *ROWS[1]["contexts"]]}]
    rows += [rows[0], {**rows[0], "contexts": ["Nothing."]}]
    apart = [kept(settings, [row])[0] for row in rows]
    assert [*map(repr, kept(settings, rows))] == [*map(repr, apart)]
