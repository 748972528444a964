"""Columns of scores -> statistics over a batch, the same whatever the order of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval.kernels import scoring as kernels
from rag_eval.metrics.registry import bounds_of, higher_is_better
from rag_eval.options.cascade import is_verdict_only
from rag_eval.options.plan import Plan
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.row import ByMetric
from rag_eval.samples import MetricId
from rag_eval.stats.intervals import Interval, wilson_interval
from rag_eval.stats.moment_intervals import Bounds, interval_of_moments

_SCALE = 1074  # exact sums count in units of 2**-1074, the least double above 0
_FLUSH_ROWS = 1 << 24


class ExactMoments:
    """Count, sum and sum of squares of doubles, without rounding; mergeable.

    Sums are Python integers in units of 2**-1074 and, for squares, 2**-2148.
    """

    __slots__ = ("count", "squares", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.squares = 0

    def add(self, values: npt.NDArray[np.float64]) -> None:
        """Add the values that are not NaN."""
        for begin in range(0, len(values), _FLUSH_ROWS):
            sums = np.zeros((2048, 2), np.int64)
            squares = np.zeros((2048, 4), np.int64)
            block = values[begin : begin + _FLUSH_ROWS]
            count, first, end = kernels.add_exactly(block, sums, squares)
            self.count += count
            for exponent, (low, high) in enumerate(sums[first:end].tolist(), first):
                self.total += (low + (high << 32)) << exponent
            for exponent, pieces in enumerate(squares[first:end].tolist(), first):
                whole = sum(piece << (32 * place) for place, piece in enumerate(pieces))
                self.squares += whole << (2 * exponent)

    def merge(self, other: ExactMoments) -> None:
        """Add all that ``other`` has seen."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares

    @property
    def mean(self) -> float:
        """The mean, correctly rounded; NaN of nothing."""
        return self.total / (self.count << _SCALE) if self.count else math.nan

    @property
    def standard_deviation(self) -> float:
        """The population's, from the exact variance; NaN of nothing."""
        if not self.count:
            return math.nan
        spread = self.count * self.squares - self.total**2
        # Rooted as an integer of 140 bits and more: a variance may lie beyond all doubles.
        shift = max(0, (141 - spread.bit_length()) // 2)
        return math.isqrt(spread << (2 * shift)) / (self.count << (_SCALE + shift))


@dataclass(frozen=True, slots=True)
class ScoreStatistics:
    """Statistics of the scores that are not null; all NaN when there are none.

    ``std_dev`` is that of a population (divided by n). ``n_modal`` counts the rows with the least
    or the greatest score, whichever is more frequent.
    """

    n: int
    mean: float
    median: float
    min: float
    max: float
    std_dev: float
    n_modal: int = 0

    @classmethod
    def of_nothing(cls) -> ScoreStatistics:
        """Of no scores."""
        nan = math.nan
        return cls(n=0, mean=nan, median=nan, min=nan, max=nan, std_dev=nan)

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
        )


def _median(values: npt.NDArray[np.float64]) -> float:
    upper = len(values) // 2
    lower = (len(values) - 1) // 2
    ordered = np.partition(values, (lower, upper))
    return float((ordered[lower] + ordered[upper]) / 2 if lower != upper else ordered[upper])


@dataclass(frozen=True, slots=True)
class MetricAggregate:
    """One metric over a batch.

    Attributes
    ----------
    n, n_rows : int
        Rows with a score, and all rows; print a mean with both.
    mean, median, min, max, std_dev : float
        Over the rows with a score; NaN when there are none. ``std_dev`` divides by n.
    pass_rate, null_rate : float
        Shares of all rows; a null score lowers the pass rate. 0 for an empty batch.
    interval : Interval or None
        Of the mean, at 95 %, were the rows drawn one by one; None where there is no mean.
    """

    metric_id: MetricId
    n: int
    n_rows: int
    mean: float
    median: float
    min: float
    max: float
    std_dev: float
    pass_rate: float
    null_rate: float
    interval: Interval | None = field(default=None, repr=False)

    @property
    def pass_interval(self) -> Interval | None:
        """Of the pass rate, at 95 %; None without rows."""
        return _pass_interval(self.pass_rate, self.n_rows)

    @classmethod
    def of(
        cls, metric: MetricId, statistics: ScoreStatistics, n_rows: int, n_passed: int
    ) -> MetricAggregate:
        """From the statistics of ``n_rows`` rows, of which ``n_passed`` passed."""
        return cls(
            metric,
            n_rows=n_rows,
            pass_rate=_share(n_passed, n_rows),
            null_rate=_share(n_rows - statistics.n, n_rows),
            interval=_interval_of(statistics, bounds_of(metric)),
            **_fields(statistics),
        )

    def to_dict(self) -> dict[str, Any]:
        """In the schema of result files, where statistics of nothing are 0.

        ``higherIsBetter`` is added where it is false: who reads the file may not know the metric.
        """
        return {
            "metricId": camel_case(self.metric_id),
            **_statistics(self),
            "passRate": self.pass_rate,
            "nullRate": self.null_rate,
            **_intervals(self),
            **({} if higher_is_better(self.metric_id) else {"higherIsBetter": False}),
        }


