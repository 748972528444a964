"""Functions and coroutines of others, called so that none of them can block the caller.

Plain functions run on threads. A thread cannot be stopped, and a coroutine may catch its
cancellation and go on: what is not back in time is left behind, and what it gives in the end is
dropped and counted. The threads are daemons of our own, because those of ``concurrent.futures`` are
waited for when the process ends.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

# A connection is closed in far less.
_GRACE_S: Final = 1.0


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether a call returns a coroutine and so needs no thread."""
    inner: Any = function
    while isinstance(inner, partial):
        inner = inner.func
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 - which kind of call, not whether any
    )


class _Outcome(NamedTuple):
    value: Any
    error: BaseException | None

    def given(self) -> Any:
        """The value; raises the error."""
        if self.error is not None:
            raise self.error
        return self.value


class _Crew:
    """How many threads wait for a job, and what came back too late; of the loop's thread alone."""

    def __init__(self) -> None:
        self.n_idle = 0
        self.late_replies = 0


class _Outbox:
    """Outcomes on their way to a loop, which is woken once for all that wait there.

    A wake-up for each would take longer than all the rest of a call.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, crew: _Crew) -> None:
        self.loop = loop
        self._crew = crew
        self._outcomes: deque[tuple[asyncio.Future[_Outcome], _Outcome]] = deque()
        self._is_waking = False

    def put(self, done: asyncio.Future[_Outcome], outcome: _Outcome) -> None:
        """Deliver from a thread.

        Raises
        ------
        RuntimeError
            When the loop is closed.
        """
        self._outcomes.append((done, outcome))
        # Looked at after the outcome is in: whoever lowers it empties the box afterwards.
        if not self._is_waking:
            self._is_waking = True
            self.loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        self._is_waking = False
        while self._outcomes:
            done, outcome = self._outcomes.popleft()
            self._crew.n_idle += 1
            if done.done():
                self._crew.late_replies += 1
                _drop(outcome.value)
            else:
                done.set_result(outcome)


@dataclass(frozen=True, slots=True)
class _Job:
    function: Callable[[Any], Any]
    argument: Any
    context: contextvars.Context
    outbox: _Outbox
    done: asyncio.Future[_Outcome]


class ThreadCalls:
    """Threads as needed: as many as calls at once, and those that were left behind."""

    def __init__(self) -> None:
        self._crew = _Crew()
        self._outbox: _Outbox | None = None
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        # The threads know the queue alone, so a pool that is dropped ends them too.
        self._ended = weakref.finalize(self, _end, self._jobs, self._threads)
        self._ended.atexit = False

    @property
    def late_replies(self) -> int:
        """Number of calls that ended after their caller had stopped waiting."""
        return self._crew.late_replies

    async def call(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """``function(argument)``; what it raises is raised here.

        Cancelled, it leaves the thread to itself.
        """
        loop = asyncio.get_running_loop()
        if self._outbox is None or self._outbox.loop is not loop:
            self._outbox = _Outbox(loop, self._crew)
        done: asyncio.Future[_Outcome] = loop.create_future()
        if self._crew.n_idle:
            self._crew.n_idle -= 1
        else:
            self._start_thread()
        self._jobs.put(_Job(function, argument, contextvars.copy_context(), self._outbox, done))
        return (await done).given()

    def close(self) -> None:
        """Let the threads end, each when its call returns."""
        self._ended()

    def _start_thread(self) -> None:
        thread = threading.Thread(
            target=_work, args=(self._jobs,), name="rag-eval-judge-call", daemon=True
        )
        self._threads.append(thread)
        thread.start()


def _end(jobs: SimpleQueue[_Job | None], threads: list[threading.Thread]) -> None:
    for _ in threads:
        jobs.put(None)


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        outcome = _outcome(job)
        try:
            job.outbox.put(job.done, outcome)
        except RuntimeError:
            # The loop is closed: nobody waits for this one or counts on the thread.
            _drop(outcome.value)
            return
        # Not kept while waiting for the next.
        del job, outcome


def _outcome(job: _Job) -> _Outcome:
    try:
        return _Outcome(job.context.run(job.function, job.argument), None)
    except BaseException as error:
        return _Outcome(None, error)


def _drop(value: object) -> None:
    # A coroutine that is never awaited would say so in a warning.
    if inspect.iscoroutine(value):
        value.close()


class LoopCalls:
    """Awaits, each in a task of its own.

    Attributes
    ----------
    late_replies : int
        Coroutines that ended when nobody waited for them any more.
    """

    def __init__(self) -> None:
        self.late_replies = 0
        # A loop holds its tasks weakly.
        self._left_behind: set[asyncio.Task[None]] = set()

    async def call(self, awaitable: Awaitable[Any]) -> Any:
        """What it gives or raises; cancelled, it is waited for a second at most."""
        loop = asyncio.get_running_loop()
        came: asyncio.Future[_Outcome] = loop.create_future()
        task = loop.create_task(_deliver(awaitable, came))
        try:
            outcome = await came
        except asyncio.CancelledError:
            task.cancel()
            try:
                await asyncio.wait([task], timeout=_GRACE_S)
            finally:
                if not task.done():
                    self._left_behind.add(task)
                    task.add_done_callback(self._came_late)
            raise
        return outcome.given()

    def _came_late(self, task: asyncio.Task[None]) -> None:
        self._left_behind.discard(task)
        self.late_replies += 1


async def _deliver(awaitable: Awaitable[Any], came: asyncio.Future[_Outcome]) -> None:
    """Await it, and set its outcome in a future, which is two rounds of the loop earlier."""
    try:
        outcome = _Outcome(await awaitable, None)
    except GeneratorExit:
        raise
    # Out of a task, SystemExit and KeyboardInterrupt would end the loop.
    except BaseException as error:
        outcome = _Outcome(None, error)
    if not came.done():
        came.set_result(outcome)
