"""Scores as an expression of polars, which is imported when one is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rag_eval.errors import InputError
from rag_eval.inputs.samples import SampleError
from rag_eval.integrations.columns import column_scorer, struct_of_scores
from rag_eval.plumbing.extras import package

if TYPE_CHECKING:
    import polars as pl


def rag_scores(
    metrics: str | Iterable[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    prefix: str = "",
    **options: Any,
) -> pl.Expr:
    """Scores of the rows of a frame, eager or lazy, as a struct column named ``rag_eval``.

    ``frame.with_columns(rag_scores()).unnest("rag_eval")`` adds one column per score. Texts are
    read where polars holds them. The streaming engine computes the expression batch by batch.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        The seven by default.
    columns : sequence of str, optional
        The columns to read; all by default. A lazy frame loads no column that nothing reads.
    prefix : str, default ""
        Prefix of the fields, which are the score columns of `rag_eval.distributed.BatchScorer`.
    **options
        Those of ``BatchScorer``; ``profile`` is ``grounded`` by default.

    Raises
    ------
    InputError, TypeError
        For an invalid option, and, when the query runs, for missing fields and invalid rows.
    """
    polars = package("polars", "rag_scores")
    scorer = column_scorer(metrics, prefix, options)
    names, name = scorer.score_names, "rag_eval"

    def score(rows: pl.Series) -> pl.Series:
        try:
            found = scorer.scores(rows.struct.unnest())
        except SampleError as error:
            # polars makes an error of the same class from the message alone.
            raise InputError(str(error)) from None
        return struct_of_scores(polars, names, found, name)

    kind = struct_of_scores(polars, names, scorer.no_scores(), name).dtype
    rows: pl.Expr = polars.struct(polars.all() if columns is None else list(columns))
    return rows.map_batches(score, return_dtype=kind, is_elementwise=True).alias(name)
