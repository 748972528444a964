"""Rows that belong together: fields of rows in; a summary whose intervals use them out."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import SampleBlock, values_or_metadata
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.options.plan import Plan
from rag_eval.plumbing.spelling import counted
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.results.row import ByMetric, sample_dict
from rag_eval.results.score_rows import metadata_of
from rag_eval.runs.metric_intervals import column_interval
from rag_eval.runs.run_files import known_verdicts, sample_of
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.faulty_rows import origin_of
from rag_eval.scoring.repeated_texts import DOCUMENT, contexts_key

_Summary = TypeVar("_Summary", bound=BatchSummary)


class RowClusters:
    """Numbers the clusters of rows, 4 bytes a row and a dictionary of their names.

    Parameters
    ----------
    name : str
        A field of the samples or of their metadata; see also :data:`DOCUMENT`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._known: dict[object, int] = {}
        self._numbers = array("i")

    def add_block(self, block: SampleBlock) -> None:
        """Add the rows of a block."""

        def name(row: int) -> str:
            return origin_of(block).name(row, block.sample(row))

        for row, value in enumerate(values_or_metadata(block, self.name)):
            found = value
            if value is None and self.name == DOCUMENT:
                found = contexts_key(sample_dict(block.sample(row)))
            self._add(found, partial(name, row))

    def add_sample(self, sample: Mapping[str, Any], name: str) -> None:
        """Add a row, which messages call ``name``."""
        value = metadata_of(sample, self.name)
        if value is None and self.name == DOCUMENT:
            value = contexts_key(sample)
        self._add(value, lambda: name)

    def _add(self, value: object, name: Callable[[], str]) -> None:
        if value is None or isinstance(value, (dict, list)):
            what = "no" if value is None else "no text or number as"
            raise InputError(
                f"{name()} has {what} {self.name}: with cluster_by every row needs one"
            )
        self._numbers.append(self._known.setdefault(value, len(self._known)))

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The cluster of each row so far."""
        return np.array(self._numbers, np.int64)


class RunClusters(RowClusters):
    """The clusters of a run, with the scores of its rows: 8 bytes for each."""

    def __init__(self, name: str, plan: Plan) -> None:
        super().__init__(name)
        self._plan = plan
        self._scores: list[npt.NDArray[np.float64]] = []
        self._null_reasons: list[npt.NDArray[np.uint8]] = []

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Add the rows of a scored block."""
        self.add_block(scored.rows)
        self._scores.append(scored.scores)
        self._null_reasons.append(scored.null_reasons)

    def applied(self, summary: _Summary) -> _Summary:
        """The summary, with intervals by clusters."""
        scores = np.concatenate(self._scores)
        verdicts = verdicts_of(scores, self._plan.rule, np.concatenate(self._null_reasons))
        return with_clusters(
            summary, self, scores, verdicts.composite, verdicts.metric_passed, verdicts.passed
        )


def with_clusters(
    summary: _Summary,
    clusters: RowClusters,
    scores: npt.NDArray[np.float64],
    composite: npt.NDArray[np.float64],
    metric_passed: npt.NDArray[Any],
    passed: npt.NDArray[Any],
) -> _Summary:
    """The summary, with the intervals of its means and pass rates by clusters.

    Parameters
    ----------
    scores : float64, shape (R, M)
    composite : float64, shape (R,)
    metric_passed : shape (R, M)
        1, or true, where a row passed.
    passed : shape (R,)
    """
    groups = clusters.numbers

    def changed(name: str, found: Any, column: npt.NDArray[Any], held: npt.NDArray[Any]) -> Any:
        shares = (held == 1).astype(np.float64)
        of_pass_rate = column_interval(COMPOSITE, shares, groups=groups)
        interval = found.interval and column_interval(name, column, groups=groups)
        return replace(found, interval=interval, clustered_pass_interval=of_pass_rate)

    aggregates = {
        metric: changed(metric, found, scores[:, place], metric_passed[:, place])
        for place, (metric, found) in enumerate(summary.aggregates.items())
    }
    note = (
        f"confidence intervals are for {counted(len(np.unique(groups)), 'cluster')} of rows with "
        f"the same {clusters.name}"
    )
    return replace(
        summary,
        aggregates=ByMetric(aggregates),
        composite_aggregate=changed(COMPOSITE, summary.composite_aggregate, composite, passed),
        notes=[*summary.notes, note],
    )


def by_clusters(batch: BatchEvalResult, name: str) -> BatchEvalResult:
    """The batch with intervals by clusters; see :meth:`BatchEvalResult.by_clusters`."""
    clusters = RowClusters(name)
    for row in range(len(batch)):
        clusters.add_sample(sample_of(batch, row), f"row {row + 1:,}")
    return with_clusters(
        batch,
        clusters,
        batch.scores,
        batch.composite_scores,
        known_verdicts(batch),
        batch.sample_passed,
    )
