"""The metric cards and comparison tables of the page, as the templates read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import MetricChange, Slice
from rag_eval.errors import RagEvalError
from rag_eval.metrics.catalogue import entry_of
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.metrics.registry import higher_is_better
from rag_eval.reports.figures import score_text, shown_name
from rag_eval.reports.page.charts import BarChart, difference_chart, score_chart, spans
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.samples import MetricId
from rag_eval.views.run_view import RunView

_MOST_MOVED: Final = 10
_MOST_SLICES: Final = 100
_COMPOSITE: Final = "Weighted mean of a row's scores; nulls are excluded."


# --------------------------------------------------------------------------------------- metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCard:
    """One metric, or the composite score, over the run.

    Attributes
    ----------
    summary : str
        What the metric measures.
    failed : bool
        Whether a gate on it failed.
    chart : BarChart or None
        None if no row has a score.
    """

    name: str
    summary: str
    found: MetricAggregate | CompositeAggregate
    rises: bool
    threshold: float | None
    failed: bool
    chart: BarChart | None

    @property
    def decides(self) -> bool:
        """Whether a row can fail by it: without a threshold a metric lets every score pass."""
        return self.name == COMPOSITE or self.threshold is not None

    @property
    def chart_text(self) -> str:
        """The chart in one sentence."""
        found = self.found
        text = (
            f"{shown_name(self.name)}: scores of {found.n:,} of {found.n_rows:,} rows from "
            f"{score_text(found.min)} to {score_text(found.max)}, median {score_text(found.median)}"
        )
        if self.threshold is None:
            return text
        return f"{text}; threshold {score_text(self.threshold)}"


def metric_cards(view: RunView) -> list[MetricCard]:
    """The metrics in the requested order, then the composite score."""
    failed = {gate.metric_id for gate in view.gates if not gate.held}
    cards = []
    for name, found in (*view.summary.shown_aggregates.items(), (COMPOSITE, None)):
        rises = found is None or higher_is_better(name)
        histogram, threshold = view.histograms.get(name), view.thresholds.get(name)
        card = MetricCard(
            name=name,
            summary=_COMPOSITE if found is None else _summary(name, view),
            found=view.summary.composite_aggregate if found is None else found,
            rises=rises,
            threshold=threshold,
            failed=name in failed,
            chart=None if histogram is None else score_chart(histogram, threshold, rises),
        )
        cards.append(card)
    return cards


def _summary(metric: MetricId, view: RunView) -> str:
    """What the metric measures in the run's profile."""
    signature = view.summary.signature
    is_grounded = signature is not None and signature.profile == "grounded"
    try:
        return entry_of(metric, "grounded" if is_grounded else "overlap").summary
    except (RagEvalError, StopIteration):  # a custom metric in a result file
        return ""


# ------------------------------------------------------------------------------------ comparison


def comparison_parts(
    comparison: RunComparison, anchors: Mapping[str, str], number: int = 0
) -> dict[str, Any]:
    """Tables of all rows and of slices, and the changes of rows; ``anchors`` are by row id.

    ``number`` is that of the comparison on the page, from 0.
    """
    grouped = groupby(comparison.changes, lambda change: change.slice)
    tables = [_table(within, list(changes)) for within, changes in grouped]
    overall = [change for change in comparison.changes if change.slice is None and change.gating]
    return {
        "comparison": comparison,
        "anchor": f"comparison-{number + 1}" if number else "comparison",
        "told": _told(overall) or "nothing to compare",
        "tables": tables[: _MOST_SLICES + 1],
        "n_more_tables": max(0, len(tables) - _MOST_SLICES - 1),
        "movements": list(_movements(comparison, anchors)) if comparison.paired else [],
    }


def _told(changes: Iterable[MetricChange]) -> str:
    """``1 REGRESSED, 5 INCONCLUSIVE``, in the order of the statuses."""
    verdicts = Counter(change.verdict for change in changes)
    return ", ".join(f"{verdicts[status]} {status}" for status in Status if verdicts[status])


def _table(within: Slice | None, changes: list[MetricChange]) -> dict[str, Any]:
    """All rows, or one slice; ``found`` sums up the results of the tests."""
    return {
        "title": "All rows" if within is None else f"{within.field}: {within.value}",
        "is_slice": within is not None,
        "found": _told(one for one in changes if one.verdict.is_found) or "no change detected",
        "has_regression": any(one.verdict is Status.REGRESSED for one in changes),
        "lines": list(zip(changes, spans([one.difference for one in changes]), strict=True)),
    }


def old_scores(comparison: RunComparison | None) -> dict[str, dict[str, float]]:
    """The scores of the baseline by row id and metric; empty if rows were not paired."""
    table = None if comparison is None else comparison.table
    if table is None:
        return {}
    columns = {name: table.column(name)[0].tolist() for name in table.names}
    return {
        name: {metric: old[place] for metric, old in columns.items() if old[place] == old[place]}
        for place, name in enumerate(table.ids)
        if table.in_old[place]
    }


def _movements(comparison: RunComparison, anchors: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The changes of rows per metric; without a chart if no row changed."""
    for change in comparison.changes:
        if change.slice is not None or not change.n_pairs:
            continue
        counts = [(name, n) for name, n in change.rows.items() if n]
        told = ", ".join(f"{n:,} {name}" for name, n in counts)
        yield {
            "name": change.name,
            "chart": difference_chart(comparison.improvements(change.name)),
            "chart_text": f"{change.name}: paired differences of {change.n_pairs:,} rows; {told}",
            "counts": counts,
            "rows": [
                (
                    row,
                    (row.new > row.old) == change.higher_is_better,
                    "▲" if row.new > row.old else "▼",
                    anchors.get(row.id),
                )
                for row in comparison.moved_rows(change.name, _MOST_MOVED)
            ],
        }
