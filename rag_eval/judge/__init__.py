"""The judge: prompts, calls and replies of a language model that grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.judge.bias_checks import debias_check, position_check
    from rag_eval.judge.cache import JudgeCache
    from rag_eval.judge.limits import JudgeLimits
    from rag_eval.judge.replies import JudgeFn, JudgeIdentity, JudgeReply, SchemaJudge

_HOMES: Final = {
    "bias_checks": ("debias_check", "position_check"),
    "cache": ("JudgeCache",),
    "limits": ("JudgeLimits",),
    "replies": ("JudgeFn", "JudgeIdentity", "JudgeReply", "SchemaJudge"),
}

__all__ = [
    "JudgeCache",
    "JudgeFn",
    "JudgeIdentity",
    "JudgeLimits",
    "JudgeReply",
    "SchemaJudge",
    "debias_check",
    "position_check",
]

__getattr__ = late_names(__name__, _HOMES)
