"""Refitted weights against the golden cases of the definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval.calibration.refitting import refit_weights, weighted_scores
from rag_eval.calibration.thresholds import LabelledScores
from rag_eval.errors import InputError
from rag_eval.kernels.settings import LOSSES
from rag_eval.stats.index_sources import Resampling
from tests.tables import every_row

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "grounded" / "refit.json").read_text("utf-8")
)
TOLERANCE = 1e-6


def refitted(case: dict[str, Any]) -> Any:
    groups = case.get("groups")
    numbers = np.arange(len(case["good"]))
    if groups is not None:
        numbers = np.unique(groups, return_inverse=True)[1]
    losses, good = np.array(case["losses"], np.float64), np.array(case["good"], np.bool_)
    return refit_weights(losses, good, numbers, Resampling(n_resamples=2))


def test_the_order_of_the_losses() -> None:
    assert tuple(GOLDEN["features"]) == LOSSES


@every_row("case", GOLDEN["cases"], ids=[case["id"] for case in GOLDEN["cases"]])
def test_golden_cases(case: dict[str, Any]) -> None:
    found, expected = refitted(case), case["expected"]
    assert found.used is expected["used"]
    assert found.shipped_auroc == pytest.approx(expected["auroc_shipped"], abs=1e-12)
    assert found.refitted_auroc == pytest.approx(expected["auroc_refitted"], abs=1e-12)
    assert found.weights == pytest.approx(expected["weights"], abs=TOLERANCE)
    assert found.slope == pytest.approx(expected["slope"], abs=TOLERANCE)
    assert found.intercept == pytest.approx(expected["intercept"], abs=TOLERANCE)
    losses = np.array(case["losses"], np.float64)
    scores = weighted_scores(losses, found.weights)
    assert scores == pytest.approx(expected["scores"], abs=TOLERANCE)
    labelled = LabelledScores(scores, np.array(case["good"], np.bool_))
    threshold = labelled.thresholds(labelled.one_each(), None)[0]
    assert threshold == pytest.approx(expected["threshold"], abs=TOLERANCE)
    probabilities = found.probability_map(scores)
    assert probabilities == pytest.approx(expected["probabilities"], abs=TOLERANCE)


@every_row("case", GOLDEN["errors"], ids=[case["id"] for case in GOLDEN["errors"]])
def test_what_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        refitted(case)
    assert str(caught.value) == case["expected_error"]
