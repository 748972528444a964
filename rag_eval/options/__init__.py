"""Options of calls: their types and spelling, plan, judging, signature, ``rag-eval.toml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.options.judge_types import PromptOverrides
    from rag_eval.options.plan import Plan
    from rag_eval.options.types import (
        BatchEvaluateOptions,
        EvaluateOptions,
        EvaluatorConfig,
        HeuristicOptions,
        MetricThresholds,
        ProgressFn,
    )

_HOMES: Final = {
    "judge_types": ("PromptOverrides",),
    "plan": ("Plan",),
    "types": (
        "BatchEvaluateOptions",
        "EvaluateOptions",
        "EvaluatorConfig",
        "HeuristicOptions",
        "MetricThresholds",
        "ProgressFn",
    ),
}

__all__ = [
    "BatchEvaluateOptions",
    "EvaluateOptions",
    "EvaluatorConfig",
    "HeuristicOptions",
    "MetricThresholds",
    "Plan",
    "ProgressFn",
    "PromptOverrides",
]

__getattr__ = late_names(__name__, _HOMES)
