from rag_eval.scorers.mastra.answers import (
    create_answer_relevancy_scorer as create_answer_relevancy_scorer,
)
from rag_eval.scorers.mastra.answers import (
    create_answer_similarity_scorer as create_answer_similarity_scorer,
)
from rag_eval.scorers.mastra.authoring import ToolCalls as ToolCalls
from rag_eval.scorers.mastra.authoring import ToolResultInfo as ToolResultInfo
from rag_eval.scorers.mastra.authoring import create_agent_test_run as create_agent_test_run
from rag_eval.scorers.mastra.authoring import create_test_message as create_test_message
from rag_eval.scorers.mastra.authoring import create_test_run as create_test_run
from rag_eval.scorers.mastra.authoring import create_tool_invocation as create_tool_invocation
from rag_eval.scorers.mastra.authoring import (
    create_trajectory_test_run as create_trajectory_test_run,
)
from rag_eval.scorers.mastra.authoring import (
    extract_agent_response_messages as extract_agent_response_messages,
)
from rag_eval.scorers.mastra.authoring import extract_input_messages as extract_input_messages
from rag_eval.scorers.mastra.authoring import extract_tool_calls as extract_tool_calls
from rag_eval.scorers.mastra.authoring import extract_tool_results as extract_tool_results
from rag_eval.scorers.mastra.authoring import (
    get_assistant_message_from_run_output as get_assistant_message_from_run_output,
)
from rag_eval.scorers.mastra.authoring import (
    get_combined_system_prompt as get_combined_system_prompt,
)
from rag_eval.scorers.mastra.authoring import (
    get_conversation_history_from_run_input as get_conversation_history_from_run_input,
)
from rag_eval.scorers.mastra.authoring import (
    get_reasoning_from_run_output as get_reasoning_from_run_output,
)
from rag_eval.scorers.mastra.authoring import (
    get_system_messages_from_run_input as get_system_messages_from_run_input,
)
from rag_eval.scorers.mastra.authoring import (
    get_user_message_from_run_input as get_user_message_from_run_input,
)
from rag_eval.scorers.mastra.authoring import is_closer_to as is_closer_to
from rag_eval.scorers.mastra.call_checks import create_called_tool_check as create_called_tool_check
from rag_eval.scorers.mastra.call_checks import (
    create_did_not_call_check as create_did_not_call_check,
)
from rag_eval.scorers.mastra.call_checks import (
    create_max_tool_calls_check as create_max_tool_calls_check,
)
from rag_eval.scorers.mastra.call_checks import (
    create_no_tool_errors_check as create_no_tool_errors_check,
)
from rag_eval.scorers.mastra.call_checks import create_tool_order_check as create_tool_order_check
from rag_eval.scorers.mastra.call_checks import (
    create_used_no_tools_check as create_used_no_tools_check,
)
from rag_eval.scorers.mastra.chunks import (
    create_context_precision_scorer as create_context_precision_scorer,
)
from rag_eval.scorers.mastra.chunks import (
    create_context_relevance_scorer_llm as create_context_relevance_scorer_llm,
)
from rag_eval.scorers.mastra.claims import (
    create_context_recall_scorer as create_context_recall_scorer,
)
from rag_eval.scorers.mastra.claims import create_faithfulness_scorer as create_faithfulness_scorer
from rag_eval.scorers.mastra.claims import (
    create_hallucination_scorer as create_hallucination_scorer,
)
from rag_eval.scorers.mastra.completeness import (
    create_completeness_scorer as create_completeness_scorer,
)
from rag_eval.scorers.mastra.criteria import (
    create_multi_turn_judge_scorer as create_multi_turn_judge_scorer,
)
from rag_eval.scorers.mastra.criteria import create_rubric_scorer as create_rubric_scorer
from rag_eval.scorers.mastra.harms import create_bias_scorer as create_bias_scorer
from rag_eval.scorers.mastra.harms import create_toxicity_scorer as create_toxicity_scorer
from rag_eval.scorers.mastra.judged import MastraSpec as MastraSpec
from rag_eval.scorers.mastra.judged_agents import (
    create_tool_call_accuracy_scorer_llm as create_tool_call_accuracy_scorer_llm,
)
from rag_eval.scorers.mastra.judged_agents import (
    create_trajectory_accuracy_scorer_llm as create_trajectory_accuracy_scorer_llm,
)
from rag_eval.scorers.mastra.judged_specs import MASTRA_SCORERS as MASTRA_SCORERS
from rag_eval.scorers.mastra.keyword_coverage import (
    create_keyword_coverage_scorer as create_keyword_coverage_scorer,
)
from rag_eval.scorers.mastra.noise_sensitivity import (
    create_noise_sensitivity_scorer_llm as create_noise_sensitivity_scorer_llm,
)
from rag_eval.scorers.mastra.prompt_alignment import (
    create_prompt_alignment_scorer_llm as create_prompt_alignment_scorer_llm,
)
from rag_eval.scorers.mastra.runs import RunError as RunError
from rag_eval.scorers.mastra.runs import run_of_sample as run_of_sample
from rag_eval.scorers.mastra.scorer import CodeScorer as CodeScorer
from rag_eval.scorers.mastra.scorer import MastraResult as MastraResult
from rag_eval.scorers.mastra.scorer import MastraScorer as MastraScorer
from rag_eval.scorers.mastra.scorer import round_to_two_decimals as round_to_two_decimals
from rag_eval.scorers.mastra.similarity import (
    create_content_similarity_scorer as create_content_similarity_scorer,
)
from rag_eval.scorers.mastra.similarity import (
    create_textual_difference_scorer as create_textual_difference_scorer,
)
from rag_eval.scorers.mastra.summarization import (
    create_summarization_scorer as create_summarization_scorer,
)
from rag_eval.scorers.mastra.text_checks import create_equals_check as create_equals_check
from rag_eval.scorers.mastra.text_checks import create_excludes_check as create_excludes_check
from rag_eval.scorers.mastra.text_checks import create_includes_check as create_includes_check
from rag_eval.scorers.mastra.text_checks import create_matches_check as create_matches_check
from rag_eval.scorers.mastra.text_checks import create_similarity_check as create_similarity_check
from rag_eval.scorers.mastra.tone_consistency import (
    create_tone_consistency_scorer as create_tone_consistency_scorer,
)
from rag_eval.scorers.mastra.tool_call_accuracy_code import ToolCallInfo as ToolCallInfo
from rag_eval.scorers.mastra.tool_call_accuracy_code import (
    create_tool_call_accuracy_scorer_code as create_tool_call_accuracy_scorer_code,
)
from rag_eval.scorers.mastra.trajectory_checks import analyze_tool_failures as analyze_tool_failures
from rag_eval.scorers.mastra.trajectory_checks import (
    check_trajectory_blacklist as check_trajectory_blacklist,
)
from rag_eval.scorers.mastra.trajectory_checks import (
    check_trajectory_efficiency as check_trajectory_efficiency,
)
from rag_eval.scorers.mastra.trajectory_comparison import (
    compare_trajectories as compare_trajectories,
)
from rag_eval.scorers.mastra.trajectory_comparison import (
    create_trajectory_accuracy_scorer_code as create_trajectory_accuracy_scorer_code,
)
from rag_eval.scorers.mastra.trajectory_steps import extract_trajectory as extract_trajectory
from rag_eval.scorers.mastra.trajectory_unified import (
    create_trajectory_scorer_code as create_trajectory_scorer_code,
)
