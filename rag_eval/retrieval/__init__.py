"""Rankings against what is relevant: measures as in trec_eval, by the compiled kernel."""

from __future__ import annotations

from rag_eval.metrics.measure_names import Measure
from rag_eval.retrieval.measures import parse_measure
from rag_eval.retrieval.ranked_lists import (
    RetrievalResult,
    evaluate_retrieval,
    mean_reciprocal_rank,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)
from rag_eval.retrieval.rankings import (
    RankingMean,
    RankingScores,
    evaluate_arrays,
    evaluate_rankings,
)
from rag_eval.retrieval.trec_files import read_qrels, read_run, write_run
from rag_eval.retrieval.word_overlap import answer_context_overlap

__all__ = [
    "Measure",
    "RankingMean",
    "RankingScores",
    "RetrievalResult",
    "answer_context_overlap",
    "evaluate_arrays",
    "evaluate_rankings",
    "evaluate_retrieval",
    "mean_reciprocal_rank",
    "ndcg_at_k",
    "parse_measure",
    "precision_at_k",
    "read_qrels",
    "read_run",
    "recall_at_k",
    "write_run",
]
