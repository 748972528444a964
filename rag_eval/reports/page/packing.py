"""JSON in; what a script element can hold out, packed on other threads while more is written."""

from __future__ import annotations

import base64
import zlib
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from rag_eval.plumbing.interrupts import deferred_interrupts, result_of
from rag_eval.reports.page.templating import trusted

if TYPE_CHECKING:
    from markupsafe import Markup

_Item = TypeVar("_Item")

# The seconds that the best compression takes save a tenth of the bytes.
_COMPRESSION: Final = 4
# Long texts take as long to pack as their rows to write, and packing needs no GIL.
_THREADS: Final = 2
_AHEAD: Final = 8


def packed(data: bytes) -> Markup:
    """JSON that a script element can hold, and that the script of the page unpacks."""
    # Base64 has no character that would have to be escaped.
    return trusted(base64.b64encode(zlib.compress(data, _COMPRESSION)).decode("ascii"))


def packed_in_order(
    items: Iterable[tuple[_Item, bytes]],
) -> Generator[tuple[_Item, Markup], None, None]:
    """Each item with its data packed; some of those that follow are asked for meanwhile."""
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="rag_eval_page")
    pending: deque[tuple[_Item, Future[Markup]]] = deque()
    try:
        for item, data in items:
            with deferred_interrupts():
                pending.append((item, pool.submit(packed, data)))
            if len(pending) > _AHEAD:
                first, packing = pending.popleft()
                yield first, result_of(packing)
        for first, packing in pending:
            yield first, result_of(packing)
    finally:
        # What nobody waits for any more is dropped, also on Ctrl-C; what runs is short.
        pool.shutdown(wait=True, cancel_futures=True)
