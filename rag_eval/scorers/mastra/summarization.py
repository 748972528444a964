"""Summarization: source and summary -> faithfulness and coverage of the summary."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from rag_eval.errors import InputError
from rag_eval.judge.metrics.imagining import sentences, text_of, texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.plumbing.checked_values import whole_from_one
from rag_eval.scorers.mastra.judged import NEWER, judged_spec
from rag_eval.scorers.mastra.options import check_callable, check_numbers, check_text
from rag_eval.scorers.mastra.runs import Run, assistant_text, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import NOTE, share_of, shown

SourceExtractor: TypeAlias = Callable[[Any, Any], str | Awaitable[str]]
"""From a run's ``input`` and ``output``, as they were given, to a text."""


class ClaimVerdict(msgspec.Struct):
    """Whether the source supports a claim of the summary."""

    claim: str
    supported: bool
    reason: str


class SourceFindings(msgspec.Struct):
    """The summary's claims against the source, and what the source answers with yes."""

    alignment: list[ClaimVerdict]
    questions: list[str]


class QuestionVerdict(msgspec.Struct):
    """Whether the summary answers a question."""

    question: str
    answered: bool
    reason: str


class Coverage(msgspec.Struct):
    """One verdict per question."""

    coverage: list[QuestionVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizationOptions:
    """The source or its extractor, the most questions, and the highest score."""

    source: str | None = None
    source_extractor: SourceExtractor | None = None
    max_questions: int = 10
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.source is not None:
            check_text(self.source, "source")
        check_callable(self.source_extractor, "source_extractor")
        whole_from_one(self.max_questions, "max_questions")
        check_numbers(self, "scale")


def alignment_score(alignment: Sequence[ClaimVerdict]) -> float:
    """Share of the summary's claims that the source supports; 0 without claims."""
    return share_of(each.supported for each in alignment) or 0.0


def coverage_score(coverage: Sequence[QuestionVerdict], n_questions: int) -> float:
    """Share of the questions that the summary answers; 0 without questions.

    A question without a verdict counts as not answered; what is over does not count.
    """
    if not n_questions:
        return 0.0
    answered = sum(each.answered for each in coverage[:n_questions])
    return min(1.0, answered / n_questions)


def summarization_score(
    alignment: Sequence[ClaimVerdict],
    coverage: Sequence[QuestionVerdict],
    n_questions: int,
    *,
    scale: float = 1.0,
) -> float:
    """The lower of alignment and coverage."""
    return min(alignment_score(alignment), coverage_score(coverage, n_questions)) * scale


def _imagined_findings(fields: Fields) -> SourceFindings:
    claims = [ClaimVerdict(claim, True, NOTE) for claim in sentences(text_of(fields, "summary"))]
    most = fields["max_questions"]
    questions = sentences(text_of(fields, "source"))
    return SourceFindings(claims, questions[: most if isinstance(most, int) else None])


def _imagined_coverage(fields: Fields) -> Coverage:
    return Coverage([QuestionVerdict(q, True, NOTE) for q in texts_of(fields, "questions")])


_SOURCE: Final = Step("mastra/summarization_source", SourceFindings, _imagined_findings)
_COVERAGE: Final = Step("mastra/summarization_coverage", Coverage, _imagined_coverage)
_REASON: Final = reason_step("summarization")


async def _source(run: Run, settings: SummarizationOptions) -> str:
    if settings.source_extractor is not None:
        given = settings.source_extractor(run.source.get("input"), run.source.get("output"))
        found: object = await given if inspect.isawaitable(given) else given
        if not isinstance(found, str):
            raise InputError(f"an extracted source must be a text, got {type(found).__name__}")
        return found
    return user_text(run) if settings.source is None else settings.source


async def _judged(interview: Interview, run: Run, settings: SummarizationOptions) -> float:
    source, summary = await _source(run, settings), assistant_text(run)
    found = await interview.preprocess(
        _SOURCE, {"source": source, "summary": summary, "max_questions": settings.max_questions}
    )
    questions = found.questions[: settings.max_questions]
    covered = await interview.analyze(
        _COVERAGE, {"summary": summary, "questions": questions, "n_questions": len(questions)}
    )
    coverage = covered.coverage[: len(questions)]
    score = summarization_score(found.alignment, coverage, len(questions), scale=settings.scale)
    fields: Fields = {
        "source": source,
        "summary": summary,
        "unsupported_claims": [
            f"{each.claim} - {each.reason}" for each in found.alignment if not each.supported
        ],
        "unanswered_questions": [
            f"{each.question} - {each.reason}" for each in coverage if not each.answered
        ],
        "alignment": shown(alignment_score(found.alignment)),
        "coverage": shown(coverage_score(coverage, len(questions))),
        "scale": settings.scale,
    }
    return await interview.explained(_REASON, score, fields)


SUMMARIZATION: Final = judged_spec(
    "mastra.summarization",
    _judged,
    SummarizationOptions,
    (_COVERAGE, _REASON, _SOURCE),
    summary="The lower of two scores: how faithful a summary is to its source, and how much of "
    "it the summary covers",
    fields=("question", "answer"),
    source=NEWER,
)


def create_summarization_scorer(model: Model, options: Options = None, **more: Any) -> MastraScorer:
    """The lower of a summary's faithfulness and coverage; 3 calls, 0 to ``scale``.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    source : str, optional
        None uses the first user message.
    source_extractor : callable, optional
        Function from the run's input and output to the source; takes precedence over ``source``.
    max_questions : int, default 10
        Maximum number of questions for the coverage.
    scale : float, default 1
    """
    return SUMMARIZATION.create(model, options, **more)
