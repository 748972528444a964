"""A judge, watched: what its calls took, and whether its replies repeat the form of the prompt."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable
from typing import Any, Final

from rag_eval.judge.foreign_calls import is_coroutine_function
from rag_eval.judge.replies import JudgeFn, JudgeReply, LongerJudge, SchemaJudge, identity_of

# Shorter objects, such as an empty list of claims, can be what the prompt asks for.
_SHORTEST_FORM: Final = 24
_MARK: Final = re.compile(r'"mark"\s*:\s*"[^"]*"\s*,?')
_PLACEHOLDER: Final = re.compile(r':\s*"\.\.\."')


def repeats_form(prompt: str, reply: str) -> bool:
    """Whether a reply is the form that its prompt asks to fill in, or holds its placeholders."""
    begin, end = reply.find("{"), reply.rfind("}")
    if begin < 0 or end < begin:
        return False
    found = reply[begin : end + 1]
    if _PLACEHOLDER.search(found):
        return True
    copied = _letters(found)
    return len(copied) >= _SHORTEST_FORM and copied.strip("{}") in _letters(prompt)


def _letters(text: str) -> str:
    """A text without spaces and marks, in which alone a copy may differ."""
    return "".join(_MARK.sub("", text).split())


class _Watch:
    """What the calls of a judge took.

    Attributes
    ----------
    n_replies, n_copies : int
        Replies, and those that repeat the form of the prompt.
    seconds : list of float
        Of each reply.
    """

    def __init__(self) -> None:
        self.n_replies = 0
        self.n_copies = 0
        self.seconds: list[float] = []

    def note(self, prompt: str, reply: object, begun: float) -> None:
        """Note a reply."""
        text = reply.text if isinstance(reply, JudgeReply) else str(reply)
        self.n_replies += 1
        self.n_copies += repeats_form(prompt, text)
        self.seconds.append(time.perf_counter() - begun)


class _Served:
    """A judge that takes schemas."""

    def __init__(self, judge: SchemaJudge, watch: _Watch) -> None:
        self.identity = judge.identity
        self._judge = judge
        self._watch = watch
        if isinstance(judge, LongerJudge):
            self.ask_longer = self._ask_longer

    async def __call__(self, prompt: str) -> JudgeReply:
        return await self._noted(prompt, self._judge(prompt))

    async def ask(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        return await self._noted(prompt, self._judge.ask(prompt, schema))

    async def _ask_longer(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        assert isinstance(self._judge, LongerJudge)
        return await self._noted(prompt, self._judge.ask_longer(prompt, schema))

    async def _noted(self, prompt: str, reply: Awaitable[JudgeReply]) -> JudgeReply:
        begun = time.perf_counter()
        found = await reply
        self._watch.note(prompt, found, begun)
        return found


def watched(judge: JudgeFn | SchemaJudge) -> tuple[JudgeFn, _Watch]:
    """The same judge, and what is noted of its calls."""
    watch = _Watch()
    if isinstance(judge, SchemaJudge):
        return _Served(judge, watch), watch
    asked: Any = judge

    def call(prompt: str) -> Any:
        begun = time.perf_counter()
        found = asked(prompt)
        watch.note(prompt, found, begun)
        return found

    async def acall(prompt: str) -> Any:
        begun = time.perf_counter()
        found = await asked(prompt)
        watch.note(prompt, found, begun)
        return found

    noted: Any = acall if is_coroutine_function(judge) else call
    noted.judge_name = identity_of(judge).model
    return noted, watch
