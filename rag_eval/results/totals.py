"""Scores, block by block -> statistics over all of them; mergeable, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.kernels.exact_moments import ExactMoments
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.options.plan import Plan
from rag_eval.results.aggregates import (
    CompositeAggregate,
    MetricAggregate,
    ScoreStatistics,
)
from rag_eval.results.missing_texts import MissingTexts
from rag_eval.results.row import ByMetric
from rag_eval.results.score_spool import Scores
from rag_eval.results.verdicts import Refusals

ScoreBlocks: TypeAlias = Callable[[], Iterator[Scores]]

# Rows that are taken together: calls of numpy cost as much as a hundred rows.
_FLUSH_ROWS: Final = 1 << 14
# A bin of the histogram holds the doubles that agree in their first bits: sign, exponent and eleven
# of the fraction, so that its middle is within one part in 4,096 of each of them.
_BIN_SHIFT: Final = 52 - 11
_SIGN: Final = np.uint64(1 << 63)
_MOST_COLLECTED: Final = 1 << 20
_SPLIT_BITS: Final = 16


class ColumnTotals:
    """One column of scores: exact sums, extremes, a histogram, and how many rows passed."""

    def __init__(self) -> None:
        self.moments = ExactMoments()
        self.least = math.inf
        self.greatest = -math.inf
        self.n_least = 0
        self.n_greatest = 0
        self.n_passed = 0
        self.bins: dict[int, int] = {}

    def add(self, scores: Scores, passed: npt.NDArray[np.bool_]) -> None:
        """Add some rows; NaN is a null."""
        self.n_passed += int(passed.sum())
        measured = scores[~np.isnan(scores)]
        if not len(measured):
            return
        self.moments.add(measured)
        least, greatest = float(measured.min()), float(measured.max())
        self._see_ends(
            least, int((measured == least).sum()), greatest, int((measured == greatest).sum())
        )
        bins, counts = np.unique(_keys(measured) >> np.uint64(_BIN_SHIFT), return_counts=True)
        for place, count in zip(bins.tolist(), counts.tolist(), strict=True):
            self.bins[place] = self.bins.get(place, 0) + count

    def merge(self, other: ColumnTotals) -> None:
        """Add all that ``other`` has seen."""
        self.moments.merge(other.moments)
        self._see_ends(other.least, other.n_least, other.greatest, other.n_greatest)
        self.n_passed += other.n_passed
        for place, count in other.bins.items():
            self.bins[place] = self.bins.get(place, 0) + count

    def _see_ends(self, least: float, n_least: int, greatest: float, n_greatest: int) -> None:
        """Extremes of other rows, and how many of them have these scores."""
        kept = self.n_least * (self.least <= least)
        self.n_least = kept + n_least * (least <= self.least)
        self.least = min(self.least, least)
        kept = self.n_greatest * (self.greatest >= greatest)
        self.n_greatest = kept + n_greatest * (greatest >= self.greatest)
        self.greatest = max(self.greatest, greatest)

    @property
    def middle_ranks(self) -> tuple[int, ...]:
        """The ranks, from 0, of the values that the median is the mean of."""
        n = self.moments.count
        return ((n - 1) // 2, n // 2) if n else ()

    def bin_of(self, rank: int) -> tuple[int, int]:
        """The bin that holds the value of a rank, and the value's rank in the bin."""
        for place in sorted(self.bins):
            if rank < self.bins[place]:
                return place, rank
            rank -= self.bins[place]
        raise IndexError(rank)

    def about(self, rank: int) -> float:
        """The value of a rank, within one part in 4,096."""
        place, _ = self.bin_of(rank)
        middle = _value((place << _BIN_SHIFT) + (1 << (_BIN_SHIFT - 1)))
        return min(max(middle, self.least), self.greatest)

    def statistics(self, middle: Sequence[float]) -> ScoreStatistics:
        """The statistics, with the values of :attr:`middle_ranks`."""
        if not middle:
            return ScoreStatistics.of_nothing()
        lower, upper = middle
        return ScoreStatistics(
            n=self.moments.count,
            mean=self.moments.mean,
            median=upper if lower == upper else (lower + upper) / 2,
            min=self.least,
            max=self.greatest,
            std_dev=self.moments.standard_deviation,
            n_modal=max(self.n_least, self.n_greatest),
            third=self.moments.third_moment,
        )

    def to_dict(self) -> dict[str, object]:
        """All of it as JSON values; sums of any length are whole numbers."""
        return {
            "n": self.moments.count,
            "sum": str(self.moments.total),
            "squares": str(self.moments.squares),
            "cubes": str(self.moments.cubes),
            "min": self.least if self.moments.count else None,
            "max": self.greatest if self.moments.count else None,
            "nMin": self.n_least,
            "nMax": self.n_greatest,
            "nPassed": self.n_passed,
            "bins": sorted(self.bins.items()),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ColumnTotals:
        """Read back what :meth:`to_dict` gave."""
        totals = cls()
        totals.moments.count = value["n"]
        totals.moments.total = int(value["sum"])
        totals.moments.squares = int(value["squares"])
        totals.moments.cubes = int(value["cubes"])
        if value["n"]:
            totals.least, totals.greatest = float(value["min"]), float(value["max"])
            totals.n_least, totals.n_greatest = value["nMin"], value["nMax"]
        totals.n_passed = value["nPassed"]
        totals.bins = dict(value["bins"])
        return totals


def _keys(values: Scores) -> npt.NDArray[np.uint64]:
    """Whole numbers in the order of the doubles; both zeros are one."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _value(key: int) -> float:
    bits = key & ~(1 << 63) if key >> 63 else ~key & ((1 << 64) - 1)
    return float(np.array([bits], np.uint64).view(np.float64)[0])


class _Search:
    """Looks for the value of a rank in a column that is read again and again.

    Each pass parts the values that are left into bins, until they fit in memory.
    """

    def __init__(self, column: int, totals: ColumnTotals, rank: int) -> None:
        self.column = column
        place, self._rank = totals.bin_of(rank)
        # The value's key agrees with ``first`` in all but its last ``n_bits`` bits.
        self._first, self._n_bits = place << _BIN_SHIFT, _BIN_SHIFT
        self._count = totals.bins[place]
        self.found: float | None = None
        self._begin()

    def _begin(self) -> None:
        if not self._n_bits:
            self.found = _value(self._first)
        self._shift = max(0, self._n_bits - _SPLIT_BITS)
        self._collected: list[npt.NDArray[np.uint64]] = []
        if not self._fits:
            self._counts = np.zeros(1 << (self._n_bits - self._shift), np.int64)

    @property
    def _fits(self) -> bool:
        return self._count <= _MOST_COLLECTED

    def see(self, values: Scores) -> None:
        """Some rows of the column."""
        keys = _keys(values[~np.isnan(values)])
        keys = keys[keys >> np.uint64(self._n_bits) == np.uint64(self._first >> self._n_bits)]
        if self._fits:
            self._collected.append(keys)
            return
        places = ((keys - np.uint64(self._first)) >> np.uint64(self._shift)).astype(np.int64)
        self._counts += np.bincount(places, minlength=len(self._counts))

    def end_pass(self) -> None:
        """All rows were seen."""
        if self._fits:
            keys = np.concatenate(self._collected)
            self.found = _value(int(np.partition(keys, self._rank)[self._rank]))
            return
        ends = np.cumsum(self._counts)
        place = int(np.searchsorted(ends, self._rank, side="right"))
        self._rank -= int(ends[place] - self._counts[place])
        self._count = int(self._counts[place])
        self._first += place << self._shift
        self._n_bits = self._shift
        self._begin()


def _found(
    searches: Mapping[tuple[int, int], _Search], blocks: ScoreBlocks
) -> dict[tuple[int, int], float]:
    """What each search finds; the blocks are read as often as needed."""
    found: dict[tuple[int, int], float] = {}
    while len(found) < len(searches):
        active = [search for place, search in searches.items() if place not in found]
        for scores in blocks():
            for search in active:
                search.see(scores[:, search.column])
        for search in active:
            search.end_pass()
        found |= {place: one.found for place, one in searches.items() if one.found is not None}
    return found


class ScoreTotals:
    """Statistics of the metrics of a plan and of the composite score.

    Totals of parts of the data, made in other threads, processes or on other machines, add up to
    those of the whole in any order, exactly.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._waiting: list[Scores] = []
        self._reasons: list[npt.NDArray[np.uint8]] = []
        self._lacked: list[npt.NDArray[np.uint8]] = []
        self._n_waiting = 0
        self.n_rows = 0
        self.refusals = Refusals()
        self._missing_texts = MissingTexts()
        self._columns = [ColumnTotals() for _ in plan.columns]
        self._composite = ColumnTotals()

    def add(
        self,
        scores: Scores,
        null_reasons: npt.NDArray[np.uint8] | None = None,
        lacked_texts: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        """Add a score matrix of shape (rows, M), columns as in the plan.

        ``null_reasons``, of the same shape, tell answers that decline from those not measured;
        ``lacked_texts``, of shape (rows,), has the bits of the texts that rows lack.
        """
        if lacked_texts is None:
            lacked_texts = np.zeros(len(scores), np.uint8)
        self._lacked.append(lacked_texts)
        if null_reasons is None:
            null_reasons = np.zeros(scores.shape, np.uint8)
        else:
            self.refusals.add(scores, null_reasons, self._plan)
        self._waiting.append(scores)
        self._reasons.append(null_reasons)
        self._n_waiting += len(scores)
        self.n_rows += len(scores)
        if self._n_waiting >= _FLUSH_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        scores, reasons = np.concatenate(self._waiting), np.concatenate(self._reasons)
        lacked = np.concatenate(self._lacked)
        self._waiting, self._reasons, self._lacked, self._n_waiting = [], [], [], 0
        verdicts = verdicts_of(scores, self._plan.rule, reasons)
        self._missing_texts.add(lacked, verdicts.passed)
        for column, totals in enumerate(self._columns):
            totals.add(scores[:, column], verdicts.metric_passed[:, column])
        self._composite.add(verdicts.composite, verdicts.passed)

    def merge(self, other: ScoreTotals) -> None:
        """Add all that ``other``, of the same plan, has seen."""
        self._flush()
        other._flush()
        self.n_rows += other.n_rows
        self.refusals.n_rows += other.refusals.n_rows
        self.refusals.n_answerable += other.refusals.n_answerable
        self._missing_texts.merge(other._missing_texts)
        for mine, theirs in zip(self._columns, other._columns, strict=True):
            mine.merge(theirs)
        self._composite.merge(other._composite)

    @property
    def n_passed(self) -> int:
        """How many rows passed."""
        self._flush()
        return self._composite.n_passed

    @property
    def missing_texts(self) -> MissingTexts:
        """How many rows lack a question, an answer or contexts."""
        self._flush()
        return self._missing_texts

    def aggregates(
        self, blocks: ScoreBlocks | None
    ) -> tuple[ByMetric[MetricAggregate], CompositeAggregate]:
        """Statistics per metric and of the composite score.

        ``blocks`` gives the score matrices again, for exact medians; without it a median is the
        middle of a bin of the histogram, within one part in 4,096.
        """
        self._flush()
        *metrics, composite = (
            totals.statistics(middle)
            for totals, middle in zip(self._all, self._middles(blocks), strict=True)
        )
        by_metric = {
            metric: MetricAggregate.of(metric, statistics, self.n_rows, totals.n_passed)
            for metric, statistics, totals in zip(
                self._plan.columns, metrics, self._columns, strict=True
            )
        }
        n_passed = self._composite.n_passed
        return ByMetric(by_metric), CompositeAggregate.of(composite, self.n_rows, n_passed)

    @property
    def _all(self) -> list[ColumnTotals]:
        return [*self._columns, self._composite]

    def _middles(self, blocks: ScoreBlocks | None) -> list[list[float]]:
        """Per column the values that its median is the mean of."""
        if blocks is None:
            return [[totals.about(rank) for rank in totals.middle_ranks] for totals in self._all]
        # Both ranks are one where the number of scores is odd.
        searches = {
            (column, rank): _Search(column, totals, rank)
            for column, totals in enumerate(self._all)
            for rank in totals.middle_ranks
        }
        found = _found(searches, lambda: (self._with_composite(scores) for scores in blocks()))
        return [
            [found[column, rank] for rank in totals.middle_ranks]
            for column, totals in enumerate(self._all)
        ]

    def _with_composite(self, scores: Scores) -> Scores:
        return np.column_stack([scores, verdicts_of(scores, self._plan.rule).composite])

    def to_dict(self) -> dict[str, object]:
        """The totals as JSON values, to be sent elsewhere."""
        self._flush()
        return {
            "nRows": self.n_rows,
            "refusals": [self.refusals.n_rows, self.refusals.n_answerable],
            "missingTexts": [self._missing_texts.rows, self._missing_texts.passed],
            "metrics": {
                metric: totals.to_dict()
                for metric, totals in zip(self._plan.columns, self._columns, strict=True)
            },
            COMPOSITE: self._composite.to_dict(),
        }

    @classmethod
    def from_dict(cls, plan: Plan, value: Mapping[str, Any]) -> ScoreTotals:
        """Read back what :meth:`to_dict` gave for the same plan."""
        totals = cls(plan)
        totals.n_rows = value["nRows"]
        totals.refusals = Refusals(*value["refusals"])
        totals._missing_texts = MissingTexts(*map(list, value.get("missingTexts", ())))
        totals._columns = [ColumnTotals.from_dict(value["metrics"][name]) for name in plan.columns]
        totals._composite = ColumnTotals.from_dict(value[COMPOSITE])
        return totals
