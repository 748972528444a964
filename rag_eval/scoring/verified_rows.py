"""A plan's verifier at work on rows: what it scores, and how many rows are judged at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_eval.judge.metrics.verified import RowVerifier
from rag_eval.judge.verifiers import VERIFIED_METRICS
from rag_eval.judge.verifying import SupportAsker
from rag_eval.options.cascade import verifier_threshold
from rag_eval.options.plan import Plan

if TYPE_CHECKING:
    from rag_eval.options.judging import Judging


def row_verifier(plan: Plan, asker: SupportAsker | None) -> RowVerifier | None:
    """The verifier of a plan at work, if it has one."""
    judging = plan.judging
    if judging is None or judging.verifier is None or asker is None:
        return None
    metrics = [metric for metric in judging.judged if metric in VERIFIED_METRICS]
    thresholds = {metric: verifier_threshold(plan, metric) for metric in metrics}
    return RowVerifier(asker, judging.verifier, judging.verifier_band, thresholds)


def rows_at_once(judging: Judging) -> int:
    """Rows that are judged at a time: with a verifier, enough for a full batch.

    The calls of judges are limited by themselves.
    """
    n_rows = judging.limits.concurrency
    return n_rows if judging.verifier is None else max(n_rows, judging.verifier.batch_size)
