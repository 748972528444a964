"""A run with repeats in; what share of the noise of a mean is from repeats, out."""

from __future__ import annotations

from rag_eval.errors import InputError
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.stats.repeat_noise import RepeatNoise, repeat_noise

__all__ = ["RepeatNoise", "repeat_noise", "repeat_noise_of_run"]


def repeat_noise_of_run(run: ScoredRun, metric: MetricId) -> RepeatNoise:
    """How much of the noise of a mean is from repeats, for a metric of a run.

    Rows with the same id are repeats; where no ids are the same, the repeats are those of an LLM
    judge (``judge_repeat``), which result files have.

    Raises
    ------
    InputError
        For a run without the metric, fewer than two rows, or no row with two scores.
    """
    if (found := run.repeat_noise(metric)) is None:
        raise InputError(f"{run.name}: no row has two scores of {metric}, so it has no repeats")
    return found
