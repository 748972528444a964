"""Context precision: question, answer and context -> how early the useful chunks come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.contexts import (
    Context,
    ContextExtractor,
    check_has_context,
    extracted,
)
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import checked_scale, settings_of
from rag_eval.scorers.mastra.runs import Run, RunError, assistant_text, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import noted, running_sum, says_yes, shown

ID: Final = "mastra.context_precision"


class ChunkVerdict(msgspec.Struct):
    """Whether a chunk was useful."""

    context_index: int
    verdict: str
    reason: str


class ChunkVerdicts(msgspec.Struct):
    """One verdict per chunk."""

    verdicts: list[ChunkVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPrecisionOptions:
    """The context, or a callable that extracts it from a run, and the highest score."""

    context: Context = None
    context_extractor: ContextExtractor | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_has_context(self.context, self.context_extractor)
        checked_scale(self.scale)


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


def _imagined(fields: Fields) -> ChunkVerdicts:
    chunks = range(len(texts_of(fields, "context")))
    return ChunkVerdicts([ChunkVerdict(chunk, "yes", NOTE) for chunk in chunks])


_ANALYZE: Final = Step("mastra/context_precision_analyze", ChunkVerdicts, _imagined)
_REASON: Final = reason_step("context_precision")
STEPS: Final = (_REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: ContextPrecisionOptions) -> float:
    context = await extracted(settings.context, settings.context_extractor, run)
    if not context:
        raise RunError("mastra.context_precision needs context and there is none for the run")
    question, answer = user_text(run), assistant_text(run)
    fields: dict[str, Any] = {"question": question, "answer": answer, "context": context}
    analyzed = await interview.analyze(
        _ANALYZE, {**fields, "n_chunks": len(context)}, _each_chunk_once(len(context))
    )
    verdicts = sorted(analyzed.verdicts, key=lambda each: each.context_index)
    interview.analyze_result = {"verdicts": msgspec.to_builtins(verdicts)}
    score = context_precision_score(verdicts, scale=settings.scale)
    findings = noted((each.verdict, each.reason) for each in verdicts)
    fields |= {"findings": findings, "score": shown(score), "scale": settings.scale}
    await interview.explain(_REASON, fields)
    return score


def create_context_precision_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[ContextPrecisionOptions]:
    """How early the useful chunks come (average precision); 2 calls, 0 to ``scale``.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run"
        The chunks in rank order; ``"run"`` takes the run's own.
    context_extractor : callable
        From the run's input and output to the chunks; goes before ``context``. One of the two
        must be given.
    scale : float, default 1
    """
    settings = settings_of(ContextPrecisionOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
