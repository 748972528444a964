"""Faithfulness: answer and context -> share of the answer's claims that the context supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.claims import EXTRACT_CLAIMS
from rag_eval.scorers.mastra.contexts import Context, check_context, context_or_tools
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import checked_scale, settings_of
from rag_eval.scorers.mastra.runs import Run, assistant_text, user_text
from rag_eval.scorers.mastra.scorer import (
    Interview,
    MastraScorer,
    Model,
    NothingToScoreError,
    Options,
    reason_step,
)
from rag_eval.scorers.mastra.verdicts import (
    Verdict,
    Verdicts,
    noted,
    one_each,
    says_yes,
    share_of,
    shown,
)

ID: Final = "mastra.faithfulness"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaithfulnessOptions:
    """The context, and the highest score."""

    context: Context = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_context(self.context)
        checked_scale(self.scale)


def faithfulness_score(verdicts: Sequence[Verdict], *, scale: float = 1.0) -> float | None:
    """Share of the verdicts that are yes; None where there are none."""
    share = share_of(says_yes(each.verdict) for each in verdicts)
    return None if share is None else share * scale


def _imagined(fields: Fields) -> Verdicts:
    return Verdicts([Verdict("yes", NOTE) for _ in texts_of(fields, "claims")])


_ANALYZE: Final = Step("mastra/faithfulness_analyze", Verdicts, _imagined)
_REASON: Final = reason_step("faithfulness")
STEPS: Final = (EXTRACT_CLAIMS, _REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: FaithfulnessOptions) -> float:
    answer, context = assistant_text(run), context_or_tools(settings.context, run)
    claims = (await interview.preprocess(EXTRACT_CLAIMS, {"text": answer})).claims
    if not claims:
        raise NothingToScoreError(NullReason.NOTHING_TO_MEASURE, "the answer makes no claims")
    analyzed = await interview.analyze(
        _ANALYZE,
        {"claims": claims, "context": context, "n_claims": len(claims)},
        one_each(lambda reply: reply.verdicts, "verdicts", len(claims)),
    )
    score = faithfulness_score(analyzed.verdicts, scale=settings.scale) or 0.0
    fields: Fields = {
        "question": user_text(run),
        "answer": answer,
        "context": context,
        "findings": noted((each.verdict, each.reason) for each in analyzed.verdicts),
        "score": shown(score),
        "scale": settings.scale,
    }
    await interview.explain(_REASON, fields)
    return score


def create_faithfulness_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[FaithfulnessOptions]:
    """Share of the answer's claims that the context supports; 3 calls, 0 to ``scale``.

    An answer without claims has no score.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run", optional
        None takes the run's own contexts, and where it has none, what its tools returned.
    scale : float, default 1
    """
    settings = settings_of(FaithfulnessOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
