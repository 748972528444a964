"""The event loop that judges are called in: one per process, on a daemon thread of its own.

Because it is nobody else's, it works the same from a script, a notebook, a server's handler and
any thread, and a client that keeps connections finds its loop again in the next run.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final, TypeAlias, TypeVar

from rag_eval.plumbing.interrupts import result_of, uninterrupted, wait_for

Result = TypeVar("Result")
Job: TypeAlias = Callable[[], Awaitable[None]]

# Time for a cancelled coroutine to finish, in seconds.
_GRACE_S: Final = 5.0


class _Owner:
    """Starts the loop on first use, and another in a process that was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        # A forked process holds its parent's loop for good: to drop it is to close it, which
        # would take the parent's wake-up out of the epoll set that both share.
        self._loops: list[asyncio.AbstractEventLoop] = []
        os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        # Another thread of the parent may hold it.
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._pid != os.getpid():
                loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_run_forever, args=(loop,), name="rag-eval-judge", daemon=True
                ).start()
                self._loops.append(loop)
                self._pid = os.getpid()
            return self._loops[-1]


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while not loop.is_closed():
        try:
            loop.run_forever()
        # asyncio lets these two end the loop; here they belong to who waits for the coroutine.
        except (KeyboardInterrupt, SystemExit):
            continue


_OWNER: Final = _Owner()


def submit(coroutine: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
    """Start a coroutine in the judges' loop; to cancel the future is to cancel it."""
    return asyncio.run_coroutine_threadsafe(coroutine, _OWNER.loop())


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the judges' loop and wait for what it returns.

    What interrupts the wait, Ctrl-C in the main thread, cancels the coroutine, gives it five
    seconds to come to an end, and is raised then.
    """
    loop = uninterrupted(_OWNER.loop)
    if asyncio._get_running_loop() is loop:
        coroutine.close()
        raise RuntimeError(
            "run was called inside the judges' event loop, which would wait for itself"
        )
    ended: concurrent.futures.Future[Result] = concurrent.futures.Future()
    tasks: list[asyncio.Task[Result]] = []

    def start() -> None:
        task = loop.create_task(coroutine)
        tasks.append(task)
        task.add_done_callback(lambda done: _pass_on(done, ended))

    def cancel() -> None:
        # Called after ``start``, which went into the same queue before.
        for task in tasks:
            task.cancel()

    try:
        loop.call_soon_threadsafe(start)
        return result_of(ended)
    except BaseException:
        if not uninterrupted(ended.done):
            loop.call_soon_threadsafe(cancel)
            wait_for([ended], _GRACE_S)
        raise


def _pass_on(task: asyncio.Task[Result], ended: concurrent.futures.Future[Result]) -> None:
    if task.cancelled():
        ended.set_exception(concurrent.futures.CancelledError())
        return
    error = task.exception()
    if error is None:
        ended.set_result(task.result())
    else:
        ended.set_exception(error)


async def run_jobs(jobs: Iterator[Job], width: int) -> None:
    """Run all jobs, ``width`` at a time; one is taken only when one has ended.

    The first exception, of a job or of ``jobs``, ends all the others and is raised. Cancelled, it
    ends them too.
    """
    workers = [asyncio.create_task(_work(jobs)) for _ in range(width)]
    try:
        await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for worker in workers:
            worker.cancel()
        ended = await asyncio.gather(*workers, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
            raise outcome


def with_end(jobs: Iterator[Job], on_end: Callable[[], object] | None) -> Iterator[Job]:
    """The jobs, with a call when one more was asked for than there are."""
    yield from jobs
    if on_end is not None:
        on_end()


async def _work(jobs: Iterator[Job]) -> None:
    for job in jobs:
        await job()
        # Jobs that never wait, as with a warm cache, would not let the loop do anything else.
        await asyncio.sleep(0)
