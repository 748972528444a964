"""A scripted judge for tests whose replies depend on the step it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from rag_eval.judge.asking import Asked, Reply
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.reading import read_reply
from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.replies import JudgeReply, Tally
from rag_eval.judge.steps import Fields, Step

Scripted: TypeAlias = "dict[str, Any] | str | Exception | list[Any] | Callable[[Fields], Any]"


class StepJudge:
    """An asker whose judge replies by the step's name; other steps get what they imagine.

    A dict is sent as JSON under the right mark, a str as it stands, an exception is raised, a
    list gives one reply for each call, a callable is given the fields. The asker asks once more
    after a reply that cannot be read, as the real one does.
    """

    def __init__(self, replies: Mapping[str, Scripted] | None = None) -> None:
        self._replies = dict(replies or {})
        self.steps: list[str] = []
        self.prompts: dict[str, list[str]] = {}
        self.fields: dict[str, list[Fields]] = {}
        self.in_flight = 0
        self.most_in_flight = 0

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
            self.steps.append(step.name)
            self.prompts.setdefault(step.name, []).append(prompt.text)
            self.fields.setdefault(step.name, []).append(fields)
            tally.llm_calls += 1
            text = await self._reply(step, fields, prompt.mark)
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

    async def _reply(self, step: Step[Any], fields: Fields, mark: str) -> str:
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            # A server answers later, and what else can be asked is asked meanwhile.
            for _ in range(10):
                await asyncio.sleep(0)
        finally:
            self.in_flight -= 1
        scripted = self._replies.get(step.name, step.imagine)
        if isinstance(scripted, list):
            scripted = scripted.pop(0)
        if callable(scripted):
            scripted = scripted(fields)
        if isinstance(scripted, Exception):
            raise scripted
        if isinstance(scripted, str):
            return scripted
        return json.dumps({"mark": mark, **msgspec.to_builtins(scripted)})
