"""Context precision and relevance: contexts, each rated by its usefulness for an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.judged import judged_spec
from rag_eval.scorers.mastra.options import (
    Context,
    ContextExtractor,
    ContextOptions,
    check_has_context,
    check_numbers,
    checked_scale,
    extracted,
)
from rag_eval.scorers.mastra.runs import Run, RunError, assistant_text, user_text
from rag_eval.scorers.mastra.scorer import (
    Interview,
    MastraScorer,
    Model,
    NothingToScoreError,
    Options,
    reason_step,
)
from rag_eval.scorers.mastra.verdicts import NOTE, REASON, noted, running_sum, says_yes

_WORTH: Final = {"high": 1.0, "medium": 0.7, "low": 0.3, "none": 0.0}


# ------------------------------------------------------------------------------- context precision


class ChunkVerdict(msgspec.Struct):
    """Whether a chunk was useful."""

    context_index: int
    verdict: str
    reason: str


class ChunkVerdicts(msgspec.Struct):
    """One verdict per chunk."""

    verdicts: list[ChunkVerdict]


def context_precision_score(verdicts: Sequence[ChunkVerdict], *, scale: float = 1.0) -> float:
    """Average precision of the verdicts in the order of their indices; 0 without a yes."""
    ordered = sorted(verdicts, key=lambda each: each.context_index)
    places = [place for place, each in enumerate(ordered) if says_yes(each.verdict)]
    if not places:
        return 0.0
    precisions = (hits / (place + 1) for hits, place in enumerate(places, 1))
    return running_sum(precisions) / len(places) * scale


def _each_chunk_once(n_chunks: int) -> Callable[[ChunkVerdicts], str | None]:
    def check(reply: ChunkVerdicts) -> str | None:
        found = [each.context_index for each in reply.verdicts]
        for chunk in range(n_chunks):
            if found.count(chunk) != 1:
                return f"context {chunk} has {found.count(chunk)} verdicts and must have one"
        return None

    return check


def _imagined_verdicts(fields: Fields) -> ChunkVerdicts:
    chunks = range(len(texts_of(fields, "context")))
    return ChunkVerdicts([ChunkVerdict(chunk, "yes", NOTE) for chunk in chunks])


_PRECISION: Final = Step("mastra/context_precision_analyze", ChunkVerdicts, _imagined_verdicts)
_PRECISION_REASON: Final = reason_step("context_precision")


async def _precision(interview: Interview, run: Run, settings: ContextOptions) -> float:
    context = await extracted(settings.context, settings.context_extractor, run)
    if not context:
        raise RunError("mastra.context_precision needs context and there is none for the run")
    question, answer = user_text(run), assistant_text(run)
    fields: dict[str, Any] = {"question": question, "answer": answer, "context": context}
    analyzed = await interview.analyze(
        _PRECISION, {**fields, "n_chunks": len(context)}, _each_chunk_once(len(context))
    )
    verdicts = sorted(analyzed.verdicts, key=lambda each: each.context_index)
    interview.found["analyze_result"] = {"verdicts": msgspec.to_builtins(verdicts)}
    score = context_precision_score(verdicts, scale=settings.scale)
    fields |= {"findings": noted(verdicts), "scale": settings.scale}
    return await interview.explained(_PRECISION_REASON, score, fields)


PRECISION: Final = judged_spec(
    "mastra.context_precision",
    _precision,
    ContextOptions,
    (_PRECISION_REASON, _PRECISION),
    summary="Average precision of the contexts that were useful for the answer",
    fields=("question", "answer", "contexts"),
)


def create_context_precision_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """How high the useful contexts rank (average precision); 2 calls, 0 to ``scale``.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run"
        The contexts in rank order; ``"run"`` uses those of the run.
    context_extractor : callable
        Function from the run's input and output to the contexts; takes precedence over ``context``.
        One of the two is required.
    scale : float, default 1
    """
    return PRECISION.create(model, options, **more)


# ------------------------------------------------------------------------------- context relevance


class ChunkRating(
    msgspec.Struct,
    rename={
        "context_piece": "contextPiece",
        "relevance_level": "relevanceLevel",
        "was_used": "wasUsed",
    },
):
    """How relevant a chunk is, and whether the answer used it."""

    context_index: int
    context_piece: str
    relevance_level: Literal["high", "medium", "low", "none"]
    was_used: bool
    reasoning: str


class ChunkRatings(
    msgspec.Struct,
    rename={"missing_context": "missingContext", "overall_assessment": "overallAssessment"},
):
    """One rating per chunk, and what no chunk says."""

    evaluations: list[ChunkRating]
    overall_assessment: str
    missing_context: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevancePenalties:
    """What is taken off."""

    unused_high_relevance_context: float = 0.1
    missing_context_per_item: float = 0.15
    max_missing_context_penalty: float = 0.5

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "unused_high_relevance_context",
            "missing_context_per_item",
            "max_missing_context_penalty",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRelevanceOptions:
    """The context or its extractor, what is taken off, and the highest score."""

    context: Context = None
    context_extractor: ContextExtractor | None = None
    penalties: RelevancePenalties = field(default_factory=RelevancePenalties)
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_has_context(self.context, self.context_extractor)
        checked_scale(self.scale)


def context_relevance_score(
    ratings: ChunkRatings, penalties: RelevancePenalties, *, scale: float = 1.0
) -> float | None:
    """Mean worth of the chunks, less highly relevant ones unused and information missing.

    Worth is high 1, medium 0.7, low 0.3, none 0. Without ratings 0 where something is missing,
    else None.
    """
    rated, missing = ratings.evaluations, ratings.missing_context
    if not rated:
        return 0.0 if missing else None
    base = running_sum(_WORTH[each.relevance_level] for each in rated) / len(rated)
    unused = sum(each.relevance_level == "high" and not each.was_used for each in rated)
    off = min(
        len(missing) * penalties.missing_context_per_item, penalties.max_missing_context_penalty
    )
    return max(0.0, base - unused * penalties.unused_high_relevance_context - off) * scale


def _missing_ratings(reply: ChunkRatings) -> str | None:
    if not reply.evaluations and not reply.missing_context:
        return '"evaluations" must have an entry for each piece of context and is empty'
    return None


def _imagined_ratings(fields: Fields) -> ChunkRatings:
    chunks = texts_of(fields, "context")
    rated = [ChunkRating(n, chunk, "high", True, NOTE) for n, chunk in enumerate(chunks)]
    return ChunkRatings(rated, REASON)


_RELEVANCE: Final = Step("mastra/context_relevance_analyze", ChunkRatings, _imagined_ratings)
_RELEVANCE_REASON: Final = reason_step("context_relevance")


async def _relevance(interview: Interview, run: Run, settings: ContextRelevanceOptions) -> float:
    context = await extracted(settings.context, settings.context_extractor, run)
    if not context:
        raise NothingToScoreError(NullReason.NOTHING_TO_MEASURE, "the run has no context")
    question = user_text(run)
    analyzed = await interview.analyze(
        _RELEVANCE,
        {
            "question": question,
            "answer": assistant_text(run),
            "context": context,
            "n_chunks": len(context),
        },
        _missing_ratings,
    )
    score = context_relevance_score(analyzed, settings.penalties, scale=settings.scale) or 0.0
    fields: Fields = {
        "question": question,
        "ratings": [
            f"context {each.context_index}: {each.relevance_level}, "
            f"{'used' if each.was_used else 'not used'} - {each.reasoning}"
            for each in analyzed.evaluations
        ],
        "missing_information": analyzed.missing_context,
        "unused_penalty": settings.penalties.unused_high_relevance_context,
        "missing_penalty": settings.penalties.missing_context_per_item,
        "most_missing_penalty": settings.penalties.max_missing_context_penalty,
        "scale": settings.scale,
    }
    return await interview.explained(_RELEVANCE_REASON, score, fields)


RELEVANCE: Final = judged_spec(
    "mastra.context_relevance",
    _relevance,
    ContextRelevanceOptions,
    (_RELEVANCE_REASON, _RELEVANCE),
    summary="Mean relevance of the contexts, reduced by unused contexts and missing information",
    fields=("question", "answer", "contexts"),
)


def create_context_relevance_scorer_llm(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """Relevance of the contexts, less what is unused or missing; 2 calls, 0 to ``scale``.

    A run without context has no score.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run"
        The contexts; ``"run"`` uses those of the run.
    context_extractor : callable
        Function from the run's input and output to the contexts; takes precedence over ``context``.
        One of the two is required.
    penalties : mapping
        ``unused_high_relevance_context`` 0.1, ``missing_context_per_item`` 0.15,
        ``max_missing_context_penalty`` 0.5.
    scale : float, default 1
    """
    return RELEVANCE.create(model, options, **more)
