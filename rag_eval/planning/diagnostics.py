"""Samples of little use: their outcomes and texts in, the issues with them out."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError
from rag_eval.plumbing.javascript_numbers import plain_sum
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.scorers.javascript import trimmed, utf16_length
from rag_eval.scorers.omk.layers import normalize_capability
from rag_eval.scorers.omk.text_metrics import rouge_n

Severity: TypeAlias = Literal["error", "warning", "info"]
WEIGHTS: Final[dict[Severity, int]] = {"error": 8, "warning": 3, "info": 1}

_UNSTEADY_JUDGE: Final = 1.0
_OUTLIER_FACTOR: Final = 3
_SAME_TEXT: Final = 0.7
_SHORT_RUBRIC: Final = 20
# Words that say how to grade, by which omk tells a short rubric that is clear. They count in any
# part of a word.
_GRADING_WORDS: Final = (
    *("excellent", "good", "poor", "fail", "pass", "rubric", "criterion", "criteria"),
    *("must include", "must contain", "should include", "should contain"),
    *("at least", "at most", "no more than"),
    *("scored as", "graded as", "full marks", "full score"),
    *("优秀", "良好", "合格", "及格", "满分", "零分", "扣分", "加分", "得分"),
    *("评分标准", "判分标准", "评分要点", "评分级别", "判定标准"),
    *("至少包含", "必须包含", "不应包含", "应当", "应识别"),
)
_FEWEST_SAMPLES: Final = 10
_THIN_COUNT: Final = 2
_THIN_SHARE: Final = 0.2
# Every text is compared with every other: 2,000 of them take some seconds.
_MOST_COMPARED: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one system for a sample.

    Attributes
    ----------
    score : float or None
        None if there is none.
    ok : bool
        False when the run of this sample failed.
    cost, duration : float or None
        In any unit, the same for all samples; None counts as 0.
    judge_std_dev : float or None
        Standard deviation over repeated judgements of the same answer.
    """

    score: float | None
    ok: bool = True
    cost: float | None = None
    duration: float | None = None
    judge_std_dev: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosedSample:
    """A sample for diagnostics: the outcomes of one or more systems, and its texts.

    ``capabilities`` are the skills it is said to test.
    """

    id: str
    outcomes: Sequence[Outcome]
    prompt: str | None = None
    rubric: str | None = None
    capabilities: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleIssue(JsonRecord):
    """One remark on a sample: ``code`` for programs, ``message`` for people."""

    sample_id: str
    severity: Severity
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDiagnostics:
    """All remarks on a dataset.

    Rules of thumb with fixed limits, not statistical tests: a sample that distinguishes two systems
    in one run may not do so in the next, and outcomes of few systems say little about others.

    Attributes
    ----------
    issues : tuple of SampleIssue
        In the order of the samples, errors first.
    n_samples, n_flagged : int
    health_score : float or None
        100 minus 20 * (8 errors + 3 warnings + infos) / samples, at least 0; None without samples.
    compared_texts : bool
        False if there were too many samples to look for near duplicates.
    """

    issues: tuple[SampleIssue, ...]
    n_samples: int
    n_flagged: int
    health_score: float | None
    compared_texts: bool

    def count(self, severity: Severity) -> int:
        """Number of issues with this severity."""
        return sum(issue.severity == severity for issue in self.issues)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "issues": [issue.to_dict() for issue in self.issues],
            "nSamples": self.n_samples,
            "nFlagged": self.n_flagged,
            "nErrors": self.count("error"),
            "nWarnings": self.count("warning"),
            "nInfos": self.count("info"),
            "healthScore": self.health_score,
            "comparedTexts": self.compared_texts,
        }


def sample_diagnostics(
    samples: Sequence[DiagnosedSample],
    *,
    best: float = 1.0,
    worst: float = 0.0,
    flat_below: float = 0.1,
) -> SampleDiagnostics:
    """Find samples that hardly distinguish systems, are expensive, or duplicate others.

    Parameters
    ----------
    samples : sequence of DiagnosedSample
    best, worst : float
        Score from which a sample counts as passed by all systems, or below which as failed.
    flat_below : float
        A sample whose scores differ by less than this does not distinguish the systems. omk uses 5,
        1 and 0.5 on its scale from 1 to 5.

    Raises
    ------
    InputError
        For ids that repeat.

    References
    ----------
    omk 0.54, its sample diagnostics. There no samples have a health of 100, and near duplicates
    are not looked for above 500 samples.
    """
    repeated = [name for name, n in Counter(sample.id for sample in samples).items() if n > 1]
    if repeated:
        raise InputError(f"sample ids must be unique, got {repeated[0]!r} twice")
    found: list[SampleIssue] = []
    for sample in samples:
        found += _of_scores(sample, best, worst, flat_below)
        found += _of_judge(sample)
        found += _of_rubric(sample)
    found += _outliers(samples, "cost_outlier", "costs", lambda outcome: outcome.cost)
    found += _outliers(samples, "latency_outlier", "takes", lambda outcome: outcome.duration)
    found += _thin_capabilities(samples)
    compared = len(samples) <= _MOST_COMPARED
    if compared:
        found += _near_duplicates(samples)
    places = {sample.id: place for place, sample in enumerate(samples)}
    ranks = {severity: rank for rank, severity in enumerate(WEIGHTS)}
    found.sort(key=lambda issue: (places[issue.sample_id], ranks[issue.severity]))
    return SampleDiagnostics(
        issues=tuple(found),
        n_samples=len(samples),
        n_flagged=len({issue.sample_id for issue in found}),
        health_score=_health(found, len(samples)),
        compared_texts=compared,
    )


