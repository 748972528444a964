"""Contracts of omk's text metrics: the answer against the ground truth, of several the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer, truths_of
from rag_eval.plumbing.checked_values import whole_from_one
from rag_eval.samples import NullReason

_SOURCE: Final = "omk 0.54"
_FIELDS: Final = ("answer", "ground_truth")


def _create_rouge_n(n: int = 1) -> Scorer:
    whole_from_one(n, "n")

    def score(fields: Fields) -> Scored:
        from rag_eval.scorers.omk.text_metrics import rouge_n, tokens_of

        truths = [truth for truth in truths_of(fields) if len(tokens_of(truth)) >= n]
        if not truths:
            return Scored.nothing(f"the ground truth has fewer than {n} tokens")
        best = max(rouge_n(fields["answer"], truth, n) for truth in truths)
        return Scored(best, explanation=f"ROUGE-{n} recall {best:.3f}")

    return Scorer(score)


def _create_bleu() -> Scorer:
    def score(fields: Fields) -> Scored:
        from rag_eval.scorers.omk.text_metrics import bleu, tokens_of

        truths = [truth for truth in truths_of(fields) if tokens_of(truth)]
        if not truths:
            return Scored.nothing("the ground truth has no token")
        best = max(bleu(fields["answer"], truth) for truth in truths)
        return Scored(best, explanation=f"BLEU {best:.3f}")

    return Scorer(score)


def _create_levenshtein() -> Scorer:
    def score(fields: Fields) -> Scored:
        from rag_eval.scorers.omk.text_metrics import levenshtein

        best = min(levenshtein(fields["answer"], truth) for truth in truths_of(fields))
        return Scored(float(best), explanation=f"{best} edits from the ground truth")

    return Scorer(score, _distances)


def _distances(rows: Sequence[Fields]) -> Column:
    """All pairs through the kernel at once, and the least of each row."""
    import numpy as np

    from rag_eval.kernels.similarity import levenshteins

    truths = [truths_of(row) for row in rows]
    answers = [row["answer"] for row, own in zip(rows, truths, strict=True) for _ in own]
    distances = levenshteins(answers, [truth for own in truths for truth in own])
    scores = np.full(len(rows), np.nan)
    owners = np.repeat(np.arange(len(rows)), [len(own) for own in truths])
    np.fmin.at(scores, owners, distances.astype(np.float64))
    return scores, np.full(len(rows), NullReason.MEASURED, dtype=np.uint8)


def _spec(name: str, summary: str, create: Callable[..., Scorer], **rest: Any) -> Metric:
    return Metric(
        id=f"omk.{name}",
        summary=summary,
        create=create,
        fields=_FIELDS,
        source=_SOURCE,
        **rest,
    )


TEXT_SPECS: Final = (
    _spec(
        "rouge_n",
        "Share of the ground truth's n-grams that the answer has",
        _create_rouge_n,
        options={"n": 1},
        threshold=0.5,
        cost="python",
        null_when="the ground truth has fewer than n tokens",
    ),
    _spec(
        "bleu",
        "Precision of the answer's n-grams for n of 1 to 4, less for short answers",
        _create_bleu,
        threshold=0.5,
        cost="python",
        null_when="the ground truth has no token",
    ),
    _spec(
        "levenshtein",
        "Characters to insert, delete or replace to make the ground truth of the answer",
        _create_levenshtein,
        higher_is_better=False,
        range=(0.0, float("inf")),
    ),
)
