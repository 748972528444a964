"""Mastra's scorers, quick checks and trajectories under its own names: a run in, a result out.

Scores follow @mastra/evals 1.1.1, and 1.10.2 where a scorer is newer. Those that ask a judge differ
in this: scores are not rounded; partial options leave the other defaults; a scale must be above 0;
verdicts are compared trimmed and in lower case; a reply that leaves out verdicts is no verdict; and
what cannot be measured has no score instead of the best or the worst one. Where the others differ
is said where they are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.scorers.mastra.answer_relevancy import create_answer_relevancy_scorer
    from rag_eval.scorers.mastra.answer_similarity import create_answer_similarity_scorer
    from rag_eval.scorers.mastra.bias import create_bias_scorer
    from rag_eval.scorers.mastra.checks import (
        create_called_tool_check,
        create_did_not_call_check,
        create_equals_check,
        create_excludes_check,
        create_includes_check,
        create_matches_check,
        create_max_tool_calls_check,
        create_no_tool_errors_check,
        create_similarity_check,
        create_tool_order_check,
        create_used_no_tools_check,
    )
    from rag_eval.scorers.mastra.code_scorer import CodeScorer
    from rag_eval.scorers.mastra.completeness import create_completeness_scorer
    from rag_eval.scorers.mastra.content_similarity import create_content_similarity_scorer
    from rag_eval.scorers.mastra.context_precision import create_context_precision_scorer
    from rag_eval.scorers.mastra.context_recall import create_context_recall_scorer
    from rag_eval.scorers.mastra.context_relevance import create_context_relevance_scorer_llm
    from rag_eval.scorers.mastra.faithfulness import create_faithfulness_scorer
    from rag_eval.scorers.mastra.hallucination import create_hallucination_scorer
    from rag_eval.scorers.mastra.judged_specs import MASTRA_SCORERS, MastraSpec
    from rag_eval.scorers.mastra.keyword_coverage import create_keyword_coverage_scorer
    from rag_eval.scorers.mastra.multi_turn import create_multi_turn_judge_scorer
    from rag_eval.scorers.mastra.noise_sensitivity import create_noise_sensitivity_scorer_llm
    from rag_eval.scorers.mastra.prompt_alignment import create_prompt_alignment_scorer_llm
    from rag_eval.scorers.mastra.rubric import create_rubric_scorer
    from rag_eval.scorers.mastra.runs import RunError, run_of_sample
    from rag_eval.scorers.mastra.scorer import MastraResult, MastraScorer
    from rag_eval.scorers.mastra.summarization import create_summarization_scorer
    from rag_eval.scorers.mastra.textual_difference import create_textual_difference_scorer
    from rag_eval.scorers.mastra.tone_consistency import create_tone_consistency_scorer
    from rag_eval.scorers.mastra.tool_call_accuracy import create_tool_call_accuracy_scorer_llm
    from rag_eval.scorers.mastra.tool_call_accuracy_code import (
        create_tool_call_accuracy_scorer_code,
    )
    from rag_eval.scorers.mastra.toxicity import create_toxicity_scorer
    from rag_eval.scorers.mastra.trajectory_accuracy import create_trajectory_accuracy_scorer_llm
    from rag_eval.scorers.mastra.trajectory_accuracy_code import (
        create_trajectory_accuracy_scorer_code,
    )
    from rag_eval.scorers.mastra.trajectory_checks import (
        analyze_tool_failures,
        check_trajectory_blacklist,
        check_trajectory_efficiency,
    )
    from rag_eval.scorers.mastra.trajectory_comparison import compare_trajectories
    from rag_eval.scorers.mastra.trajectory_steps import extract_trajectory
    from rag_eval.scorers.mastra.trajectory_unified import create_trajectory_scorer_code

_HOMES: Final = {
    "answer_relevancy": ("create_answer_relevancy_scorer",),
    "answer_similarity": ("create_answer_similarity_scorer",),
    "bias": ("create_bias_scorer",),
    "checks": (
        "create_called_tool_check",
        "create_did_not_call_check",
        "create_equals_check",
        "create_excludes_check",
        "create_includes_check",
        "create_matches_check",
        "create_max_tool_calls_check",
        "create_no_tool_errors_check",
        "create_similarity_check",
        "create_tool_order_check",
        "create_used_no_tools_check",
    ),
    "code_scorer": ("CodeScorer",),
    "completeness": ("create_completeness_scorer",),
    "content_similarity": ("create_content_similarity_scorer",),
    "context_precision": ("create_context_precision_scorer",),
    "context_recall": ("create_context_recall_scorer",),
    "context_relevance": ("create_context_relevance_scorer_llm",),
    "faithfulness": ("create_faithfulness_scorer",),
    "hallucination": ("create_hallucination_scorer",),
    "keyword_coverage": ("create_keyword_coverage_scorer",),
    "multi_turn": ("create_multi_turn_judge_scorer",),
    "noise_sensitivity": ("create_noise_sensitivity_scorer_llm",),
    "prompt_alignment": ("create_prompt_alignment_scorer_llm",),
    "judged_specs": (
        "MASTRA_SCORERS",
        "MastraSpec",
    ),
    "rubric": ("create_rubric_scorer",),
    "runs": (
        "RunError",
        "run_of_sample",
    ),
    "scorer": (
        "MastraResult",
        "MastraScorer",
    ),
    "summarization": ("create_summarization_scorer",),
    "textual_difference": ("create_textual_difference_scorer",),
    "tone_consistency": ("create_tone_consistency_scorer",),
    "tool_call_accuracy": ("create_tool_call_accuracy_scorer_llm",),
    "tool_call_accuracy_code": ("create_tool_call_accuracy_scorer_code",),
    "toxicity": ("create_toxicity_scorer",),
    "trajectory_accuracy": ("create_trajectory_accuracy_scorer_llm",),
    "trajectory_accuracy_code": ("create_trajectory_accuracy_scorer_code",),
    "trajectory_checks": (
        "analyze_tool_failures",
        "check_trajectory_blacklist",
        "check_trajectory_efficiency",
    ),
    "trajectory_comparison": ("compare_trajectories",),
    "trajectory_steps": ("extract_trajectory",),
    "trajectory_unified": ("create_trajectory_scorer_code",),
}

__all__ = [
    "MASTRA_SCORERS",
    "CodeScorer",
    "MastraResult",
    "MastraScorer",
    "MastraSpec",
    "RunError",
    "analyze_tool_failures",
    "check_trajectory_blacklist",
    "check_trajectory_efficiency",
    "compare_trajectories",
    "create_answer_relevancy_scorer",
    "create_answer_similarity_scorer",
    "create_bias_scorer",
    "create_called_tool_check",
    "create_completeness_scorer",
    "create_content_similarity_scorer",
    "create_context_precision_scorer",
    "create_context_recall_scorer",
    "create_context_relevance_scorer_llm",
    "create_did_not_call_check",
    "create_equals_check",
    "create_excludes_check",
    "create_faithfulness_scorer",
    "create_hallucination_scorer",
    "create_includes_check",
    "create_keyword_coverage_scorer",
    "create_matches_check",
    "create_max_tool_calls_check",
    "create_multi_turn_judge_scorer",
    "create_no_tool_errors_check",
    "create_noise_sensitivity_scorer_llm",
    "create_prompt_alignment_scorer_llm",
    "create_rubric_scorer",
    "create_similarity_check",
    "create_summarization_scorer",
    "create_textual_difference_scorer",
    "create_tone_consistency_scorer",
    "create_tool_call_accuracy_scorer_code",
    "create_tool_call_accuracy_scorer_llm",
    "create_tool_order_check",
    "create_toxicity_scorer",
    "create_trajectory_accuracy_scorer_code",
    "create_trajectory_accuracy_scorer_llm",
    "create_trajectory_scorer_code",
    "create_used_no_tools_check",
    "extract_trajectory",
    "run_of_sample",
]

__getattr__ = late_names(__name__, _HOMES)
