"""The change of one metric between two runs: its means, its test and its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from rag_eval.comparing.null_changes import NullChange
from rag_eval.comparing.row_changes import RowStatus
from rag_eval.comparing.statuses import Status
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.plumbing.json_text import number_or_null
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.summaries import MeanScore
from rag_eval.stats.intervals import Interval

TestName: TypeAlias = Literal["sign-flip", "mcnemar"]
FamilyRule: TypeAlias = Literal["max-t", "holm"]
FAMILY_RULES: Final = ("max-t", "holm")
Adjustment: TypeAlias = FamilyRule | Literal["benjamini-hochberg"]
_ADJUSTED_BY: Final[dict[Adjustment, str]] = {
    "max-t": "max-T",
    "holm": "Holm",
    "benjamini-hochberg": "Benjamini-Hochberg",
}


@dataclass(frozen=True, slots=True)
class Slice(JsonRecord):
    """Rows with one value of a metadata field."""

    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}={self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest(JsonRecord):
    """The test that decides the verdict of a metric.

    Attributes
    ----------
    name : {"sign-flip", "mcnemar"}
        For the mean difference, or for changed verdicts.
    p_worse : float
        p value of "the mean is not worse by more than the margin".
    p_better : float
        p value of "the mean is not better", whatever the margin.
    p_two_sided : float
        p value of "the mean is worse by exactly the margin".
    adjusted_p_worse, adjusted_p_better : float
        Adjusted within the metric's family; each side is its own family. NaN until adjusted.
    adjustment : {"max-t", "holm", "benjamini-hochberg"}
        The first two limit the chance of any false alarm (gating metrics), Benjamini-Hochberg the
        expected share of false findings (other metrics).
    n_informative : int
        Pairs whose scores differ.
    n_clusters : int or None
        None if rows are independent.
    smallest_p : float
        Smallest p value that this number of informative pairs, or clusters, can give.
    exact : bool
        All sign patterns were enumerated, or the test has a formula.
    n_resamples : int
        0 for a formula.
    """

    name: TestName
    p_worse: float
    p_better: float
    p_two_sided: float
    adjusted_p_worse: float = math.nan
    adjusted_p_better: float = math.nan
    adjustment: Adjustment = "max-t"
    n_informative: int
    n_clusters: int | None
    smallest_p: float
    exact: bool
    n_resamples: int

    @property
    def adjusted_by(self) -> str:
        """The adjustment in words."""
        return _ADJUSTED_BY[self.adjustment]


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
        Whether it belongs to the family that decides.
    higher_is_better : bool
    margin : float
        Largest accepted loss.
    tolerance : float
        A loss that the test shows is not a regression if it is at most this.
    old, new : MeanScore
        Means over the rows of each run that have a score, whether paired or not.
    old_interval, new_interval : Interval or None
        None if rows are not known.
    difference : Interval
        Mean of new minus old over the pairs, in units of the score; below 0 the mean fell,
        whichever direction is better. Without pairs the estimate is the difference of the means.
    n_pairs : int
        Rows with a score in both runs.
    test : PairedTest or None
        None without pairs.
    verdict : Status
        Outcome by the adjusted p values, the tolerance, and missing scores.
    detectable : float or None
        Smallest loss beyond the margin that a next run with as many similar rows would detect
        with a power of 80 %. None if the spread of the rows is unknown, or no loss that the scores
        can have would be detected.
    nulls : NullChange or None
        None if rows could not be paired.
    rows : dict of int
        How many rows improved, regressed, and so on; empty for a slice and without pairs.
    """

    name: str
    slice: Slice | None = None
    gating: bool
    higher_is_better: bool
    margin: float = 0.0
    tolerance: float = 0.0
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
        """New minus old mean; NaN where one run has no score."""
        return self.difference.estimate

    @property
    def label(self) -> str:
        """The metric, with its slice if it has one."""
        return self.name if self.slice is None else f"{self.name} [{self.slice}]"

    @property
    def better_by(self) -> float:
        """The difference, with its sign turned so that above 0 is better."""
        return self.delta if self.higher_is_better else -self.delta

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a number that does not exist is null."""
        return {
            "metricId": camel_case(self.name),
            "slice": None if self.slice is None else self.slice.to_dict(),
            "gating": self.gating,
            "higherIsBetter": self.higher_is_better,
            "margin": self.margin,
            "tolerance": self.tolerance,
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
