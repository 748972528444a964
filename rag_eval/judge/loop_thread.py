"""The event loop that judges are called in: one per process, on a daemon thread of its own.

Because it is nobody else's, it works the same from a script, a notebook, a server's handler and
any thread, and a client that keeps connections finds its loop again in the next run.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

Result = TypeVar("Result")

# What a cancelled coroutine has to come to an end.
_GRACE_S: Final = 5.0


class _OwnedLoop:
    """A loop and the thread that runs it."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="rag-eval-judge", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.loop.is_closed():
            try:
                self.loop.run_forever()
            # asyncio lets these two end the loop; here they belong to who waits for the coroutine.
            except (KeyboardInterrupt, SystemExit):
                continue


class _Owner:
    """Starts the loop on first use, and another in a process that was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owned: _OwnedLoop | None = None
        # A forked process holds its parent's loop for good: to drop it is to close it, which
        # would take the parent's wake-up out of the epoll set that both share.
        self._parents: list[_OwnedLoop] = []
        os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        # Another thread of the parent may have held it.
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._owned is not None and self._owned.pid != os.getpid():
                self._parents.append(self._owned)
                self._owned = None
            if self._owned is None:
                self._owned = _OwnedLoop()
            return self._owned.loop


_OWNER: Final = _Owner()


def submit(coroutine: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
    """Start a coroutine in the judges' loop; to cancel the future is to cancel it."""
    return asyncio.run_coroutine_threadsafe(coroutine, _OWNER.loop())


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the judges' loop and wait for what it returns.

    What interrupts the wait, Ctrl-C in the main thread, cancels the coroutine, gives it five
    seconds to come to an end, and is raised then.
    """
    loop = _OWNER.loop()
    if asyncio._get_running_loop() is loop:
        coroutine.close()
        raise RuntimeError("run was called inside of the judges' loop, which would wait for itself")
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
        return ended.result()
    except BaseException:
        if not ended.done():
            loop.call_soon_threadsafe(cancel)
            concurrent.futures.wait([ended], _GRACE_S)
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
