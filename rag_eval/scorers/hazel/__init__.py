"""The scorers of HazelJS eval: answers against contexts and tools, and its judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.retrieval.ranked_lists import (
        RetrievalResult,
        evaluate_retrieval,
        mean_reciprocal_rank,
        ndcg_at_k,
        precision_at_k,
        recall_at_k,
    )
    from rag_eval.retrieval.word_overlap import answer_context_overlap
    from rag_eval.scorers.hazel.judge import (
        HazelJudgement,
        build_faithfulness_judge_prompt,
        build_relevance_judge_prompt,
        parse_judge_score,
    )
    from rag_eval.scorers.hazel.trajectory import (
        AgentTrajectory,
        tool_call_accuracy,
        trajectory_score,
    )

_HOMES: Final = {
    "rag_eval.retrieval.ranked_lists": (
        "RetrievalResult",
        "evaluate_retrieval",
        "mean_reciprocal_rank",
        "ndcg_at_k",
        "precision_at_k",
        "recall_at_k",
    ),
    "rag_eval.retrieval.word_overlap": ("answer_context_overlap",),
    "judge": (
        "HazelJudgement",
        "build_faithfulness_judge_prompt",
        "build_relevance_judge_prompt",
        "parse_judge_score",
    ),
    "trajectory": (
        "AgentTrajectory",
        "tool_call_accuracy",
        "trajectory_score",
    ),
}

__all__ = [
    "AgentTrajectory",
    "HazelJudgement",
    "RetrievalResult",
    "answer_context_overlap",
    "build_faithfulness_judge_prompt",
    "build_relevance_judge_prompt",
    "evaluate_retrieval",
    "mean_reciprocal_rank",
    "ndcg_at_k",
    "parse_judge_score",
    "precision_at_k",
    "recall_at_k",
    "tool_call_accuracy",
    "trajectory_score",
]

__getattr__ = late_names(__name__, _HOMES)
