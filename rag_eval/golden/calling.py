"""Functions of the caller, plain or coroutine functions, called within a time limit."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from rag_eval.errors import RagEvalError
from rag_eval.judge.loop_calls import LoopCalls
from rag_eval.judge.thread_calls import ThreadCalls


class CallFailedError(RagEvalError):
    """A function of the caller raised something, or was not back in time."""


class Calls:
    """Calls from an event loop; a context manager that lets its threads go.

    A plain function is called on a thread, so that the loop, other calls and Ctrl-C go on. One that
    is not back in time is left behind.
    """

    def __init__(self, timeout_s: float | None = None) -> None:
        self._timeout_s = timeout_s
        self._threads = ThreadCalls()
        self._coroutines = LoopCalls()

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.close()

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What it returns, awaited where that can be.

        Raises
        ------
        CallFailedError
            With what it raised as its cause and as its text.
        """
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:
                return await self._answer(function, arguments)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody cancelled this task: the function raised it by itself.
            raise CallFailedError("it was cancelled from inside") from error
        except GeneratorExit:
            raise
        # Not even SystemExit of one function may end the loop and all other calls.
        except BaseException as error:
            if deadline.expired():
                raise CallFailedError(f"not back within {self._timeout_s:g} s") from error
            raise CallFailedError(error_text(error)) from error

    async def _answer(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if is_coroutine_function(function):
            return await self._coroutines.call(function(*arguments))
        found = await self._threads.call(lambda _: function(*arguments), "")
        return await self._coroutines.call(found) if inspect.isawaitable(found) else found


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether a call gives a coroutine and so need not be made on a thread."""
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 - which kind of call, not whether any
    )


def error_text(error: BaseException) -> str:
    """The message of an exception, its type where there is none."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
