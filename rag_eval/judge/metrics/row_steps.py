"""One row and its asker, with the steps that several metrics share asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any, TypeVar

from rag_eval.judge.asking import Asker, Reply, Tally
from rag_eval.judge.metrics.judgements import JudgedRow
from rag_eval.judge.steps import Fields, Step

Value = TypeVar("Value")


class RowSteps:
    """Asks the judge about one row.

    What is shared is started by the first metric that wants it, which it counts for, and is
    awaited by all of them: its failure is a failure of each.
    """

    def __init__(self, asker: Asker, row: JudgedRow) -> None:
        self.row = row
        self._asker = asker
        self._shared: dict[Hashable, asyncio.Task[Any]] = {}

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Reply:
        """The value of the judge's reply."""
        return (await self._asker.ask(step, fields, tally, check)).value

    def once(
        self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Value]]
    ) -> asyncio.Task[Value]:
        """The task of that key, started if this is the first to want it."""
        if key not in self._shared:
            self._shared[key] = asyncio.create_task(start())
        return self._shared[key]

    async def close(self) -> None:
        """End what was started and is wanted no more."""
        await end_all(list(self._shared.values()))


async def together(coroutines: Sequence[Coroutine[Any, Any, Value]]) -> list[Value]:
    """What all of them give, in order; when one fails, the others are ended before it is raised."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await end_all(tasks)


async def end_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel what still runs and wait for all; what they raise was, or need not be, heard."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
