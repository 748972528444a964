"""Totals of a stream of scores -> the summary of a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rag_eval.options.plan import Plan
from rag_eval.options.signature import signature_of
from rag_eval.results.aggregates import without_means
from rag_eval.results.batch import BatchSummary
from rag_eval.results.row import CostTracker
from rag_eval.results.totals import ScoreBlocks, ScoreTotals

if TYPE_CHECKING:
    from rag_eval.results.judge_report import JudgeReport


def summary_of(
    plan: Plan,
    totals: ScoreTotals,
    blocks: ScoreBlocks | None,
    *,
    evaluated_at: str,
    duration_ms: int,
    notes: list[str],
    judging: JudgeReport | None = None,
) -> BatchSummary:
    """The summary of all rows in ``totals``.

    ``blocks`` gives their scores again, for exact medians. Without it medians come from a
    histogram, and the signature says so.
    """
    aggregates, composite = totals.aggregates(blocks)
    signature = signature_of(plan)
    if blocks is None:
        signature = replace(signature, options={**signature.options, "quantiles": "sketch"})
    n_passed = totals.n_passed
    return BatchSummary(
        metrics=plan.columns,
        n_rows=totals.n_rows,
        n_passed=n_passed,
        aggregates=without_means(plan, aggregates),
        composite_aggregate=composite,
        passed=0 < totals.n_rows == n_passed,
        total_duration_ms=duration_ms,
        evaluated_at=evaluated_at,
        signature=signature,
        notes=notes,
        total_cost=CostTracker() if judging is None else judging.cost,
        judging=judging,
    )
