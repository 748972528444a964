"""Scores and fields of rows in; the means of the rows with each value of a field out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.results.summaries import COMPOSITE
from rag_eval.runs.metric_intervals import column_interval
from rag_eval.samples import MetricId
from rag_eval.views.run_view import SliceView

MOST_VALUES: Final = 50
"""Of one field, the most frequent: a field with a value for each row is no slice."""


def slices_of(
    metrics: Sequence[MetricId],
    scores: npt.NDArray[np.float64],
    composite: npt.NDArray[np.float64],
    passed: npt.NDArray[np.bool_],
    columns: Mapping[str, Sequence[str | None]],
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
