"""Rubric and multi-turn judge: whether an answer, or a conversation, meets its criteria.

A list of criteria decides what is graded and what is required: one that the judge leaves out is
asked for once more, and then there is no score. A text is prose, which the judge may cut otherwise
than by lines: what it grades are the criteria then, all of them required.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.judged import NEWER, judged_spec
from rag_eval.scorers.mastra.options import checked_number, checked_text
from rag_eval.scorers.mastra.runs import Run, assistant_text, assistant_texts, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options
from rag_eval.scorers.mastra.verdicts import NOTE, REASON, one_each

Criteria: TypeAlias = str | Sequence[Mapping[str, Any]]

_BULLET: Final = re.compile(r"\s*(?:[-*•]|\d+[.)])\s*")


# ------------------------------------------------------------------------------------------ rubric


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion for an answer, required or optional."""

    description: str
    required: bool = True


class CriterionVerdict(msgspec.Struct):
    """Whether a criterion is met."""

    criterion: str
    satisfied: bool
    required: bool
    reasoning: str


class RubricVerdicts(msgspec.Struct, rename={"overall_assessment": "overallAssessment"}):
    """One verdict per criterion."""

    criteria: list[CriterionVerdict]
    overall_assessment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricOptions:
    """The criteria, and the score of an answer that meets them."""

    criteria: Criteria | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        criteria_of(self.criteria)
        checked_number(self.scale, "scale")


def criteria_of(value: object) -> list[Criterion]:
    """Criteria from a text, line by line, or from a list of ``{description, required}``.

    Bullets and numbers before a line are dropped, and so are empty lines. Required is the default.
    """
    if value is None:
        return []
    if isinstance(value, str):
        lines = (_BULLET.sub("", line, count=1).strip() for line in value.splitlines())
        return [Criterion(line) for line in lines if line]
    if not isinstance(value, (list, tuple)):
        raise InputError(f"criteria must be a text or a list, got {type(value).__name__}")
    return [_criterion(each) for each in value]


def _criterion(value: object) -> Criterion:
    described = value.get("description") if isinstance(value, Mapping) else value
    required = value.get("required", True) if isinstance(value, Mapping) else True
    if not isinstance(described, str) or not isinstance(required, bool):
        raise InputError(f"a criterion must be {{description, required}}, got {glance(value)}")
    return Criterion(described, required)


def rubric_is_met(rubric: Sequence[Criterion], verdicts: Sequence[CriterionVerdict]) -> bool:
    """Whether all required criteria are met, or all there are where none is required.

    Verdicts are in the order of the rubric. An empty rubric is met.
    """
    pairs = list(zip(rubric, verdicts, strict=True))
    required = [verdict for criterion, verdict in pairs if criterion.required]
    return all(verdict.satisfied for verdict in required or verdicts)


def rubric_score(
    rubric: Sequence[Criterion], verdicts: Sequence[CriterionVerdict], *, scale: float = 1.0
) -> float:
    """``scale`` where the rubric is met, else 0; 1 if it is empty."""
    if not rubric:
        return 1.0
    return scale if rubric_is_met(rubric, verdicts) else 0.0


@dataclass(frozen=True, slots=True)
class _Rubric:
    """Criteria, and whether they were cut out of a text."""

    criteria: list[Criterion]
    is_prose: bool

    @classmethod
    def of(cls, value: object) -> _Rubric:
        return cls(criteria_of(value), isinstance(value, str))

    def graded(self, verdicts: Sequence[CriterionVerdict]) -> list[Criterion]:
        """The criterion of each verdict."""
        if not self.is_prose:
            return self.criteria
        return [Criterion(verdict.criterion) for verdict in verdicts]

    def complaint(self, reply: RubricVerdicts) -> str | None:
        """The criteria that a reply lacks."""
        if self.is_prose and reply.criteria:
            return None
        return one_each("criteria", len(self.criteria))(reply)


def _rubric(run: Run, criteria: Criteria | None) -> _Rubric:
    """The static rubric, else that of the run."""
    static = _Rubric.of(criteria)
    if static.criteria:
        return static
    given = run.source.get("input")
    places = (
        run.source.get("requestContext"),
        run.source.get("request_context"),
        run.additional_context,
        given,
    )
    for place in places:
        found = _Rubric.of(place.get("rubric") if isinstance(place, Mapping) else None)
        if found.criteria:
            return found
    return _Rubric([], is_prose=False)


