"""Claims of an answer and of a ground truth to their F1, each side looked up in the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import msgspec

from rag_eval.judge.asking import Tally
from rag_eval.judge.metrics.claims import best_of, claims_of, of_several
from rag_eval.judge.metrics.imagining import REASON, texts_of
from rag_eval.judge.metrics.judgements import (
    Judgement,
    Verdict,
    measured,
    null,
    unasked_zero,
)
from rag_eval.judge.metrics.replies import (
    MATCH,
    YES_NO,
    MatchLabel,
    YesNoLabel,
    in_slices,
    label,
    numbering_complaint,
)
from rag_eval.judge.metrics.row_steps import RowSteps, together
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason

# Of verdicts on one claim by several slices of the other side, the first of these counts.
_CLEAREST: Final = ("yes", "contradicted", "no")


class AnswerClaim(msgspec.Struct, kw_only=True):
    """Whether the ground truth states one claim of the answer."""

    claim: int
    reason: str = ""
    verdict: MatchLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, MATCH)


class TruthClaim(msgspec.Struct, kw_only=True):
    """Whether the answer gives one claim of the ground truth."""

    claim: int
    reason: str = ""
    verdict: YesNoLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, YES_NO)


class MatchReply(msgspec.Struct):
    """The verdicts on the claims of either side."""

    answer_claims: list[AnswerClaim]
    ground_truth_claims: list[TruthClaim]


def _imagined(fields: Fields) -> MatchReply:
    n_answer = len(texts_of(fields, "answer_claim"))
    n_truth = len(texts_of(fields, "ground_truth_claim"))
    return MatchReply(
        [AnswerClaim(claim=number, reason=REASON, verdict="yes") for number in range(n_answer)],
        [TruthClaim(claim=number, reason=REASON, verdict="yes") for number in range(n_truth)],
    )


MATCH_CLAIMS: Final = Step("match_claims", MatchReply, _imagined)


async def answer_correctness(steps: RowSteps, tally: Tally) -> Judgement:
    """F1 of the answer's claims and a ground truth's; of several ground truths, the best."""
    truths = steps.row.truths
    extracted = claims_of(steps, steps.row.answer or "", tally)
    tasks = [claims_of(steps, truth, tally) for truth in truths]
    answer_claims = await extracted
    truth_claims = [await task for task in tasks]
    claiming = [place for place, claims in enumerate(truth_claims) if claims]
    if not claiming:
        return null(NullReason.NOTHING_TO_MEASURE, "The ground truth claims nothing.")
    if not answer_claims:
        return unasked_zero("The answer claims nothing, the ground truth does.")
    found = await together(
        [_matched(steps, answer_claims, truth_claims[place], tally) for place in claiming]
    )
    best = best_of([claim_f1(verdicts) for verdicts in found])
    assert best is not None
    place, score = best
    verdicts = found[place]
    explanation = _counted(verdicts) + of_several(claiming[place], len(truths))
    return measured(score, explanation, verdicts)


async def _matched(
    steps: RowSteps, answer_claims: Sequence[str], truth_claims: Sequence[str], tally: Tally
) -> list[Verdict]:
    """Verdicts on both sides; a claim is there when it is in one of the other side's slices."""
    calls = itertools.product(in_slices(answer_claims), in_slices(truth_claims))
    found = await together([_matched_slices(steps, ours, theirs, tally) for ours, theirs in calls])
    clearest: dict[tuple[str, str], Verdict] = {}
    for verdict in itertools.chain.from_iterable(found):
        key = (verdict.subject, verdict.text)
        known = clearest.get(key)
        if known is None or _CLEAREST.index(verdict.verdict) < _CLEAREST.index(known.verdict):
            clearest[key] = verdict
    ours = [clearest["answer claim", claim] for claim in answer_claims]
    return ours + [clearest["ground truth claim", claim] for claim in truth_claims]


async def _matched_slices(
    steps: RowSteps, answer_claims: Sequence[str], truth_claims: Sequence[str], tally: Tally
) -> list[Verdict]:
    def check(reply: MatchReply) -> str | None:
        ours = (one.claim for one in reply.answer_claims)
        theirs = (one.claim for one in reply.ground_truth_claims)
        return numbering_complaint(ours, len(answer_claims), "answer claim") or numbering_complaint(
            theirs, len(truth_claims), "ground truth claim"
        )

    fields: Fields = {
        "question": steps.row.asked,
        "answer_claim": answer_claims,
        "ground_truth_claim": truth_claims,
    }
    reply = await steps.ask(MATCH_CLAIMS, fields, tally, check)
    return [
        *(
            Verdict("answer claim", answer_claims[one.claim], one.verdict, one.reason)
            for one in reply.answer_claims
        ),
        *(
            Verdict("ground truth claim", truth_claims[one.claim], one.verdict, one.reason)
            for one in reply.ground_truth_claims
        ),
    ]


def claim_f1(verdicts: Sequence[Verdict]) -> float:
    """2 TP / (2 TP + FP + FN).

    TP are the answer's claims that the ground truth states, FP its others, FN the ground truth's
    claims that the answer lacks.
    """
    stated = [one.verdict == "yes" for one in verdicts if one.subject == "answer claim"]
    given = [one.verdict == "yes" for one in verdicts if one.subject == "ground truth claim"]
    hits, false, lacking = sum(stated), stated.count(False), given.count(False)
    return 2 * hits / (2 * hits + false + lacking)


def _counted(verdicts: Sequence[Verdict]) -> str:
    ours = [one.verdict for one in verdicts if one.subject == "answer claim"]
    theirs = [one.verdict for one in verdicts if one.subject == "ground truth claim"]
    against = f", {ours.count('contradicted')} contradicted" if "contradicted" in ours else ""
    return (
        f"{ours.count('yes')} of {len(ours)} answer claim(s) stated by the ground truth{against}; "
        f"{theirs.count('yes')} of {len(theirs)} of its claims given by the answer."
    )
