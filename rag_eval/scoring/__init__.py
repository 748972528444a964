"""Plan and blocks -> scored and judged blocks -> results: ``evaluate`` and ``evaluate_batch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.scoring.evaluation import (
        Evaluator,
        aevaluate,
        aevaluate_batch,
        compute_metric,
        create_evaluator,
        evaluate,
        evaluate_batch,
        score_answer_correctness,
        score_answer_relevance,
        score_context_precision,
        score_context_recall,
        score_context_relevance,
        score_faithfulness,
        score_hallucination_rate,
    )

_HOMES: Final = {
    "evaluation": (
        "Evaluator",
        "aevaluate",
        "aevaluate_batch",
        "compute_metric",
        "create_evaluator",
        "evaluate",
        "evaluate_batch",
        "score_answer_correctness",
        "score_answer_relevance",
        "score_context_precision",
        "score_context_recall",
        "score_context_relevance",
        "score_faithfulness",
        "score_hallucination_rate",
    ),
}

__all__ = [
    "Evaluator",
    "aevaluate",
    "aevaluate_batch",
    "compute_metric",
    "create_evaluator",
    "evaluate",
    "evaluate_batch",
    "score_answer_correctness",
    "score_answer_relevance",
    "score_context_precision",
    "score_context_recall",
    "score_context_relevance",
    "score_faithfulness",
    "score_hallucination_rate",
]

__getattr__ = late_names(__name__, _HOMES)
