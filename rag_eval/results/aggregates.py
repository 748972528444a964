"""Columns of scores -> statistics over a batch, the same whatever the order of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval.kernels.exact_moments import ExactMoments
from rag_eval.metrics.registry import bounds_of, higher_is_better
from rag_eval.options.cascade import is_verdict_only
from rag_eval.options.plan import Plan
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.row import ByMetric
from rag_eval.samples import MetricId
from rag_eval.stats.intervals import Interval, wilson_interval
from rag_eval.stats.moment_intervals import Bounds, interval_of_moments


@dataclass(frozen=True, slots=True)
class ScoreStatistics:
    """Statistics of the scores that are not null; all NaN when there are none.

    ``std_dev`` is that of a population (divided by n). ``n_modal`` counts the rows with the least
    or the greatest score, whichever is more frequent; ``third`` is the third central moment.
    """

    n: int
    mean: float
    median: float
    min: float
    max: float
    std_dev: float
    third: float = math.nan
    n_modal: int = 0

    @classmethod
    def of_nothing(cls) -> ScoreStatistics:
        """The statistics of no scores."""
        nan = math.nan
        return cls(n=0, mean=nan, median=nan, min=nan, max=nan, std_dev=nan, third=nan)

    @classmethod
    def of(cls, scores: npt.NDArray[np.float64]) -> ScoreStatistics:
        """Statistics of a column in which NaN stands for null."""
        moments = ExactMoments()
        moments.add(scores)
        if not moments.count:
            return cls.of_nothing()
        measured = scores[~np.isnan(scores)]
        least, greatest = float(measured.min()), float(measured.max())
        return cls(
            n=moments.count,
            mean=moments.mean,
            median=_median(measured),
            min=least,
            max=greatest,
            std_dev=moments.standard_deviation,
            n_modal=max(int((measured == end).sum()) for end in (least, greatest)),
            third=moments.third_moment,
        )


def _median(values: npt.NDArray[np.float64]) -> float:
    upper = len(values) // 2
    lower = (len(values) - 1) // 2
    ordered = np.partition(values, (lower, upper))
    return float((ordered[lower] + ordered[upper]) / 2 if lower != upper else ordered[upper])


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """Statistics of one column over a batch.

    Attributes
    ----------
    n, n_rows : int
        Rows with a score, and all rows; print a mean with both.
    mean, median, min, max, std_dev : float
        Over the rows with a score; NaN when there are none. ``std_dev`` divides by n.
    pass_rate : float
        Share of all rows that passed; 0 for an empty batch.
    interval : Interval or None
        95 % confidence interval of the mean; None if there is no mean. Rows are treated as
        independent unless clusters were named.
    clustered_pass_interval : Interval or None
        95 % confidence interval of the pass rate, if clusters were named.
    """

    n: int
    n_rows: int
    mean: float
    median: float
    min: float
    max: float
    std_dev: float
    pass_rate: float
    interval: Interval | None = field(default=None, repr=False)
    clustered_pass_interval: Interval | None = field(default=None, repr=False)

    @property
    def pass_interval(self) -> Interval | None:
        """95 % confidence interval of the pass rate; None without rows."""
        if self.clustered_pass_interval is not None:
            return self.clustered_pass_interval
        if not self.n_rows:
            return None
        return wilson_interval(round(self.pass_rate * self.n_rows), self.n_rows)

    def to_dict(self) -> dict[str, Any]:
        """The statistics in the schema of result files, where those without any score are 0."""
        return {**self._statistics(), "passRate": self.pass_rate, **self._intervals()}

    def _statistics(self) -> dict[str, float | None]:
        values: dict[str, float | None] = {
            "mean": self.mean,
            "median": self.median,
            "min": self.min,
            "max": self.max,
            "stdDev": self.std_dev,
        }
        if not self.n:
            return dict.fromkeys(values, 0)
        # Verdicts alone have no mean.
        return {name: None if value != value else value for name, value in values.items()}

    def _intervals(self) -> dict[str, Any]:
        found = {"meanInterval": self.interval, "passRateInterval": self.pass_interval}
        return {name: None if one is None else _bounds(one) for name, one in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAggregate(Aggregate):
    """One metric over a batch; see :class:`Aggregate`. A null score lowers the pass rate.

    Attributes
    ----------
    metric_id : MetricId
    null_rate : float
        Share of all rows without a score; 0 for an empty batch.
    """

    metric_id: MetricId
    null_rate: float

    @classmethod
    def of(
        cls, metric: MetricId, statistics: ScoreStatistics, n_rows: int, n_passed: int
    ) -> MetricAggregate:
        """From the statistics of ``n_rows`` rows; ``n_passed`` of them passed."""
        fields = _fields(statistics, n_rows, n_passed, bounds_of(metric))
        return cls(metric_id=metric, null_rate=_share(n_rows - statistics.n, n_rows), **fields)

    def to_dict(self) -> dict[str, Any]:
        """The statistics in the schema of result files, where those without any score are 0.

        ``higherIsBetter`` is added if it is false, because the reader may not know the metric.
        """
        return {
            "metricId": camel_case(self.metric_id),
            **self._statistics(),
            "passRate": self.pass_rate,
            "nullRate": self.null_rate,
            **self._intervals(),
            **({} if higher_is_better(self.metric_id) else {"higherIsBetter": False}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeAggregate(Aggregate):
    """The composite score over a batch; see :class:`Aggregate`.

    ``pass_rate`` is the share of samples that passed: without a composite score none does, unless
    no metric has a part in it.
    """

    @classmethod
    def of(cls, statistics: ScoreStatistics, n_rows: int, n_passed: int) -> CompositeAggregate:
        """From the statistics of ``n_rows`` rows; ``n_passed`` of them passed."""
        return cls(**_fields(statistics, n_rows, n_passed, (0.0, 1.0)))


def aggregate_metric(
    metric: MetricId, scores: npt.NDArray[np.float64], passed: npt.NDArray[np.bool_]
) -> MetricAggregate:
    """Aggregate one column of scores, NaN standing for null."""
    statistics = ScoreStatistics.of(scores)
    return MetricAggregate.of(metric, statistics, len(scores), int(passed.sum()))


def aggregate_composite(
    composite: npt.NDArray[np.float64], passed: npt.NDArray[np.bool_]
) -> CompositeAggregate:
    """Aggregate the composite scores, NaN standing for null."""
    statistics = ScoreStatistics.of(composite)
    return CompositeAggregate.of(statistics, len(composite), int(passed.sum()))


def _fields(
    statistics: ScoreStatistics, n_rows: int, n_passed: int, bounds: Bounds | None
) -> dict[str, Any]:
    return {
        "n": statistics.n,
        "n_rows": n_rows,
        "mean": statistics.mean,
        "median": statistics.median,
        "min": statistics.min,
        "max": statistics.max,
        "std_dev": statistics.std_dev,
        "pass_rate": _share(n_passed, n_rows),
        "interval": _interval_of(statistics, bounds),
    }


def _interval_of(statistics: ScoreStatistics, bounds: Bounds | None) -> Interval | None:
    if not statistics.n:
        return None
    if bounds and not bounds[0] <= statistics.min <= statistics.max <= bounds[1]:
        bounds = None  # a custom metric with scores outside its declared range
    found = interval_of_moments(
        statistics.n,
        statistics.mean,
        statistics.std_dev,
        n_modal=statistics.n_modal,
        third=statistics.third,
        bounds=bounds,
    )
    if found.low is None or found.high is None:
        return found
    return found if math.isfinite(found.high - found.low) else None


def _bounds(interval: Interval) -> dict[str, Any]:
    known = interval.to_dict()
    names = ("low", "high", "level", "method", "tooFew")
    return {name: known[name] for name in names if name in known}


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


class MatrixAggregates(ByMetric[MetricAggregate]):
    """The aggregates of a score matrix, computed when one of them is asked for.

    For a few rows they take longer than to score them, and not everybody looks at them.
    """

    __slots__ = ("_made_of",)
    _made_of: tuple[Plan, npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None

    def __init__(
        self, plan: Plan, scores: npt.NDArray[np.float64], passed: npt.NDArray[np.bool_]
    ) -> None:
        object.__setattr__(self, "_made_of", (plan, scores, passed))

    def __getattr__(self, name: str) -> Any:
        if name != "_values":
            return super().__getattr__(name)
        made_of = self._made_of
        if made_of is None:  # by another thread, meanwhile
            return object.__getattribute__(self, name)
        plan, scores, passed = made_of
        aggregates = {
            metric: aggregate_metric(metric, scores[:, column], passed[:, column])
            for column, metric in enumerate(plan.columns)
        }
        values = dict(without_means(plan, ByMetric(aggregates)))
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_made_of", None)
        return values


def without_means(plan: Plan, aggregates: ByMetric[MetricAggregate]) -> ByMetric[MetricAggregate]:
    """The aggregates, with NaN for the statistics of columns that hold verdicts alone."""
    if plan.judging is None or not plan.judging.is_cascade:
        return aggregates
    return ByMetric(
        {
            metric: _without_mean(found) if is_verdict_only(plan, metric) else found
            for metric, found in aggregates.items()
        }
    )


def _without_mean(found: MetricAggregate) -> MetricAggregate:
    nothing: dict[str, Any] = dict.fromkeys(("mean", "median", "min", "max", "std_dev"), math.nan)
    return replace(found, **nothing, interval=None)
