"""A run in; per metric what its card says, out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_eval.errors import RagEvalError
from rag_eval.gating.limits import GateOutcome
from rag_eval.metrics.catalogue import entry_of
from rag_eval.metrics.registry import higher_is_better
from rag_eval.reports.page.charts import BarChart, score_chart
from rag_eval.reports.page.figures import interval_text, score_text, share_text
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.summaries import COMPOSITE
from rag_eval.samples import MetricId
from rag_eval.views.run_view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCard:
    """One metric, or the composite score, over the run.

    Attributes
    ----------
    failed : bool
        A gate of it failed.
    chart : BarChart or None
        None where nothing has a score.
    chart_text : str
        The same in one sentence.
    """

    name: str
    summary: str
    rises: bool
    mean: str
    interval: str
    n: int
    n_rows: int
    n_null: int
    pass_rate: str
    threshold: str | None
    median: str
    spread: str
    failed: bool
    chart: BarChart | None
    chart_text: str


def metric_cards(view: RunView) -> list[MetricCard]:
    """The metrics in the order asked for, and the composite score."""
    failed = {gate.metric_id for gate in view.gates if not gate.held}
    summary = view.summary
    cards = [
        _card(
            view,
            metric,
            aggregate,
            summary=_summary(metric, view),
            rises=higher_is_better(metric),
            threshold=view.thresholds.get(metric),
            failed=metric in failed,
        )
        for metric, aggregate in summary.aggregates.items()
    ]
    composite = _card(
        view,
        COMPOSITE,
        summary.composite_aggregate,
        summary="The weighted mean of a row's scores; nulls are left out.",
        rises=True,
        threshold=None,
        failed=False,
    )
    return [*cards, composite]


def _card(
    view: RunView,
    name: str,
    found: MetricAggregate | CompositeAggregate,
    *,
    summary: str,
    rises: bool,
    threshold: float | None,
    failed: bool,
) -> MetricCard:
    histogram = view.histograms.get(name)
    chart = None if histogram is None else score_chart(histogram, threshold, rises)
    no_mean = math.isnan(found.mean)
    text = (
        f"{name}: scores of {found.n:,} of {found.n_rows:,} rows from {score_text(found.min)} to "
        f"{score_text(found.max)}, median {score_text(found.median)}"
    )
    if threshold is not None:
        text += f"; threshold {score_text(threshold)}"
    return MetricCard(
        name=name,
        summary=summary,
        rises=rises,
        mean=score_text(found.mean),
        interval="no scores" if no_mean else interval_text(found.interval),
        n=found.n,
        n_rows=found.n_rows,
        n_null=found.n_rows - found.n,
        pass_rate=share_text(found.pass_rate),
        threshold=None if threshold is None else f"{threshold:g}",
        median=score_text(found.median),
        spread=score_text(found.std_dev),
        failed=failed,
        chart=chart,
        chart_text=text,
    )


def _summary(metric: MetricId, view: RunView) -> str:
    """What the metric reads, by the profile of the run."""
    signature = view.summary.signature
    is_grounded = signature is not None and signature.profile == "grounded"
    try:
        return entry_of(metric, "grounded" if is_grounded else "overlap").summary
    except (RagEvalError, StopIteration):  # another caller's own, in a result file
        return ""


def gates_in_order(gates: Sequence[GateOutcome]) -> list[GateOutcome]:
    """Those that failed first."""
    return sorted(gates, key=lambda gate: gate.held)
