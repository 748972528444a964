"""Agents: what they did and what was expected of them -> scores, under the names of other tools."""

from __future__ import annotations

from rag_eval.scorers.hazel.trajectory import (
    AgentTrajectory,
    tool_call_accuracy,
    trajectory_score,
)
from rag_eval.scorers.mastra.tool_call_accuracy_code import create_tool_call_accuracy_scorer_code
from rag_eval.scorers.mastra.trajectory_checks import (
    RedundantCall,
    ToolFailureAnalysis,
    ToolFailurePattern,
    TrajectoryBlacklist,
    TrajectoryEfficiency,
    analyze_tool_failures,
    check_trajectory_blacklist,
    check_trajectory_efficiency,
)
from rag_eval.scorers.mastra.trajectory_comparison import (
    TrajectoryComparison,
    compare_trajectories,
    create_trajectory_accuracy_scorer_code,
)
from rag_eval.scorers.mastra.trajectory_steps import extract_trajectory
from rag_eval.scorers.mastra.trajectory_unified import create_trajectory_scorer_code

__all__ = [
    "AgentTrajectory",
    "RedundantCall",
    "ToolFailureAnalysis",
    "ToolFailurePattern",
    "TrajectoryBlacklist",
    "TrajectoryComparison",
    "TrajectoryEfficiency",
    "analyze_tool_failures",
    "check_trajectory_blacklist",
    "check_trajectory_efficiency",
    "compare_trajectories",
    "create_tool_call_accuracy_scorer_code",
    "create_trajectory_accuracy_scorer_code",
    "create_trajectory_scorer_code",
    "extract_trajectory",
    "tool_call_accuracy",
    "trajectory_score",
]
