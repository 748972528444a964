"""Answer relevancy: question and answer -> how much of the answer bears on the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.judge.metrics.imagining import sentences, text_of, texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import check_numbers, checked_scale, settings_of
from rag_eval.scorers.mastra.runs import Run, assistant_text, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import noted, one_each, running_sum, shown

ID: Final = "mastra.answer_relevancy"


class Statements(msgspec.Struct):
    """The statements of an answer."""

    statements: list[str]


class Result(msgspec.Struct):
    """Whether a statement bears on the question: ``yes``, ``unsure`` or ``no``."""

    result: str
    reason: str


class Results(msgspec.Struct):
    """One result per statement."""

    results: list[Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRelevancyOptions:
    """What an ``unsure`` counts, and the highest score."""

    uncertainty_weight: float = 0.3
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_numbers(self, "uncertainty_weight")
        checked_scale(self.scale)


def answer_relevancy_score(
    results: Sequence[Result], *, uncertainty_weight: float = 0.3, scale: float = 1.0
) -> float:
    """Mean over results of yes 1, unsure ``uncertainty_weight``, else 0; 0 without results."""
    if not results:
        return 0.0
    worth = {"yes": 1.0, "unsure": uncertainty_weight}
    total = running_sum(worth.get(each.result.strip().lower(), 0.0) for each in results)
    return total / len(results) * scale


def _imagined(fields: Fields) -> Results:
    return Results([Result("yes", NOTE) for _ in texts_of(fields, "statements")])


_EXTRACT: Final = Step(
    "mastra/answer_relevancy_extract",
    Statements,
    lambda fields: Statements(sentences(text_of(fields, "answer"))),
    graded=False,
)
_ANALYZE: Final = Step("mastra/answer_relevancy_analyze", Results, _imagined)
_REASON: Final = reason_step("answer_relevancy")
STEPS: Final = (_EXTRACT, _REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: AnswerRelevancyOptions) -> float:
    question, answer = user_text(run), assistant_text(run)
    extracted = await interview.preprocess(_EXTRACT, {"answer": answer})
    statements = extracted.statements
    analyzed = await interview.analyze(
        _ANALYZE,
        {"question": question, "statements": statements, "n_statements": len(statements)},
        one_each(lambda reply: reply.results, "results", len(statements)),
    )
    score = answer_relevancy_score(
        analyzed.results, uncertainty_weight=settings.uncertainty_weight, scale=settings.scale
    )
    fields: Fields = {
        "question": question,
        "answer": answer,
        "findings": noted((each.result, each.reason) for each in analyzed.results),
        "score": shown(score),
        "scale": settings.scale,
    }
    await interview.explain(_REASON, fields)
    return score


def create_answer_relevancy_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[AnswerRelevancyOptions]:
    """How much of the answer bears on the question; 3 calls, 0 to ``scale``, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    uncertainty_weight : float, default 0.3
        What a statement counts that only partly bears on the question.
    scale : float, default 1
    """
    settings = settings_of(AnswerRelevancyOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
