"""Scores of all rows, counted up or as a matrix -> the summary of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.options.plan import Plan
from rag_eval.options.signature import signature_of
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.results.aggregates import MatrixAggregates, without_means
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.results.missing_texts import MissingTexts
from rag_eval.results.regressions import Baseline, compare_means
from rag_eval.results.row import CostTracker, EvalResult
from rag_eval.results.totals import ScoreBlocks, ScoreTotals
from rag_eval.results.verdicts import Refusals
from rag_eval.samples import MetricId

if TYPE_CHECKING:
    from rag_eval.results.judge_report import JudgeReport

_Summary = TypeVar("_Summary", bound=BatchSummary)


class RunFacts(TypedDict):
    """What is known of a run besides its scores."""

    evaluated_at: str
    duration_ms: int
    notes: list[str]
    judging: JudgeReport | None
    not_measured: NotRequired[Mapping[MetricId, str]]
    left_out: NotRequired[tuple[MetricId, ...]]


def summary_of(
    plan: Plan, totals: ScoreTotals, blocks: ScoreBlocks | None, **run: Unpack[RunFacts]
) -> BatchSummary:
    """The summary of all rows in ``totals``.

    ``blocks`` gives their scores again, for exact medians. Without it medians come from a
    histogram, and the signature says so.
    """
    aggregates, composite = totals.aggregates(blocks)
    fields = _fields(plan, totals, run)
    if blocks is None:
        signature = fields["signature"]
        options = {**signature.options, "quantiles": "sketch"}
        fields["signature"] = replace(signature, options=options)
    return BatchSummary(
        **fields, aggregates=without_means(plan, aggregates), composite_aggregate=composite
    )


def batch_of(
    plan: Plan,
    scores: npt.NDArray[np.float64],
    null_reasons: npt.NDArray[np.uint8],
    results: Sequence[EvalResult],
    lacked_texts: npt.NDArray[np.uint8],
    **run: Unpack[RunFacts],
) -> BatchEvalResult:
    """The result of a batch from its score matrix; ``lacked_texts`` as of ScoreTotals."""
    verdicts = verdicts_of(scores, plan.rule, null_reasons)
    refusals = Refusals()
    refusals.add(scores, null_reasons, plan)
    missing_texts = MissingTexts.of(lacked_texts, verdicts.passed)
    counts = _Counts(len(scores), int(verdicts.passed.sum()), refusals, missing_texts)
    return BatchEvalResult(
        **_fields(plan, counts, run),
        aggregates=MatrixAggregates(plan, scores, verdicts.metric_passed),
        composite_aggregate=None,  # type: ignore[arg-type]  # computed when it is looked at
        scores=scores,
        null_reasons=null_reasons,
        composite_scores=verdicts.composite,
        sample_passed=verdicts.passed,
        results=results,
    )


class _Counts(NamedTuple):
    """What is counted of the rows of a batch; :class:`ScoreTotals` has the same."""

    n_rows: int
    n_passed: int
    refusals: Refusals
    missing_texts: MissingTexts


def _fields(plan: Plan, counts: _Counts | ScoreTotals, run: RunFacts) -> dict[str, Any]:
    """The fields of a :class:`BatchSummary` that are not statistics."""
    judging, n_rows, n_passed = run["judging"], counts.n_rows, counts.n_passed
    missing, told = counts.missing_texts, list[str]()
    if missing.any:
        absent = {*run.get("left_out", ()), *run.get("not_measured", ())}
        told = missing.note([name for name in plan.columns if name not in absent])
    return {
        "metrics": plan.columns,
        "n_rows": n_rows,
        "n_passed": n_passed,
        "passed": 0 < n_rows == n_passed,
        "total_duration_ms": run["duration_ms"],
        "evaluated_at": run["evaluated_at"],
        "signature": signature_of(plan),
        "settings": VerdictSettings.of(plan),
        "notes": [*run["notes"], *told, *counts.refusals.notes],
        "missing_texts": missing,
        "not_measured": run.get("not_measured", {}),
        "left_out": run.get("left_out", ()),
        "total_cost": CostTracker() if judging is None else judging.cost,
        "judging": judging,
        "failed_judgements": () if judging is None else judging.failed,
    }


def compared(
    summary: _Summary, baseline: Baseline | None, metrics: Iterable[MetricId], threshold: float
) -> _Summary:
    """The summary with the regressions of some metrics, where there is a baseline."""
    if baseline is None:
        return summary
    regressions = compare_means(summary.aggregates, baseline, metrics, threshold)
    return replace(summary, regressions=regressions)
