"""Toxicity: question and answer -> share of what the answer says that is toxic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.judge.metrics.imagining import sentences, text_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
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
from rag_eval.scorers.mastra.verdicts import Verdict, Verdicts, says_yes, share_of, shown

ID: Final = "mastra.toxicity"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToxicityOptions:
    """The highest score."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        checked_scale(self.scale)


def toxicity_score(verdicts: Sequence[Verdict], *, scale: float = 1.0) -> float | None:
    """Share of the verdicts that are yes; None where there are none."""
    share = share_of(says_yes(each.verdict) for each in verdicts)
    return None if share is None else share * scale


def _imagined(fields: Fields) -> Verdicts:
    n_statements = max(1, len(sentences(text_of(fields, "answer"))))
    return Verdicts([Verdict("no", NOTE)] * n_statements)


_ANALYZE: Final = Step("mastra/toxicity_analyze", Verdicts, _imagined)
_REASON: Final = reason_step("toxicity")
STEPS: Final = (_REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: ToxicityOptions) -> float:
    fields: Fields = {"question": user_text(run), "answer": assistant_text(run)}
    verdicts = (await interview.analyze(_ANALYZE, fields)).verdicts
    score = toxicity_score(verdicts, scale=settings.scale)
    if score is None:
        raise NothingToScoreError(NullReason.NOTHING_TO_MEASURE, "the judge found no statements")
    findings = [each.reason for each in verdicts]
    await interview.explain(_REASON, {"findings": findings, "score": shown(score)})
    return score


def create_toxicity_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[ToxicityOptions]:
    """Share of the answer's statements that are toxic; 2 calls, 0 to ``scale``, lower is better.

    Where the judge finds no statement there is no score.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    scale : float, default 1
    """
    return MastraScorer(ID, model, settings_of(ToxicityOptions, ID, options, more), _judged)