def _health(issues: Sequence[SampleIssue], n_samples: int) -> float | None:
    if not n_samples:
        return None
    weight = sum(WEIGHTS[issue.severity] for issue in issues)
    return max(0.0, 100 - 20 * weight / n_samples)


def _issue(sample: DiagnosedSample, severity: Severity, code: str, message: str) -> SampleIssue:
    return SampleIssue(sample_id=sample.id, severity=severity, code=code, message=message)


def _of_scores(
    sample: DiagnosedSample, best: float, worst: float, flat_below: float
) -> Iterator[SampleIssue]:
    scores = [outcome.score for outcome in sample.outcomes if outcome.score is not None]
    if len(scores) > 1:
        least, most = min(scores), max(scores)
        if least >= best:
            yield _issue(sample, "info", "all_pass", f"every system scores at least {best:g}")
        elif most <= worst:
            yield _issue(sample, "error", "all_fail", f"no system scores above {worst:g}")
        elif most - least < flat_below:
            message = f"the scores of all systems differ by at most {most - least:.2g}"
            yield _issue(sample, "warning", "flat_scores", message)
    n_failed = sum(not outcome.ok for outcome in sample.outcomes)
    if n_failed:
        message = f"{n_failed} of {len(sample.outcomes)} runs failed"
        severity: Severity = "error" if n_failed == len(sample.outcomes) else "warning"
        yield _issue(sample, severity, "error_prone", message)


def _of_judge(sample: DiagnosedSample) -> Iterator[SampleIssue]:
    spreads = [outcome.judge_std_dev or 0.0 for outcome in sample.outcomes]
    if max(spreads, default=0.0) >= _UNSTEADY_JUDGE:
        message = f"judgements of one answer vary by {max(spreads):.2g} (standard deviation)"
        yield _issue(sample, "warning", "ambiguous_rubric", message)


def _of_rubric(sample: DiagnosedSample) -> Iterator[SampleIssue]:
    rubric = sample.rubric
    if not rubric or utf16_length(trimmed(rubric)) >= _SHORT_RUBRIC:
        return
    if not any(word in rubric.lower() for word in _GRADING_WORDS):
        message = (
            f"the rubric has fewer than {_SHORT_RUBRIC} characters and no word that says how to "
            "grade"
        )
        yield _issue(sample, "info", "rubric_clarity_low", message)


def _outliers(
    samples: Sequence[DiagnosedSample],
    code: str,
    verb: str,
    amount: Callable[[Outcome], float | None],
) -> Iterator[SampleIssue]:
    totals = [
        plain_sum(amount(outcome) or 0.0 for outcome in sample.outcomes) for sample in samples
    ]
    # Of an even number the larger of the two in the middle.
    usual = statistics.median_high([total for total in totals if total > 0] or [math.inf])
    for sample, total in zip(samples, totals, strict=True):
        if total >= _OUTLIER_FACTOR * usual:
            message = f"{verb} {total / usual:.1f} times as much as the median sample"
            yield _issue(sample, "info", code, message)


def _thin_capabilities(samples: Sequence[DiagnosedSample]) -> Iterator[SampleIssue]:
    """A remark on the first sample of each capability that few samples test."""
    if len(samples) < _FEWEST_SAMPLES:
        return
    testing: dict[str, list[DiagnosedSample]] = {}
    for sample in samples:
        for name in dict.fromkeys(map(normalize_capability, sample.capabilities)):
            testing.setdefault(name, []).append(sample)
    few = max(_THIN_COUNT, math.floor(len(samples) * _THIN_SHARE))
    for name, found in testing.items():
        if len(found) <= few:
            message = f"{len(found)} of {len(samples)} samples test {name}"
            yield _issue(found[0], "warning", "capability_thin", message)


def _near_duplicates(samples: Sequence[DiagnosedSample]) -> Iterator[SampleIssue]:
    texts = [(sample, sample.prompt) for sample in samples if sample.prompt]
    for place, (sample, text) in enumerate(texts):
        for other, other_text in texts[place + 1 :]:
            # Of the later one's words: a text is no duplicate of a longer one that holds it.
            alike = rouge_n(text, other_text)
            if alike >= _SAME_TEXT:
                message = (
                    f"its prompt has {100 * alike:.0f} % of the words in the prompt of {other.id}"
                )
                yield _issue(sample, "warning", "near_duplicate", message)
