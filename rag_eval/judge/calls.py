"""One call of one judge, within a time limit."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from dataclasses import replace
from types import NoneType
from typing import Any, Final, TypeVar

from rag_eval.judge.failures import JudgeFailure, late_reply
from rag_eval.judge.foreign_calls import LoopCalls, ThreadCalls, is_coroutine_function
from rag_eval.judge.replies import (
    MAX_REPLY_BYTES,
    JudgeFn,
    JudgeReply,
    LongerJudge,
    SchemaJudge,
    Usage,
    estimated_usage,
    n_bytes,
)
from rag_eval.judge.retrying import fault_of
from rag_eval.judge.steps import Step

Value = TypeVar("Value")

_REPLY_TYPES: Final[dict[str, Any]] = {
    "text": str,
    "finish_reason": (str, NoneType),
    "usage": (Usage, NoneType),
    "model": (str, NoneType),
    "n_requests": int,
    "has_thoughts": bool,
    "tokens": tuple,
}


class Caller:
    """Calls any kind of judge; functions that are not coroutines are called in a thread.

    Attributes
    ----------
    can_reply_longer : bool
        Whether the judge can be asked for a longer reply than usual.
    """

    def __init__(
        self, judge: JudgeFn, threads: ThreadCalls, coroutines: LoopCalls, timeout_s: float
    ) -> None:
        self._judge = judge
        self._threads = threads
        self._coroutines = coroutines
        self._timeout_s = timeout_s
        self._takes_schema = isinstance(judge, SchemaJudge)
        self.keeps_beginnings = bool(getattr(judge, "keeps_beginnings", False))
        self.can_reply_longer = self._takes_schema and isinstance(judge, LongerJudge)
        self._is_async = is_coroutine_function(judge)

    async def call(self, prompt: str, step: Step[Any], *, longer: bool = False) -> JudgeReply:
        """The reply, with estimated usage if the judge does not report it.

        With ``longer`` it may take twice the usual number of tokens.

        Raises
        ------
        JudgeCallError
            If a retry may succeed, or none ever can.
        JudgeFailure
            If this judgement failed.
        """
        found = await in_time(self._answer(prompt, step, longer), self._timeout_s)
        return checked_reply(found, prompt)

    async def _answer(self, prompt: str, step: Step[Any], longer: bool) -> Any:
        judge: Any = self._judge
        if longer:
            return await self._coroutines.call(judge.ask_longer(prompt, step.schema))
        if self._takes_schema:
            return await self._coroutines.call(judge.ask(prompt, step.schema))
        if self._is_async:
            return await self._coroutines.call(judge(prompt))
        found = await self._threads.call(judge, prompt)
        return await self._coroutines.call(found) if inspect.isawaitable(found) else found


async def in_time(answer: Awaitable[Value], timeout_s: float, who: str = "the judge") -> Value:
    """What the code of others gives within a time limit.

    Raises
    ------
    JudgeCallError
        If a retry may succeed, or none ever can.
    JudgeFailure
        If this judgement failed.
    """
    try:
        async with asyncio.timeout(timeout_s) as deadline:
            return await answer
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # This task was not cancelled: the judge itself raised it.
        raise fault_of(error, who) from error
    except GeneratorExit:
        raise
    # Not even a SystemExit of a judge may end the loop that all judges share.
    except BaseException as error:
        expired = deadline.expired()
        raise (late_reply(timeout_s, who) if expired else fault_of(error, who)) from error


def checked_reply(found: object, prompt: str) -> JudgeReply:
    """What a judge gave as a reply with usage; JudgeFailure if it cannot be one."""
    if isinstance(found, str):
        _check_length(found)
        return JudgeReply(found, usage=estimated_usage(prompt, found))
    if not isinstance(found, JudgeReply):
        raise JudgeFailure(
            "failed", f"the judge must return str or JudgeReply, got {type(found).__name__}"
        )
    for name, wanted in _REPLY_TYPES.items():
        value = getattr(found, name)
        if not isinstance(value, wanted):
            raise JudgeFailure("failed", f"{name} of the judge's reply is {type(value).__name__}")
        if isinstance(value, str):
            _check_length(value)
    if found.usage is None:
        return replace(found, usage=estimated_usage(prompt, found.text))
    usage = found.usage
    in_cache = (usage.cached_tokens, usage.written_tokens)
    for count in (usage.input_tokens, usage.output_tokens, *in_cache):
        if not isinstance(count, int) or count < 0:
            raise JudgeFailure("failed", f"the judge's reply has an invalid token count: {count!r}")
    if sum(in_cache) > usage.input_tokens:
        raise JudgeFailure("failed", "the judge's reply has more cached than input tokens")
    return found


def _check_length(text: str) -> None:
    # A text has at least as many bytes as characters, so one that is too long is not copied.
    n_characters = len(text)
    if n_characters > MAX_REPLY_BYTES or n_bytes(text) > MAX_REPLY_BYTES:
        raise JudgeFailure("failed", "the judge's reply is longer than 4 MB and was not read")
