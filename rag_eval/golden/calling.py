"""Functions of the caller, plain or coroutine, called for some items within a time limit."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from rag_eval.errors import Interrupted, RagEvalError
from rag_eval.judge import loop_thread
from rag_eval.judge.foreign_calls import LoopCalls, ThreadCalls, is_coroutine_function
from rag_eval.plumbing.checked_values import whole_from_one

Found = TypeVar("Found")


class CallFailedError(RagEvalError):
    """A function of the caller raised an exception, or exceeded its time limit."""


class Calls:
    """Calls from an event loop; a context manager that releases its threads.

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
            # The task was not cancelled: the function raised the error itself.
            raise CallFailedError("the function cancelled itself") from error
        except GeneratorExit:
            raise
        # Not even SystemExit of one function may end the loop and all other calls.
        except BaseException as error:
            if deadline.expired():
                raise CallFailedError(f"timed out after {self._timeout_s:g} s") from error
            raise CallFailedError(error_text(error)) from error

    async def _answer(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if is_coroutine_function(function):
            return await self._coroutines.call(function(*arguments))
        found = await self._threads.call(lambda _: function(*arguments), "")
        return await self._coroutines.call(found) if inspect.isawaitable(found) else found


class ItemRun(ABC, Generic[Found]):
    """Calls for each of some items, several at once, and their results so far.

    Parameters
    ----------
    n_items : int
    on_done : callable or None
        Called with what was found of each item, as it comes.
    timeout_s : float, optional
        For one call.
    """

    def __init__(
        self, n_items: int, on_done: Callable[[Any], Any] | None, timeout_s: float | None = None
    ) -> None:
        self.found: list[Found | None] = [None] * n_items
        self._on_done = on_done
        self._timeout_s = timeout_s

    def run(self, concurrency: int) -> None:
        """Run all items, also inside of a running loop and in notebooks."""
        width = whole_from_one(concurrency, "concurrency")
        try:
            loop_thread.run(self.arun(width))
        except KeyboardInterrupt:
            raise self.interrupted() from None

    async def arun(self, concurrency: int) -> None:
        """The same in the loop of the caller."""
        width = min(whole_from_one(concurrency, "concurrency"), max(1, len(self.found)))
        with Calls(self._timeout_s) as calls:
            jobs = (partial(self._job, calls, index) for index in range(len(self.found)))
            await loop_thread.run_jobs(jobs, width)

    @abstractmethod
    async def one(self, calls: Calls, index: int) -> Found:
        """The result of one item."""

    @abstractmethod
    def interrupted(self) -> Interrupted:
        """The exception for Ctrl-C, with the results so far."""

    async def _job(self, calls: Calls, index: int) -> None:
        found = self.found[index] = await self.one(calls, index)
        if self._on_done is not None:
            self._on_done(found)


def error_text(error: BaseException) -> str:
    """The message of an exception, its type where there is none."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
