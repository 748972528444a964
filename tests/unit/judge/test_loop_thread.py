"""The judges' loop: from any thread, inside of any loop, after a fork, and under Ctrl-C."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from rag_eval.judge import loop_thread
from rag_eval.judge.loop_thread import run_jobs
from tests.tables import every_row


async def here() -> tuple[threading.Thread, asyncio.AbstractEventLoop]:
    await asyncio.sleep(0)
    return threading.current_thread(), asyncio.get_running_loop()


def test_all_runs_are_in_one_loop_of_a_daemon_thread() -> None:
    thread, loop = loop_thread.run(here())
    assert thread.daemon
    assert thread is not threading.current_thread()
    assert loop_thread.run(here()) == (thread, loop)
    assert loop_thread.submit(here()).result(30) == (thread, loop)


def test_it_runs_inside_of_another_running_loop() -> None:
    async def main() -> tuple[threading.Thread, asyncio.AbstractEventLoop]:
        return loop_thread.run(here())

    assert asyncio.run(main()) == loop_thread.run(here())


def test_it_runs_from_many_threads_at_once() -> None:
    async def number(value: int) -> int:
        await asyncio.sleep(0)
        return value

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda value: loop_thread.run(number(value)), range(200))
        assert list(found) == list(range(200))


def test_inside_of_itself_it_would_wait_for_ever() -> None:
    async def main() -> None:
        loop_thread.run(here())

    with pytest.raises(RuntimeError, match="inside the judges' event loop"):
        loop_thread.run(main())


@every_row("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt()])
def test_what_a_coroutine_raises_is_raised_and_the_loop_goes_on(error: BaseException) -> None:
    async def raising() -> None:
        raise error

    before = loop_thread.run(here())
    with pytest.raises(type(error)):
        loop_thread.run(raising())
    assert loop_thread.run(here()) == before


def test_a_future_that_is_cancelled_cancels_its_coroutine() -> None:
    ended = threading.Event()
    begun = threading.Event()

    async def waiting() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    future = loop_thread.submit(waiting())
    assert begun.wait(30)
    future.cancel()
    assert ended.wait(30)


# ---------------------------------------------------------------------------------------- Ctrl-C


@contextmanager
def interrupted_once(begun: threading.Event) -> Iterator[None]:
    """Send this process SIGINT when the event is set, whatever handler the shell left it with."""

    def send() -> None:
        begun.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        sender.join()
        signal.signal(signal.SIGINT, usual)


def test_ctrl_c_cancels_the_coroutine_and_waits_for_its_end() -> None:
    begun = threading.Event()
    ends: list[str] = []

    async def waiting() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            # So many rounds of the loop that who does not wait for the end is gone before.
            for _ in range(1_000):
                await asyncio.sleep(0)
            ends.append("written")
            raise

    with pytest.raises(KeyboardInterrupt), interrupted_once(begun):
        loop_thread.run(waiting())
    assert ends == ["cancelled", "written"]
    assert loop_thread.run(here())[0].is_alive()


def test_a_coroutine_that_does_not_end_does_not_hold_up_ctrl_c(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_thread, "_GRACE_S", 0.0)
    begun, release = threading.Event(), threading.Event()

    async def stubborn() -> None:
        begun.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)

    with pytest.raises(KeyboardInterrupt), interrupted_once(begun):
        loop_thread.run(stubborn())
    release.set()
    assert loop_thread.run(here())[0].is_alive()


# ------------------------------------------------------------------------------------- processes


def test_a_forked_process_has_a_loop_of_its_own_and_leaves_its_parents_alone() -> None:
    """A loop that the child closed would be dead in the parent, with which it shares epoll."""
    code = """
import asyncio, gc, os, sys
from rag_eval.judge import loop_thread
async def seven():
    await asyncio.sleep(0)
    return 7
assert loop_thread.run(seven()) == 7
child = os.fork()
if child == 0:
    found = loop_thread.run(seven())
    gc.collect()
    os._exit(found)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
assert loop_thread.run(seven()) == 7
print("both")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.returncode) == ("both\n", 0), done.stderr


def test_a_call_that_hangs_does_not_keep_the_process() -> None:
    code = """
import asyncio, threading
from rag_eval.judge import loop_thread
from rag_eval.judge.foreign_calls import ThreadCalls
threads = ThreadCalls()
def hang(loop, begun):
    loop.call_soon_threadsafe(begun.set)
    threading.Event().wait()
async def main():
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    call = asyncio.ensure_future(threads.call(lambda prompt: hang(loop, begun), "prompt"))
    await begun.wait()
    call.cancel()
    await asyncio.wait([call])
loop_thread.run(main())
print("left behind")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == ("left behind\n", "", 0)


# ------------------------------------------------------------------------------------------ jobs


def test_jobs_are_taken_as_they_are_needed() -> None:
    n_taken = n_done = most_ahead = 0

    async def job() -> None:
        nonlocal n_done
        await asyncio.sleep(0)
        n_done += 1

    def jobs() -> Iterator[Callable[[], Awaitable[None]]]:
        nonlocal n_taken, most_ahead
        for _ in range(500):
            n_taken += 1
            most_ahead = max(most_ahead, n_taken - n_done)
            yield job

    asyncio.run(run_jobs(jobs(), 7))
    assert n_done == 500
    assert most_ahead == 7


def test_the_first_job_that_fails_ends_the_others() -> None:
    ends: list[str] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("ended")

    async def failing() -> None:
        await asyncio.sleep(0)
        raise ValueError("this one")

    jobs = iter([waiting, waiting, failing, waiting])
    with pytest.raises(ValueError, match="this one"):
        asyncio.run(run_jobs(jobs, 3))
    assert ends == ["ended", "ended"]
    assert list(jobs) == [waiting]


def test_what_the_source_of_jobs_raises_is_raised() -> None:
    async def job() -> None:
        await asyncio.sleep(0)

    def jobs() -> Iterator[Callable[[], Awaitable[None]]]:
        yield job
        raise ValueError("a bad row")

    with pytest.raises(ValueError, match="a bad row"):
        asyncio.run(run_jobs(jobs(), 3))


def test_jobs_that_never_wait_let_the_loop_do_other_things() -> None:
    n_done = 0

    async def job() -> None:
        nonlocal n_done
        n_done += 1

    async def main() -> None:
        running = asyncio.create_task(run_jobs(itertools.repeat(job, 10_000), 2))
        while not n_done:
            await asyncio.sleep(0)
        assert n_done < 10
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(main())
