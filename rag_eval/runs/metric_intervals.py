"""A run and the clusters of its rows in; a confidence interval for each mean out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.metrics.registry import bounds_of
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.score_rows import metadata_of
from rag_eval.runs.run_files import sample_of
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.stats.groups import group_numbers
from rag_eval.stats.intervals import Interval
from rag_eval.stats.mean_intervals import mean_interval
from rag_eval.stats.moment_intervals import MeanMethod


def mean_intervals(
    run: ScoredRun | BatchEvalResult,
    *,
    cluster_by: str | Sequence[object] | None = None,
    level: float = 0.95,
    method: MeanMethod | None = None,
    seed: int = 0,
) -> dict[MetricId, Interval]:
    """The mean of every metric and of the composite score, with its confidence interval.

    Parameters
    ----------
    run : ScoredRun or BatchEvalResult
    cluster_by : str or sequence, optional
        Clusters of dependent rows: the name of a metadata field (a column that the scored run was
        read with), or a value for each row.
    level, method, seed
        As for :func:`rag_eval.stats.mean_interval`.

    Returns
    -------
    dict of Interval
        By metric, with ``"composite"`` last.

    Raises
    ------
    InputError
        For a row without the field, or a scored run that was read without it.
    """
    groups = None if cluster_by is None else group_numbers(_groups(run, cluster_by))
    composite = run.composite if isinstance(run, ScoredRun) else run.composite_scores

    options: dict[str, Any] = {"groups": groups, "level": level, "method": method, "seed": seed}
    found = {
        metric: column_interval(metric, run.scores[:, column], **options)
        for column, metric in enumerate(run.metrics)
    }
    return {**found, COMPOSITE: column_interval(COMPOSITE, composite, **options)}


def column_interval(name: MetricId, scores: npt.NDArray[np.float64], **options: Any) -> Interval:
    """The mean of one metric, or of ``"composite"``, with an interval within its score range.

    ``options`` are those of :func:`rag_eval.stats.mean_interval`.
    """
    bounds = (0.0, 1.0) if name == COMPOSITE else bounds_of(name)
    measured = scores[~np.isnan(scores)]
    if bounds is not None and ((measured < bounds[0]) | (measured > bounds[1])).any():
        bounds = None  # a custom metric with scores outside its declared range
    return mean_interval(scores, bounds=bounds, **options)


def _groups(
    run: ScoredRun | BatchEvalResult, cluster_by: str | Sequence[object]
) -> Iterable[object]:
    if not isinstance(cluster_by, str):
        return cluster_by
    if isinstance(run, BatchEvalResult):
        return [metadata_of(sample_of(run, row), cluster_by) for row in range(len(run))]
    if cluster_by not in run.columns:
        known = ", ".join(run.columns) or "none"
        raise InputError(f"{run.name} was read without the column {cluster_by} (columns: {known})")
    return run.columns[cluster_by]
