"""Texts to claims or statements, these to verdicts, and the scores that count the verdicts."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from rag_eval.judge.fencing import neutral
from rag_eval.judge.metrics.imagining import QUOTE, REASON, sentences, text_of, texts_of
from rag_eval.judge.metrics.judgements import (
    Judgement,
    RowSteps,
    Subject,
    Verdict,
    measured,
    null,
    together,
    unasked_zero,
)
from rag_eval.judge.metrics.quotes import QuotedChunks
from rag_eval.judge.metrics.replies import (
    ANSWERING,
    MATCH,
    SUPPORT,
    YES_NO,
    AnsweringLabel,
    MatchLabel,
    SupportLabel,
    YesNoLabel,
    count_from_zero,
    in_slices,
    label,
    numbering_complaint,
    one_each,
    verdicts_on,
)
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Fields, Step
from rag_eval.plumbing.spelling import counted, some_are
from rag_eval.samples import NullReason

# Bounds the calls that a reply can cause.
MOST_CLAIMS: Final = 200
# In characters, some of them shared by several claims; a claim in Chinese may be as short.
_SHORTEST_CLAIM: Final = 4
# Of verdicts on one claim by several slices of the other side, the first of these counts.
_CLEAREST: Final = ("yes", "contradicted", "no")


class ClaimsReply(msgspec.Struct):
    """The claims of a text."""

    claims: list[str]


class ClaimSupport(msgspec.Struct, kw_only=True):
    """The verdict on one claim."""

    claim: int
    chunk: int | None = None
    quote: str = ""
    reason: str = ""
    verdict: SupportLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, SUPPORT)


class SupportReply(msgspec.Struct):
    """The verdicts on a list of claims."""

    verdicts: list[ClaimSupport]


def _imagined_claims(fields: Fields) -> ClaimsReply:
    return ClaimsReply(sentences(text_of(fields, "text")))


def _imagined_support(fields: Fields) -> SupportReply:
    numbers = range(len(texts_of(fields, "claim")))
    return SupportReply(
        [
            ClaimSupport(claim=n, chunk=0, quote=QUOTE, reason=REASON, verdict="supported")
            for n in numbers
        ]
    )


def _most_parts(name: str, text: str) -> Callable[[Fields], dict[str, tuple[int, int]]]:
    """The length of a list of parts of a text, which ends the lists of models that repeat them."""
    return lambda fields: {
        name: (0, min(MOST_CLAIMS, 5 + len(text_of(fields, text)) // _SHORTEST_CLAIM))
    }


EXTRACT_CLAIMS: Final = Step(
    "extract_claims",
    ClaimsReply,
    _imagined_claims,
    graded=False,
    lengths=_most_parts("claims", "text"),
)
VERIFY_CLAIMS: Final = Step(
    "verify_claims", SupportReply, _imagined_support, lengths=one_each(verdicts="claim")
)


class Statement(msgspec.Struct, kw_only=True):
    """One statement of the answer and whether it answers the question."""

    statement: str
    reason: str = ""
    verdict: AnsweringLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, ANSWERING)


class StatementsReply(msgspec.Struct):
    """The answer as a whole and by statement."""

    refusal: bool
    statements: list[Statement]


def _imagined_statements(fields: Fields) -> StatementsReply:
    found = sentences(text_of(fields, "answer"))
    return StatementsReply(
        refusal=False,
        statements=[Statement(statement=text, reason=REASON, verdict="yes") for text in found],
    )


ANSWER_STATEMENTS: Final = Step(
    "answer_statements",
    StatementsReply,
    _imagined_statements,
    lengths=_most_parts("statements", "answer"),
)


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


def _imagined_match(fields: Fields) -> MatchReply:
    n_answer = len(texts_of(fields, "answer_claim"))
    n_truth = len(texts_of(fields, "ground_truth_claim"))
    return MatchReply(
        [AnswerClaim(claim=number, reason=REASON, verdict="yes") for number in range(n_answer)],
        [TruthClaim(claim=number, reason=REASON, verdict="yes") for number in range(n_truth)],
    )


MATCH_CLAIMS: Final = Step(
    "match_claims",
    MatchReply,
    _imagined_match,
    lengths=one_each(answer_claims="answer_claim", ground_truth_claims="ground_truth_claim"),
)


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
    """The fault of a reply with too many claims; None if there is none."""
    return f"list at most {MOST_CLAIMS} claims" if len(reply.claims) > MOST_CLAIMS else None


async def _verified(
    steps: RowSteps, extracted: asyncio.Task[list[str]], subject: Subject, tally: Tally
) -> list[Verdict]:
    chunks = steps.row.chunks
    fields: Fields = {"chunk": chunks}
    found = await verdicts_on(steps, VERIFY_CLAIMS, fields, "claim", await extracted, tally)
    quoted = QuotedChunks([neutral(chunk) for chunk in chunks])
    return [_evidenced(subject, claim, one, quoted, len(chunks)) for claim, one in found]


def _evidenced(
    subject: Subject, claim: str, one: ClaimSupport, quoted: QuotedChunks, n_chunks: int
) -> Verdict:
    """A verdict with its evidence; the chunk that has the quote counts, not the one named."""
    # A chunk that is not there is no evidence, and no reason to lose the verdict.
    named = one.chunk if one.chunk is not None and 0 <= one.chunk < n_chunks else None
    quote = one.quote.strip()
    place = quoted.place(quote, named) if quote else None
    return Verdict(
        subject,
        claim,
        one.verdict,
        one.reason,
        named if place is None else place,
        quote,
        place is not None if quote else None,
    )


# ----------------------------------------------------------------------------------------- metrics


async def faithfulness(steps: RowSteps, tally: Tally) -> Judgement:
    """Mean support of the answer's claims by the chunks."""
    verdicts = await support_of(steps, steps.row.answer or "", "answer claim", tally)
    if not verdicts:
        return _claimless("answer")
    return measured(*_supported("answer claim", verdicts), verdicts)


