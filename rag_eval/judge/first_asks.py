"""Prompts that begin alike: the first of a row goes alone, then its server has kept the beginning.

Asked at once, each would be read in full, and paid for as such; vendors even charge more for what
they keep. Rows that are judged at the same time fill the slots meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class FirstAsks:
    """The first asks of one row in one event loop."""

    def __init__(self) -> None:
        self._ended: dict[Hashable, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, beginning: Hashable) -> AsyncIterator[None]:
        """Wait until the first ask with this beginning has ended, well or not."""
        first = self._ended.get(beginning)
        if first is not None:
            await first.wait()
            yield
            return
        ended = self._ended[beginning] = asyncio.Event()
        try:
            yield
        finally:
            ended.set()
