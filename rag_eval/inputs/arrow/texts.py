"""Texts of Arrow columns -> columns as kernels read them, in place wherever they lie in order."""

from __future__ import annotations

from typing import Final, Protocol, TypeAlias

import numpy as np

from rag_eval._native import arrow_texts
from rag_eval.inputs.arrow.arrays import ArrowPath, item_cells
from rag_eval.inputs.arrow.cells import Bools, Bytes, Cells, Places, is_list
from rag_eval.kernels.columns import TextColumn, ends_of

#: Some rows of a batch, in order or picked.
Rows: TypeAlias = range | Places

_ALL_VALID: Final = np.empty(0, np.uint8)


class Texts(Protocol):
    """Texts of a column of a batch.

    Attributes
    ----------
    valid : bool array or None
        False if there is none; None if all are there.
    ends : int64, shape (n + 1,)
        Bytes before each text, from any number on.
    """

    valid: Bools | None
    ends: Places

    def taken(self, rows: Rows) -> TextColumn:
        """Some of the texts; empty if there is none."""
        ...


def texts_of(cells: Cells) -> Texts | None:
    """The texts of cells of any kind of string; None if they hold something else."""
    schema = cells.schema
    if schema.dictionary is not None:
        values = texts_of(cells.dictionary())
        return None if values is None else _CodedTexts(cells, values)
    if schema.format in ("u", "U"):
        return _PlainTexts(cells)
    if schema.format == "vu":
        return _ViewedTexts(cells)
    return _NoTexts(cells.length) if schema.format == "n" else None


def first_invalid(texts: TextColumn) -> int:
    """The first text that is not UTF-8; -1 when all are. Lone surrogates of three bytes are."""
    return arrow_texts.first_invalid(texts.data, texts.offsets, 0, len(texts.offsets) - 1)


def no_texts(n_rows: int) -> TextColumn:
    """A column of empty texts."""
    return TextColumn(np.empty(0, np.uint8), np.zeros(n_rows + 1, np.int64))


class _PlainTexts:
    """Texts that lie in one buffer one after the other: scored where they are."""

    __slots__ = ("_cells", "_data", "_lies_in_order", "ends", "valid")

    def __init__(self, cells: Cells) -> None:
        self.valid = cells.valid
        self.ends = cells.offsets(np.int32 if cells.schema.format == "u" else np.int64)
        self._data: Bytes = cells.buffer(2, np.uint8, 0, int(self.ends[-1]))
        self._cells = cells
        # What lies behind a null is not to be read, and cannot be told from a text by offsets.
        hidden = self.valid is not None and np.any(np.diff(self.ends)[~self.valid])
        self._lies_in_order = not hidden

    def taken(self, rows: Rows) -> TextColumn:
        if isinstance(rows, range) and self._lies_in_order:
            return TextColumn(self._data, self.ends[rows.start : rows.stop + 1])
        places = as_places(rows)
        starts = self.ends[places]
        lengths = self.ends[places + 1] - starts
        if self.valid is not None:
            lengths[~self.valid[places]] = 0
        return gathered(self._cells, self._data, starts, lengths)


class _ViewedTexts:
    """Texts that lie anywhere in several buffers, short ones in their views."""

    __slots__ = ("_addresses", "_cells", "_lengths", "_sizes", "_views", "ends", "valid")

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self.valid = cells.valid
        self._views = cells.buffer(1, _VIEW, cells.first, cells.first + cells.length).view(np.uint8)
        n_buffers = max(0, cells.array.n_buffers - 3)
        # The last buffer holds the sizes of those between.
        self._sizes: Places = cells.buffer(cells.array.n_buffers - 1, np.int64, 0, n_buffers)
        addresses = [cells.array.address(2 + index) for index in range(n_buffers)]
        self._addresses = np.array(addresses, np.uint64).view(np.int64)
        if np.any((self._addresses == 0) & (self._sizes > 0)):
            raise cells.broken("a buffer of texts is missing")
        self._lengths = np.empty(cells.length, np.int64)
        valid = _ALL_VALID if self.valid is None else self.valid.view(np.uint8)
        bad = arrow_texts.measure_views(self._views, valid, self._sizes, self._lengths)
        if bad >= 0:
            raise cells.broken(f"the text of row {bad} lies outside its buffers")
        self.ends = ends_of(self._lengths)

    def taken(self, rows: Rows) -> TextColumn:
        places = as_places(rows)
        lengths = self._lengths[places]
        offsets = ends_of(lengths)
        data = np.empty(int(offsets[-1]), np.uint8)
        bad = arrow_texts.gather_views(
            self._views, places, lengths, self._addresses, self._sizes, data
        )
        if bad >= 0:
            raise self._cells.broken(f"the text of row {places[bad]} lies outside its buffers")
        return TextColumn(data, offsets)


