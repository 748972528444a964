"""One number from 1 to 5 for a whole row, and its score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Final

import msgspec

from rag_eval.judge.metrics.expected_ratings import expected_rating
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement, RowSteps, Verdict, measured
from rag_eval.judge.replies import JudgeReply, Tally
from rag_eval.judge.steps import Fields, FieldValue, Step

LOWEST: Final = 1
HIGHEST: Final = 5
_ALLOWED: Final = list(range(LOWEST, HIGHEST + 1))


class RatingReply(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A reason and a rating."""

    # Not asked for: it is computed from the reply's tokens.
    OURS: ClassVar = ("expected",)

    reason: str = ""
    rating: Annotated[int, msgspec.Meta(extra_json_schema={"enum": _ALLOWED})]
    expected: float | None = None

    def __post_init__(self) -> None:
        if self.rating not in _ALLOWED:
            raise ValueError(f"a rating must be a whole number from {LOWEST} to {HIGHEST}")
        if self.expected is not None and not LOWEST <= self.expected <= HIGHEST:
            raise ValueError(f"an expected rating must be from {LOWEST} to {HIGHEST}")


def _imagined(_: Fields) -> RatingReply:
    reason = "The answer gives the main point; one of its details is not in the texts given."
    return RatingReply(reason=reason, rating=4)


def _weighed(value: RatingReply, reply: JudgeReply) -> RatingReply:
    return msgspec.structs.replace(value, expected=expected_rating(reply.tokens))


def _unweighed(value: RatingReply, reply: JudgeReply) -> RatingReply:
    return msgspec.structs.replace(value, expected=None)


def rating_step(name: str, *, is_weighed: bool) -> Step[RatingReply]:
    """The step of a prompt that asks for a rating, weighted where a reply tells its tokens."""
    return Step(name, RatingReply, _imagined, weighed=_weighed if is_weighed else _unweighed)


def score_of(rating: float) -> float:
    """1 to 5 -> 0 to 1; 3, the middle, is 0.5."""
    return (rating - LOWEST) / (HIGHEST - LOWEST)


_READ: Final[dict[str, Callable[[JudgedRow], FieldValue]]] = {
    "question": lambda row: row.asked,
    "answer": lambda row: row.answer or "",
    "chunk": lambda row: row.chunks,
    "ground_truth": lambda row: row.truths,
    # What an answer is compared with: the ground truths, or else the chunks as one text.
    "reference": lambda row: row.truths or ["\n\n".join(row.chunks)],
}
"""Per variable of a prompt the text of a row."""


async def rated(step: Step[RatingReply], steps: RowSteps, tally: Tally) -> Judgement:
    """The judge's rating as a score."""
    fields = {name: _READ[name](steps.row) for name in step.template.variables}
    reply = await steps.ask(step, fields, tally)
    verdict = Verdict("row", "", str(reply.rating), reply.reason)
    rating: float = reply.rating if reply.expected is None else reply.expected
    weighted = "" if reply.expected is None else f" ({rating:.2f} weighted by log-probabilities)"
    explanation = f"Rated {reply.rating} of {HIGHEST}{weighted}: {reply.reason}".rstrip(" :")
    return measured(score_of(rating), explanation, [verdict])
