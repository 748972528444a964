"""Columns of scores in; histograms and means of slices out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.metrics.ids import COMPOSITE
from rag_eval.metrics.registry import bounds_of
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchSummary
from rag_eval.runs.metric_intervals import column_interval
from rag_eval.samples import MetricId
from rag_eval.views.run_view import Histogram, SliceView

N_BINS: Final = 20
MOST_VALUES: Final = 50
"""Of one field, the most frequent: a field with a value for each row is no slice."""
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
        Scores in the order of the metrics, and composite scores; NaN is skipped.
    """
    names = [*summary.metrics, COMPOSITE]
    found: Mapping[str, MetricAggregate | CompositeAggregate]
    found = {**summary.aggregates, COMPOSITE: summary.composite_aggregate}
    ends = {name: _ends(name, found[name]) for name in names}
    counts = {name: np.zeros(N_BINS, np.int64) for name in names}
    for scores, composite in blocks:
        for column, name in enumerate(names):
            values = composite if name == COMPOSITE else scores[:, column]
            if (between := ends[name]) is not None:
                counts[name] += _counted(values, *between)
    return {
        name: Histogram(*between, tuple(counts[name].tolist()))
        for name, between in ends.items()
        if between is not None and name not in summary.left_out
    }


def _counted(values: _Floats, low: float, high: float) -> npt.NDArray[np.int64]:
    # A file may be wrong about its scores.
    measured = np.clip(values[~np.isnan(values)], low, high)
    bins = np.floor((measured - low) / (high - low) * N_BINS).astype(np.int64)
    return np.bincount(np.clip(bins, 0, N_BINS - 1), minlength=N_BINS)


def _ends(name: str, aggregate: MetricAggregate | CompositeAggregate) -> tuple[float, float] | None:
    """The range of the bins; None without scores."""
    low, high = aggregate.min, aggregate.max
    if math.isnan(low) or math.isnan(high):
        return None
    least, greatest = (0.0, 1.0) if name == COMPOSITE else bounds_of(name) or (low, high)
    low, high = min(low, least), max(high, greatest)
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        return None
    # Scores that are all the same have no width of their own.
    return (low, high) if low < high else (low - 0.5, high + 0.5)


# ----------------------------------------------------------------------------------------- slices


def slices_of(
    metrics: Sequence[MetricId],
    scores: npt.NDArray[np.float64],
    composite: npt.NDArray[np.float64],
    passed: npt.NDArray[np.bool_],
    columns: Mapping[str, Sequence[str | None]],
    left_out: Collection[MetricId] = (),
) -> tuple[SliceView, ...]:
    """One view for each value of each field, by field and by how many rows have the value.

    Parameters
    ----------
    metrics : sequence of MetricId
    scores : float64, shape (R, M)
        NaN where null.
    composite : float64, shape (R,)
    passed : bool, shape (R,)
    columns : mapping
        Per field a text for each row, or None.
    left_out : collection of MetricId
        Metrics that are not shown.
    """
    found: list[SliceView] = []
    for name, values in columns.items():
        places: dict[str | None, list[int]] = {}
        for row, value in enumerate(values):
            places.setdefault(value, []).append(row)
        frequent = Counter({value: len(rows) for value, rows in places.items()})
        for value, _ in frequent.most_common(MOST_VALUES):
            rows = np.array(places[value], np.int64)
            means = {
                metric: column_interval(metric, scores[rows, column])
                for column, metric in enumerate(metrics)
                if metric not in left_out
            }
            means[COMPOSITE] = column_interval(COMPOSITE, composite[rows])
            measured = ~np.isnan(np.column_stack([scores[rows], composite[rows]]))
            counts = measured.sum(axis=0).tolist()
            found.append(
                SliceView(
                    field=name,
                    value=value,
                    n_rows=len(rows),
                    n_passed=int(passed[rows].sum()),
                    means=means,
                    n_scored=dict(zip([*metrics, COMPOSITE], counts, strict=True)),
                )
            )
    return tuple(found)
