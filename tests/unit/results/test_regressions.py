"""Baselines: what their statistics must be."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.results.regressions import Baseline
from tests.tables import every_row


def baseline(null_rate: object) -> Baseline:
    return Baseline.of({"aggregates": {"contextRecall": {"mean": 0.5, "nullRate": null_rate}}})


@every_row(
    ("null_rate", "message"),
    [
        (-0.5, "must be between 0 and 1, got -0.5"),
        (50, "must be between 0 and 1, got 50; 50 % is written 0.5"),
        (math.nan, "must be finite, got nan"),
        ("1", "must be a number, got str"),
        (True, "must be a number, got bool"),
    ],
)
def test_a_null_rate_that_is_no_share_is_refused_by_its_place(null_rate: Any, message: str) -> None:
    place = "baseline_result: aggregates.contextRecall.nullRate"
    with pytest.raises(InputError, match=f"^{place} {message}$"):
        baseline(null_rate)


def test_a_metric_without_scores_is_known_by_its_null_rate() -> None:
    found = {rate: bool(baseline(rate).unscored) for rate in (None, 0, 0.25, 1)}
    assert found == {None: False, 0: False, 0.25: False, 1: True}