class _CodedTexts:
    """Texts of a dictionary, which rows are places in."""

    __slots__ = ("_cells", "_codes", "_lengths", "_values", "ends", "valid")

    def __init__(self, cells: Cells, values: Texts) -> None:
        self._cells = cells
        n_values = len(values.ends) - 1
        self._values = values.taken(range(n_values))
        self._codes = cells.codes(n_values)
        self.valid = cells.valid
        if not n_values:  # nothing but nulls, or no rows
            self._lengths = np.zeros(cells.length, np.int64)
        else:
            self._lengths = np.diff(self._values.offsets)[self._codes]
            if values.valid is not None:
                self.valid = both_valid(self.valid, values.valid[self._codes])
        if self.valid is not None:
            self._lengths[~self.valid] = 0
        self.ends = ends_of(self._lengths)

    def taken(self, rows: Rows) -> TextColumn:
        places = as_places(rows)
        starts = self._values.offsets[self._codes[places]]
        return gathered(self._cells, self._values.data, starts, self._lengths[places])


class _NoTexts:
    """A column of nulls."""

    __slots__ = ("ends", "valid")

    def __init__(self, n_rows: int) -> None:
        self.valid: Bools | None = np.zeros(n_rows, np.bool_)
        self.ends: Places = np.zeros(n_rows + 1, np.int64)

    def taken(self, rows: Rows) -> TextColumn:
        return no_texts(len(rows))


_VIEW: Final = np.dtype("V16")


def as_places(rows: Rows) -> Places:
    """Rows as an array."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows


def both_valid(left: Bools | None, right: Bools | None) -> Bools | None:
    """The rows that are valid in both."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def gathered(cells: Cells, data: Bytes, starts: Places, lengths: Places) -> TextColumn:
    """Spans of ``data`` laid end to end."""
    offsets = ends_of(lengths)
    out = np.empty(int(offsets[-1]), np.uint8)
    bad = arrow_texts.gather(data, starts, lengths, out)
    if bad >= 0:
        raise cells.broken(f"text {bad} lies outside its buffer")
    return TextColumn(out, offsets)


# ------------------------------------------------------------------------------------- lists


class TextLists:
    """Lists of texts of a batch, one a row.

    Attributes
    ----------
    valid : bool array or None
        False if there is no list.
    lengths : int64, shape (n,)
        How many texts a row has; 0 if it has no list.
    items : Texts
        The texts of all rows, in any order.
    """

    __slots__ = ("_starts", "items", "lengths", "valid")

    def __init__(self, cells: Cells, items: Texts) -> None:
        self.valid = cells.valid
        self._starts, self.lengths = cells.spans()
        self.items = items

    def row_bytes(self) -> Places:
        """Bytes of the texts of each row."""
        ends = self.items.ends
        found: Places = ends[self._starts + self.lengths] - ends[self._starts]
        return found

    def places(self, rows: Rows) -> Rows:
        """Where among the items those of some rows are."""
        if isinstance(rows, range):
            starts = self._starts[rows.start : rows.stop]
            lengths = self.lengths[rows.start : rows.stop]
        else:
            starts, lengths = self._starts[rows], self.lengths[rows]
        filled = lengths > 0
        starts, lengths = starts[filled], lengths[filled]
        if not len(starts):
            return range(0)
        if np.array_equal(starts[1:], starts[:-1] + lengths[:-1]):
            return range(int(starts[0]), int(starts[-1] + lengths[-1]))
        before = ends_of(lengths)
        places: Places = np.repeat(starts - before[:-1], lengths) + np.arange(before[-1])
        return places


def text_lists_of(cells: Cells, path: ArrowPath) -> TextLists | None:
    """The lists of texts of a column; None if it holds something else."""
    if cells.schema.format == "n":
        return None
    if not is_list(cells.schema):
        return None
    items = texts_of(item_cells(cells, path))
    return None if items is None else TextLists(cells, items)
