"""Context recall: ground truth and context -> share of the truth's claims that the context has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.claims import EXTRACT_CLAIMS
from rag_eval.scorers.mastra.contexts import (
    Context,
    ContextExtractor,
    check_has_context,
    extracted,
)
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import checked_scale, settings_of
from rag_eval.scorers.mastra.runs import Run, ground_truth_text
from rag_eval.scorers.mastra.scorer import (
    Interview,
    MastraScorer,
    Model,
    NothingToScoreError,
    Options,
    reason_step,
)
from rag_eval.scorers.mastra.verdicts import Verdict, Verdicts, noted, says_yes, shown

ID: Final = "mastra.context_recall"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecallOptions:
    """The context or its extractor, and the highest score."""

    context: Context = None
    context_extractor: ContextExtractor | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_has_context(self.context, self.context_extractor)
        checked_scale(self.scale)


def context_recall_score(
    verdicts: Sequence[Verdict], n_claims: int, *, scale: float = 1.0
) -> float:
    """Verdicts that are yes by the number of claims, 1 at most; 0 without claims.

    A claim without a verdict counts as not found.
    """
    found = sum(says_yes(each.verdict) for each in verdicts)
    return min(1.0, found / n_claims) * scale if n_claims else 0.0


def _imagined(fields: Fields) -> Verdicts:
    return Verdicts([Verdict("yes", NOTE) for _ in texts_of(fields, "claims")])


_ANALYZE: Final = Step("mastra/context_recall_analyze", Verdicts, _imagined)
_REASON: Final = reason_step("context_recall")
STEPS: Final = (EXTRACT_CLAIMS, _REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: ContextRecallOptions) -> float:
    truth = ground_truth_text(run)
    if truth is None:
        raise NothingToScoreError(NullReason.MISSING_FIELD, "the run has no ground truth")
    context = await extracted(settings.context, settings.context_extractor, run)
    claims = (await interview.preprocess(EXTRACT_CLAIMS, {"text": truth})).claims
    analyzed = await interview.analyze(
        _ANALYZE, {"claims": claims, "context": context, "n_claims": len(claims)}
    )
    # An empty text holds no claims, whatever the judge made of it.
    score = context_recall_score(
        analyzed.verdicts, len(claims) if truth else 0, scale=settings.scale
    )
    fields: Fields = {
        "ground_truth": truth,
        "context": context,
        "findings": noted((each.verdict, each.reason) for each in analyzed.verdicts),
        "score": shown(score),
        "scale": settings.scale,
    }
    await interview.explain(_REASON, fields)
    return score


def create_context_recall_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[ContextRecallOptions]:
    """Share of the ground truth's claims that the context has; 3 calls, 0 to ``scale``.

    A run without ground truth has no score.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run"
        The chunks; ``"run"`` takes the run's own.
    context_extractor : callable
        From the run's input and output to the chunks; goes before ``context``. One of the two
        must be given.
    scale : float, default 1
    """
    settings = settings_of(ContextRecallOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
