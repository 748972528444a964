"""Multi-turn judge: what an assistant said over a conversation -> whether it meets a criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.judge.steps import Step
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import checked_number, checked_text, settings_of
from rag_eval.scorers.mastra.runs import Run, assistant_texts
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options

ID: Final = "mastra.multi_turn_judge"


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


def _reason(found: Satisfaction, criterion: str) -> str:
    verdict = "satisfied" if found.satisfied else "not satisfied"
    said = found.reasoning.strip() or "The judge gave no reasoning."
    return f"The criterion is {verdict}.\nCriterion: {criterion}\n{said}"


_ANALYZE: Final = Step(
    "mastra/multi_turn_judge_analyze", Satisfaction, lambda fields: Satisfaction(True, NOTE)
)
STEPS: Final = (_ANALYZE,)


async def _judged(interview: Interview, run: Run, settings: MultiTurnJudgeOptions) -> float:
    turns = [text.strip() for text in assistant_texts(run)]
    analyzed = await interview.analyze(
        _ANALYZE, {"assistant_turns": turns, "criterion": settings.criterion}
    )
    interview.reason = _reason(analyzed, settings.criterion)
    return multi_turn_judge_score(analyzed, scale=settings.scale)


def create_multi_turn_judge_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[MultiTurnJudgeOptions]:
    """Whether all that the assistant said meets a criterion: ``scale`` or 0; 1 call.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    criterion : str
    scale : float, default 1
        0 is accepted, and makes every score 0.
    """
    settings = settings_of(MultiTurnJudgeOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
