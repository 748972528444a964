"""Noise sensitivity: a clean and a noisy question with their answers -> how robust the answer is.

Scored as version 1.1.1 does: a robustness outside of 0 to 1 is no usable reply.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.judged import judged_spec
from rag_eval.scorers.mastra.options import check_numbers, checked_text
from rag_eval.scorers.mastra.runs import Run, RunError, assistant_text, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import NOTE, REASON, running_sum

_DIMENSIONS: Final = (
    "content_accuracy",
    "completeness",
    "relevance",
    "consistency",
    "hallucination_resistance",
)


class Dimension(msgspec.Struct, rename="camel"):
    """What the noise did to one side of the answer."""

    dimension: str
    impact_level: Literal["none", "minimal", "moderate", "significant", "severe"]
    specific_changes: str
    noise_influence: str


class Robustness(msgspec.Struct, rename="camel"):
    """The effect of the noise on an answer."""

    dimensions: list[Dimension]
    overall_assessment: str
    robustness_score: float
    major_issues: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactWeights:
    """What a side of the answer is still worth, by what the noise did to it."""

    none: float = 1.0
    minimal: float = 0.85
    moderate: float = 0.6
    significant: float = 0.3
    severe: float = 0.1

    def __post_init__(self) -> None:
        check_numbers(self, "none", "minimal", "moderate", "significant", "severe")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePenalties:
    """What major issues take off."""

    major_issue_per_item: float = 0.1
    max_major_issue_penalty: float = 0.3

    def __post_init__(self) -> None:
        check_numbers(self, "major_issue_per_item", "max_major_issue_penalty")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseScoring:
    """How the judge's findings become a score."""

    impact_weights: ImpactWeights = field(default_factory=ImpactWeights)
    penalties: NoisePenalties = field(default_factory=NoisePenalties)
    discrepancy_threshold: float = 0.2

    def __post_init__(self) -> None:
        check_numbers(self, "discrepancy_threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSensitivityOptions:
    """The answer to the clean question, the noisy question, and how to score."""

    baseline_response: str
    noisy_query: str
    noise_type: str | None = None
    scoring: NoiseScoring = field(default_factory=NoiseScoring)

    def __post_init__(self) -> None:
        checked_text(self.baseline_response, "baseline_response")
        checked_text(self.noisy_query, "noisy_query")
        if self.noise_type is not None and not isinstance(self.noise_type, str):
            raise InputError(f"noise_type must be a text, got {glance(self.noise_type)}")


def noise_sensitivity_score(found: Robustness, scoring: NoiseScoring) -> float:
    """The judge's own number, or the mean worth of the dimensions, less major issues.

    The mean counts where it is lower and differs by more than ``discrepancy_threshold``.
    """
    score = max(0.0, min(1.0, found.robustness_score))
    if found.dimensions:
        weights = scoring.impact_weights
        mean = running_sum(getattr(weights, each.impact_level) for each in found.dimensions)
        mean /= len(found.dimensions)
        if abs(score - mean) > scoring.discrepancy_threshold:
            score = min(score, mean)
    penalties = scoring.penalties
    off = len(found.major_issues) * penalties.major_issue_per_item
    return max(0.0, score - min(off, penalties.max_major_issue_penalty))


def _out_of_range(reply: Robustness) -> str | None:
    if 0 <= reply.robustness_score <= 1:
        return None
    return f'"robustnessScore" must be from 0 to 1, got {reply.robustness_score}'


def _imagined(fields: Fields) -> Robustness:
    found = [Dimension(name, "minimal", NOTE, NOTE) for name in _DIMENSIONS]
    return Robustness(found, REASON, 0.85)


_ANALYZE: Final = Step("mastra/noise_sensitivity_analyze", Robustness, _imagined)
_REASON: Final = reason_step("noise_sensitivity")


async def _judged(interview: Interview, run: Run, settings: NoiseSensitivityOptions) -> float:
    question, answer = user_text(run), assistant_text(run)
    if not question or not answer:
        raise RunError("mastra.noise_sensitivity needs an input and an output that say something")
    analyzed = await interview.analyze(
        _ANALYZE,
        {
            "clean_question": question,
            "clean_answer": settings.baseline_response,
            "noisy_question": settings.noisy_query,
            "noisy_answer": answer,
            "kind_of_noise": settings.noise_type or [],
        },
        _out_of_range,
    )
    score = noise_sensitivity_score(analyzed, settings.scoring)
    fields: Fields = {
        "clean_question": question,
        "dimensions": [
            f"{each.dimension}: {each.impact_level} - {each.specific_changes}"
            for each in analyzed.dimensions
        ],
        "major_issues": analyzed.major_issues,
        "overall_assessment": analyzed.overall_assessment,
    }
    return await interview.explained(_REASON, score, fields)


NOISE_SENSITIVITY: Final = judged_spec(
    "mastra.noise_sensitivity",
    _judged,
    NoiseSensitivityOptions,
    (_REASON, _ANALYZE),
    summary="How robust the answer is to noise in the question",
    fields=("question", "answer"),
)


def create_noise_sensitivity_scorer_llm(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """How robust an answer is to noise in the question; 2 calls, 0 to 1, higher is better.

    The run's input is the clean question, its output the answer to the noisy one.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    baseline_response : str
        The answer to the clean question.
    noisy_query : str
    noise_type : str, optional
        Kind of noise, for the judge.
    scoring : mapping
        ``impact_weights`` (none 1, minimal 0.85, moderate 0.6, significant 0.3, severe 0.1),
        ``penalties`` (``major_issue_per_item`` 0.1, ``max_major_issue_penalty`` 0.3),
        ``discrepancy_threshold`` 0.2.
    """
    return NOISE_SENSITIVITY.create(model, options, **more)
