"""Records of runs in; each metric over those that can be compared, with its changes, out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing.spelling import camel_case
from rag_eval.runs.run_records import RunRecord
from rag_eval.samples import MetricId
from rag_eval.stats.change_points import ChangePoint, change_points

ALPHA: Final = 0.05
"""Probability of finding any change in a store whose runs come in an order of pure chance."""


@dataclass(frozen=True, slots=True)
class RunMean:
    """The mean of a metric in one run; its interval is None if there is none."""

    run_id: str
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One metric over runs of the same data and settings.

    Attributes
    ----------
    name : MetricId
    higher_is_better : bool
    means : tuple of RunMean or None
        Oldest first; None if a run has no score of the metric.
    changes : tuple of (str, ChangePoint)
        The first run after each change, with places among the means that there are.
    """

    name: MetricId
    higher_is_better: bool
    means: tuple[RunMean | None, ...]
    changes: tuple[tuple[str, ChangePoint], ...]

    @property
    def known(self) -> list[RunMean]:
        """The means that there are, oldest first; at least one."""
        return [mean for mean in self.means if mean is not None]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "metricId": camel_case(self.name),
            "higherIsBetter": self.higher_is_better,
            "means": [None if mean is None else mean.mean for mean in self.means],
            "changePoints": [
                {"runId": run_id, **found.to_dict()} for run_id, found in self.changes
            ],
        }


@dataclass(frozen=True, slots=True)
class Trends:
    """All metrics over the runs that can be compared with the newest one.

    Attributes
    ----------
    records : list of RunRecord
        Oldest first.
    metrics : list of Trend
    n_other : int
        Runs of other data or settings, which are left out.
    """

    records: list[RunRecord]
    metrics: list[Trend]
    n_other: int


def trends_of(records: Sequence[RunRecord]) -> Trends:
    """The trends of runs that are given newest first.

    Changes are tested at :data:`ALPHA` divided by the number of metrics.
    """
    same = [
        record
        for record in reversed(records)
        if data_and_settings(record) == data_and_settings(records[0])
    ]
    names = list(dict.fromkeys(metric for record in same for metric in record.metrics))
    means = {name: tuple(mean_of(record, name) for record in same) for name in names}
    measured = {name: found for name, found in means.items() if any(found)}
    metrics = [
        Trend(
            name=name,
            higher_is_better=higher_is_better(name) and name not in same[-1].lower_is_better,
            means=found,
            changes=_changes(found, ALPHA / len(measured)),
        )
        for name, found in measured.items()
    ]
    return Trends(same, metrics, len(records) - len(same))


def mean_of(record: RunRecord, name: MetricId) -> RunMean | None:
    """The mean of a metric in a run, if it has one."""
    mean = record.means.get(name)
    if mean is None or not math.isfinite(mean):
        return None
    found = record.aggregates[name].get("meanInterval")
    bounds = found if isinstance(found, dict) else {}
    low, high = (_number(bounds.get(end)) for end in ("low", "high"))
    has_both = low is not None and high is not None
    return RunMean(record.run_id, mean, *((low, high) if has_both else (None, None)))


def _number(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def data_and_settings(record: RunRecord) -> tuple[str | None, str]:
    """What two runs must share, so that their means can be compared."""
    return record.dataset_hash, str(record.signature)


def _changes(means: Sequence[RunMean | None], alpha: float) -> tuple[tuple[str, ChangePoint], ...]:
    known = [mean for mean in means if mean is not None]
    found = change_points([mean.mean for mean in known], alpha=alpha)
    return tuple((known[change.place].run_id, change) for change in found)
