"""Scripted judges for tests: replies that bear the mark of the prompt they answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from rag_eval.judge.asking import Asked, Reply
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.reading import read_reply
from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.replies import JudgeReply, Tally
from rag_eval.judge.steps import Fields, Step

_MARK = re.compile(r'"mark" with the value "(\w+)"')


def mark_of(prompt: str) -> str:
    """The mark that the reply to a prompt has to repeat."""
    found = _MARK.findall(prompt)
    assert found, "the prompt names no mark"
    return str(found[-1])


def reply_with(prompt: str, **keys: Any) -> str:
    """A judge's reply of these keys."""
    return json.dumps({"mark": mark_of(prompt), **keys})


class ScriptedAsker:
    """An asker whose judge gives the scripted replies in order.

    A dict is sent as JSON under the right mark, a str as it stands, an exception is raised. The
    asker asks once more after a reply that cannot be read, as the real one does.
    """

    def __init__(self, replies: Iterable[Any]) -> None:
        self._replies = list(replies)
        self.prompts: list[str] = []
        self.steps: list[str] = []

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Asked[Reply]:
        complaint = ""
        for attempt in (1, 2):
            prompt = render(step, fields, PromptStyle(), complaint)
            self.prompts.append(prompt.text)
            self.steps.append(step.name)
            tally.llm_calls += 1
            scripted = self._replies.pop(0)
            if isinstance(scripted, Exception):
                raise scripted
            text = (
                scripted
                if isinstance(scripted, str)
                else json.dumps({"mark": prompt.mark, **scripted})
            )
            try:
                value = read_reply(JudgeReply(text), prompt.mark, step.shape, check)
            except JudgeFailure as failure:
                tally.parse_failures += 1
                if attempt == 2 or failure.kind not in ("unparsed", "incomplete"):
                    raise
                complaint = str(failure)
            else:
                return Asked(value, prompt.text)
        raise AssertionError("unreachable")
