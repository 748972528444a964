"""Contracts of HazelJS's scorers of retrieval and of words."""

from __future__ import annotations

from typing import Any, Final

from rag_eval.metrics.contract import Metric
from rag_eval.scorers.hazel import retrieval

_SOURCE: Final = "HazelJS @hazeljs/eval, commit 56f3b90"
_RETRIEVAL: Final[dict[str, Any]] = {
    "fields": ("retrieved_ids", "relevant_ids"),
    "cost": "python",
    "source": _SOURCE,
    "null_when": "there is no relevant document",
}

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id="hazel.precision_at_k",
        summary="Share of relevant documents among the first k, or among all where fewer came",
        create=retrieval.create_precision_at_k,
        options={"k": 5, "denominator": "returned"},
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.recall_at_k",
        summary="Share of the relevant documents that the first k hold",
        create=retrieval.create_recall_at_k,
        options={"k": 5},
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.mrr",
        summary="One over the place of the first relevant document, 0 where none was retrieved",
        create=retrieval.create_mrr,
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.ndcg_at_k",
        summary="Discounted hits of the first k over the most there could be",
        create=retrieval.create_ndcg_at_k,
        options={"k": 5},
        **_RETRIEVAL,
    ),
    Metric(
        id="hazel.answer_context_overlap",
        summary="Share of the answer's distinct words of three characters or more in the contexts",
        create=retrieval.create_answer_context_overlap,
        fields=("answer", "contexts"),
        cost="python",
        source=_SOURCE,
        null_when="the answer has no such word",
    ),
)
