"""Columns of scores, for engines that hand over columns of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rag_eval.jobs.record_batches import BatchScorer
from rag_eval.outputs.columns import REASON_NAMES, RowScores
from rag_eval.plumbing.checked_values import thread_count

if TYPE_CHECKING:
    import polars as pl


def column_scorer(
    metrics: str | Iterable[str] | None, prefix: str, options: Mapping[str, Any]
) -> BatchScorer:
    """A scorer of the grounded profile on all cores, unless the options say otherwise."""
    named = [metrics] if isinstance(metrics, str) else metrics
    known = {"profile": "grounded", "threads": thread_count(None), **options, "prefix": prefix}
    return BatchScorer(named, **known)


def struct_of_scores(polars: Any, names: list[str], scores: RowScores, name: str) -> pl.Series:
    """The columns of scores as a series of polars, NaN as null; as ``score_arrays`` for Arrow."""
    series, reasons = polars.Series, polars.Series(REASON_NAMES, dtype=polars.String)
    found = [
        *(series(column, nan_to_null=True) for column in scores.scores.T),
        *(reasons.gather(column) for column in scores.null_reasons.T),
        series(scores.composite, nan_to_null=True),
        series(scores.passed),
        *(series(column, nan_to_null=True) for column in scores.probabilities),
    ]
    struct: pl.Series = polars.DataFrame(dict(zip(names, found, strict=True))).to_struct(name)
    return struct
