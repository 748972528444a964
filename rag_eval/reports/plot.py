"""Matplotlib figures of a batch or a comparison; they are returned, not shown."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from rag_eval.comparing.statuses import Status
from rag_eval.errors import InputError, MissingExtraError
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.metrics.registry import to_metric_id
from rag_eval.reports.notebook_elements import mean_text, threshold_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.views.distributions import histograms
from rag_eval.views.making import thresholds_of
from rag_eval.views.run_view import Histogram

try:
    from matplotlib.figure import Figure
except ImportError:
    raise MissingExtraError("plots need matplotlib: pip install 'rag-eval-native[plot]'") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rag_eval.comparing.run_comparison import RunComparison
    from rag_eval.comparing.tested_changes import MetricChange
    from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
    from rag_eval.results.batch import BatchEvalResult
    from rag_eval.stats.intervals import Interval

_DPI: Final = 144  # sharp on dense screens; shown at half this resolution
_WIDTH: Final = 6.4
_BAR: Final = "#7f9fbf"
_MEAN: Final = "#1f3f6f"
_THRESHOLD: Final = "#b3261e"
_CHANGES: Final = {Status.REGRESSED: "#b3261e", Status.IMPROVED: "#1a7f37"}
_NAME_LIMIT: Final = 48


def scores_figure(
    batch: BatchEvalResult, metrics: Iterable[str] | None = None, *, ax: Axes | None = None
) -> Figure:
    """The distribution of each metric, one below the other.

    Bars count scores in equal bins, the dashed line is the threshold, and the point is the mean
    with its interval, if there is one.

    Parameters
    ----------
    batch : BatchEvalResult
    metrics : iterable of str, optional
        Metrics or ``"composite"``; by default all metrics of the batch and the composite score.
    ax : matplotlib.axes.Axes, optional
        Axes for a single metric; by default a new figure with one axes per metric.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        For a metric that is not in the batch, and for ``ax`` with several metrics.
    """
    names = _chosen(batch, metrics)
    if ax is not None and len(names) != 1:
        raise InputError(f"ax takes one metric, got {len(names)}: name one in metrics")
    shapes = histograms(batch, [(batch.scores, batch.composite_scores)])
    thresholds = thresholds_of(batch)
    if ax is None:
        size = (_WIDTH, 0.3 + 1.15 * max(1, len(names)))
        figure: Figure = ScoreFigure(figsize=size, layout="constrained")
        places = [figure.add_subplot(len(names), 1, n + 1) for n in range(len(names))]
    else:
        figure, places = ax.figure.figure, [ax]
    for name, place in zip(names, places, strict=True):
        aggregate = batch.composite_aggregate if name == COMPOSITE else batch.aggregates[name]
        _draw_scores(place, name, aggregate, shapes.get(name), thresholds.get(name))
    return figure


def changes_figure(comparison: RunComparison, *, ax: Axes | None = None) -> Figure:
    """The differences between two runs with their intervals, one line per metric.

    Right of 0 the new run has the higher mean. Metrics for which lower is better are marked.
    """
    changes = [change for change in comparison.changes if math.isfinite(change.delta)]
    if ax is None:
        size = (_WIDTH, 0.9 + 0.3 * max(1, len(changes)))
        figure: Figure = ScoreFigure(figsize=size, layout="constrained")
        ax = figure.add_subplot(1, 1, 1)
    else:
        figure = ax.figure.figure
    for height, change in enumerate(reversed(changes)):
        _draw_change(ax, height, change)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    names = [_change_name(change) for change in reversed(changes)]
    ax.set_yticks(range(len(changes)), names, parse_math=False)
    ax.set_ylim(-0.6, len(changes) - 0.4)
    sides = (comparison.new, comparison.old)
    text = "new minus old" if sides[0] == sides[1] else " minus ".join(sides)
    ax.set_xlabel(plain_text(text, 2 * _NAME_LIMIT), parse_math=False)
    _plain(ax)
    return figure


class ScoreFigure(Figure):
    """A matplotlib figure that notebooks can show.

    Without it, notebooks show figures only after pyplot was imported.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=_DPI)
        width, height = self.get_size_inches()
        shown = {"width": round(width * _DPI / 2), "height": round(height * _DPI / 2)}
        return written.getvalue(), shown


def _chosen(batch: BatchEvalResult, metrics: Iterable[str] | None) -> list[str]:
    if metrics is None:
        return [*batch.shown_aggregates, COMPOSITE]
    asked = [metrics] if isinstance(metrics, str) else list(metrics)
    names = [name if name == COMPOSITE else to_metric_id(name) for name in asked]
    for name in names:
        if name != COMPOSITE and name not in batch.aggregates:
            computed = ", ".join([*batch.aggregates, COMPOSITE])
            raise InputError(f"metrics: {name!r} is not in the batch; it has {computed}")
    if not names:
        raise InputError("metrics must name at least one metric")
    return list(dict.fromkeys(names))


def _draw_scores(
    ax: Axes,
    name: str,
    aggregate: MetricAggregate | CompositeAggregate,
    shape: Histogram | None,
    threshold: float | None,
) -> None:
    title = f"{name}: {mean_text(aggregate)}, {aggregate.n:,}/{aggregate.n_rows:,}"
    if threshold is not None:
        title += f", threshold {threshold_text(name, threshold)}"
    ax.set_title(plain_text(title, 2 * _NAME_LIMIT), fontsize=9, loc="left", parse_math=False)
    ax.set_yticks([])
    _plain(ax)
    if shape is None:
        ax.set_xticks([])
        ax.text(0.5, 0.4, "no scores", ha="center", transform=ax.transAxes, color="0.5")
        return
    width = (shape.high - shape.low) / len(shape.counts)
    places = [shape.low + (place + 0.5) * width for place in range(len(shape.counts))]
    ax.bar(places, shape.counts, width=0.92 * width, color=_BAR)
    ax.set_xlim(shape.low, shape.high)
    # Leaves room for the mean above the highest bar.
    top = 1.3 * max(shape.counts)
    ax.set_ylim(0, top)
    if threshold is not None and shape.low <= threshold <= shape.high:
        ax.axvline(threshold, color=_THRESHOLD, linestyle="--", linewidth=1.2)
    _draw_estimate(ax, aggregate.mean, aggregate.interval, 0.9 * top, _MEAN)


def _draw_estimate(
    ax: Axes, estimate: float, interval: Interval | None, height: float, color: str
) -> None:
    """A point on a line that spans its interval."""
    if math.isnan(estimate):
        return
    if interval is not None and interval.low is not None and interval.high is not None:
        ax.plot([interval.low, interval.high], [height, height], color=color, linewidth=1.6)
    ax.plot([estimate], [height], "o", color=color, markersize=4.8)


def _draw_change(ax: Axes, height: int, change: MetricChange) -> None:
    found = change.difference
    _draw_estimate(ax, found.estimate, found, height, _CHANGES.get(change.verdict, "0.35"))
    if change.gating and change.margin:
        bar = -change.margin if change.higher_is_better else change.margin
        ax.plot([bar], [height], "|", color=_THRESHOLD, markersize=11)


def _change_name(change: MetricChange) -> str:
    way = "" if change.higher_is_better else " (lower is better)"
    return plain_text(change.label, _NAME_LIMIT) + way


def _plain(ax: Axes) -> None:
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=8)
