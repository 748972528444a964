"""One number from 1 to 5 for a whole row, and its score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Final

import msgspec

from rag_eval.judge.asking import Tally
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement, Verdict, measured
from rag_eval.judge.metrics.row_steps import RowSteps
from rag_eval.judge.steps import Fields, FieldValue, Step

LOWEST: Final = 1
HIGHEST: Final = 5
_ALLOWED: Final = list(range(LOWEST, HIGHEST + 1))


class RatingReply(msgspec.Struct, kw_only=True):
    """A reason and a rating."""

    reason: str = ""
    rating: Annotated[int, msgspec.Meta(extra_json_schema={"enum": _ALLOWED})]

    def __post_init__(self) -> None:
        if self.rating not in _ALLOWED:
            raise ValueError(f"a rating must be a whole number from {LOWEST} to {HIGHEST}")


def _imagined(_: Fields) -> RatingReply:
    reason = "The answer gives the main point; one of its details is not in the texts given."
    return RatingReply(reason=reason, rating=4)


def rating_step(name: str) -> Step[RatingReply]:
    """The step of a prompt that asks for a rating."""
    return Step(name, RatingReply, _imagined)


def score_of(rating: float) -> float:
    """1 to 5 -> 0 to 1; 3, the middle, is 0.5."""
    return (rating - LOWEST) / (HIGHEST - LOWEST)


_READ: Final[dict[str, Callable[[JudgedRow], FieldValue]]] = {
    "question": lambda row: row.asked,
    "answer": lambda row: row.answer or "",
    "chunk": lambda row: row.chunks,
    "ground_truth": lambda row: row.truths,
    "reference": lambda row: references(row),
}


def references(row: JudgedRow) -> list[str]:
    """What an answer is held against: the ground truths, or else the chunks as one text."""
    return row.truths or ["\n\n".join(row.chunks)]


@dataclass(frozen=True, slots=True)
class RatedMetric:
    """A metric that is one rating.

    Attributes
    ----------
    step : Step
    reads : tuple of str
        The texts its prompt takes.
    """

    step: Step[RatingReply]
    reads: tuple[str, ...]

    async def __call__(self, steps: RowSteps, tally: Tally) -> Judgement:
        """The judge's rating as a score."""
        fields = {name: _READ[name](steps.row) for name in self.reads}
        reply = await steps.ask(self.step, fields, tally)
        verdict = Verdict("row", "", str(reply.rating), reply.reason)
        explanation = f"Rated {reply.rating} of {HIGHEST}: {reply.reason}".rstrip(" :")
        return measured(score_of(reply.rating), explanation, [verdict])


def _rated(name: str, *reads: str) -> RatedMetric:
    return RatedMetric(rating_step(name), reads)


RATINGS: Final[Mapping[str, RatedMetric]] = MappingProxyType(
    {
        "faithfulness": _rated("rating/faithfulness", "question", "answer", "chunk"),
        "answer_relevance": _rated("rating/answer_relevance", "question", "answer"),
        "context_precision": _rated(
            "rating/context_precision", "question", "ground_truth", "chunk"
        ),
        "context_recall": _rated("rating/context_recall", "question", "ground_truth", "chunk"),
        "context_relevance": _rated("rating/context_relevance", "question", "chunk"),
        "answer_correctness": _rated(
            "rating/answer_correctness", "question", "ground_truth", "answer"
        ),
        "hallucination_rate": _rated("rating/hallucination_rate", "question", "answer", "chunk"),
    }
)

OMK_RATINGS: Final[Mapping[str, RatedMetric]] = MappingProxyType(
    {
        "omk.faithfulness": _rated("omk/faithfulness", "reference", "answer"),
        "omk.answer_relevancy": _rated("omk/answer_relevancy", "question", "answer"),
        "omk.context_recall": _rated("omk/context_recall", "reference", "answer"),
        "omk.semantic_similarity": _rated("omk/semantic_similarity", "reference", "answer"),
    }
)
