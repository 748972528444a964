"""What prediction-powered estimates give: numbers and intervals as fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rag_eval.stats.intervals import Interval

Target: TypeAlias = Literal["rows", "population"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PpiEstimate:
    """The mean label of all rows, from scores of all and labels of some.

    Attributes
    ----------
    interval : Interval
        Estimate and bounds; ``n_groups`` are labels, or clusters that hold one.
    labels_alone : Interval
        The same without the scores.
    target : {"rows", "population"}
        Whether the mean of these rows is meant, or of all rows that could have come in their place.
    standard_error : float
    weight : float
        What a score counts: 0 leaves the scores out, 1 takes them at face value.
    correlation : float or None
        Of score and label on labelled rows, by design weights; None where one of them is constant.
    n_labels, n_rows, n_null_scores : int
    n_clusters : int or None
        Clusters that hold a label; None where rows were taken one by one.
    equivalent_labels : float or None
        So many labels, drawn the same way, would do as well without scores.
    n_informative : float
        Rows that determine the spread of the corrected labels: their number if all contributed
        equally.
    remarks : tuple of str
        Why the interval should be taken with care; empty where nothing speaks against it.
    """

    interval: Interval
    labels_alone: Interval
    target: Target
    standard_error: float
    weight: float
    correlation: float | None
    n_labels: int
    n_rows: int
    n_null_scores: int
    n_clusters: int | None
    equivalent_labels: float | None
    n_informative: float
    remarks: tuple[str, ...] = ()

    @property
    def estimate(self) -> float:
        """The mean label."""
        return self.interval.estimate

    @property
    def width_ratio(self) -> float | None:
        """Width of the interval by that of labels alone; None where one of them has no bounds."""
        ours, alone = _width(self.interval), _width(self.labels_alone)
        return ours / alone if ours is not None and alone else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "estimate": self.estimate,
            "interval": self.interval.to_dict(),
            "labelsAlone": self.labels_alone.to_dict(),
            "target": self.target,
            "standardError": self.standard_error,
            "weight": self.weight,
            "correlation": self.correlation,
            "widthRatio": self.width_ratio,
            "equivalentLabels": self.equivalent_labels,
            "nLabels": self.n_labels,
            "nRows": self.n_rows,
            "nNullScores": self.n_null_scores,
            "nClusters": self.n_clusters,
            "nInformative": self.n_informative,
            "remarks": list(self.remarks),
        }


def _width(interval: Interval) -> float | None:
    if interval.low is None or interval.high is None:
        return None
    return interval.high - interval.low
