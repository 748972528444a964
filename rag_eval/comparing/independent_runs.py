"""Two runs on different rows in; their means side by side, without a verdict, out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_eval.errors import InputError
from rag_eval.metrics.registry import higher_is_better, metric_of_file
from rag_eval.plumbing.json_text import number_or_null
from rag_eval.plumbing.spelling import camel_case, counted
from rag_eval.results.summaries import MeanScore, check_differences, setting_differences
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats.arrays import Floats
from rag_eval.stats.differences import independent_difference
from rag_eval.stats.effect_sizes import cliffs_delta, hedges_g
from rag_eval.stats.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentChange:
    """One metric in two runs that share no row.

    Attributes
    ----------
    name : MetricId
    higher_is_better : bool
    old, new : MeanScore
    difference : Interval
        New minus old mean, by Welch's t.
    hedges_g : float or None
        New minus old mean over the pooled standard deviation; None if it is not defined.
    cliffs_delta : float or None
        Chance that a new score is above an old one, less the chance of the reverse.
    """

    name: str
    higher_is_better: bool
    old: MeanScore
    new: MeanScore
    difference: Interval
    hedges_g: float | None
    cliffs_delta: float | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a number that does not exist is null."""
        return {
            "metricId": camel_case(self.name),
            "higherIsBetter": self.higher_is_better,
            "oldMean": number_or_null(self.old.mean),
            "oldN": self.old.n,
            "newMean": number_or_null(self.new.mean),
            "newN": self.new.n,
            "delta": number_or_null(self.difference.estimate),
            "low": self.difference.low,
            "high": self.difference.high,
            "hedgesG": self.hedges_g,
            "cliffsDelta": self.cliffs_delta,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentComparison:
    """Two runs on different rows; the result of :func:`compare_independent`."""

    old: str
    new: str
    n_old: int
    n_new: int
    level: float
    changes: tuple[IndependentChange, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "old": self.old,
            "new": self.new,
            "oldRows": self.n_old,
            "newRows": self.n_new,
            "level": self.level,
            "changes": [change.to_dict() for change in self.changes],
            "notes": list(self.notes),
        }


def compare_independent(
    old: RunSource,
    new: RunSource,
    *,
    metrics: Iterable[str] | None = None,
    level: float = 0.95,
    id_field: str = "id",
    force: bool = False,
) -> IndependentComparison:
    """Describe two runs on different rows.

    Parameters
    ----------
    old, new, metrics, level, id_field, force
        As for :func:`rag_eval.compare`. Repeats count as rows.

    Returns
    -------
    IndependentComparison
        Without verdicts: the differences also contain the differences between the rows.

    Raises
    ------
    SignatureMismatchError
        When the runs were scored under different settings, unless ``force`` is true.
    InputError
        For a file that cannot be read, or runs without a common metric.
    """
    wanted = None if metrics is None else [metric_of_file(metric) for metric in metrics]
    before, after = (read_run(run, id_field=id_field, metrics=wanted) for run in (old, new))
    shared = [metric for metric in before.metrics if metric in after.metrics]
    if not shared:
        raise InputError(f"{before.name} and {after.name} have no metric in common")
    if before.signature is not None and after.signature is not None:
        differences = setting_differences(before.signature, after.signature, shared)
        check_differences(before.name, after.name, differences, force=force)
    notes = ["rows are not paired: the changes include differences between the rows"]
    n_both = len(set(before.ids) & set(after.ids))
    if n_both:
        notes.append(f"the runs share {counted(n_both, 'id')}; pairing them is more precise")
    return IndependentComparison(
        old=before.name,
        new=after.name,
        n_old=len(before),
        n_new=len(after),
        level=level,
        changes=tuple(_change(before, after, metric, level) for metric in shared),
        notes=tuple(notes),
    )


def _change(old: ScoredRun, new: ScoredRun, metric: str, level: float) -> IndependentChange:
    before, after = old.column(metric), new.column(metric)
    falling = metric in (*old.lower_is_better, *new.lower_is_better)
    return IndependentChange(
        name=metric,
        higher_is_better=higher_is_better(metric) and not falling,
        old=_mean(before),
        new=_mean(after),
        difference=independent_difference(before, after, level=level),
        hedges_g=hedges_g(before, after),
        cliffs_delta=cliffs_delta(before, after),
    )


def _mean(scores: Floats) -> MeanScore:
    known = scores[~np.isnan(scores)]
    return MeanScore(float(known.mean()) if len(known) else float("nan"), len(known), len(scores))