def _reason(rubric: Sequence[Criterion], found: RubricVerdicts) -> str:
    if not rubric:
        return "There is no rubric to meet."
    met = rubric_is_met(rubric, found.criteria)
    lines = ["The rubric is satisfied." if met else "The rubric is not satisfied."]
    for criterion, verdict in zip(rubric, found.criteria, strict=True):
        mark = "met" if verdict.satisfied else "unmet"
        tag = "required" if criterion.required else "optional"
        lines.append(f"- {mark} ({tag}): {criterion.description} - {verdict.reasoning}")
    lines.append(found.overall_assessment)
    if not met:
        wanted = [c.required for c in rubric] if any(c.required for c in rubric) else None
        unmet = sum(
            not verdict.satisfied and (wanted is None or wanted[place])
            for place, verdict in enumerate(found.criteria)
        )
        lines.append(f"Required criteria that are unmet: {unmet}.")
    return "\n".join(line for line in lines if line)


def _imagined_verdicts(fields: Fields) -> RubricVerdicts:
    criteria = texts_of(fields, "criteria")
    return RubricVerdicts([CriterionVerdict(each, True, True, NOTE) for each in criteria], REASON)


_RUBRIC: Final = Step("mastra/rubric_analyze", RubricVerdicts, _imagined_verdicts)


async def _rubric_judged(interview: Interview, run: Run, settings: RubricOptions) -> float:
    rubric = _rubric(run, settings.criteria)
    analyzed = await interview.analyze(
        _RUBRIC,
        {
            "task": user_text(run),
            "answer": assistant_text(run),
            "criteria": [
                f"({'required' if each.required else 'optional'}) {each.description}"
                for each in rubric.criteria
            ],
            "n_criteria": len(rubric.criteria),
        },
        rubric.complaint,
    )
    graded = rubric.graded(analyzed.criteria)
    interview.found["reason"] = _reason(graded, analyzed)
    return rubric_score(graded, analyzed.criteria, scale=settings.scale)


RUBRIC: Final = judged_spec(
    "mastra.rubric",
    _rubric_judged,
    RubricOptions,
    (_RUBRIC,),
    summary="Whether the answer meets all required criteria of a rubric",
    fields=("question", "answer"),
    source=NEWER,
)


def create_rubric_scorer(model: Model, options: Options = None, **more: Any) -> MastraScorer:
    """Whether all required criteria of a rubric are met: ``scale`` or 0; 1 call.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    criteria : str or list of mapping, optional
        A text with one criterion per line, or a list of ``{"description": ..., "required": True}``.
        Without any, the ``rubric`` of the run is used: from its request context, its additional
        context, or its input.
    scale : float, default 1
        0 is accepted, and makes every score 0.
    """
    return RUBRIC.create(model, options, **more)


# ------------------------------------------------------------------------------- multi-turn judge


class Satisfaction(msgspec.Struct):
    """Whether a criterion is met."""

    satisfied: bool
    reasoning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiTurnJudgeOptions:
    """The criterion, and the score of a conversation that meets it."""

    criterion: str
    scale: float = 1.0

    def __post_init__(self) -> None:
        checked_text(self.criterion, "criterion")
        checked_number(self.scale, "scale")


def multi_turn_judge_score(found: Satisfaction, *, scale: float = 1.0) -> float:
    """``scale`` where the criterion is met, else 0."""
    return scale if found.satisfied else 0.0


def _turns_reason(found: Satisfaction, criterion: str) -> str:
    verdict = "satisfied" if found.satisfied else "not satisfied"
    said = found.reasoning.strip() or "The judge gave no reasoning."
    return f"The criterion is {verdict}.\nCriterion: {criterion}\n{said}"


_TURNS: Final = Step(
    "mastra/multi_turn_judge_analyze", Satisfaction, lambda fields: Satisfaction(True, NOTE)
)


async def _turns_judged(interview: Interview, run: Run, settings: MultiTurnJudgeOptions) -> float:
    turns = [text.strip() for text in assistant_texts(run)]
    analyzed = await interview.analyze(
        _TURNS, {"assistant_turns": turns, "criterion": settings.criterion}
    )
    interview.found["reason"] = _turns_reason(analyzed, settings.criterion)
    return multi_turn_judge_score(analyzed, scale=settings.scale)


MULTI_TURN: Final = judged_spec(
    "mastra.multi_turn_judge",
    _turns_judged,
    MultiTurnJudgeOptions,
    (_TURNS,),
    summary="Whether the assistant's messages together meet a criterion",
    fields=("answer",),
    source=NEWER,
)


def create_multi_turn_judge_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """Whether the assistant's messages together meet a criterion: ``scale`` or 0; 1 call.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    criterion : str
    scale : float, default 1
        0 is accepted, and makes every score 0.
    """
    return MULTI_TURN.create(model, options, **more)
