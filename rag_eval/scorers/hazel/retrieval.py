"""HazelJS's retrieval measures and word overlap as scorers.  In: fields of a sample.  Out: scores.

The numbers are those of :mod:`rag_eval.retrieval`; what has no relevant document, or no word, has
no score in place of 0 or 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.plumbing.checked_values import one_of, whole_from_one

_NO_RELEVANT: Final = "relevant_ids contains no relevant document"


def _precision_at_k(*, k: int = 5, denominator: Any = "returned") -> Scorer:
    from rag_eval.retrieval.ranked_lists import DENOMINATORS, precision_at_k

    one_of(denominator, "denominator", DENOMINATORS)
    return _scorer(functools.partial(precision_at_k, denominator=denominator), k)


def _recall_at_k(*, k: int = 5) -> Scorer:
    from rag_eval.retrieval.ranked_lists import recall_at_k

    return _scorer(recall_at_k, k)


def _ndcg_at_k(*, k: int = 5) -> Scorer:
    from rag_eval.retrieval.ranked_lists import ndcg_at_k

    return _scorer(ndcg_at_k, k)


def _mrr() -> Scorer:
    from rag_eval.retrieval.ranked_lists import mean_reciprocal_rank

    return _scorer(mean_reciprocal_rank)


def _scorer(measure: Callable[..., float], k: int | None = None) -> Scorer:
    cutoff = () if k is None else (whole_from_one(k, "k"),)

    def score(fields: Fields) -> Scored:
        retrieved, relevant = fields["retrieved_ids"], _relevant(fields["relevant_ids"])
        # Ids are checked by the measure, before anything is said of them.
        found = measure(retrieved, relevant, *cutoff)
        if not relevant:
            return Scored.nothing(_NO_RELEVANT)
        first, wanted = list(retrieved)[:k], set(relevant)
        of = f"{len(first)} retrieved" if k is None else f"first {k}"
        n_hits = len(wanted.intersection(first))
        return Scored(
            found, explanation=f"{n_hits} of {len(wanted)} relevant documents in the {of}."
        )

    return Scorer(score)


def _relevant(given: Any) -> list[Any]:
    """Relevant ids; of grades by id those above 0."""
    from rag_eval.retrieval.id_lists import check_relevant, whole_grades

    check_relevant(given)
    if not isinstance(given, Mapping):
        return list(given)
    grades = whole_grades(given.values(), "relevant_ids")
    return [document for document, grade in zip(given, grades, strict=True) if grade > 0]


def _word_overlap(fields: Fields) -> Scored:
    from rag_eval.retrieval.word_overlap import long_words

    words = long_words(fields["answer"])
    if not words:
        return Scored.nothing("the answer has no words of at least three characters")
    missing = words - long_words("\n".join(fields["contexts"]))
    n_found = len(words) - len(missing)
    return Scored(
        n_found / len(words),
        explanation=f"{n_found} of {len(words)} words of the answer are in the contexts.",
    )


_SOURCE: Final = "HazelJS @hazeljs/eval, commit 56f3b90"
_RETRIEVAL: Final[dict[str, Any]] = {
    "fields": ("retrieved_ids", "relevant_ids"),
    "cost": "python",
    "source": _SOURCE,
    "null_when": "there is no relevant document",
    "version": 2,
}

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id="hazel.precision_at_k",
        summary="Share of relevant documents among the first k retrieved, or among all if "
        "fewer were retrieved",
        create=_precision_at_k,
        options={"k": 5, "denominator": "returned"},
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.recall_at_k",
        summary="Share of the relevant documents that are among the first k",
        create=_recall_at_k,
        options={"k": 5},
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.mrr",
        summary="Reciprocal rank of the first relevant document; 0 if none was retrieved",
        create=_mrr,
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.ndcg_at_k",
        summary="Discounted cumulative gain of the first k, divided by the highest possible",
        create=_ndcg_at_k,
        options={"k": 5},
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.answer_context_overlap",
        summary="Share of the answer's distinct words of at least three characters that are in "
        "the contexts",
        create=lambda: Scorer(_word_overlap),
        fields=("answer", "contexts"),
        cost="python",
        source=_SOURCE,
        null_when="the answer has no such words",
    ),
)
