"""HazelJS's retrieval measures.  In: retrieved and relevant ids of one query.  Out: numbers.

They follow ``@hazeljs/eval``: an id that was retrieved twice takes two places, and precision counts
both. But nDCG, which exceeds 1 there by repeating an id, gains by its first place alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import one_of, whole_from_one
from rag_eval.plumbing.javascript_numbers import plain_sum
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.retrieval.id_lists import DocId, common_kind, id_kind

Denominator: TypeAlias = Literal["returned", "k"]
"""What precision divides by: k or, where fewer were returned, their number; or always k."""

DENOMINATORS: Final[tuple[Denominator, ...]] = ("returned", "k")


@dataclass(frozen=True, slots=True)
class RetrievalResult(JsonRecord):
    """The four measures of one query, each from 0 to 1."""

    precision_at_k: float
    recall_at_k: float
    mrr: float
    ndcg_at_k: float


def precision_at_k(
    retrieved_ids: Sequence[DocId],
    relevant_ids: Collection[DocId],
    k: int,
    *,
    denominator: Denominator = "returned",
) -> float:
    """Share of the first k that are relevant.

    Parameters
    ----------
    retrieved_ids : sequence of str or int
        Best first.
    relevant_ids : collection of str or int
        In any order.
    k : int
        From 1 on.
    denominator : {"returned", "k"}
        Whether the precision of a list shorter than k is divided by its length, as in HazelJS, or
        by k, as in trec_eval.

    Returns
    -------
    float
        From 0 to 1; 0 if nothing was retrieved or nothing is relevant.

    Raises
    ------
    InputError
        If ids are not lists, or neither all strings nor all whole numbers, or k is below 1.
    """
    one_of(denominator, "denominator", DENOMINATORS)
    found, relevant = _first(retrieved_ids, relevant_ids, k)
    n_places = k if denominator == "k" else len(found)
    return sum(item in relevant for item in found) / n_places if n_places else 0.0


def recall_at_k(retrieved_ids: Sequence[DocId], relevant_ids: Collection[DocId], k: int) -> float:
    """Share of the relevant documents among the first k; 1 if nothing is relevant, as in HazelJS.

    Parameters and errors are those of :func:`precision_at_k`.
    """
    found, relevant = _first(retrieved_ids, relevant_ids, k)
    return len(relevant.intersection(found)) / len(relevant) if relevant else 1.0


def mean_reciprocal_rank(retrieved_ids: Sequence[DocId], relevant_ids: Collection[DocId]) -> float:
    """Reciprocal rank of the first relevant document; 0 if there is none.

    Parameters and errors are those of :func:`precision_at_k`. HazelJS calls it a mean, although it
    covers one query.
    """
    found, relevant = _first(retrieved_ids, relevant_ids, None)
    return next((1.0 / place for place, item in enumerate(found, 1) if item in relevant), 0.0)


def ndcg_at_k(retrieved_ids: Sequence[DocId], relevant_ids: Collection[DocId], k: int) -> float:
    """Discounted gain of the first k divided by the highest possible; 0 if nothing is relevant.

    Gains are 0 and 1, or 0 for an id that was retrieved before, and the discount of place i is
    log2(i + 1). Parameters and errors are those of :func:`precision_at_k`.
    """
    found, relevant = _first(retrieved_ids, relevant_ids, k)
    first_places = {item: i for i, item in reversed([*enumerate(found)]) if item in relevant}
    gained = plain_sum(1.0 / math.log2(i + 2) for i in sorted(first_places.values()))
    ideal = (
        plain_sum(1.0 / math.log2(i + 2) for i in range(min(k, len(relevant)))) if gained else 1.0
    )
    return gained / ideal


def evaluate_retrieval(
    query: str,
    retrieved_ids: Sequence[DocId],
    relevant_ids: Collection[DocId],
    k: int = 5,
    *,
    denominator: Denominator = "returned",
) -> RetrievalResult:
    """Precision, recall and nDCG at k, and the reciprocal rank over all retrieved documents.

    Parameters
    ----------
    query : str
        The query; it does not affect the numbers.
    retrieved_ids, relevant_ids, k, denominator
        As for :func:`precision_at_k`.
    """
    if not isinstance(query, str):
        raise InputError(f"query must be a string, got {type(query).__name__}")
    return RetrievalResult(
        precision_at_k(retrieved_ids, relevant_ids, k, denominator=denominator),
        recall_at_k(retrieved_ids, relevant_ids, k),
        mean_reciprocal_rank(retrieved_ids, relevant_ids),
        ndcg_at_k(retrieved_ids, relevant_ids, k),
    )


def _first(
    retrieved_ids: Sequence[DocId], relevant_ids: Collection[DocId], k: int | None
) -> tuple[list[DocId], frozenset[DocId]]:
    """The first k ids, checked, and the relevant ones."""
    if not isinstance(retrieved_ids, (list, tuple)):
        raise InputError(f"retrieved_ids must be a list, got {type(retrieved_ids).__name__}")
    if not isinstance(relevant_ids, (list, tuple, Set)):
        raise InputError(f"relevant_ids must be a list, got {type(relevant_ids).__name__}")
    common_kind(
        id_kind(retrieved_ids, "retrieved_ids"),
        "retrieved_ids",
        id_kind(relevant_ids, "relevant_ids"),
        "relevant_ids",
    )
    first = None if k is None else whole_from_one(k, "k")
    return list(retrieved_ids[:first]), frozenset(relevant_ids)
