"""Prompts -> messages of a request: how to read it apart from what to judge."""

from __future__ import annotations

import re
from typing import Any, Final

from rag_eval.judge.replies import JudgePrompt, is_worth_keeping

# Such as "System role not supported", which chat templates of some open models raise.
NO_SYSTEM: Final = re.compile(r"\bsystem[ _](?:role|message|prompt|instruction)", re.IGNORECASE)


def openai_messages(prompt: str, *, has_system: bool) -> dict[str, Any]:
    """A system and a user message; one message if the server takes no other."""
    if not (has_system and isinstance(prompt, JudgePrompt)):
        return _one_message(prompt)
    system = {"role": "system", "content": prompt.system}
    return {"messages": [system, *_one_message(prompt.shared + prompt.task)["messages"]]}


def anthropic_messages(prompt: str, *, has_system: bool) -> dict[str, Any]:
    """The parameter ``system`` and a user message, whose shared beginning the server is to keep."""
    if not (has_system and isinstance(prompt, JudgePrompt)):
        return _one_message(prompt)
    if not is_worth_keeping(prompt):
        return {"system": prompt.system, **_one_message(prompt.shared + prompt.task)}
    shared = {"type": "text", "text": prompt.shared, "cache_control": {"type": "ephemeral"}}
    content = [shared, {"type": "text", "text": prompt.task}]
    return {"system": prompt.system, "messages": [{"role": "user", "content": content}]}


def _one_message(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": str(text)}]}