async def hallucination_rate(steps: RowSteps, tally: Tally) -> Judgement:
    """1 - share of the answer's claims that the chunks lack or contradict."""
    verdicts = await support_of(steps, steps.row.answer or "", "answer claim", tally)
    if not verdicts:
        return _claimless("answer")
    n_carried = sum(one.verdict in ("supported", "partial") for one in verdicts)
    _, explanation = _supported("answer claim", verdicts)
    return measured(n_carried / len(verdicts), f"{explanation} 1 means no hallucination.", verdicts)


async def context_recall(steps: RowSteps, tally: Tally) -> Judgement:
    """Mean support of a ground truth's claims by the chunks; of several, the best."""
    truths = steps.row.truths
    tasks = [support_of(steps, truth, "ground truth claim", tally) for truth in truths]
    known = [(place, found) for place, task in enumerate(tasks) if (found := await task)]
    if not known:
        return _claimless("ground truth")
    scored = [_supported("ground truth claim", verdicts) for _, verdicts in known]
    best = _best(scored)
    (place, verdicts), (score, explanation) = known[best], scored[best]
    return measured(score, explanation + _of_several(place, len(truths)), verdicts)


async def answer_relevance(steps: RowSteps, tally: Tally) -> Judgement:
    """Mean over the answer's statements: yes 1, partly 0.5, no 0; a refusal has 0."""
    fields: Fields = {"question": steps.row.question or "", "answer": steps.row.answer or ""}
    reply = await steps.ask(ANSWER_STATEMENTS, fields, tally, _no_statement)
    verdicts = [
        Verdict("statement", one.statement, one.verdict, one.reason) for one in reply.statements
    ]
    if reply.refusal:
        return measured(0.0, "The answer declines to answer.", verdicts)
    score, said = _counted(verdicts, ANSWERING)
    explanation = (
        f"{counted(len(verdicts), 'statement')} of the answer, judged against the question: {said}."
    )
    return measured(score, explanation, verdicts)


def _no_statement(reply: StatementsReply) -> str | None:
    if reply.statements or reply.refusal:
        return None
    return "it must list at least one statement of the answer"


