"""Reading ahead: the next piece of a file is decoded while the one before is worked on."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_Item = TypeVar("_Item")
_END: Final = object()


def read_ahead(items: Iterator[_Item]) -> Generator[_Item, None, None]:
    """The items, each taken from the iterator by another thread while its predecessor is used.

    Pays where taking one leaves the interpreter to others, as decoding of columns does.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="rag_eval_reader") as reader:
        coming = reader.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = reader.submit(next, items, _END)
            yield item  # type: ignore[misc]  # not the end
