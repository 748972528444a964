"""What prediction-powered estimates give: numbers and intervals as fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rag_eval.stats.intervals import Interval

Target: TypeAlias = Literal["rows", "population"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PpiEstimate:
    """The mean label of all rows, estimated from all scores and some labels.

    Attributes
    ----------
    interval : Interval
        Estimate and bounds; ``n_groups`` counts labels, or clusters with a label.
    labels_alone : Interval
        The estimate without the scores.
    target : {"rows", "population"}
        Whether the mean of exactly these rows is estimated, or that of the population they came
        from.
    standard_error : float
    weight : float
        Weight of the scores: 0 ignores them, 1 takes them at face value.
    correlation : float or None
        Correlation of score and label on the labelled rows, with design weights; None if one of
        them is constant.
    n_labels, n_rows, n_null_scores : int
    n_clusters : int or None
        Number of clusters with a label; None without clusters.
    equivalent_labels : float or None
        Number of labels, drawn the same way, that would be as precise without scores.
    n_informative : float
        Effective number of rows that determine the spread of the corrected labels.
    remarks : tuple of str
        Reasons to treat the interval with care; empty if there are none.
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
        """Width of the interval divided by that from labels alone; None if one has no bounds."""
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
