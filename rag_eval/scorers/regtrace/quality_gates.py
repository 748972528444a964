"""Regtrace's gates.  In: a scored suite and what is demanded of it.  Out: gate by gate, a sentence.

A suite passes where all its gates do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import flag, from_zero, one_of, share, whole_from_zero
from rag_eval.scorers.regtrace.cascade import CaseResult, SuiteResult

RegressionStatus: TypeAlias = Literal["clean", "warning", "critical"]

_STATUSES: Final = ("clean", "warning", "critical")


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityGates:
    """Limits on the scores of a suite.

    Attributes
    ----------
    suite_score_minimum : float
    metric_score_minimums : mapping
        Minimum mean score by metric; a metric that scored no case is not checked.
    max_failed_test_cases : int
        Cases whose severity is ``fail``; warnings do not count.
    max_low_confidence_ratio : float
        Share of cases with a metric whose confidence is below ``low_confidence``.
    low_confidence : float
    regression_gate : bool
        Whether the status against the baseline must be clean; a warning does not pass.
    """

    suite_score_minimum: float = 0.7
    metric_score_minimums: Mapping[str, float] = field(default_factory=dict)
    max_failed_test_cases: int = 0
    max_low_confidence_ratio: float = 0.1
    low_confidence: float = 0.5
    regression_gate: bool = True

    def __post_init__(self) -> None:
        for name in ("suite_score_minimum", "max_low_confidence_ratio", "low_confidence"):
            share(getattr(self, name), name)
        if not isinstance(self.metric_score_minimums, Mapping):
            kind = type(self.metric_score_minimums).__name__
            raise InputError(f"metric_score_minimums must be a mapping, got {kind}")
        for metric, least in self.metric_score_minimums.items():
            share(least, f"metric_score_minimums of {metric!r}")
        whole_from_zero(self.max_failed_test_cases, "max_failed_test_cases")
        flag(self.regression_gate, "regression_gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class NfrGates:
    """Limits on a run besides its scores; None means no limit.

    Attributes
    ----------
    max_latency_ms : float or None
        Of the whole run.
    max_cost_usd : float or None
        Of all judging.
    min_coverage : float or None
        Share of cases that passed.
    """

    max_latency_ms: float | None = None
    max_cost_usd: float | None = None
    min_coverage: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_latency_ms", "max_cost_usd"):
            if getattr(self, name) is not None:
                from_zero(getattr(self, name), name)
        if self.min_coverage is not None:
            share(self.min_coverage, "min_coverage")


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """One gate and whether it holds.

    Attributes
    ----------
    gate : str
        The option that sets it; ``metric_score_minimums.tone`` for the minimum of one metric.
    passed : bool
    actual, demanded : number, str or None
        ``actual`` is None if there was nothing to measure.
    message : str
        A sentence for people.
    """

    gate: str
    passed: bool
    actual: Any
    demanded: Any
    message: str


def check_quality_gates(
    suite: SuiteResult,
    gates: QualityGates | None = None,
    nfr_gates: NfrGates | None = None,
    *,
    regression_status: RegressionStatus | None = None,
    duration_ms: float | None = None,
) -> list[GateOutcome]:
    """Check the gates of a suite in order; gates without a limit are left out.

    Parameters
    ----------
    suite : SuiteResult
        A suite without any score does not reach its minimum.
    gates : QualityGates, optional
        By default: a score of at least 0.7, no failed case, at most a tenth of the cases with low
        confidence, and no regression.
    nfr_gates : NfrGates, optional
    regression_status : {"clean", "warning", "critical"}, optional
        None without a baseline, in which case that gate passes.
    duration_ms : float, optional
        Required with ``max_latency_ms``.

    Raises
    ------
    InputError
        If a required value is missing or invalid.
    """
    demanded = gates or QualityGates()
    found = [
        _suite_gate(suite, demanded),
        *_metric_gates(suite, demanded),
        _failed_gate(suite.cases, demanded),
        _confidence_gate(suite.cases, demanded),
    ]
    if regression_status is not None:
        one_of(regression_status, "regression_status", _STATUSES)
    if demanded.regression_gate:
        found.append(_regression_gate(regression_status))
    if nfr_gates is not None:
        found += _nfr_gates(suite.cases, nfr_gates, duration_ms)
    return found


def _suite_gate(suite: SuiteResult, gates: QualityGates) -> GateOutcome:
    least, score = gates.suite_score_minimum, suite.score
    if score is None:
        message = f"No case has a score; at least {least:g} is required."
        return GateOutcome("suite_score_minimum", False, None, least, message)
    return _at_least("suite_score_minimum", score, least, "The score of the suite")


def _metric_gates(suite: SuiteResult, gates: QualityGates) -> list[GateOutcome]:
    found = []
    for metric, least in gates.metric_score_minimums.items():
        gate = f"metric_score_minimums.{metric}"
        summary = suite.metrics.get(metric)
        if summary is None:
            message = f"No case was scored by {metric}, so its minimum was not checked."
            found.append(GateOutcome(gate, True, None, least, message))
        else:
            found.append(_at_least(gate, summary.score, least, f"The mean score of {metric}"))
    return found


def _failed_gate(cases: Sequence[CaseResult], gates: QualityGates) -> GateOutcome:
    count = sum(case.severity == "fail" for case in cases)
    gate = "max_failed_test_cases"
    return _at_most(gate, count, gates.max_failed_test_cases, "The number of failed cases")


def _confidence_gate(cases: Sequence[CaseResult], gates: QualityGates) -> GateOutcome:
    unsure = sum(
        any(each.confidence < gates.low_confidence for each in case.outcomes) for case in cases
    )
    ratio = unsure / len(cases) if cases else 0.0
    most = gates.max_low_confidence_ratio
    return _at_most(
        "max_low_confidence_ratio", ratio, most, "The share of cases with low confidence"
    )


def _regression_gate(status: RegressionStatus | None) -> GateOutcome:
    if status is None:
        message = "There is no baseline to compare with."
        return GateOutcome("regression_gate", True, None, "clean", message)
    message = f"Compared with the baseline the status is {status}; clean is required."
    return GateOutcome("regression_gate", status == "clean", status, "clean", message)


def _nfr_gates(
    cases: Sequence[CaseResult], gates: NfrGates, duration_ms: float | None
) -> list[GateOutcome]:
    found = []
    if gates.max_latency_ms is not None:
        if duration_ms is None:
            raise InputError("max_latency_ms needs duration_ms")
        taken = from_zero(duration_ms, "duration_ms")
        found.append(_at_most("max_latency_ms", taken, gates.max_latency_ms, "The time in ms"))
    if gates.max_cost_usd is not None:
        cents = math.fsum(each.token_cost for case in cases for each in case.outcomes)
        found.append(_at_most("max_cost_usd", cents / 100, gates.max_cost_usd, "The cost in USD"))
    if gates.min_coverage is not None:
        passed = sum(case.overall_passed for case in cases)
        coverage = passed / len(cases) if cases else 0.0
        share_of = "The share of cases that passed"
        found.append(_at_least("min_coverage", coverage, gates.min_coverage, share_of))
    return found


def _at_least(gate: str, actual: float, least: float, what: str) -> GateOutcome:
    message = f"{what} is {actual:g}; at least {least:g} is required."
    return GateOutcome(gate, actual >= least, actual, least, message)


def _at_most(gate: str, actual: float, most: float, what: str) -> GateOutcome:
    message = f"{what} is {actual:g}; at most {most:g} is allowed."
    return GateOutcome(gate, actual <= most, actual, most, message)