@dataclass(frozen=True, slots=True)
class CompositeAggregate:
    """The composite score over a batch; fields as in :class:`MetricAggregate`.

    ``pass_rate`` is the share of samples that passed: without a composite score none does, unless
    no metric has a part in it.
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

    @property
    def pass_interval(self) -> Interval | None:
        """Of the pass rate, at 95 %; None without rows."""
        return _pass_interval(self.pass_rate, self.n_rows)

    @classmethod
    def of(cls, statistics: ScoreStatistics, n_rows: int, n_passed: int) -> CompositeAggregate:
        """From the statistics of ``n_rows`` rows, of which ``n_passed`` passed."""
        return cls(
            n_rows=n_rows,
            pass_rate=_share(n_passed, n_rows),
            interval=_interval_of(statistics, (0.0, 1.0)),
            **_fields(statistics),
        )

    def to_dict(self) -> dict[str, Any]:
        """In the schema of result files, where statistics of nothing are 0."""
        return {**_statistics(self), "passRate": self.pass_rate, **_intervals(self)}


def _statistics(aggregate: MetricAggregate | CompositeAggregate) -> dict[str, float | None]:
    values: dict[str, float | None] = {
        "mean": aggregate.mean,
        "median": aggregate.median,
        "min": aggregate.min,
        "max": aggregate.max,
        "stdDev": aggregate.std_dev,
    }
    if not aggregate.n:
        return dict.fromkeys(values, 0)
    # Verdicts alone have no mean.
    return {name: None if value != value else value for name, value in values.items()}


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


def _fields(statistics: ScoreStatistics) -> dict[str, Any]:
    names = ("n", "mean", "median", "min", "max", "std_dev")
    return {name: getattr(statistics, name) for name in names}


def _interval_of(statistics: ScoreStatistics, bounds: Bounds | None) -> Interval | None:
    if not statistics.n:
        return None
    if bounds and not bounds[0] <= statistics.min <= statistics.max <= bounds[1]:
        bounds = None  # a caller's metric that leaves the range it declared
    found = interval_of_moments(
        statistics.n,
        statistics.mean,
        statistics.std_dev,
        n_modal=statistics.n_modal,
        bounds=bounds,
    )
    if found.low is None or found.high is None:
        return found
    return found if math.isfinite(found.high - found.low) else None


def _pass_interval(pass_rate: float, n_rows: int) -> Interval | None:
    return wilson_interval(round(pass_rate * n_rows), n_rows) if n_rows else None


def _intervals(aggregate: MetricAggregate | CompositeAggregate) -> dict[str, Any]:
    found = {"meanInterval": aggregate.interval, "passRateInterval": aggregate.pass_interval}
    return {name: None if one is None else _bounds(one) for name, one in found.items()}


def _bounds(interval: Interval) -> dict[str, Any]:
    known = interval.to_dict()
    names = ("low", "high", "level", "method", "tooFew")
    return {name: known[name] for name in names if name in known}


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


def without_means(plan: Plan, aggregates: ByMetric[MetricAggregate]) -> ByMetric[MetricAggregate]:
    """The aggregates, with NaN for the statistics of columns that hold verdicts alone."""
    if not any(is_verdict_only(plan, metric) for metric in plan.columns):
        return aggregates
    return ByMetric(
        {
            metric: _without_mean(found) if is_verdict_only(plan, metric) else found
            for metric, found in aggregates.items()
        }
    )


def _without_mean(found: MetricAggregate) -> MetricAggregate:
    return replace(
        found,
        mean=math.nan,
        median=math.nan,
        min=math.nan,
        max=math.nan,
        std_dev=math.nan,
        interval=None,
    )
