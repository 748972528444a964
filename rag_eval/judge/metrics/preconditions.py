"""Rows that need no judge: what a metric gives where a text is missing or holds no word.

The rules are those of the grounded profile, so that a score that is null there is null here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from rag_eval.judge.metrics.judgements import (
    JudgedRow,
    Judgement,
    has_word,
    null,
    unasked_zero,
)
from rag_eval.samples import NullReason

Precondition: TypeAlias = Callable[[JudgedRow], "Judgement | None"]


def settled(metric: str, row: JudgedRow) -> Judgement | None:
    """What a metric gives without a judge; None where one has to be asked."""
    for precondition in _PRECONDITIONS[metric]:
        found = precondition(row)
        if found is not None:
            return found
    return None


def _question(row: JudgedRow) -> Judgement | None:
    return _lacking("question", row.question is None, has_word(row.question or ""))


def _answer(row: JudgedRow) -> Judgement | None:
    return _lacking("answer", row.answer is None, has_word(row.answer or ""))


def _answer_or_zero(row: JudgedRow) -> Judgement | None:
    if row.answer is not None and not has_word(row.answer):
        return unasked_zero("The answer holds no word.")
    return _answer(row)


def _truth(row: JudgedRow) -> Judgement | None:
    return _lacking("ground truth", not any(row.ground_truths), bool(row.truths))


def _contexts(row: JudgedRow) -> Judgement | None:
    if row.contexts is None:
        return null(NullReason.MISSING_FIELD, "No contexts given.")
    if not any(map(has_word, row.contexts)):
        return unasked_zero("The contexts hold no word: nothing can carry the text.")
    return None


def _reference(row: JudgedRow) -> Judgement | None:
    if row.truths:
        return None
    if row.contexts is None:
        return null(NullReason.MISSING_FIELD, "No ground truth and no contexts given.")
    return _contexts(row)


def _lacking(what: str, is_missing: bool, holds_a_word: bool) -> Judgement | None:
    if holds_a_word:
        return None
    reason = NullReason.MISSING_FIELD if is_missing else NullReason.NOTHING_TO_MEASURE
    return null(reason, f"No {what} with a word to evaluate.")


_PRECONDITIONS: Final[dict[str, tuple[Precondition, ...]]] = {
    "faithfulness": (_answer, _contexts),
    "answer_relevance": (_question, _answer_or_zero),
    "context_precision": (_question, _contexts),
    "context_recall": (_truth, _contexts),
    "context_relevance": (_question, _contexts),
    "answer_correctness": (_truth, _answer_or_zero),
    "hallucination_rate": (_answer, _contexts),
    "omk.faithfulness": (_answer, _reference),
    "omk.answer_relevancy": (_question, _answer_or_zero),
    "omk.context_recall": (_reference, _answer_or_zero),
    "omk.semantic_similarity": (_reference, _answer_or_zero),
}
