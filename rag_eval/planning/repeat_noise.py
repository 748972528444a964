"""A run with repeats in; what share of the noise of a mean is from repeats, out."""

from __future__ import annotations

from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.stats.repeat_noise import RepeatNoise, repeat_noise

__all__ = ["RepeatNoise", "repeat_noise", "repeat_noise_of_run"]


def repeat_noise_of_run(run: ScoredRun, metric: MetricId) -> RepeatNoise:
    """Like :func:`repeat_noise`, for one metric of a run with repeats."""
    return repeat_noise(run.ids, run.column(metric))
