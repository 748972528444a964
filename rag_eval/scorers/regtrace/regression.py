"""Regtrace's regressions.  In: scores now and in a baseline.  Out: relative changes, a status."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.plumbing.checked_values import from_zero, number

RegressionStatus: TypeAlias = Literal["clean", "warning", "critical", "new"]
CaseChange: TypeAlias = Literal["improved", "regressed", "unchanged", "new", "removed"]

TOLERANCE: Final = 0.05
CRITICAL: Final = 0.15

_WORSE: Final[tuple[RegressionStatus, ...]] = ("new", "clean", "warning", "critical")
_SCORES: Final[Mapping[RegressionStatus, float]] = {
    "new": 1.0,
    "clean": 1.0,
    "warning": 0.5,
    "critical": 0.0,
}


def relative_delta(current: float, baseline: float) -> float:
    """Change relative to the baseline, ``(c - b) / b``; from 0, 1 for any gain and else 0."""
    if baseline == 0:
        return 1.0 if current > 0 else 0.0
    return (current - baseline) / baseline


def regression_status(
    delta: float, tolerance: float = TOLERANCE, critical_threshold: float = CRITICAL
) -> RegressionStatus:
    """What a relative change is: clean down to the tolerance, then warning, then critical.

    Compared as it is, without room for rounding: 0.95 after 1 is 0.05000000000000004 less and a
    warning.
    """
    if delta >= -tolerance:
        return "clean"
    return "warning" if delta >= -critical_threshold else "critical"


def worst_status(statuses: Sequence[RegressionStatus]) -> RegressionStatus:
    """The worst of several; clean for none."""
    return max(statuses, key=_WORSE.index, default="clean")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionBlock:
    """A suite against its baseline.

    Attributes
    ----------
    status : {"clean", "warning", "critical", "new"}
        New where there is no baseline. The tool's documents say so; its code says clean.
    suite_delta : float
        Relative change of the score of the suite; 0 without a baseline.
    metric_deltas : mapping
        The same by metric; 0 for one that the baseline lacks.
    metric_tolerances_applied : mapping or None
        Where a metric has a tolerance of its own: the tolerance of every metric. The worst of
        these decides then, and not the suite.
    cases_excluded : tuple of str
        Cases that the baseline lacks, which are in no score.
    baseline_run_id, baseline_version, current_version : str or None
    """

    status: RegressionStatus
    suite_delta: float = 0.0
    metric_deltas: Mapping[str, float] = field(default_factory=dict)
    metric_tolerances_applied: Mapping[str, float] | None = None
    cases_excluded: tuple[str, ...] = ()
    baseline_run_id: str | None = None
    baseline_version: str | None = None
    current_version: str | None = None

    @property
    def version_change_detected(self) -> bool:
        """Whether the golden set has another version than the baseline's. Decides nothing."""
        return self.baseline_run_id is not None and self.baseline_version != self.current_version

    def to_dict(self) -> dict[str, Any]:
        """As the tool's run records have it."""
        found: dict[str, Any] = {
            "baseline_run_id": self.baseline_run_id,
            "baseline_golden_set_version": self.baseline_version,
            "current_golden_set_version": self.current_version,
            "version_change_detected": self.version_change_detected,
            "suite_delta": self.suite_delta,
            "regression_status": self.status,
            "metric_deltas": dict(self.metric_deltas),
        }
        if self.cases_excluded:
            found["test_cases_excluded"] = list(self.cases_excluded)
        if self.metric_tolerances_applied is not None:
            found["metric_tolerances_applied"] = dict(self.metric_tolerances_applied)
        return found