def _supported(subject: Subject, verdicts: Sequence[Verdict]) -> tuple[float, str]:
    """Mean of verdicts on claims, supported 1, partial 0.5, others 0, and how it came about."""
    score, said = _counted(verdicts, SUPPORT)
    explanation = f"{counted(len(verdicts), subject)}, judged against the contexts: {said}."
    found = [one.quote_found for one in verdicts if one.quote_found is not None]
    if not all(found):
        missing = some_are(found.count(False), len(found), "quote")
        explanation += f" {missing} not in the contexts, which makes the verdicts less reliable."
    return score, explanation


def _counted(verdicts: Sequence[Verdict], labels: Sequence[str]) -> tuple[float, str]:
    """Mean of verdicts, the first label 1, the second 0.5, others 0, and how many have each."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    said = ", ".join(f"{counts[name]} {name}" for name in labels if counts[name])
    return (2 * counts[labels[0]] + counts[labels[1]]) / (2 * len(verdicts)), said


def _best(scored: Sequence[tuple[float, str]]) -> int:
    """Place of the first best score."""
    return max(range(len(scored)), key=lambda place: scored[place][0])


def _of_several(place: int, n_truths: int) -> str:
    """Which of several ground truths was used."""
    return f" Ground truth {place} of {n_truths}, counted from 0." if n_truths > 1 else ""


def _claimless(what: str) -> Judgement:
    return null(NullReason.NOTHING_TO_MEASURE, f"The {what} makes no claims.")


async def answer_correctness(steps: RowSteps, tally: Tally) -> Judgement:
    """F1 of the answer's claims and a ground truth's; of several ground truths, the best."""
    truths = steps.row.truths
    extracted = claims_of(steps, steps.row.answer or "", tally)
    tasks = [claims_of(steps, truth, tally) for truth in truths]
    answer_claims = await extracted
    truth_claims = [await task for task in tasks]
    claiming = [place for place, claims in enumerate(truth_claims) if claims]
    if not claiming:
        return _claimless("ground truth")
    if not answer_claims:
        return unasked_zero("The answer makes no claims, but the ground truth does.")
    found = await together(
        [_matched(steps, answer_claims, truth_claims[place], tally) for place in claiming]
    )
    scored = list(map(_f1, found))
    place = _best(scored)
    score, explanation = scored[place]
    return measured(score, explanation + _of_several(claiming[place], len(truths)), found[place])


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
    def sides(reply: MatchReply) -> Iterator[tuple[Subject, Sequence[str], Sequence[Any]]]:
        yield "answer claim", answer_claims, reply.answer_claims
        yield "ground truth claim", truth_claims, reply.ground_truth_claims

    def check(reply: MatchReply) -> str | None:
        for _, claims, verdicts in sides(reply):
            count_from_zero(verdicts, "claim", len(claims))
        complaints = (
            numbering_complaint((one.claim for one in verdicts), len(claims), subject)
            for subject, claims, verdicts in sides(reply)
        )
        return next(filter(None, complaints), None)

    fields: Fields = {
        "question": steps.row.asked,
        "answer_claim": answer_claims,
        "ground_truth_claim": truth_claims,
    }
    reply = await steps.ask(MATCH_CLAIMS, fields, tally, check)
    return [
        Verdict(subject, claims[one.claim], one.verdict, one.reason)
        for subject, claims, verdicts in sides(reply)
        for one in verdicts
    ]


def _f1(verdicts: Sequence[Verdict]) -> tuple[float, str]:
    """2 TP / (2 TP + FP + FN), and how it came about.

    TP are the answer's claims that the ground truth states, FP its others, FN the ground truth's
    claims that the answer lacks.
    """
    ours = [one.verdict for one in verdicts if one.subject == "answer claim"]
    theirs = [one.verdict for one in verdicts if one.subject == "ground truth claim"]
    hits, given = ours.count("yes"), theirs.count("yes")
    against = f", {ours.count('contradicted')} contradicted" if "contradicted" in ours else ""
    score = 2 * hits / (2 * hits + len(ours) - hits + len(theirs) - given)
    return score, (
        f"{some_are(hits, len(ours), 'answer claim')} in the ground truth{against}; "
        f"{some_are(given, len(theirs), 'ground truth claim')} in the answer."
    )
