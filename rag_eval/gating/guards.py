"""A run, baselines and limits in; which limits hold, in words, out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_eval.errors import InputError
from rag_eval.gating.critical_rows import check_verdicts, critical_rows_outcome
from rag_eval.gating.limits import (
    GateOutcome,
    bars_on_means,
    check_can_fail,
    deciding_metrics,
    judge_failure_outcome,
    mean_outcome,
    missing_texts_outcomes,
    pass_rate_outcome,
    share_outcome,
)
from rag_eval.metrics.registry import to_metric_id
from rag_eval.plumbing.checked_values import plain, share, whole_from_one
from rag_eval.results.missing_texts import MissingTexts, inferred_texts
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Fixed limits on a run. They are not statistical tests.

    Attributes
    ----------
    min_mean : mapping of metric to float
        Minimum mean score per metric; a metric without any score fails.
    max_mean : mapping of metric to float
        Maximum allowed mean per lower-is-better metric.
    min_pass_rate : float, optional
        Minimum share of rows that pass; rows without a verdict count as failed.
    max_null_rate : float or mapping of metric to float, optional
        Maximum share of rows without a score, for every metric or for those named.
    critical : sequence of str
        Ids of rows that must not fail.
    critical_tags : mapping of str to sequence of str
        For each metadata field, the values that make a row critical.
    critical_fails : int, default 1
        Number of repeats in which a critical row has to fail to count as failed.
    max_judge_failures : float, default 0
        Maximum share of failed judgements.
    """

    min_mean: Mapping[MetricId, float] = field(default_factory=dict)
    max_mean: Mapping[MetricId, float] = field(default_factory=dict)
    min_pass_rate: float | None = None
    max_null_rate: float | Mapping[MetricId, float] | None = None
    critical: Sequence[str] = ()
    critical_tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    critical_fails: int = 1
    max_judge_failures: float = 0.0

    def __post_init__(self) -> None:
        for name in ("min_pass_rate", "max_judge_failures"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, share(plain(getattr(self, name)), name))
        whole_from_one(self.critical_fails, "critical_fails")
        if isinstance(self.critical, str):
            raise InputError(f"critical must be a list of ids, got the text {self.critical!r}")

    @property
    def given(self) -> bool:
        """Whether any limit was set, apart from the one on judge failures."""
        limits = (self.min_pass_rate, self.max_null_rate)
        named = (self.min_mean, self.max_mean, self.critical, self.critical_tags)
        return any(limit is not None for limit in limits) or any(map(bool, named))

    @property
    def columns(self) -> tuple[str, ...]:
        """The metadata fields that the guards need."""
        return tuple(self.critical_tags)


def check_guards(run: ScoredRun, guards: Guards) -> list[GateOutcome]:
    """The outcome of every guard that was set, and of judge failures if a judge was used.

    Raises
    ------
    InputError
        For a guard on a metric that the run does not have, or a pass rate for a run without
        verdicts or one whose rows no score can fail.
    """
    found = []
    if guards.critical or guards.critical_tags:
        found.append(
            critical_rows_outcome(run, guards.critical, guards.critical_tags, guards.critical_fails)
        )
    found += _mean_guards(run, guards)
    if guards.min_pass_rate is not None:
        check_verdicts(run, "min_pass_rate")
        check_can_fail(run.settings, "min_pass_rate (--min-pass-rate)", run.name)
        found.append(
            pass_rate_outcome(int((run.passed == 1).sum()), len(run), guards.min_pass_rate)
        )
    found += _null_rates(run, guards.max_null_rate)
    found += _missing_texts(run, guards)
    if run.n_judgements:
        found.append(
            judge_failure_outcome(
                run.n_failed_judgements, run.n_judgements, guards.max_judge_failures
            )
        )
    return found


def mean_of(run: ScoredRun, metric: MetricId) -> tuple[float, int]:
    """The mean of a column and its number of scores; NaN without scores."""
    scores = run.column(metric)
    scores = scores[~np.isnan(scores)]
    # An exact sum, so that the mean does not depend on the order of the rows.
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


def _missing_texts(run: ScoredRun, guards: Guards) -> list[GateOutcome]:
    """A failure if rows lack texts; tables do not tell whose nulls they are, and are left out."""
    if run.signature is None:
        return []
    rates = guards.max_null_rate
    named = run.metrics if isinstance(rates, (int, float)) else rates or ()
    accepted = {to_metric_id(name) for name in named}
    limited = {to_metric_id(name) for name in (*guards.min_mean, *guards.max_mean)}
    rated = guards.min_pass_rate is not None
    deciding = set(deciding_metrics(run.metrics, run.settings)) if rated else set()
    missing = MissingTexts.of(inferred_texts(run.metrics, run.null_reasons), run.passed == 1)
    flag = "--max-null-rate 1"
    return missing_texts_outcomes(missing, limited - accepted, deciding - accepted, flag)


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
        run.column(metric)  # raises an error that names an unknown metric
        rate = null_rate(run, metric)
        n_null = round(rate * len(run))
        what, counts = f"{metric}: share of null scores", f"({n_null:,}/{len(run):,})"
        found.append(share_outcome("max_null_rate", what, rate, counts, limit, metric_id=metric))
    return found
