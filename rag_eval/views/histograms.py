"""Columns of scores in, block by block; how each is spread out, as counts of equal bins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.metrics.registry import bounds_of
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchSummary
from rag_eval.results.summaries import COMPOSITE
from rag_eval.views.run_view import Histogram

N_BINS: Final = 20
_Floats = npt.NDArray[np.float64]


def histograms(
    summary: BatchSummary, blocks: Iterable[tuple[_Floats, _Floats]]
) -> dict[str, Histogram]:
    """The histogram of every metric that has scores, and of ``composite``.

    Parameters
    ----------
    summary : BatchSummary
        Of the same rows: least and greatest score of metrics without bounds are taken from it.
    blocks : iterable of (float64 (R, M), float64 (R,))
        Scores in the order of the metrics, and composite scores; NaN is passed over.
    """
    names = [*summary.metrics, COMPOSITE]
    ends = {name: _ends(name, summary) for name in names}
    counts = {name: np.zeros(N_BINS, np.int64) for name in names}
    for scores, composite in blocks:
        for column, name in enumerate(names):
            values = composite if name == COMPOSITE else scores[:, column]
            found = ends[name]
            if found is not None:
                counts[name] += _counted(values, *found)
    return {
        name: Histogram(*found, tuple(counts[name].tolist()))
        for name, found in ends.items()
        if found is not None
    }


def _counted(values: _Floats, low: float, high: float) -> npt.NDArray[np.int64]:
    # What a file says of its scores need not be so.
    measured = np.clip(values[~np.isnan(values)], low, high)
    bins = np.floor((measured - low) / (high - low) * N_BINS).astype(np.int64)
    return np.bincount(np.clip(bins, 0, N_BINS - 1), minlength=N_BINS)


def _ends(name: str, summary: BatchSummary) -> tuple[float, float] | None:
    """Between what the bins lie; None where there is no score."""
    found: Mapping[str, MetricAggregate | CompositeAggregate] = {
        **summary.aggregates,
        COMPOSITE: summary.composite_aggregate,
    }
    aggregate = found[name]
    low, high = aggregate.min, aggregate.max
    if math.isnan(low) or math.isnan(high):
        return None
    least, greatest = (0.0, 1.0) if name == COMPOSITE else bounds_of(name) or (low, high)
    low, high = min(low, least), max(high, greatest)
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        return None
    # Scores that are all the same have no width of their own.
    return (low, high) if low < high else (low - 0.5, high + 0.5)
