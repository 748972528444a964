"""Replies that cannot be used, in; how to ask once more, or what to say at last, out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.replies import JudgeReply

_ASKED_AGAIN: Final = frozenset({"unparsed", "incomplete"})
# Asking for more tokens does not make room for them.
_FULL_CONTEXT: Final = "model_context_window_exceeded"


@dataclass(frozen=True, slots=True)
class Asking:
    """How a question is asked: what was wrong with the last reply, or with a longer limit."""

    complaint: str = ""
    longer: bool = False

    @property
    def name(self) -> str:
        """The same for the same form of a question, whatever the complaint says."""
        return "longer" if self.longer else "again" if self.complaint else ""


def second_ask(
    failure: JudgeFailure, reply: JudgeReply, *, can_reply_longer: bool
) -> Asking | None:
    """How to ask once more after a reply that cannot be used; None if that cannot help."""
    if failure.kind in _ASKED_AGAIN:
        return Asking(complaint=str(failure))
    if failure.kind != "truncated" or reply.finish_reason == _FULL_CONTEXT:
        return None
    return Asking(longer=True) if can_reply_longer else None


def cut_twice(reply: JudgeReply) -> str:
    """What to do about a reply that was cut at twice its limit, too."""
    usage, taken = reply.usage, ""
    if usage is not None and not usage.estimated:
        taken = f" ({usage.output_tokens:,} tokens)"
    if reply.has_thoughts:
        return (
            f"the model spent its limit on thinking, and also twice the limit{taken}: raise the "
            "judge option max_output_tokens, or set reasoning_effort to low"
        )
    return (
        f"the reply was cut at its token limit, and also at twice the limit{taken}: raise the "
        "judge option max_output_tokens"
    )
