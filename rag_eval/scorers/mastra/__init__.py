"""Mastra's scorers that ask a judge: a run in, a score and its reason out.

Scores follow @mastra/evals 1.1.1, and 1.10.2 where a scorer is newer, with these differences:
scores are not rounded; partial options leave the other defaults; a scale must be above 0; verdicts
are compared trimmed and in lower case; a reply that leaves out verdicts is no verdict; and what
cannot be measured has no score instead of the best or the worst one.
"""

from __future__ import annotations

from rag_eval.scorers.mastra.answer_relevancy import create_answer_relevancy_scorer
from rag_eval.scorers.mastra.answer_similarity import create_answer_similarity_scorer
from rag_eval.scorers.mastra.bias import create_bias_scorer
from rag_eval.scorers.mastra.context_precision import create_context_precision_scorer
from rag_eval.scorers.mastra.context_recall import create_context_recall_scorer
from rag_eval.scorers.mastra.context_relevance import create_context_relevance_scorer_llm
from rag_eval.scorers.mastra.faithfulness import create_faithfulness_scorer
from rag_eval.scorers.mastra.hallucination import create_hallucination_scorer
from rag_eval.scorers.mastra.multi_turn import create_multi_turn_judge_scorer
from rag_eval.scorers.mastra.noise_sensitivity import create_noise_sensitivity_scorer_llm
from rag_eval.scorers.mastra.prompt_alignment import create_prompt_alignment_scorer_llm
from rag_eval.scorers.mastra.registry import MASTRA_SCORERS, MastraSpec
from rag_eval.scorers.mastra.rubric import create_rubric_scorer
from rag_eval.scorers.mastra.runs import RunError, run_of_sample
from rag_eval.scorers.mastra.scorer import MastraResult, MastraScorer
from rag_eval.scorers.mastra.summarization import create_summarization_scorer
from rag_eval.scorers.mastra.tool_call_accuracy import create_tool_call_accuracy_scorer_llm
from rag_eval.scorers.mastra.toxicity import create_toxicity_scorer
from rag_eval.scorers.mastra.trajectory_accuracy import create_trajectory_accuracy_scorer_llm

__all__ = [
    "MASTRA_SCORERS",
    "MastraResult",
    "MastraScorer",
    "MastraSpec",
    "RunError",
    "create_answer_relevancy_scorer",
    "create_answer_similarity_scorer",
    "create_bias_scorer",
    "create_context_precision_scorer",
    "create_context_recall_scorer",
    "create_context_relevance_scorer_llm",
    "create_faithfulness_scorer",
    "create_hallucination_scorer",
    "create_multi_turn_judge_scorer",
    "create_noise_sensitivity_scorer_llm",
    "create_prompt_alignment_scorer_llm",
    "create_rubric_scorer",
    "create_summarization_scorer",
    "create_tool_call_accuracy_scorer_llm",
    "create_toxicity_scorer",
    "create_trajectory_accuracy_scorer_llm",
    "run_of_sample",
]
