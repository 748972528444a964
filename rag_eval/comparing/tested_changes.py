"""One metric in two runs: what its scores, the test that decides and its rows say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rag_eval.comparing.null_changes import NullChange
from rag_eval.comparing.row_changes import RowStatus
from rag_eval.comparing.statuses import Status
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.plumbing.json_text import number_or_null
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.summaries import MeanScore
from rag_eval.stats.intervals import Interval

TestName: TypeAlias = Literal["sign-flip", "mcnemar"]
Adjustment: TypeAlias = Literal["holm", "benjamini-hochberg"]


@dataclass(frozen=True, slots=True)
class Slice(JsonRecord):
    """Rows with one value of a metadata field."""

    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}={self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest(JsonRecord):
    """The one test that decides about a metric.

    Attributes
    ----------
    name : {"sign-flip", "mcnemar"}
        Of the mean difference, or of changed verdicts.
    p_worse : float
        Of "the mean is not worse by more than the margin".
    p_better : float
        Of "the mean is not better", whatever the margin.
    p_two_sided : float
        Of "the mean is worse by just the margin".
    adjusted_p_worse, adjusted_p_better : float
        Within the family of the metric; each side is a family of its own. NaN before that.
    adjustment : {"holm", "benjamini-hochberg"}
        For gating metrics the chance of one false alarm is held, for others the expected share of
        false ones among the finds.
    n_informative : int
        Pairs whose scores differ.
    n_clusters : int or None
        None where rows are independent.
    smallest_p : float
        So few informative pairs, or clusters, can give no smaller p value.
    exact : bool
        All sign patterns were gone through, or the test has a formula.
    n_resamples : int
        0 for a formula.
    """

    name: TestName
    p_worse: float
    p_better: float
    p_two_sided: float
    adjusted_p_worse: float = math.nan
    adjusted_p_better: float = math.nan
    adjustment: Adjustment = "holm"
    n_informative: int
    n_clusters: int | None
    smallest_p: float
    exact: bool
    n_resamples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """One metric in two runs, over all rows or over those of a slice.

    Attributes
    ----------
    name : str
        A metric, ``composite`` or ``passed``.
    slice : Slice or None
        None for all rows.
    gating : bool
        It is in the family that decides.
    higher_is_better : bool
    margin : float
        A loss of so much is accepted.
    old, new : MeanScore
        Means over the rows of each run that have a score, whether paired or not.
    old_interval, new_interval : Interval or None
        None where rows are not known.
    difference : Interval
        Mean of new less old over the pairs, in units of the score: below 0 it fell, whichever way
        is better. Without pairs the estimate is the difference of the means.
    n_pairs : int
        Rows with a score in both runs.
    test : PairedTest or None
        None without pairs.
    verdict : Status
        By the adjusted p values and the level of the comparison.
    detectable : float or None
        A plan for the next run: with as many rows like these a loss of so much beyond the margin
        would be found 8 times in 10. None where the rows say nothing of their spread.
    nulls : NullChange or None
        Of all rows; None for a slice and without pairs.
    rows : dict of int
        How many rows improved, regressed, and so on; empty for a slice and without pairs.
    """

    name: str
    slice: Slice | None = None
    gating: bool
    higher_is_better: bool
    margin: float = 0.0
    old: MeanScore
    new: MeanScore
    old_interval: Interval | None = None
    new_interval: Interval | None = None
    difference: Interval
    n_pairs: int = 0
    test: PairedTest | None = None
    verdict: Status = Status.NOT_COMPARABLE
    detectable: float | None = None
    nulls: NullChange | None = None
    rows: Mapping[RowStatus, int] = field(default_factory=dict)

    @property
    def delta(self) -> float:
        """New less old; NaN where one of them has no score."""
        return self.difference.estimate

    @property
    def label(self) -> str:
        """The metric, and the slice where it is of one."""
        return self.name if self.slice is None else f"{self.name} [{self.slice}]"

    @property
    def better_by(self) -> float:
        """The difference turned so that above 0 is better."""
        return self.delta if self.higher_is_better else -self.delta

    def to_dict(self) -> dict[str, Any]:
        """In the style of result files; what does not exist is null."""
        return {
            "metricId": camel_case(self.name),
            "slice": None if self.slice is None else self.slice.to_dict(),
            "gating": self.gating,
            "higherIsBetter": self.higher_is_better,
            "margin": self.margin,
            "verdict": self.verdict,
            "oldMean": number_or_null(self.old.mean),
            "newMean": number_or_null(self.new.mean),
            "delta": number_or_null(self.delta),
            "old": _side(self.old, self.old_interval),
            "new": _side(self.new, self.new_interval),
            "difference": self.difference.to_dict(),
            "nPairs": self.n_pairs,
            "test": None if self.test is None else self.test.to_dict(),
            "detectable": self.detectable,
            "nulls": None if self.nulls is None else self.nulls.to_dict(),
            "rows": {camel_case(name.replace(" ", "_")): n for name, n in self.rows.items()},
        }


def _side(mean: MeanScore, interval: Interval | None) -> dict[str, Any]:
    return {
        "mean": number_or_null(mean.mean),
        "n": mean.n,
        "nRows": mean.n_rows,
        "interval": None if interval is None else interval.to_dict(),
    }
