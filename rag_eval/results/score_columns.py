"""Scores of rows, appended one by one, in; columns and the statistics of them out."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.results.aggregates import (
    CompositeAggregate,
    MetricAggregate,
    aggregate_composite,
    aggregate_metric,
)
from rag_eval.results.row import ByMetric
from rag_eval.results.score_rows import ScoreRow
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.samples import MetricId, NullReason

# Of a metric that a row does not have.
_NOTHING: Final = (np.nan, int(NullReason.SKIPPED), NO_VERDICT)


class ScoreColumns:
    """Columns of this many metrics, or of more with later rows.

    A row takes 10 bytes for each metric and 9 more.

    Attributes
    ----------
    composite : array of float64
    passed : array of int8
        Of the rows as a whole.
    """

    def __init__(self, n_metrics: int = 0) -> None:
        self.composite = array("d")
        self.passed = array("b")
        self._width = n_metrics
        # Row after row: scores, null reasons, verdicts.
        self._cells: tuple[array[Any], ...] = (array("d"), array("B"), array("b"))

    def add(self, row: ScoreRow) -> None:
        """Append a row; it may have more metrics than those before it, which have no score then."""
        if len(row.scores) != self._width:
            self._widen(len(row.scores))
        scores, null_reasons, verdicts = self._cells
        scores.extend(row.scores)
        null_reasons.extend(row.null_reasons)
        verdicts.extend(row.verdicts)
        self.composite.append(row.composite)
        self.passed.append(row.passed)

    def _widen(self, width: int) -> None:
        old = self.matrices()
        self._width = width
        for cells, matrix, nothing in zip(self._cells, old, _NOTHING, strict=True):
            wider = np.full((len(matrix), width), nothing, matrix.dtype)
            wider[:, : matrix.shape[1]] = matrix
            del cells[:]
            cells.frombytes(wider.tobytes())

    def matrices(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Scores, float64, null reasons, uint8, and verdicts, int8; a column for each metric."""
        shape = (len(self.passed), self._width)
        scores, reasons, verdicts = (np.array(cells).reshape(shape) for cells in self._cells)
        return scores, reasons, verdicts

    def aggregates(self, metrics: Iterable[MetricId]) -> ByMetric[MetricAggregate]:
        """The statistics of each metric, in the order of the columns."""
        scores, _, verdicts = self.matrices()
        return ByMetric(
            {
                metric: aggregate_metric(metric, scores[:, column], verdicts[:, column] == 1)
                for column, metric in enumerate(metrics)
            }
        )

    def composite_aggregate(self) -> CompositeAggregate:
        """The statistics of the composite scores, and how many rows passed."""
        return aggregate_composite(np.array(self.composite), np.array(self.passed) == 1)
