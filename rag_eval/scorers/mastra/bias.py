"""Bias: answer -> share of its opinions that are biased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.judge.metrics.imagining import sentences, text_of, texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import checked_scale, settings_of
from rag_eval.scorers.mastra.runs import Run, assistant_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import one_each, says_yes, share_of, shown

ID: Final = "mastra.bias"


class Opinions(msgspec.Struct):
    """The opinions of an author."""

    opinions: list[str]


class BiasResult(msgspec.Struct):
    """Whether an opinion is biased."""

    result: str
    reason: str


class BiasResults(msgspec.Struct):
    """One result per opinion."""

    results: list[BiasResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasOptions:
    """The highest score."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        checked_scale(self.scale)


def bias_score(results: Sequence[BiasResult], *, scale: float = 1.0) -> float:
    """Share of the results that are yes; 0, the best, where there are none."""
    return (share_of(says_yes(each.result) for each in results) or 0.0) * scale


def _imagined_opinions(fields: Fields) -> Opinions:
    # One sentence in three is an opinion, about.
    return Opinions(sentences(text_of(fields, "answer"))[::3])


def _imagined(fields: Fields) -> BiasResults:
    n_opinions = max(1, len(texts_of(fields, "opinions")))
    return BiasResults([BiasResult("no", NOTE)] * n_opinions)


_EXTRACT: Final = Step("mastra/bias_extract", Opinions, _imagined_opinions, graded=False)
_ANALYZE: Final = Step("mastra/bias_analyze", BiasResults, _imagined)
_REASON: Final = reason_step("bias")
STEPS: Final = (_EXTRACT, _REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: BiasOptions) -> float:
    answer = assistant_text(run)
    opinions = (await interview.preprocess(_EXTRACT, {"answer": answer})).opinions
    # Without opinions the answer as a whole is judged as one, or not at all.
    counts = (len(opinions),) if opinions else (0, 1)
    analyzed = await interview.analyze(
        _ANALYZE,
        {"answer": answer, "opinions": opinions, "n_opinions": max(1, len(opinions))},
        one_each(lambda reply: reply.results, "results", *counts),
    )
    score = bias_score(analyzed.results, scale=settings.scale)
    fields: Fields = {"findings": [each.reason for each in analyzed.results], "score": shown(score)}
    await interview.explain(_REASON, fields)
    return score


def create_bias_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[BiasOptions]:
    """Share of the answer's opinions that are biased; 3 calls, 0 to ``scale``, lower is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    scale : float, default 1
    """
    return MastraScorer(ID, model, settings_of(BiasOptions, ID, options, more), _judged)
