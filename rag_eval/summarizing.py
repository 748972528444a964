"""Totals of a stream of scores -> the summary of a batch."""

from __future__ import annotations

from dataclasses import replace

from rag_eval.batch_results import BatchSummary
from rag_eval.options import Plan
from rag_eval.score_totals import ScoreBlocks, ScoreTotals
from rag_eval.signature import Signature


def summary_of(
    plan: Plan,
    totals: ScoreTotals,
    blocks: ScoreBlocks | None,
    *,
    evaluated_at: str,
    duration_ms: int,
    notes: list[str],
) -> BatchSummary:
    """The summary of all rows in ``totals``.

    ``blocks`` gives their scores again, for exact medians. Without it medians come from a
    histogram, and the signature says so.
    """
    aggregates, composite = totals.aggregates(blocks)
    signature = Signature.of(plan.columns, plan.settings)
    if blocks is None:
        signature = replace(signature, options={**signature.options, "quantiles": "sketch"})
    n_passed = totals.n_passed
    return BatchSummary(
        metrics=plan.columns,
        n_rows=totals.n_rows,
        n_passed=n_passed,
        aggregates=aggregates,
        composite_aggregate=composite,
        passed=0 < totals.n_rows == n_passed,
        total_duration_ms=duration_ms,
        evaluated_at=evaluated_at,
        signature=signature,
        notes=notes,
    )
