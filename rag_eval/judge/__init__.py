"""The LLM judge: prompts, calls and replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.judge.bias_checks import debias_check as debias_check
    from rag_eval.judge.bias_checks import position_check as position_check
    from rag_eval.judge.cache import JudgeCache as JudgeCache
    from rag_eval.judge.failures import JudgePendingError as JudgePendingError
    from rag_eval.judge.replies import JudgeFn as JudgeFn
    from rag_eval.judge.replies import JudgeIdentity as JudgeIdentity
    from rag_eval.judge.replies import JudgeLimits as JudgeLimits
    from rag_eval.judge.replies import JudgePrompt as JudgePrompt
    from rag_eval.judge.replies import JudgeReply as JudgeReply
    from rag_eval.judge.replies import SchemaJudge as SchemaJudge
    from rag_eval.judge.verifiers import Verifier as Verifier

_HOMES: Final = {
    "bias_checks": ("debias_check", "position_check"),
    "cache": ("JudgeCache",),
    "failures": ("JudgePendingError",),
    "replies": (
        *("JudgeFn", "JudgeIdentity", "JudgeLimits", "JudgePrompt", "JudgeReply", "SchemaJudge"),
    ),
    "verifiers": ("Verifier",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
