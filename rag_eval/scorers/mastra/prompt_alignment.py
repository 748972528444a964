"""Prompt alignment: user prompt, system prompt and answer -> how closely the answer follows them.

Scored as version 1.1.1 does: ratings outside of 0 to 1 are no usable reply, and the mode ``both``
needs both prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.judge.metrics.imagining import sentences, text_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.judged import judged_spec
from rag_eval.scorers.mastra.options import checked_scale
from rag_eval.scorers.mastra.runs import Run, RunError, assistant_text, system_prompt, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import NOTE, REASON

EvaluationMode: TypeAlias = Literal["user", "system", "both"]


class IntentAlignment(msgspec.Struct, rename="camel"):
    """Whether the answer addresses what was wanted."""

    score: float
    primary_intent: str
    is_addressed: bool
    reasoning: str


class Requirement(msgspec.Struct, rename="camel"):
    """One thing that was asked for."""

    requirement: str
    is_fulfilled: bool
    reasoning: str


class RequirementsFulfillment(msgspec.Struct, rename="camel"):
    """All that was asked for."""

    requirements: list[Requirement]
    overall_score: float


class CompletenessRating(msgspec.Struct, rename="camel"):
    """Whether anything is left out."""

    score: float
    missing_elements: list[str]
    reasoning: str


class Appropriateness(msgspec.Struct, rename="camel"):
    """Whether form and tone fit."""

    score: float
    format_alignment: bool
    tone_alignment: bool
    reasoning: str


class Alignment(msgspec.Struct, rename="camel"):
    """How closely an answer follows its prompts."""

    intent_alignment: IntentAlignment
    requirements_fulfillment: RequirementsFulfillment
    completeness: CompletenessRating
    response_appropriateness: Appropriateness
    overall_assessment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAlignmentOptions:
    """Whose prompt counts, and the highest score."""

    evaluation_mode: EvaluationMode = "both"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.evaluation_mode not in _ANALYZE:
            known = ", ".join(map(repr, _ANALYZE))
            raise InputError(f"evaluation_mode must be {known}, got {glance(self.evaluation_mode)}")
        checked_scale(self.scale)


def prompt_alignment_score(
    found: Alignment, *, evaluation_mode: EvaluationMode = "both", scale: float = 1.0
) -> float:
    """Weighted mean of intent, requirements, completeness and appropriateness.

    0.4, 0.3, 0.2, 0.1 for the user's prompt, 0.35, 0.35, 0.15, 0.15 for the system's. For both,
    the weights of the user's prompt hold: the judge gives one rating that takes in both.
    """
    intent = found.intent_alignment.score
    fulfilled = found.requirements_fulfillment.overall_score
    complete = found.completeness.score
    fit = found.response_appropriateness.score
    if evaluation_mode == "system":
        score = 0.35 * intent + 0.35 * fulfilled + 0.15 * complete + 0.15 * fit
    else:
        score = 0.4 * intent + 0.3 * fulfilled + 0.2 * complete + 0.1 * fit
    if evaluation_mode == "both":
        score = score * 0.7 + score * 0.3
    return score * scale


def _out_of_range(reply: Alignment) -> str | None:
    ratings = {
        "intentAlignment.score": reply.intent_alignment.score,
        "requirementsFulfillment.overallScore": reply.requirements_fulfillment.overall_score,
        "completeness.score": reply.completeness.score,
        "responseAppropriateness.score": reply.response_appropriateness.score,
    }
    wrong = [name for name, rating in ratings.items() if not 0 <= rating <= 1]
    return f'"{wrong[0]}" must be from 0 to 1, got {ratings[wrong[0]]}' if wrong else None


def _imagined(fields: Fields) -> Alignment:
    texts = [name for name in ("user_prompt", "system_prompt") if name in fields]
    pieces = [piece for name in texts for piece in sentences(text_of(fields, name))]
    return Alignment(
        IntentAlignment(0.9, NOTE, True, NOTE),
        RequirementsFulfillment([Requirement(piece, True, NOTE) for piece in pieces], 0.9),
        CompletenessRating(0.9, [], NOTE),
        Appropriateness(0.9, True, True, NOTE),
        REASON,
    )


_ANALYZE: Final[dict[str, Step[Alignment]]] = {
    mode: Step(f"mastra/prompt_alignment_{mode}", Alignment, _imagined)
    for mode in ("user", "system", "both")
}
_REASON: Final = reason_step("prompt_alignment")


def _prompts(run: Run, mode: EvaluationMode) -> dict[str, str]:
    """The prompts that count."""
    prompts = {"user_prompt": user_text(run), "system_prompt": system_prompt(run)}
    if mode != "both":
        prompts = {f"{mode}_prompt": prompts[f"{mode}_prompt"]}
    for name, text in prompts.items():
        if not text:
            raise RunError(f"mastra.prompt_alignment needs a {name.replace('_', ' ')}")
    return prompts


def _breakdown(found: Alignment) -> Mapping[str, list[str]]:
    requirements = found.requirements_fulfillment.requirements
    intent, form = found.intent_alignment, found.response_appropriateness
    return {
        "ratings": [
            f"intent {intent.score} - {intent.reasoning}",
            f"requirements {found.requirements_fulfillment.overall_score}",
            f"completeness {found.completeness.score} - {found.completeness.reasoning}",
            f"appropriateness {form.score} - {form.reasoning}",
        ],
        "requirements": [
            f"{'fulfilled' if each.is_fulfilled else 'not fulfilled'}: {each.requirement} - "
            f"{each.reasoning}"
            for each in requirements
        ],
        "missing_elements": found.completeness.missing_elements,
    }


async def _judged(interview: Interview, run: Run, settings: PromptAlignmentOptions) -> float:
    mode, answer = settings.evaluation_mode, assistant_text(run)
    prompts = _prompts(run, mode)
    if not answer:
        raise RunError("mastra.prompt_alignment needs an output that says something")
    analyzed = await interview.analyze(_ANALYZE[mode], {**prompts, "answer": answer}, _out_of_range)
    score = prompt_alignment_score(analyzed, evaluation_mode=mode, scale=settings.scale)
    fields: Fields = {
        "prompts": list(prompts.values()),
        **_breakdown(analyzed),
        "scale": settings.scale,
    }
    return await interview.explained(_REASON, score, fields)


PROMPT_ALIGNMENT: Final = judged_spec(
    "mastra.prompt_alignment",
    _judged,
    PromptAlignmentOptions,
    (_REASON, _ANALYZE["system"], _ANALYZE["both"], _ANALYZE["user"]),
    summary="How closely the answer follows the user prompt and the system prompt",
    fields=("question", "answer"),
    n_calls=2,
    sample_options={"evaluation_mode": "user"},
)


def create_prompt_alignment_scorer_llm(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """How closely the answer follows its prompts; 2 calls, 0 to ``scale``, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    evaluation_mode : {"both", "user", "system"}, default "both"
        Which prompts count; a run without them is an error.
    scale : float, default 1
    """
    return PROMPT_ALIGNMENT.create(model, options, **more)
