"""What repeats of a judge add to the noise of an estimate: by the formula, and by repeating."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rag_eval.labels.score_repeats import score_repeats
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats import ppi_mean
from rag_eval.stats.ppi_results import Target
from rag_eval.stats.repeat_noise import RepeatMoments
from tests.tables import every_row

N_ROWS, N_REPEATS = 400, 3


def of_repeats(scores: np.ndarray) -> ScoredRun:
    """A run whose judge gave these scores, shape (rows, repeats)."""
    n_rows, moments = len(scores), RepeatMoments()
    for row in scores:
        moments.add(row.tolist())
    return ScoredRun(
        name="run",
        ids=[str(row) for row in range(n_rows)],
        metrics=("faithfulness",),
        scores=scores.mean(axis=1)[:, np.newaxis],
        null_reasons=np.zeros((n_rows, 1), np.uint8),
        metric_passed=np.ones((n_rows, 1), np.int8),
        composite=scores.mean(axis=1),
        passed=np.ones(n_rows, np.int8),
        repeats={"faithfulness": moments},
    )


@every_row(("is_uniform", "target"), [(True, "rows"), (False, "rows"), (True, "population")])
def test_the_share_is_that_of_asking_the_judge_again(is_uniform: bool, target: Target) -> None:
    generator = np.random.default_rng(4)
    truth = generator.random(N_ROWS)
    labels = (truth + generator.normal(0, 0.2, N_ROWS) > 0.5).astype(float)
    probability = np.full(N_ROWS, 0.25) if is_uniform else 0.1 + 0.3 * truth
    drawn = np.flatnonzero(generator.random(N_ROWS) < probability)
    found, estimates = None, []
    for _ in range(250):
        scores = truth[:, np.newaxis] + generator.normal(0, 0.3, (N_ROWS, N_REPEATS))
        result = ppi_mean(
            scores.mean(axis=1),
            labels[drawn],
            drawn,
            probabilities=probability[drawn],
            weight=0.8,
            target=target,
        )
        estimates.append(result.estimate)
        run = of_repeats(scores)
        found = found or score_repeats([run], "faithfulness", probability[drawn], result)
    assert found is not None
    again = float(np.var(estimates)) / result.standard_error**2
    assert found.share_of_repeats == pytest.approx(again, rel=0.25)
    assert found.gain_of_repeats == pytest.approx(1 - (1 - found.share_of_repeats / 2) ** 0.5)
    assert score_repeats([], "faithfulness", probability[drawn], result) is None
    unused = replace(result, weight=0.0)
    assert score_repeats([run], "faithfulness", probability[drawn], unused) is None


def test_rows_that_were_not_judged_have_no_noise_of_repeats() -> None:
    generator = np.random.default_rng(5)
    scores = generator.random((N_ROWS, N_REPEATS))
    drawn = np.arange(0, N_ROWS, 4)
    result = ppi_mean(scores.mean(axis=1), np.round(scores[drawn, 0]), drawn)
    run, half = of_repeats(scores), RepeatMoments()
    for row in scores[: N_ROWS // 2]:
        half.add(row.tolist())
    asked = ("faithfulness", np.full(len(drawn), 0.25), result)
    whole = score_repeats([run], *asked)
    part = score_repeats([replace(run, repeats={"faithfulness": half})], *asked)
    assert whole is not None
    assert part is not None
    assert part.share_of_repeats == pytest.approx(whole.share_of_repeats / 2, rel=0.1)
    assert whole.gain_of_labels == pytest.approx(1 - (1 / 3) ** 0.5)  # a quarter of the rows
