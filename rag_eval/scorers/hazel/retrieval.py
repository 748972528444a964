"""HazelJS's retrieval measures and word overlap as scorers.  In: fields of a sample.  Out: scores.

The numbers are those of :mod:`rag_eval.retrieval`; what has no relevant document, or no word, has
no score in place of 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rag_eval.metrics.contract import Fields, Scored, Scorer
from rag_eval.plumbing.checked_values import one_of, whole_from_one

_NO_RELEVANT: Final = "relevant_ids holds no relevant document"

_Measure: TypeAlias = "Callable[[Any, Any], float]"


def create_precision_at_k(*, k: int = 5, denominator: str = "returned") -> Scorer:
    """``hazel.precision_at_k``."""
    from rag_eval.retrieval.ranked_lists import DENOMINATORS, precision_at_k

    whole_from_one(k, "k")
    one_of(denominator, "denominator", DENOMINATORS)
    return _scorer(
        lambda retrieved, relevant: precision_at_k(
            retrieved,
            relevant,
            k,
            denominator=denominator,  # type: ignore[arg-type]
        ),
        k,
    )


def create_recall_at_k(*, k: int = 5) -> Scorer:
    """``hazel.recall_at_k``."""
    from rag_eval.retrieval.ranked_lists import recall_at_k

    whole_from_one(k, "k")
    return _scorer(lambda retrieved, relevant: recall_at_k(retrieved, relevant, k), k)


def create_mrr() -> Scorer:
    """``hazel.mrr``."""
    from rag_eval.retrieval.ranked_lists import mean_reciprocal_rank

    return _scorer(mean_reciprocal_rank, None)


def create_ndcg_at_k(*, k: int = 5) -> Scorer:
    """``hazel.ndcg_at_k``."""
    from rag_eval.retrieval.ranked_lists import ndcg_at_k

    whole_from_one(k, "k")
    return _scorer(lambda retrieved, relevant: ndcg_at_k(retrieved, relevant, k), k)


def create_answer_context_overlap() -> Scorer:
    """``hazel.answer_context_overlap``."""
    return Scorer(_word_overlap)


def _scorer(measure: _Measure, k: int | None) -> Scorer:
    def score(fields: Fields) -> Scored:
        retrieved, relevant = fields["retrieved_ids"], _relevant(fields["relevant_ids"])
        # Ids are checked by the measure, before anything is said of them.
        found = measure(retrieved, relevant)
        if not relevant:
            return Scored.nothing(_NO_RELEVANT)
        distinct, wanted = list(dict.fromkeys(retrieved))[:k], set(relevant)
        of = f"{len(distinct)} retrieved" if k is None else f"first {k}"
        n_hits = len(wanted.intersection(distinct))
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
        return Scored.nothing("the answer has no word of three characters or more")
    missing = words - long_words("\n".join(fields["contexts"]))
    n_found = len(words) - len(missing)
    return Scored(
        n_found / len(words),
        explanation=f"{n_found} of {len(words)} words of the answer are in the contexts.",
    )
