"""Regtrace's cascade.  In: scores of metrics, case by case.  Out: cases, their severity, the suite.

As documented, with weights for metrics and for cases. A metric that found nothing to score has no
part in any mean; the tool itself takes one that it does not know for a failure.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import from_zero, number, share
from rag_eval.scorers.javascript import SPACES, well_formed

Severity: TypeAlias = Literal["pass", "warn", "fail"]

DEFAULT_THRESHOLD: Final = 0.7
FAILS_BELOW: Final = 0.3
"""A failing metric below it makes its case fail; one from it on is a warning."""

_PROSE_WORDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricOutcome:
    """The result of one metric for one case.

    Attributes
    ----------
    metric : str
    score : float or None
        From 0 to 1; None if there was nothing to score.
    threshold : float
        Lowest score that passes.
    confidence : float
        From 0 to 1; 1 for computed scores.
    token_cost : float
        Cost of the judge in US cents.
    """

    metric: str
    score: float | None
    threshold: float = DEFAULT_THRESHOLD
    confidence: float = 1.0
    token_cost: float = 0.0

    def __post_init__(self) -> None:
        if self.score is not None:
            share(self.score, f"score of {self.metric}")
        number(self.threshold, f"threshold of {self.metric}")
        share(self.confidence, f"confidence of {self.metric}")
        from_zero(self.token_cost, f"token_cost of {self.metric}")

    @property
    def passed(self) -> bool | None:
        """Whether the score reaches the threshold; None without a score."""
        return None if self.score is None else self.score >= self.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One case of a suite, with the results of its metrics.

    Attributes
    ----------
    id : str
    outcomes : tuple of MetricOutcome
        At most one for each metric.
    weight : float
        Weight in the score of the suite, 0 or more.
    """

    id: str
    outcomes: tuple[MetricOutcome, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        from_zero(self.weight, f"weight of case {self.id!r}")
        for metric, count in Counter(each.metric for each in self.outcomes).items():
            if count > 1:
                raise InputError(f"case {self.id!r} has {count} outcomes of {metric}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case, scored.

    Attributes
    ----------
    id : str
    score : float or None
        None if none of its metrics has a score.
    severity : {"pass", "warn", "fail"}
    outcomes : tuple of MetricOutcome
    weight : float
    """

    id: str
    score: float | None
    severity: Severity
    outcomes: tuple[MetricOutcome, ...]
    weight: float = 1.0

    @property
    def overall_passed(self) -> bool:
        """Whether all its metrics passed."""
        return self.severity == "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric over the cases that it scored.

    Attributes
    ----------
    score : float
        Unweighted mean; the weights of cases apply only to the score of the suite.
    pass_rate : float
    n_cases : int
    """

    score: float
    pass_rate: float
    n_cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """A suite, scored.

    Attributes
    ----------
    score : float or None
        None if no case has one.
    cases : tuple of CaseResult
        In the order given.
    metrics : mapping
        Summaries by metric, in the order in which metrics first occur.
    """

    score: float | None
    cases: tuple[CaseResult, ...]
    metrics: Mapping[str, MetricSummary] = field(default_factory=dict)


# -------------------------------------------------------------------------------------- scores


def weighted_average(scores: Iterable[tuple[float | None, float]]) -> float | None:
    """Weighted mean of scores, from 0 to 1, without None.

    0 if all weights are 0, as in the tool; None without any score.

    Parameters
    ----------
    scores : iterable of (float or None, float)
        Scores with their weights, which must be 0 or more.
    """
    found = [
        (share(score, "score"), from_zero(weight, "weight"))
        for score, weight in scores
        if score is not None
    ]
    try:
        # Exactly rounded: the order of cases, and Python's version, change no bit.
        weights = math.fsum(weight for _, weight in found)
    except OverflowError:
        raise InputError("weights are too large to be summed") from None
    if not weights:
        return 0.0 if found else None
    total = math.fsum(score * weight for score, weight in found)
    return min(1.0, max(0.0, total / weights))


def case_score(
    metric_scores: Mapping[str, float | None], weights: Mapping[str, float] | None = None
) -> float | None:
    """Weighted mean of the scores of a case's metrics.

    Parameters
    ----------
    metric_scores : mapping
        Scores by metric, from 0 to 1; None is excluded.
    weights : mapping, optional
        Weights by metric; 1 if a metric is not in it.
    """
    given = weights or {}
    return weighted_average((score, given.get(name, 1.0)) for name, score in metric_scores.items())


def suite_score(cases: Iterable[SuiteCase | CaseResult]) -> float | None:
    """Weighted mean of the scores of cases."""
    return weighted_average((_case_score(case), case.weight) for case in cases)


def _case_score(case: SuiteCase | CaseResult) -> float | None:
    if isinstance(case, CaseResult):
        return case.score
    return case_score({each.metric: each.score for each in case.outcomes})


def severity(outcomes: Sequence[MetricOutcome]) -> Severity:
    """The severity of a case.

    ``pass`` if all metrics with a score pass, ``fail`` if one fails with less than 0.3, else
    ``warn``. A case without any score is a warning.
    """
    scored = [each for each in outcomes if each.score is not None]
    failing = [each.score for each in scored if each.score is not None and not each.passed]
    if any(score < FAILS_BELOW for score in failing):
        return "fail"
    return "warn" if failing or not scored else "pass"


def metric_summaries(cases: Iterable[SuiteCase | CaseResult]) -> dict[str, MetricSummary]:
    """Summary of each metric over the cases that it scored, in order of first occurrence."""
    found: dict[str, list[MetricOutcome]] = {}
    for case in cases:
        for outcome in case.outcomes:
            if outcome.score is not None:
                found.setdefault(outcome.metric, []).append(outcome)
    return {name: _summary(outcomes) for name, outcomes in found.items()}


def _summary(outcomes: Sequence[MetricOutcome]) -> MetricSummary:
    scores = [each.score for each in outcomes if each.score is not None]
    return MetricSummary(
        score=math.fsum(scores) / len(scores),
        pass_rate=sum(each.passed is True for each in outcomes) / len(outcomes),
        n_cases=len(outcomes),
    )


def score_suite(
    cases: Iterable[SuiteCase], metric_weights: Mapping[str, float] | None = None
) -> SuiteResult:
    """The whole aggregation: from metrics to cases and from cases to the suite.

    Parameters
    ----------
    cases : iterable of SuiteCase
    metric_weights : mapping, optional
        Weights by metric; 1 if a metric is not in it.
    """
    scored = tuple(
        CaseResult(
            id=case.id,
            score=case_score({each.metric: each.score for each in case.outcomes}, metric_weights),
            severity=severity(case.outcomes),
            outcomes=case.outcomes,
            weight=case.weight,
        )
        for case in cases
    )
    return SuiteResult(score=suite_score(scored), cases=scored, metrics=metric_summaries(scored))


# ------------------------------------------------------------------------------ cases as given


def threshold_of(
    metric: str,
    overrides: Mapping[str, float | None] | None = None,
    default: float = DEFAULT_THRESHOLD,
) -> float:
    """The threshold of a metric in a case: that of the case, or the default if it is None.

    Parameters
    ----------
    metric : str
    overrides : mapping of float or None, optional
        Thresholds of the case.
    default : float
    """
    own = (overrides or {}).get(metric)
    return share(default if own is None else own, f"threshold of {metric}")


def detect_metrics(output: str) -> list[str]:
    """The metrics that suit an output: factuality, format and, except for most JSON, tone.

    JSON has a tone if it looks like prose: it has a full stop and at least five words.
    """
    from rag_eval.scorers.regtrace.format_formulas import is_json

    # As the tool splits, white space at an end counts as one word more.
    looks_like_prose = "." in output and len(SPACES.split(output)) >= _PROSE_WORDS
    has_tone = looks_like_prose or not is_json(output)
    return ["factuality", "format", *(["tone"] if has_tone else [])]


def hash_content(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal; lone surrogates count as U+FFFD."""
    return hashlib.sha256(well_formed(text).encode()).hexdigest()
