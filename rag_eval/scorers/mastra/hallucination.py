"""Hallucination: answer and context -> share of the answer's claims that are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.claims import EXTRACT_CLAIMS
from rag_eval.scorers.mastra.contexts import (
    Context,
    awaited,
    check_callable,
    check_context,
    static,
)
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import checked_scale, settings_of
from rag_eval.scorers.mastra.runs import Run, assistant_text, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import noted, one_each, says_yes, share_of, shown

ID: Final = "mastra.hallucination"


class StatedVerdict(msgspec.Struct):
    """Whether a statement is made up."""

    statement: str
    verdict: str
    reason: str


class StatedVerdicts(msgspec.Struct):
    """One verdict per claim."""

    verdicts: list[StatedVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class HallucinationOptions:
    """The context, a callable that gets it, and the highest score."""

    context: Context = None
    get_context: Callable[..., Any] | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_context(self.context)
        check_callable(self.get_context, "get_context")
        checked_scale(self.scale)


def hallucination_score(verdicts: Sequence[StatedVerdict], *, scale: float = 1.0) -> float:
    """Share of the verdicts that are yes; 0, the best, where there are none."""
    return (share_of(says_yes(each.verdict) for each in verdicts) or 0.0) * scale


def _imagined(fields: Fields) -> StatedVerdicts:
    claims = texts_of(fields, "claims")
    return StatedVerdicts([StatedVerdict(claim, "no", NOTE) for claim in claims])


_ANALYZE: Final = Step("mastra/hallucination_analyze", StatedVerdicts, _imagined)
_REASON: Final = reason_step("hallucination")
STEPS: Final = (EXTRACT_CLAIMS, _REASON, _ANALYZE)


async def _context(
    run: Run, settings: HallucinationOptions, results: dict[str, Any], score: float | None
) -> list[str]:
    if settings.get_context is not None:
        step = "analyze" if score is None else "generateReason"
        given = settings.get_context(run=run.source, results=results, step=step, score=score)
        return await awaited(given)
    found = static(settings.context, run)
    return list(run.contexts or ()) if found is None else found


async def _judged(interview: Interview, run: Run, settings: HallucinationOptions) -> float:
    answer = assistant_text(run)
    claims = (await interview.preprocess(EXTRACT_CLAIMS, {"text": answer})).claims
    results = {"preprocessStepResult": interview.preprocess_result}
    context = await _context(run, settings, results, None)
    analyzed = await interview.analyze(
        _ANALYZE,
        {"claims": claims, "context": context, "n_claims": len(claims)},
        one_each(lambda reply: reply.verdicts, "verdicts", len(claims)),
    )
    score = hallucination_score(analyzed.verdicts, scale=settings.scale)
    if interview.wants_reason:
        results["analyzeStepResult"] = interview.analyze_result
        fields: Fields = {
            "question": user_text(run),
            "answer": answer,
            "context": await _context(run, settings, results, score),
            "findings": noted((each.verdict, each.reason) for each in analyzed.verdicts),
            "score": shown(score),
            "scale": settings.scale,
        }
        await interview.explain(_REASON, fields)
    return score


def create_hallucination_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[HallucinationOptions]:
    """Share of the answer's claims that are made up; 3 calls, 0 to ``scale``, lower is better.

    An answer without claims scores 0.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run", optional
        None takes the run's own contexts, and where it has none, an empty list.
    get_context : callable, optional
        Called with ``run``, ``results``, ``step`` and ``score`` before the judge is asked for
        verdicts and before it is asked for the reason; returns the chunks, or an awaitable of
        them. Goes before ``context``.
    scale : float, default 1
    """
    settings = settings_of(HallucinationOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
