"""JSON in; what a script element can hold out, packed on another thread while more is written."""

from __future__ import annotations

import base64
import zlib
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from rag_eval.plumbing.interrupts import deferred_interrupts, result_of, uninterrupted
from rag_eval.reports.page.templating import trusted

if TYPE_CHECKING:
    from markupsafe import Markup

_Item = TypeVar("_Item")

# The seconds that the best compression takes save a tenth of the bytes.
_COMPRESSION: Final = 4
_AHEAD: Final = 8


def packed(data: bytes) -> Markup:
    """JSON that a script element can hold, and that the script of the page unpacks."""
    # Base64 has no character that would have to be escaped.
    return trusted(base64.b64encode(zlib.compress(data, _COMPRESSION)).decode("ascii"))


class _Packing:
    """Data on its way through the thread that packs it."""

    def __init__(self, pool: ThreadPoolExecutor, data: bytes) -> None:
        self._data = data
        self._made: Markup | None = None
        self._future = pool.submit(packed, data)

    @property
    def is_done(self) -> bool:
        return self._made is not None or uninterrupted(self._future.done)

    def took_over(self) -> bool:
        """Pack it here, unless the thread has begun with it; whether that was done."""
        if self._made is not None or not uninterrupted(self._future.cancel):
            return False
        self._made = packed(self._data)
        return True

    def result(self) -> Markup:
        return result_of(self._future) if self._made is None else self._made


def packed_in_order(
    items: Iterable[tuple[_Item, bytes]],
) -> Generator[tuple[_Item, Markup], None, None]:
    """Each item with its data packed; some of those that follow are asked for meanwhile.

    Packing needs no GIL. One thread does it, and whoever would wait for that thread packs an item
    too, since long texts take longer to pack than to write as JSON. With one more thread, three
    would share the cores of a small machine, and the one that writes JSON would get less of them.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="rag_eval_page")
    pending: deque[tuple[_Item, _Packing]] = deque()
    try:
        for item, data in items:
            with deferred_interrupts():
                pending.append((item, _Packing(pool, data)))
            if len(pending) > _AHEAD:
                yield _next(pending)
        while pending:
            yield _next(pending)
    finally:
        # What nobody waits for any more is dropped, also on Ctrl-C; what runs is short.
        pool.shutdown(wait=True, cancel_futures=True)


def _next(pending: deque[tuple[_Item, _Packing]]) -> tuple[_Item, Markup]:
    """The first item with its data packed; until that is done, one is packed here."""
    if not pending[0][1].is_done:
        for _, packing in pending:
            if packing.took_over():
                break
    item, packing = pending.popleft()
    return item, packing.result()
