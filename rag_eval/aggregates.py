"""Columns of scores -> statistics over a batch, the same whatever the order of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval import kernels
from rag_eval.metric_directions import higher_is_better
from rag_eval.samples import MetricId, camel_case

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

    ``std_dev`` is that of a population (divided by n).
    """

    n: int
    mean: float
    median: float
    min: float
    max: float
    std_dev: float

    @classmethod
    def of(cls, scores: npt.NDArray[np.float64]) -> ScoreStatistics:
        """Statistics of a column in which NaN stands for null."""
        moments = ExactMoments()
        moments.add(scores)
        if not moments.count:
            return cls(0, *[math.nan] * 5)
        measured = scores[~np.isnan(scores)]
        return cls(
            n=moments.count,
            mean=moments.mean,
            median=_median(measured),
            min=float(measured.min()),
            max=float(measured.max()),
            std_dev=moments.standard_deviation,
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

    @classmethod
    def of(cls, statistics: ScoreStatistics, n_rows: int, n_passed: int) -> CompositeAggregate:
        """From the statistics of ``n_rows`` rows, of which ``n_passed`` passed."""
        return cls(n_rows=n_rows, pass_rate=_share(n_passed, n_rows), **_fields(statistics))

    def to_dict(self) -> dict[str, Any]:
        """In the schema of result files, where statistics of nothing are 0."""
        return {**_statistics(self), "passRate": self.pass_rate}


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
    return {name: getattr(statistics, name) for name in ScoreStatistics.__slots__}


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0
