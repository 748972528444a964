"""Hard guards.  In: a run, baselines, and limits on both.  Out: which limits hold, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_eval.errors import InputError
from rag_eval.gating.critical_rows import check_verdicts, critical_rows_outcome
from rag_eval.gating.limits import (
    GateOutcome,
    apart,
    bars_on_means,
    judge_failure_outcome,
    mean_outcome,
    pass_rate_outcome,
    share_outcome,
)
from rag_eval.metrics.registry import to_metric_id
from rag_eval.plumbing.checked_values import share, whole_from_one
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Limits that hold whatever a baseline was like. None of them is a test: they have no chance.

    Attributes
    ----------
    min_mean : mapping of metric to float
        Least mean score; a metric without any score fails.
    max_mean : mapping of metric to float
        Maximum allowed mean per lower-is-better metric.
    min_pass_rate : float, optional
        Least share of rows that pass; rows without a verdict do not.
    max_null_rate : float or mapping of metric to float, optional
        Largest share of rows without a score, of every metric or of those named.
    max_null_rise : float, optional
        By how much that share may rise against a baseline, 0.01 for one row in a hundred.
    critical : sequence of str
        Ids of rows that must not fail.
    critical_tags : mapping of str to sequence of str
        By metadata field: the values that make a row critical.
    critical_fails : int, default 1
        In so many of its repeats a critical row has to fail until it counts.
    max_judge_failures : float, default 0
        Largest share of judgements that may fail: what was not judged is no evidence.
    """

    min_mean: Mapping[MetricId, float] = field(default_factory=dict)
    max_mean: Mapping[MetricId, float] = field(default_factory=dict)
    min_pass_rate: float | None = None
    max_null_rate: float | Mapping[MetricId, float] | None = None
    max_null_rise: float | None = None
    critical: Sequence[str] = ()
    critical_tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    critical_fails: int = 1
    max_judge_failures: float = 0.0

    def __post_init__(self) -> None:
        for name in ("min_pass_rate", "max_null_rise", "max_judge_failures"):
            if getattr(self, name) is not None:
                share(getattr(self, name), name)
        whole_from_one(self.critical_fails, "critical_fails")
        if isinstance(self.critical, str):
            raise InputError(f"critical must be a list of ids, got the text {self.critical!r}")

    @property
    def given(self) -> bool:
        """Whether a limit was set, besides that on the judge's failures."""
        limits = (self.min_pass_rate, self.max_null_rate, self.max_null_rise)
        named = (self.min_mean, self.max_mean, self.critical, self.critical_tags)
        return any(limit is not None for limit in limits) or any(map(bool, named))

    @property
    def columns(self) -> tuple[str, ...]:
        """The metadata fields that are read."""
        return tuple(self.critical_tags)


def check_guards(
    run: ScoredRun, guards: Guards, baselines: Iterable[ScoredRun] = ()
) -> list[GateOutcome]:
    """The outcome of every guard that was set, and of the judge's failures where one was asked.

    Raises
    ------
    InputError
        For a guard on a metric that the run does not have, and where a pass rate is wanted of a
        run without verdicts.
    """
    found = []
    if guards.critical or guards.critical_tags:
        found.append(
            critical_rows_outcome(run, guards.critical, guards.critical_tags, guards.critical_fails)
        )
    found += _mean_guards(run, guards)
    if guards.min_pass_rate is not None:
        check_verdicts(run, "min_pass_rate")
        found.append(
            pass_rate_outcome(int((run.passed == 1).sum()), len(run), guards.min_pass_rate)
        )
    found += _null_rates(run, guards.max_null_rate)
    if guards.max_null_rise is not None:
        for baseline in baselines:
            found += _null_rises(run, baseline, guards.max_null_rise)
    if run.n_judgements:
        found.append(
            judge_failure_outcome(
                run.n_failed_judgements, run.n_judgements, guards.max_judge_failures
            )
        )
    return found


def mean_of(run: ScoredRun, metric: MetricId) -> tuple[float, int]:
    """The mean of a column and over how many rows; NaN over none."""
    scores = run.column(metric)
    scores = scores[~np.isnan(scores)]
    # One sum for any order of the rows: a mean must not hang on how a file is sorted.
    return (math.fsum(scores) / len(scores) if len(scores) else math.nan), len(scores)


def null_rate(run: ScoredRun, metric: MetricId) -> float:
    """Share of rows without a score; 1 for a metric the run does not have."""
    if metric not in run.metrics or not len(run):
        return 1.0
    return float(np.isnan(run.column(metric)).mean())


def _mean_guards(run: ScoredRun, guards: Guards) -> list[GateOutcome]:
    bars = {
        **bars_on_means("min_mean", guards.min_mean, list(run.metrics), rises=True),
        **bars_on_means("max_mean", guards.max_mean, list(run.metrics), rises=False),
    }
    return [
        mean_outcome(metric, *mean_of(run, metric), len(run), bar) for metric, bar in bars.items()
    ]


def _null_rates(
    run: ScoredRun, limits: float | Mapping[MetricId, float] | None
) -> list[GateOutcome]:
    if limits is None:
        return []
    if not isinstance(limits, Mapping):
        limits = dict.fromkeys(run.metrics, share(limits, "max_null_rate"))
    found = []
    for name, value in limits.items():
        metric, limit = to_metric_id(name), share(value, f"max_null_rate[{name!r}]")
        run.column(metric)  # named in the error where there is none
        rate = null_rate(run, metric)
        n_null = round(rate * len(run))
        what, counts = f"{metric}: share of rows without a score", f"({n_null:,}/{len(run):,})"
        found.append(share_outcome("max_null_rate", what, rate, counts, limit, metric_id=metric))
    return found


def _null_rises(run: ScoredRun, baseline: ScoredRun, limit: float) -> list[GateOutcome]:
    found = []
    for metric in (metric for metric in baseline.metrics if metric in run.metrics):
        before, now = null_rate(baseline, metric), null_rate(run, metric)
        shown, bar = apart(now - before, limit)
        held = now - before <= limit
        found.append(
            GateOutcome(
                gate="max_null_rise",
                metric_id=metric,
                held=held,
                found=now - before,
                wanted=limit,
                message=f"{metric}: share of rows without a score went from {before:.3f} in "
                f"{baseline.name} to {now:.3f}, {'at most' if held else 'more than'} {bar} more"
                + ("" if held else f" (by {shown})"),
            )
        )
    return found
