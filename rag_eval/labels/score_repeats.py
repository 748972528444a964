"""Scores that a judge repeated and an estimate from them in; what repeats add to its noise out.

The labels of drawn rows correct the scores of all rows. The noise of the estimate comes from which
rows were drawn, and from what the scores of a row would be if the judge were asked again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.stats.arrays import Floats
from rag_eval.stats.ppi_results import PpiEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRepeats(JsonRecord):
    """The share of an estimate's noise that comes from repeats of a judge.

    Attributes
    ----------
    share_of_repeats : float
        Share of the squared standard error, from 0 to 1; the rest comes from the choice of the
        labelled rows.
    gain_of_repeats, gain_of_labels : float
        By what share the interval would become narrower with twice the repeats, or twice the
        labels.
    """

    share_of_repeats: float
    gain_of_repeats: float
    gain_of_labels: float

    def __str__(self) -> str:
        return (
            f"{self.share_of_repeats:.0%} of the noise of the estimate comes from repeats of the "
            f"judge and {1 - self.share_of_repeats:.0%} from the choice of labelled rows: twice "
            f"the labels would narrow its interval by {self.gain_of_labels:.0%}, twice the repeats "
            f"by {self.gain_of_repeats:.0%}"
        )


def score_repeats(
    runs: Sequence[ScoredRun], metric: MetricId, probabilities: Floats, result: PpiEstimate
) -> ScoreRepeats | None:
    """What repeats of a judge add to the noise of an estimate.

    Parameters
    ----------
    runs : sequence of ScoredRun
        The runs whose scores the estimate uses: one, or two for a difference.
    metric : MetricId
    probabilities : float64, shape (n,)
        Probability with which each labelled row was drawn.
    result : PpiEstimate

    Returns
    -------
    ScoreRepeats or None
        None if no run has repeats, or the scores were not used.

    Notes
    -----
    The score of a labelled row counts ``weight * (1/N - w)`` and that of any other row
    ``weight / N``, where the w are the weights of the labels. Repeats with the variance v of a
    row's mean so add ``weight**2 * v * (sum(w**2) - 1/N)``. Twice the labels halve the noise where
    they are few of all rows; of these very rows, each also leaves fewer unknown.
    """
    error, n_rows = result.standard_error, result.n_rows
    moments = [run.repeats[metric] for run in runs if metric in run.repeats]
    # Rows that the judge did not score have no noise of repeats.
    variances = [
        found.of_repeats * found.n_rows / n_rows
        for found in moments
        if found.of_repeats is not None
    ]
    if not variances or not result.weight or not error:
        return None
    weights = 1 / probabilities / (1 / probabilities).sum()
    left = max(0.0, float((weights**2).sum()) - 1 / n_rows)
    share = min(1.0, result.weight**2 * math.fsum(variances) * left / error**2)
    fraction = 0.0 if result.target == "population" else result.n_labels / n_rows
    remaining = max(0.0, (1 / 2 - fraction) / (1 - fraction)) if fraction < 1 else 0.0
    return ScoreRepeats(
        share_of_repeats=share,
        gain_of_repeats=1 - math.sqrt(1 - share / 2),
        gain_of_labels=1 - math.sqrt(remaining),
    )
