from rag_eval.retrieval.ranked_lists import RetrievalResult as RetrievalResult
from rag_eval.retrieval.ranked_lists import evaluate_retrieval as evaluate_retrieval
from rag_eval.retrieval.ranked_lists import mean_reciprocal_rank as mean_reciprocal_rank
from rag_eval.retrieval.ranked_lists import ndcg_at_k as ndcg_at_k
from rag_eval.retrieval.ranked_lists import precision_at_k as precision_at_k
from rag_eval.retrieval.ranked_lists import recall_at_k as recall_at_k
from rag_eval.retrieval.word_overlap import answer_context_overlap as answer_context_overlap
from rag_eval.scorers.hazel.judge import HazelJudgement as HazelJudgement
from rag_eval.scorers.hazel.judge import (
    build_faithfulness_judge_prompt as build_faithfulness_judge_prompt,
)
from rag_eval.scorers.hazel.judge import (
    build_relevance_judge_prompt as build_relevance_judge_prompt,
)
from rag_eval.scorers.hazel.judge import parse_judge_score as parse_judge_score
from rag_eval.scorers.hazel.trajectory import AgentTrajectory as AgentTrajectory
from rag_eval.scorers.hazel.trajectory import tool_call_accuracy as tool_call_accuracy
from rag_eval.scorers.hazel.trajectory import trajectory_score as trajectory_score
