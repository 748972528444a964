"""Columns of Arrow data -> their cells, every place in their buffers checked before it is read."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval._native import arrow_texts
from rag_eval._native.arrow_stream import ArrayNode, SchemaNode
from rag_eval.errors import InputError

Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Places: TypeAlias = npt.NDArray[np.int64]

_NO_LIMIT: Final = np.iinfo(np.int64).max
# So that the bytes of any buffer, and sums of a few such numbers, can be counted.
_MAX_LENGTH: Final = 1 << 56

_TYPE_NAMES: Final = {
    **{"n": "null", "b": "bool", "e": "float16", "f": "float32", "g": "float64"},
    **{"c": "int8", "s": "int16", "i": "int32", "l": "int64"},
    **{"C": "uint8", "S": "uint16", "I": "uint32", "L": "uint64"},
    **{"u": "string", "U": "large_string", "vu": "string_view"},
    **{"z": "binary", "Z": "large_binary", "vz": "binary_view"},
    **{"+l": "list", "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view"},
    **{"+s": "struct", "+m": "map", "+r": "run_end_encoded", "tdD": "date32", "tdm": "date64"},
}
_TYPE_FAMILIES: Final = {
    **{"w:": "fixed_size_binary", "d:": "decimal", "+w:": "fixed_size_list"},
    **{"+us:": "sparse_union", "+ud:": "dense_union"},
    **{"ts": "timestamp", "tt": "time", "tD": "duration", "ti": "interval"},
}


def type_name(schema: SchemaNode) -> str:
    """``list<string>``: how messages call a type."""
    if schema.dictionary is not None:
        return f"dictionary of {type_name(schema.dictionary)}"
    found = _TYPE_NAMES.get(schema.format)
    if found is None:
        families = (name for mark, name in _TYPE_FAMILIES.items() if schema.format.startswith(mark))
        found = next(families, f"{schema.format!r}")
    if is_list(schema):
        return f"{found}<{type_name(schema.children[0])}>"
    return found


def is_list(schema: SchemaNode) -> bool:
    """A list of any kind, not dictionary-encoded."""
    kinds = ("+l", "+L", "+vl", "+vL")
    of_kind = schema.format in kinds or schema.format.startswith("+w:")
    return of_kind and schema.dictionary is None and len(schema.children) == 1


def is_struct(schema: SchemaNode) -> bool:
    """A struct, not dictionary-encoded."""
    return schema.format == "+s" and schema.dictionary is None


def is_map(schema: SchemaNode) -> bool:
    """Keys with values, held as a list of structs of the two, not dictionary-encoded."""
    return (
        schema.format == "+m"
        and schema.dictionary is None
        and len(schema.children) == 1
        and len(schema.children[0].children) == 2
    )


def _has_dictionary(schema: SchemaNode) -> bool:
    """Whether places in a dictionary are anywhere in it."""
    return schema.dictionary is not None or any(map(_has_dictionary, schema.children))


class Cells(NamedTuple):
    """Cells of one column of one batch.

    Attributes
    ----------
    name : str
        The column's path, as messages call it.
    first : int
        Place of the first cell in the buffers; the array's own offset is in it.
    length : int
    valid : bool, shape (length,), or None
        False if a cell is null, or what it is a member of; None if none is.
    """

    name: str
    schema: SchemaNode
    array: ArrayNode
    first: int
    length: int
    valid: Bools | None

    def broken(self, what: str) -> InputError:
        """The error for data that is not as the format has it."""
        where = f" in column {self.name!r}" if self.name else ""
        return InputError(f"broken Arrow data{where}: {what}")

    def buffer(self, index: int, dtype: npt.DTypeLike, begin: int, end: int) -> npt.NDArray[Any]:
        """Items ``begin`` to ``end`` of a buffer; copied only where they are not aligned."""
        kind = np.dtype(dtype)
        if begin >= end:
            return np.empty(0, kind)
        memory = self.array.buffer(index, end * kind.itemsize)
        if not len(memory):
            raise self.broken(f"buffer {index} is missing")
        items = np.frombuffer(memory, np.uint8)[begin * kind.itemsize :].view(kind)
        return items if items.flags.aligned else items.copy()

    def offsets(self, dtype: npt.DTypeLike, limit: int = _NO_LIMIT) -> Places:
        """The ``length + 1`` offsets in buffer 1, checked; in place where they have 64 bits."""
        if not self.length:
            return np.zeros(1, np.int64)
        found = self.buffer(1, dtype, self.first, self.first + self.length + 1)
        if found.dtype == np.int64:
            offsets, bad = found, arrow_texts.check_offsets(found, limit)
        else:
            offsets = np.empty(len(found), np.int64)
            bad = arrow_texts.widen_offsets(found, limit, offsets)
        if bad >= 0:
            raise self.broken(f"offset {bad} is {found[bad]}, below the one before or too large")
        return offsets

    def member(self, index: int) -> Cells:
        """A member of structs: null if its struct is."""
        schema = self.schema.children[index]
        name = f"{self.name}.{schema.name}" if self.name else schema.name
        child = self._child(index)
        return cells_of(name, schema, child, self.first, self.length, self.valid)

    def items(self) -> Cells:
        """The items of all lists; items that no list holds may be null."""
        child, schema = self._child(0), self.schema.children[0]
        if not _has_dictionary(schema):
            return cells_of(f"{self.name}[]", schema, child, 0, child.length)
        held = self._held()
        return cells_of(f"{self.name}[]", schema, child, 0, len(held), held)

    def _held(self) -> Bools:
        """Which items, up to the last of a list, belong to one: others may have invalid codes."""
        starts, lengths = self.spans()
        # Not as many as the array says: a broken one may say anything.
        changes = np.zeros(int((starts + lengths).max(initial=0)) + 1, np.int64)
        np.add.at(changes, starts, 1)
        np.add.at(changes, starts + lengths, -1)
        return np.cumsum(changes[:-1]) > 0

    def _child(self, index: int) -> ArrayNode:
        try:
            return self.array.child(index)
        except IndexError:
            raise self.broken("a child is missing") from None

    def dictionary(self) -> Cells:
        """The values of a dictionary-encoded column, each once."""
        schema = self.schema.dictionary
        assert schema is not None
        try:
            values = self.array.dictionary()
        except IndexError:
            raise self.broken("the dictionary is missing") from None
        return cells_of(self.name, schema, values, 0, values.length)

    def codes(self, n_values: int) -> Places:
        """Places in the dictionary, checked; 0 if a cell is null."""
        kind = _CODES.get(self.schema.format)
        if kind is None:
            raise self.broken(f"the dictionary indices have type {self.schema.format!r}")
        found = self.buffer(1, kind, self.first, self.first + self.length)
        codes = found.astype(np.int64)
        if self.valid is not None:
            codes[~self.valid] = 0
        given = codes if self.valid is None else codes[self.valid]
        if len(given) and not 0 <= int(given.min()) <= int(given.max()) < n_values:
            raise self.broken(f"an index outside the {n_values} values of its dictionary")
        return codes

    def spans(self) -> tuple[Places, Places]:
        """Where each list begins among the items, and how many it has; none where it is null."""
        n_items = self._child(0).length
        begin, end = self.first, self.first + self.length
        format_ = self.schema.format
        if format_ in _OFFSETS:
            offsets = self.offsets(_OFFSETS[format_], n_items)
            starts, lengths = offsets[:-1], np.diff(offsets)
        elif format_ in ("+vl", "+vL"):
            kind = np.int32 if format_ == "+vl" else np.int64
            starts = self.buffer(1, kind, begin, end).astype(np.int64)
            lengths = self.buffer(2, kind, begin, end).astype(np.int64)
        else:
            size = self._fixed_size(n_items)
            starts = np.arange(begin, end, dtype=np.int64) * size
            lengths = np.full(self.length, size, np.int64)
        if self.valid is not None:
            lengths = np.where(self.valid, lengths, 0)
        if format_ not in _OFFSETS:
            starts = np.where(lengths == 0, 0, starts)
            # Not starts + lengths > n_items: the sum may not fit.
            if np.any((starts < 0) | (lengths < 0) | (starts > n_items - lengths)):
                raise self.broken("a list that reaches beyond its items")
        return starts, lengths

    def _fixed_size(self, n_items: int) -> int:
        digits = self.schema.format.removeprefix("+w:")
        size = int(digits) if digits.isdecimal() and len(digits) < 19 else -1
        if size < 0 or size * (self.first + self.length) > n_items:
            raise self.broken("fewer items than its lists have")
        return size


_OFFSETS: Final[dict[str, npt.DTypeLike]] = {"+l": np.int32, "+L": np.int64, "+m": np.int32}
_CODES: Final[dict[str, npt.DTypeLike]] = {
    **{"c": np.int8, "s": np.int16, "i": np.int32, "l": np.int64},
    **{"C": np.uint8, "S": np.uint16, "I": np.uint32, "L": np.uint64},
}


def cells_of(
    name: str,
    schema: SchemaNode,
    array: ArrayNode,
    skipped: int,
    length: int,
    outer_valid: Bools | None = None,
) -> Cells:
    """Cells ``skipped`` to ``skipped + length`` of an array."""
    first = array.offset + skipped
    cells = Cells(name, schema, array, first, length, None)
    if not (0 <= array.offset < _MAX_LENGTH and 0 <= array.length < _MAX_LENGTH and length >= 0):
        raise cells.broken(f"{array.length} rows from {array.offset} on")
    if skipped + length > array.length:
        raise cells.broken(f"it has {array.length} rows, not {skipped + length}")
    if array.n_children != len(schema.children):
        raise cells.broken(f"{array.n_children} children, not {len(schema.children)}")
    if schema.format == "n":
        return cells._replace(valid=np.zeros(length, np.bool_))
    # Unions and runs have no validity of their own.
    if array.null_count == 0 or not array.address(0) or schema.format.startswith(("+u", "+r")):
        return cells._replace(valid=outer_valid)
    bits = cells.buffer(0, np.uint8, first // 8, (first + length + 7) // 8)
    valid = np.unpackbits(bits, bitorder="little")[first % 8 :][:length].view(np.bool_)
    if outer_valid is not None:
        valid = valid & outer_valid
    return cells._replace(valid=None if valid.all() else valid)
