"""Faithfulness, hallucination and context recall: claims of a text, judged one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.judge.metrics.imagining import sentences, text_of, texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.judged import NEWER, judged_spec
from rag_eval.scorers.mastra.options import (
    Context,
    ContextOptions,
    awaited,
    check_callable,
    check_context,
    checked_scale,
    context_or_tools,
    extracted,
    static,
)
from rag_eval.scorers.mastra.runs import Run, assistant_text, ground_truth_text, user_text
from rag_eval.scorers.mastra.scorer import (
    Interview,
    MastraScorer,
    Model,
    NothingToScoreError,
    Options,
    reason_step,
)
from rag_eval.scorers.mastra.verdicts import (
    NOTE,
    Verdict,
    Verdicts,
    noted,
    one_each,
    says_yes,
    share_of_yes,
)


class Claims(msgspec.Struct):
    """Claims that a text makes."""

    claims: list[str]


_EXTRACT: Final = Step(
    "mastra/claims_extract",
    Claims,
    lambda fields: Claims(sentences(text_of(fields, "text"))),
    graded=False,
)


def _imagined(fields: Fields) -> Verdicts:
    return Verdicts([Verdict("yes", NOTE) for _ in texts_of(fields, "claims")])


# ------------------------------------------------------------------------------------ faithfulness


@dataclass(frozen=True, slots=True, kw_only=True)
class FaithfulnessOptions:
    """The context, and the highest score."""

    context: Context = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_context(self.context)
        checked_scale(self.scale)


_FAITHFULNESS: Final = Step("mastra/faithfulness_analyze", Verdicts, _imagined)
_FAITHFULNESS_REASON: Final = reason_step("faithfulness")


async def _faithfulness(interview: Interview, run: Run, settings: FaithfulnessOptions) -> float:
    answer, context = assistant_text(run), context_or_tools(settings.context, run)
    claims = (await interview.preprocess(_EXTRACT, {"text": answer})).claims
    if not claims:
        raise NothingToScoreError(NullReason.NOTHING_TO_MEASURE, "the answer makes no claims")
    analyzed = await interview.analyze(
        _FAITHFULNESS,
        {"claims": claims, "context": context, "n_claims": len(claims)},
        one_each("verdicts", len(claims)),
    )
    score = share_of_yes(analyzed.verdicts, settings.scale) or 0.0
    fields: Fields = {
        "question": user_text(run),
        "answer": answer,
        "context": context,
        "findings": noted(analyzed.verdicts),
        "scale": settings.scale,
    }
    return await interview.explained(_FAITHFULNESS_REASON, score, fields)


FAITHFULNESS: Final = judged_spec(
    "mastra.faithfulness",
    _faithfulness,
    FaithfulnessOptions,
    (_EXTRACT, _FAITHFULNESS_REASON, _FAITHFULNESS),
    summary="Share of the answer's claims that the context supports",
    fields=("answer", "contexts"),
)


def create_faithfulness_scorer(model: Model, options: Options = None, **more: Any) -> MastraScorer:
    """Share of the answer's claims that the context supports; 3 calls, 0 to ``scale``.

    An answer without claims has no score.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run", optional
        None uses the contexts of the run, or else the results of its tools.
    scale : float, default 1
    """
    return FAITHFULNESS.create(model, options, **more)


# ----------------------------------------------------------------------------------- hallucination


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


def _imagined_stated(fields: Fields) -> StatedVerdicts:
    claims = texts_of(fields, "claims")
    return StatedVerdicts([StatedVerdict(claim, "no", NOTE) for claim in claims])


_HALLUCINATION: Final = Step("mastra/hallucination_analyze", StatedVerdicts, _imagined_stated)
_HALLUCINATION_REASON: Final = reason_step("hallucination")


async def _context(
    run: Run, settings: HallucinationOptions, results: dict[str, Any], score: float | None
) -> list[str]:
    if settings.get_context is not None:
        step = "analyze" if score is None else "generateReason"
        given = settings.get_context(run=run.source, results=results, step=step, score=score)
        return await awaited(given)
    found = static(settings.context, run)
    return list(run.contexts or ()) if found is None else found


async def _hallucination(interview: Interview, run: Run, settings: HallucinationOptions) -> float:
    answer = assistant_text(run)
    claims = (await interview.preprocess(_EXTRACT, {"text": answer})).claims
    results = {"preprocessStepResult": interview.found["preprocess_result"]}
    context = await _context(run, settings, results, None)
    analyzed = await interview.analyze(
        _HALLUCINATION,
        {"claims": claims, "context": context, "n_claims": len(claims)},
        one_each("verdicts", len(claims)),
    )
    # Without verdicts nothing is made up, which is the best.
    score = share_of_yes(analyzed.verdicts, settings.scale) or 0.0
    if not interview.wants_reason:
        return score
    results["analyzeStepResult"] = interview.found["analyze_result"]
    fields: Fields = {
        "question": user_text(run),
        "answer": answer,
        "context": await _context(run, settings, results, score),
        "findings": noted(analyzed.verdicts),
        "scale": settings.scale,
    }
    return await interview.explained(_HALLUCINATION_REASON, score, fields)


HALLUCINATION: Final = judged_spec(
    "mastra.hallucination",
    _hallucination,
    HallucinationOptions,
    (_EXTRACT, _HALLUCINATION_REASON, _HALLUCINATION),
    summary="Share of the answer's claims that are hallucinated",
    fields=("answer", "contexts"),
    higher_is_better=False,
)


def create_hallucination_scorer(model: Model, options: Options = None, **more: Any) -> MastraScorer:
    """Share of the answer's claims that are hallucinated; 3 calls, 0 to ``scale``, lower is better.

    An answer without claims scores 0.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run", optional
        None uses the contexts of the run, or else an empty list.
    get_context : callable, optional
        Called with ``run``, ``results``, ``step`` and ``score`` before each request for verdicts
        and for the reason; returns the contexts, or an awaitable of them. Takes precedence over
        ``context``.
    scale : float, default 1
    """
    return HALLUCINATION.create(model, options, **more)


# ---------------------------------------------------------------------------------- context recall


def context_recall_score(verdicts: Sequence[Verdict], n_claims: int, scale: float) -> float:
    """Verdicts that are yes by the number of claims, 1 at most; 0 without claims.

    A claim without a verdict counts as not found.
    """
    found = sum(says_yes(each.verdict) for each in verdicts)
    return min(1.0, found / n_claims) * scale if n_claims else 0.0


_RECALL: Final = Step("mastra/context_recall_analyze", Verdicts, _imagined)
_RECALL_REASON: Final = reason_step("context_recall")


async def _recall(interview: Interview, run: Run, settings: ContextOptions) -> float:
    truth = ground_truth_text(run) or ""
    context = await extracted(settings.context, settings.context_extractor, run)
    claims = (await interview.preprocess(_EXTRACT, {"text": truth})).claims
    analyzed = await interview.analyze(
        _RECALL, {"claims": claims, "context": context, "n_claims": len(claims)}
    )
    # An empty text holds no claims, whatever the judge made of it.
    score = context_recall_score(analyzed.verdicts, len(claims) if truth else 0, settings.scale)
    fields: Fields = {
        "ground_truth": truth,
        "context": context,
        "findings": noted(analyzed.verdicts),
        "scale": settings.scale,
    }
    return await interview.explained(_RECALL_REASON, score, fields)


RECALL: Final = judged_spec(
    "mastra.context_recall",
    _recall,
    ContextOptions,
    (_EXTRACT, _RECALL_REASON, _RECALL),
    summary="Share of the ground truth's claims that the contexts contain",
    fields=("ground_truth", "contexts"),
    source=NEWER,
)


def create_context_recall_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """Share of the ground truth's claims that the contexts contain; 3 calls, 0 to ``scale``.

    A run without ground truth scores 0.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    context : list of str or "run"
        The contexts; ``"run"`` uses those of the run.
    context_extractor : callable
        Function from the run's input and output to the contexts; takes precedence over ``context``.
        One of the two is required.
    scale : float, default 1
    """
    return RECALL.create(model, options, **more)
