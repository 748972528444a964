"""Prediction-powered means against ppi-python, which has labelled rows apart from the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rag_eval.stats.ppi import ppi_mean
from rag_eval.stats.sampling_designs import uniform_draw

pytestmark = pytest.mark.crosscheck
ppi_py = pytest.importorskip("ppi_py", reason="make crosscheck installs ppi-python")

N = 5_000


def rows(kind: str) -> tuple[Any, Any]:
    generator = np.random.default_rng(3)
    truth, noise = generator.standard_normal((2, N))
    scores = np.clip(0.5 + 0.25 * truth + 0.2 * noise, 0, 1)
    return ((truth > -0.5).astype(float) if kind == "binary" else 3 + truth), scores


@pytest.mark.parametrize("kind", ["binary", "graded"])
@pytest.mark.parametrize("n", [50, 500])
@pytest.mark.parametrize("weight", [0.0, 0.6, 1.0])
def test_the_estimate_is_theirs(kind: str, n: int, weight: float) -> None:
    """Our mean of scores is over all rows, theirs over unlabelled ones: their weight is less."""
    labels, scores = rows(kind)
    drawn = uniform_draw(N, n, seed=n).rows
    others = np.setdiff1d(np.arange(N), drawn)
    found = ppi_mean(scores, labels[drawn], drawn, weight=weight, target="population")
    theirs = ppi_py.ppi_mean_pointestimate(
        labels[drawn], scores[drawn], scores[others], lam=weight * len(others) / N
    )
    assert found.estimate == pytest.approx(float(theirs[0]), rel=1e-12)


@pytest.mark.parametrize("kind", ["binary", "graded"])
@pytest.mark.parametrize("weight", [0.0, 0.6, 1.0])
def test_the_interval_of_the_population_is_nearly_theirs(kind: str, weight: float) -> None:
    """Theirs is normal and takes the parts as independent; at n = 500 that makes little."""
    labels, scores = rows(kind)
    n = 500
    drawn = uniform_draw(N, n, seed=1).rows
    others = np.setdiff1d(np.arange(N), drawn)
    found = ppi_mean(scores, labels[drawn], drawn, weight=weight, target="population").interval
    low, high = ppi_py.ppi_mean_ci(
        labels[drawn], scores[drawn], scores[others], alpha=0.05, lam=weight * len(others) / N
    )
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(float(high[0] - low[0]), rel=0.02)
    assert found.low == pytest.approx(float(low[0]), abs=0.05 * float(high[0] - low[0]))


@pytest.mark.parametrize("kind", ["binary", "graded"])
def test_the_tuned_estimate_is_near_theirs(kind: str) -> None:
    """They take the spread of scores from all rows, and we from labelled ones."""
    labels, scores = rows(kind)
    drawn = uniform_draw(N, 500, seed=1).rows
    others = np.setdiff1d(np.arange(N), drawn)
    found = ppi_mean(scores, labels[drawn], drawn, target="population")
    theirs = ppi_py.ppi_mean_pointestimate(labels[drawn], scores[drawn], scores[others])
    # Theirs keeps the weight from 0 to 1, which is too little for grades from 0 to 6.
    assert (found.weight <= 1) == (kind == "binary")
    if kind == "binary":
        assert found.estimate == pytest.approx(float(theirs[0]), abs=0.1 * found.standard_error)
    low, high = ppi_py.ppi_mean_ci(labels[drawn], scores[drawn], scores[others], alpha=0.05)
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert found.interval.high - found.interval.low <= 1.02 * float(high[0] - low[0])
