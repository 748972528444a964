"""Chunks to yes or no, and the scores that count them: share and average precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from rag_eval.judge.metrics.imagining import REASON, texts_of
from rag_eval.judge.metrics.judgements import Judgement, RowSteps, Verdict, measured
from rag_eval.judge.metrics.replies import (
    YES_NO,
    YesNoLabel,
    label,
    one_each,
    verdicts_on,
)
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Fields, Step
from rag_eval.plumbing.spelling import some_are


class ChunkVerdict(msgspec.Struct, kw_only=True):
    """The verdict on one chunk."""

    chunk: int
    reason: str = ""
    verdict: YesNoLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, YES_NO)


class ChunksReply(msgspec.Struct):
    """The verdicts on a list of chunks."""

    verdicts: list[ChunkVerdict]


def _imagined(fields: Fields) -> ChunksReply:
    numbers = range(len(texts_of(fields, "chunk")))
    return ChunksReply([ChunkVerdict(chunk=n, reason=REASON, verdict="yes") for n in numbers])


_LENGTHS: Final = one_each(verdicts="chunk")
RELEVANT_CHUNKS: Final = Step("relevant_chunks", ChunksReply, _imagined, lengths=_LENGTHS)
USEFUL_CHUNKS: Final = Step("useful_chunks", ChunksReply, _imagined, lengths=_LENGTHS)


async def context_relevance(steps: RowSteps, tally: Tally) -> Judgement:
    """Share of the chunks that are relevant to the question."""
    fields: Fields = {"question": steps.row.question or ""}
    verdicts = await _judged(steps, RELEVANT_CHUNKS, fields, tally)
    n_relevant = sum(_hits(verdicts))
    explanation = f"{some_are(n_relevant, len(verdicts), 'context')} relevant to the question."
    return measured(n_relevant / len(verdicts), explanation, verdicts)


async def context_precision(steps: RowSteps, tally: Tally) -> Judgement:
    """Average precision of the chunks' order, by their use for arriving at the ground truth."""
    truths = steps.row.truths
    fields: Fields = {"question": steps.row.question or "", "ground_truth": truths}
    verdicts = await _judged(steps, USEFUL_CHUNKS, fields, tally)
    hits = _hits(verdicts)
    useful_for = "arriving at the ground truth" if truths else "answering the question"
    explanation = (
        f"{some_are(sum(hits), len(hits), 'context')} useful for {useful_for}; "
        "the order of the contexts counts."
    )
    return measured(average_precision(hits), explanation, verdicts)


def average_precision(hits: Sequence[bool]) -> float:
    """Mean over the hits of the share of hits up to there; 0 without any."""
    total, n_hits = 0.0, 0
    for rank, hit in enumerate(hits, start=1):
        if hit:
            n_hits += 1
            total += n_hits / rank
    return total / n_hits if n_hits else 0.0


def _hits(verdicts: Sequence[Verdict]) -> list[bool]:
    return [verdict.verdict == "yes" for verdict in verdicts]


async def _judged(
    steps: RowSteps, step: Step[ChunksReply], fields: Fields, tally: Tally
) -> list[Verdict]:
    found = await verdicts_on(steps, step, fields, "chunk", steps.row.chunks, tally)
    return [
        Verdict("chunk", "", one.verdict, one.reason, place) for place, (_, one) in enumerate(found)
    ]
