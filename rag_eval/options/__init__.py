"""What a call asks for: option types, spelling, plan, judging, signature, ``rag-eval.toml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.options.judging import PromptOverrides
    from rag_eval.options.plan import (
        BatchEvaluateOptions,
        EvaluateOptions,
        EvaluatorConfig,
        HeuristicOptions,
        MetricThresholds,
        Plan,
        ProgressFn,
    )

_HOMES: Final = {
    "plan": (
        "BatchEvaluateOptions",
        "EvaluateOptions",
        "EvaluatorConfig",
        "HeuristicOptions",
        "MetricThresholds",
        "Plan",
        "ProgressFn",
    ),
    "judging": ("PromptOverrides",),
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
