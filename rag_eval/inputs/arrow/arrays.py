"""Arrow data of any library -> batches, and columns found by path.

In: objects with ``__arrow_c_stream__`` or ``__arrow_c_array__``.  Out: cells, over the library's
own memory. No Arrow library is needed for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from rag_eval._native import arrow_stream
from rag_eval._native.arrow_stream import ArrayNode, ArrowStream, SchemaNode
from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.arrow.cells import Cells, cells_of, is_list, is_struct, type_name


class ArrowPath(NamedTuple):
    """A column, found by its path in a schema.

    ``members`` leads from struct to struct; ``items`` does the same inside the items of the list
    that it leads to, and is None if the path does not go into a list.
    """

    name: str
    schema: SchemaNode
    members: tuple[int, ...]
    items: tuple[int, ...] | None = None


def _paths_below(found: ArrowPath) -> Iterator[ArrowPath]:
    """The path itself and all that go on from it."""
    yield found
    schema, dot = found.schema, "."
    into_items = found.items
    if is_list(schema) and into_items is None and is_struct(schema.children[0]):
        schema, dot, into_items = schema.children[0], "[].", ()
    elif not is_struct(schema):
        return
    for index, child in enumerate(schema.children):
        name = f"{found.name}{dot}{child.name}" if found.name else child.name
        if into_items is None:
            yield from _paths_below(ArrowPath(name, child, (*found.members, index)))
        else:
            items = (*into_items, index)
            yield from _paths_below(ArrowPath(name, child, found.members, items))


class ArrowBatch:
    """Some consecutive rows, over the memory of who made them."""

    __slots__ = ("_rows",)

    def __init__(self, schema: SchemaNode, array: ArrayNode) -> None:
        self._rows = cells_of("", schema, array, 0, array.length)

    def __len__(self) -> int:
        return self._rows.length

    def cells(self, path: ArrowPath) -> Cells:
        """The cells of a column; for a path into a list those of the list."""
        cells = self._rows
        for index in path.members:
            cells = cells.member(index)
        return cells


def item_cells(cells: Cells, path: ArrowPath) -> Cells:
    """What the lists of a column hold, or the member of it that the path names."""
    items = cells.items()
    for index in path.items or ():
        items = items.member(index)
    return items


class ArrowSource:
    """A table of any size that is read once, batch by batch."""

    def __init__(self, schema: SchemaNode, batches: Iterator[ArrayNode]) -> None:
        self.schema = schema
        self._batches = batches
        self._first: list[ArrayNode] | None = None  # once they were looked at
        self._paths: dict[str, list[ArrowPath]] = {}
        for found in _paths_below(ArrowPath("", schema, ())):
            self._paths.setdefault(found.name, []).append(found)
        del self._paths[""]

    def paths(self) -> list[str]:
        """All columns: ``a``, ``a.b`` in a struct, ``a[].b`` in the structs of a list.

        A struct, or a list of them, is not listed itself where its members are.
        """
        return [
            name
            for name, found in self._paths.items()
            if not all(_holds_structs(path.schema) for path in found)
            or not any(other.startswith((f"{name}.", f"{name}[]")) for other in self._paths)
        ]

    def path(self, name: str) -> ArrowPath:
        """The column of a path.

        Raises
        ------
        InputError
            When there is none, or more than one.
        """
        found = self._paths.get(name, [])
        if not found:
            hint = suggestion(name, self._paths)
            known = ", ".join(self.paths())
            raise InputError(f"there is no column {name!r}{hint} (columns: {known})")
        if len(found) > 1:
            raise InputError(f"there are {len(found)} columns {name!r}; names must be unique")
        return found[0]

    def has(self, name: str) -> bool:
        """Whether there is a column of that path."""
        return name in self._paths

    def first_batch(self) -> ArrowBatch | None:
        """The first rows, before :meth:`batches` gives them; None if there are none."""
        if self._first is None:
            self._first = list(islice(self._batches, 1))
        return next((ArrowBatch(self.schema, array) for array in self._first), None)

    def batches(self) -> Iterator[ArrowBatch]:
        """The rows, which can be read once.

        Raises
        ------
        InputError
            With what the producer says when it cannot go on, and for data that is broken.
        """
        for array in chain(self._first or (), self._batches):
            yield ArrowBatch(self.schema, array)

    def close(self) -> None:
        """Release the producer; batches that were read stay valid."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


def _holds_structs(schema: SchemaNode) -> bool:
    return is_struct(schema) or (is_list(schema) and is_struct(schema.children[0]))


# ------------------------------------------------------------------------------------ opening


def is_arrow(obj: object) -> bool:
    """Whether an object gives itself as Arrow data."""
    return hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__")


def open_arrow(obj: Any) -> ArrowSource:
    """A table that any library holds, without a copy.

    Parameters
    ----------
    obj : object
        With ``__arrow_c_stream__`` (tables, readers, frames, relations) or ``__arrow_c_array__``
        (one batch). Its columns are those of a struct.

    Raises
    ------
    InputError
        If it is not a table or cannot be read; the message includes that of the producer.
    ImportError
        When its library needs one that is not installed.
    """
    kind = type(obj).__name__
    if not is_arrow(obj):
        raise InputError(f"expected Arrow data, got {kind}")
    try:
        if hasattr(obj, "__arrow_c_stream__"):
            stream = arrow_stream.open_stream(obj.__arrow_c_stream__())
            schema, batches = stream.schema(), _stream_batches(stream, kind)
        else:
            schema, array = arrow_stream.open_array(*obj.__arrow_c_array__())
            batches = iter([array])
    except (MemoryError, ImportError):  # a library may need another one for it
        raise
    except Exception as error:  # any exception of the library means that its data cannot be read
        raise InputError(f"cannot read {kind} as Arrow data: {_message(error)}") from error
    if not is_struct(schema):
        raise InputError(f"{kind} must be a table, got a single column of type {type_name(schema)}")
    return ArrowSource(schema, batches)


def _stream_batches(stream: ArrowStream, kind: str) -> Iterator[ArrayNode]:
    try:
        while True:
            try:
                array = stream.next()
            except (OSError, ValueError) as error:
                raise InputError(f"cannot read {kind} as Arrow data: {_message(error)}") from error
            if array is None:
                return
            yield array
    finally:
        stream.close()


def _message(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
