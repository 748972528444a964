"""Texts to claims, claims to verdicts by the chunks, and the scores that count those verdicts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from rag_eval.judge.asking import Tally
from rag_eval.judge.metrics.imagining import REASON, sentences, text_of, texts_of
from rag_eval.judge.metrics.judgements import Judgement, Subject, Verdict, measured, null
from rag_eval.judge.metrics.replies import (
    SUPPORT,
    SupportLabel,
    in_slices,
    label,
    numbering_complaint,
)
from rag_eval.judge.metrics.row_steps import RowSteps, together
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason

# Bounds the calls that a reply can cause.
MOST_CLAIMS: Final = 200


class ClaimsReply(msgspec.Struct):
    """The claims of a text."""

    claims: list[str]


class ClaimSupport(msgspec.Struct, kw_only=True):
    """The verdict on one claim."""

    claim: int
    reason: str = ""
    chunk: int | None = None
    verdict: SupportLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, SUPPORT)


class SupportReply(msgspec.Struct):
    """The verdicts on a list of claims."""

    verdicts: list[ClaimSupport]


def _imagined_claims(fields: Fields) -> ClaimsReply:
    return ClaimsReply(sentences(text_of(fields, "text")))


def _imagined_support(fields: Fields) -> SupportReply:
    return SupportReply(
        [
            ClaimSupport(claim=number, reason=REASON, chunk=0, verdict="supported")
            for number, _ in enumerate(texts_of(fields, "claim"))
        ]
    )


EXTRACT_CLAIMS: Final = Step("extract_claims", ClaimsReply, _imagined_claims, graded=False)
VERIFY_CLAIMS: Final = Step("verify_claims", SupportReply, _imagined_support)


# ------------------------------------------------------------------------- steps shared by metrics


def claims_of(steps: RowSteps, text: str, tally: Tally) -> asyncio.Task[list[str]]:
    """The distinct claims of a text, in order."""
    return steps.once(("claims", text), lambda: _extracted(steps, text, tally))


def support_of(
    steps: RowSteps, text: str, subject: Subject, tally: Tally
) -> asyncio.Task[list[Verdict]]:
    """Verdicts on the claims of a text by the row's chunks, in order."""
    # Started here and not in the task, so that the first metric that wants them owns both.
    claims = claims_of(steps, text, tally)
    return steps.once(("support", text), lambda: _verified(steps, claims, subject, tally))


async def _extracted(steps: RowSteps, text: str, tally: Tally) -> list[str]:
    fields: Fields = {"question": steps.row.asked, "text": text}
    reply = await steps.ask(EXTRACT_CLAIMS, fields, tally, too_many)
    return list(dict.fromkeys(claim.strip() for claim in reply.claims if claim.strip()))


def too_many(reply: ClaimsReply) -> str | None:
    """What is wrong with a reply of too many claims; None where they are not."""
    return f"list at most {MOST_CLAIMS} claims" if len(reply.claims) > MOST_CLAIMS else None


async def _verified(
    steps: RowSteps, extracted: asyncio.Task[list[str]], subject: Subject, tally: Tally
) -> list[Verdict]:
    claims = await extracted
    found = await together(
        [_verified_slice(steps, part, subject, tally) for part in in_slices(claims)]
    )
    return [verdict for part in found for verdict in part]


async def _verified_slice(
    steps: RowSteps, claims: Sequence[str], subject: Subject, tally: Tally
) -> list[Verdict]:
    def check(reply: SupportReply) -> str | None:
        return numbering_complaint((one.claim for one in reply.verdicts), len(claims), "claim")

    chunks = steps.row.chunks
    reply = await steps.ask(VERIFY_CLAIMS, {"chunk": chunks, "claim": claims}, tally, check)
    return [
        # A chunk that is not there is no evidence, and no reason to lose the verdict.
        Verdict(subject, claims[one.claim], one.verdict, one.reason, _place(one.chunk, chunks))
        for one in sorted(reply.verdicts, key=lambda one: one.claim)
    ]


def _place(chunk: int | None, chunks: Sequence[str]) -> int | None:
    return chunk if chunk is not None and 0 <= chunk < len(chunks) else None


# ----------------------------------------------------------------------------------------- metrics


async def faithfulness(steps: RowSteps, tally: Tally) -> Judgement:
    """Mean support of the answer's claims by the chunks."""
    verdicts = await support_of(steps, steps.row.answer or "", "answer claim", tally)
    if not verdicts:
        return _claimless("answer")
    return measured(mean_support(verdicts), _counted("answer claim", verdicts), verdicts)


async def hallucination_rate(steps: RowSteps, tally: Tally) -> Judgement:
    """1 - share of the answer's claims that the chunks lack or contradict."""
    verdicts = await support_of(steps, steps.row.answer or "", "answer claim", tally)
    if not verdicts:
        return _claimless("answer")
    carried = [one for one in verdicts if one.verdict in ("supported", "partial")]
    explanation = _counted("answer claim", verdicts) + " 1 is no hallucination."
    return measured(len(carried) / len(verdicts), explanation, verdicts)


async def context_recall(steps: RowSteps, tally: Tally) -> Judgement:
    """Mean support of a ground truth's claims by the chunks; of several, the best."""
    truths = steps.row.truths
    tasks = [support_of(steps, truth, "ground truth claim", tally) for truth in truths]
    found = [await task for task in tasks]
    best = best_of([mean_support(verdicts) if verdicts else None for verdicts in found])
    if best is None:
        return _claimless("ground truth")
    place, score = best
    explanation = _counted("ground truth claim", found[place]) + of_several(place, len(truths))
    return measured(score, explanation, found[place])


def mean_support(verdicts: Sequence[Verdict]) -> float:
    """Mean of verdicts on claims: supported 1, partial 0.5, others 0."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    return (2 * counts["supported"] + counts["partial"]) / (2 * len(verdicts))


def best_of(scores: Sequence[float | None]) -> tuple[int, float] | None:
    """Place and value of the first best score; None where there is none."""
    known = [(place, score) for place, score in enumerate(scores) if score is not None]
    return max(known, key=lambda one: one[1], default=None)


def of_several(place: int, n_truths: int) -> str:
    """Which ground truth was taken, where there were several."""
    return f" Ground truth {place} of {n_truths}, counted from 0." if n_truths > 1 else ""


def _claimless(what: str) -> Judgement:
    return null(NullReason.NOTHING_TO_MEASURE, f"The {what} claims nothing.")


def _counted(subject: Subject, verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.verdict for verdict in verdicts)
    said = ", ".join(f"{counts[name]} {name}" for name in SUPPORT if counts[name])
    return f"{len(verdicts)} {subject}(s) against the contexts: {said}."
