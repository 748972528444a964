"""What kernels kept of rows: rows can be taken from it, and put together again."""

from __future__ import annotations

import pytest

from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.columns import KeptRows
from rag_eval.kernels.scoring import explained_batch, metric_numbers
from rag_eval.kernels.settings import GroundedSettings, OverlapSettings, Settings
from rag_eval.metrics.ids import ALL_METRIC_IDS

ROWS = [
    {
        "question": "Who led the trial?",
        "answer": f"Ellen Marsh led trial {n}. It took {n} years. " * n,
        "contexts": ["Ellen Marsh led the trial."] * n,
        "ground_truth": "It was led by Ellen Marsh of Ulm.",
    }
    for n in range(5)
]


def kept(settings: Settings) -> KeptRows:
    metrics = ALL_METRIC_IDS[:7]
    batch = read_rows(ROWS, 0, FieldNeeds.of(metrics, settings.profile)).pack()
    return explained_batch(batch, settings, metric_numbers(metrics))[1]


@pytest.mark.parametrize("settings", [GroundedSettings(), OverlapSettings()])
def test_rows_alone_are_what_they_were_and_hold_nothing_of_others(settings: Settings) -> None:
    found = kept(settings)
    rows = [found.alone(index) for index in range(len(ROWS))]
    assert [[*map(repr, row)] for row in rows] == [[repr(row)] for row in found]
    for name in ("numbers", "values", "texts"):
        assert b"".join(getattr(row, name) for row in rows) == getattr(found, name)


@pytest.mark.parametrize("settings", [GroundedSettings(), OverlapSettings()])
def test_rows_are_joined_in_any_order(settings: Settings) -> None:
    found = kept(settings)
    places = [3, 0, 4, 4]
    joined = KeptRows.of_rows(found.alone(index) for index in places)
    assert [*map(repr, joined)] == [repr(found[index]) for index in places]
