"""Factuality and tone by a judge.  In: fields of a sample.  Out: the score its verdicts make.

The judge finds claims and gives verdicts or ratings; they are counted and weighed here, so that
mode, dimensions and weights reach every score. A failure raises, and the caller takes the
score that needs no judge: see :func:`judged_or_native` for the order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from rag_eval.inputs.sample_fields import fields_of
from rag_eval.inputs.samples import SampleLike
from rag_eval.judge.asking import Asker
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.metrics.claims import ClaimsReply, too_many
from rag_eval.judge.metrics.imagining import REASON, sentences, text_of, texts_of
from rag_eval.judge.metrics.judgements import together
from rag_eval.judge.metrics.ratings import HIGHEST, LOWEST, score_of
from rag_eval.judge.metrics.replies import in_slices, label, numbering_complaint
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Fields as Texts
from rag_eval.judge.steps import Step
from rag_eval.metrics.contract import (
    JUDGE_STYLES,
    Fields,
    JudgedRule,
    JudgedScorer,
    MissingFieldError,
    Scored,
)
from rag_eval.samples import MetricId
from rag_eval.scorers.regtrace import factuality, tone
from rag_eval.scorers.regtrace.claim_support import VERDICTS, Claim
from rag_eval.scorers.regtrace.details import finding, judged_by
from rag_eval.scorers.regtrace.factuality import FactualitySettings
from rag_eval.scorers.regtrace.formulas import DIMENSIONS
from rag_eval.scorers.regtrace.judge import RegtraceJudgement
from rag_eval.scorers.regtrace.specs import METRICS
from rag_eval.scorers.regtrace.tone import ToneSettings

Judge: TypeAlias = Callable[..., Awaitable[Scored]]

_RATINGS: Final = list(range(LOWEST, HIGHEST + 1))

VerdictLabel = Annotated[str, Meta(extra_json_schema={"enum": list(VERDICTS)})]


class ClaimVerdict(msgspec.Struct, kw_only=True):
    """The verdict on one claim."""

    claim: int
    reason: str = ""
    verdict: VerdictLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, VERDICTS)


class VerdictsReply(msgspec.Struct, kw_only=True):
    """The verdicts on a list of claims, and how sure they are."""

    verdicts: list[ClaimVerdict]
    confidence: float

    def __post_init__(self) -> None:
        _check_confidence(self.confidence)


class ToneRating(msgspec.Struct, kw_only=True):
    """The rating of one dimension."""

    dimension: int
    reason: str = ""
    rating: Annotated[int, Meta(extra_json_schema={"enum": _RATINGS})]

    def __post_init__(self) -> None:
        if self.rating not in _RATINGS:
            raise ValueError(f"a rating must be a whole number from {LOWEST} to {HIGHEST}")


class ToneReply(msgspec.Struct, kw_only=True):
    """The ratings of some dimensions, and how sure they are."""

    ratings: list[ToneRating]
    confidence: float

    def __post_init__(self) -> None:
        _check_confidence(self.confidence)


def _check_confidence(confidence: float) -> None:
    if not 0 <= confidence <= 1:
        raise ValueError("confidence must be from 0 to 1")


def _imagined_claims(texts: Texts) -> ClaimsReply:
    return ClaimsReply(sentences(text_of(texts, "answer")))


def _imagined_verdicts(texts: Texts) -> VerdictsReply:
    claims = range(len(texts_of(texts, "claim")))
    verdicts = [ClaimVerdict(claim=n, reason=REASON, verdict="supported") for n in claims]
    return VerdictsReply(verdicts=verdicts, confidence=0.9)


def _imagined_ratings(texts: Texts) -> ToneReply:
    dimensions = range(len(texts_of(texts, "dimension")))
    ratings = [ToneRating(dimension=n, reason=REASON, rating=4) for n in dimensions]
    return ToneReply(ratings=ratings, confidence=0.9)


LIST_CLAIMS: Final = Step("regtrace/factuality_claims", ClaimsReply, _imagined_claims, graded=False)
JUDGE_CLAIMS: Final = Step("regtrace/factuality_verdicts", VerdictsReply, _imagined_verdicts)
RATE_TONE: Final = Step("regtrace/tone", ToneReply, _imagined_ratings)

FACTUALITY_STEPS: Final = (LIST_CLAIMS, JUDGE_CLAIMS)
TONE_STEPS: Final = (RATE_TONE,)


# -------------------------------------------------------------------------------------- factuality


async def judged_factuality(asker: Asker, fields: Fields, tally: Tally, **settings: Any) -> Scored:
    """The share of an answer's claims that a judge does not fail, from 0 to 1.

    The claims are checked against the expected output and the contexts together; with
    ``rag_faithfulness_only`` against the contexts alone. Two JSON values are compared without a
    judge.

    Parameters
    ----------
    fields : mapping
        ``answer``, and where there are any ``question``, ``ground_truth`` and ``contexts``.
    settings
        Those of `FactualitySettings`.

    Returns
    -------
    Scored
        With a detail per claim, and one with ``evaluationType`` and ``confidence``.

    Raises
    ------
    JudgeFailure
        There is no verdict.
    InputError
        For a setting that cannot be.
    """
    wanted = FactualitySettings(**settings)
    plan = factuality.structure_or_rows(fields, wanted)
    if isinstance(plan, Scored):
        return plan
    question = fields.get("question") or ""
    reply = (
        await asker.ask(
            LIST_CLAIMS, {"question": question, "answer": fields["answer"]}, tally, too_many
        )
    ).value
    said = list(dict.fromkeys(claim.strip() for claim in reply.claims if claim.strip()))
    if not said:
        return Scored.nothing("The answer makes no claims.")
    references = _references(fields, wanted)
    replies = await together(
        [_verdicts(asker, part, references, tally) for part in in_slices(said)]
    )
    claims = [
        Claim(said_claim, (0, 0), _verdict(found.verdict), found.reason, "")
        for part, answer in zip(in_slices(said), replies, strict=True)
        for said_claim, found in zip(
            part, sorted(answer.verdicts, key=lambda one: one.claim), strict=True
        )
    ]
    confidence = min(answer.confidence for answer in replies)
    scored = factuality.claims_scored(claims, wanted.mode)
    details = [*scored.details, judged_by("llm_judged", confidence)]
    return Scored(scored.score, scored.null_reason, scored.explanation, details)


def _references(fields: Fields, settings: FactualitySettings) -> dict[str, list[str]]:
    truths = [] if settings.rag_faithfulness_only else fields.get("ground_truth")
    return {
        "expected_output": factuality.texts_of(truths),
        "context_document": factuality.texts_of(fields.get("contexts")),
    }


async def _verdicts(
    asker: Asker, claims: Sequence[str], references: dict[str, list[str]], tally: Tally
) -> VerdictsReply:
    def check(reply: VerdictsReply) -> str | None:
        return numbering_complaint((one.claim for one in reply.verdicts), len(claims), "claim")

    texts: Texts = {**references, "claim": claims}
    return (await asker.ask(JUDGE_CLAIMS, texts, tally, check)).value


def _verdict(found: str) -> Literal["supported", "contradicted", "unverifiable"]:
    return next(verdict for verdict in VERDICTS if verdict == found)


# -------------------------------------------------------------------------------------------- tone


async def judged_tone(asker: Asker, fields: Fields, tally: Tally, **settings: Any) -> Scored:
    """How much an answer sounds as it is meant to, by a judge's ratings, from 0 to 1.

    The weighted mean of the dimensions that are asked for; a rating of 1 is 0, one of 5 is 1. The
    model is ``tone_profile`` where it is given, which may be a description, or else the expected
    output; of several the first.

    Raises
    ------
    JudgeFailure
        There are no ratings.
    InputError
        For a setting that cannot be.
    """
    wanted = ToneSettings(**settings)
    truths = factuality.texts_of(fields.get("ground_truth"))
    model = wanted.tone_profile or (truths[0] if truths else None)
    if model is None:
        return Scored.nothing("No expected output and no tone profile to compare with.")
    names = list(wanted.weights)

    def check(reply: ToneReply) -> str | None:
        numbers = (one.dimension for one in reply.ratings)
        return numbering_complaint(numbers, len(names), "dimension")

    texts: Texts = {
        "model_text": model,
        "answer": fields["answer"],
        "dimension": [name.replace("_", " ") for name in names],
    }
    reply = (await asker.ask(RATE_TONE, texts, tally, check)).value
    ratings = {names[one.dimension]: one for one in reply.ratings}
    scores = {name: score_of(ratings[name].rating) for name in DIMENSIONS if name in ratings}
    details = [
        finding(f"tone.{name}", score >= tone.THRESHOLD, message=_rated(ratings[name]))
        for name, score in scores.items()
    ]
    details.append(judged_by("llm_judged", reply.confidence))
    return tone.weighed(scores, wanted.weights, details)


def _rated(rating: ToneRating) -> str:
    return f"rated {rating.rating} of {HIGHEST}: {rating.reason}".rstrip(": ")


# ---------------------------------------------------------------------------------------- fallback


class JudgedOrNative(NamedTuple):
    """A score with its source.

    Attributes
    ----------
    score : float or None
    confidence : float
    evaluation_type : {"llm_judged", "deterministic"}
    asked : int
        Number of judges that were called.
    """

    score: float | None
    confidence: float
    evaluation_type: Literal["llm_judged", "deterministic"]
    asked: int


async def judged_or_native(
    judges: Sequence[Callable[[], Awaitable[RegtraceJudgement]]],
    native: Callable[[], float | None],
    confidence: float = factuality.FALLBACK_CONFIDENCE,
) -> JudgedOrNative:
    """The judgement of the first judge that does not fail, or else the native score.

    Parameters
    ----------
    judges : sequence of callable
        The judge and its fallbacks; each does its own retries.
    native : callable
    confidence : float
        Confidence of the native score: 0.5 for factuality, 0.7 for tone.
    """
    for n_asked, judge in enumerate(judges, 1):
        try:
            found = await judge()
        except JudgeFailure:
            continue
        return JudgedOrNative(found.score, found.confidence, "llm_judged", n_asked)
    return JudgedOrNative(native(), confidence, "deterministic", len(judges))


_RULES: Final[Mapping[MetricId, tuple[Judge, tuple[Step[Any], ...], float]]] = MappingProxyType(
    {
        "regtrace.factuality": (
            judged_factuality,
            FACTUALITY_STEPS,
            factuality.FALLBACK_CONFIDENCE,
        ),
        "regtrace.tone": (judged_tone, TONE_STEPS, tone.FALLBACK_CONFIDENCE),
    }
)


def rule_of(metric: MetricId) -> JudgedRule:
    """How a judge scores what can do without one, too."""
    judge_of, steps, confidence = _RULES[metric]
    contract = next(found for found in METRICS if found.id == metric)

    def create(_: object, options: Mapping[str, Any]) -> JudgedScorer:
        async def score(asker: Asker, sample: SampleLike, tally: Tally) -> Scored:
            fields = fields_of(sample, contract.reads)
            for name in contract.fields:
                if name not in fields:
                    raise MissingFieldError(f"No {name} given.")
            return await judge_of(asker, fields, tally, **options)

        return JudgedScorer(score)

    return JudgedRule(
        metric=dict.fromkeys(JUDGE_STYLES, contract),
        steps=dict.fromkeys(JUDGE_STYLES, steps),
        create=create,
        stand_in=judged_by("deterministic", confidence),
    )
