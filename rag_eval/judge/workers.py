"""Jobs, any number of them, run a few at a time in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

Job: TypeAlias = Callable[[], Awaitable[None]]


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