def regression_block(
    suite_score: float,
    metric_scores: Mapping[str, float],
    baseline: Mapping[str, Any] | None,
    *,
    tolerance: float = TOLERANCE,
    critical_threshold: float = CRITICAL,
    metric_tolerances: Mapping[str, float] | None = None,
    lower_is_better: Collection[str] = (),
    current_version: str | None = None,
    cases_excluded: Sequence[str] = (),
) -> RegressionBlock:
    """A suite against a baseline, by the rules of Regtrace 0.10.

    Parameters
    ----------
    suite_score : float
    metric_scores : mapping
        The mean score of each metric over all cases. The tool takes that of the last case; its
        documents, and this, the mean.
    baseline : mapping or None
        ``run_id``, ``golden_set_version``, ``suite_score``, and ``metric_summary`` with a
        ``score`` for each metric.
    tolerance, critical_threshold : float, default 0.05 and 0.15
    metric_tolerances : mapping, optional
        By metric. With any, the metrics decide and the suite does not.
    lower_is_better : collection of str
        Metrics for which lower is better: their changes have the other sign. The tool has none.
    current_version : str, optional
    cases_excluded : sequence of str
        What was left out of the scores, for the record.

    Raises
    ------
    InputError
        For a score that is not a number, or a tolerance below 0.
    """
    from_zero(tolerance, "tolerance")
    from_zero(critical_threshold, "critical_threshold")
    excluded = tuple(cases_excluded)
    if baseline is None:
        return RegressionBlock(
            status="new", current_version=current_version, cases_excluded=excluded
        )
    suite_delta = relative_delta(
        number(suite_score, "suite_score"),
        number(baseline.get("suite_score"), "suite_score of the baseline"),
    )
    before = _scores_of(baseline)
    deltas = {
        metric: relative_delta(number(score, f"score of {metric}"), before[metric])
        * (-1 if metric in lower_is_better else 1)
        if metric in before
        else 0.0
        for metric, score in metric_scores.items()
    }
    status, applied = regression_status(suite_delta, tolerance, critical_threshold), None
    if metric_tolerances:
        applied = {
            metric: from_zero(metric_tolerances.get(metric, tolerance), f"tolerance of {metric}")
            for metric in deltas
        }
        status = worst_status(
            [regression_status(deltas[m], applied[m], critical_threshold) for m in deltas]
        )
    return RegressionBlock(
        status=status,
        suite_delta=suite_delta,
        metric_deltas=deltas,
        metric_tolerances_applied=applied,
        cases_excluded=excluded,
        baseline_run_id=baseline.get("run_id"),
        baseline_version=baseline.get("golden_set_version"),
        current_version=current_version,
    )


def _scores_of(baseline: Mapping[str, Any]) -> dict[str, float]:
    summary = baseline.get("metric_summary") or {}
    if not isinstance(summary, Mapping):
        raise InputError(f"metric_summary must be an object, got {glance(summary)}")
    return {
        metric: number(found.get("score"), f"score of {metric} in the baseline")
        for metric, found in summary.items()
    }


@dataclass(frozen=True, slots=True)
class CaseDelta:
    """One case now and in the baseline; ``delta`` is relative, None if one side is missing."""

    id: str
    change: CaseChange
    delta: float | None


def case_deltas(
    current: Mapping[str, float | None],
    baseline: Mapping[str, float | None],
    *,
    tolerance: float = TOLERANCE,
) -> list[CaseDelta]:
    """Each case compared with itself, as the tool documents but does not do; current cases first.

    A case has changed if its relative change exceeds the tolerance. A case without a current score
    counts as removed, and one without a baseline score as new; one without either is left out.

    Parameters
    ----------
    current, baseline : mapping of float or None
        Scores by case id.
    tolerance : float
    """
    found = []
    for case, score in {**dict.fromkeys(baseline), **current}.items():
        before = baseline.get(case)
        if score is None or before is None:
            if score is not None or before is not None:
                found.append(CaseDelta(case, "new" if before is None else "removed", None))
            continue
        delta = relative_delta(score, before)
        change: CaseChange = "unchanged"
        if abs(delta) > tolerance:
            change = "improved" if delta > 0 else "regressed"
        found.append(CaseDelta(case, change, delta))
    return sorted(found, key=lambda each: each.id not in current)


def regression_metric(
    current_score: float | None,
    baseline_score: float | None,
    *,
    tolerance: float = TOLERANCE,
    critical_threshold: float = CRITICAL,
) -> tuple[float | None, RegressionStatus]:
    """Regression as a metric: 1 for clean and new, 0.5 for warning, 0 for critical.

    Without a current score there is nothing to measure: None. The tool takes 0 for it, and since
    it never hands a current score over, every case fails from the second run on.
    """
    if baseline_score is None:
        return 1.0, "new"
    if current_score is None:
        return None, "new"
    delta = relative_delta(number(current_score, "current_score"), baseline_score)
    status = regression_status(delta, tolerance, critical_threshold)
    return _SCORES[status], status


def _regression(
    tolerance: float = TOLERANCE,
    critical_threshold: float = CRITICAL,
    baseline_score: float | None = None,
) -> Scorer:
    from_zero(tolerance, "tolerance")
    from_zero(critical_threshold, "critical_threshold")
    if baseline_score is not None:
        number(baseline_score, "baseline_score")

    def score(fields: Fields) -> Scored:
        before = fields.get("baseline_score", baseline_score)
        if before is not None:
            before = number(before, "baseline_score")
        found, status = regression_metric(
            number(fields["current_score"], "current_score"),
            before,
            tolerance=tolerance,
            critical_threshold=critical_threshold,
        )
        return Scored(found, explanation=f"against the baseline the status is {status}")

    return Scorer(score)


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id="regtrace.regression",
        summary="1 if the current score is as good as that of a baseline, 0.5 for a warning, "
        "0 for a critical drop",
        create=_regression,
        fields=("current_score",),
        optional=("baseline_score",),
        options={
            "tolerance": TOLERANCE,
            "critical_threshold": CRITICAL,
            "baseline_score": None,
        },
        threshold=1.0,
        compares_runs=True,
        cost="python",
        source="Regtrace, metrics reference",
    ),
)
