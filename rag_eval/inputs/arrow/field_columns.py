"""The columns of a batch that hold our fields, as texts where their types allow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.arrays import ArrowBatch, ArrowPath, ArrowSource
from rag_eval.inputs.arrow.cells import Bools, Cells, Places, is_list
from rag_eval.inputs.arrow.texts import Rows, TextLists, Texts, as_places, text_lists_of, texts_of
from rag_eval.inputs.arrow.values import Reader, TextReader, value_reader
from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.inputs.schemas.paths import Steps, steps_of, value_at
from rag_eval.kernels.columns import ends_of

# What one text of a list counts besides its bytes: lists may hold any number of empty ones.
_ITEM_BYTES: Final = 1
# Of texts that may be blank, or the print of a list or an object.
_DOUBTFUL_FIRSTS: Final = np.frombuffer(b"[{\xc2\xe1\xe2\xe3" + bytes(range(33)), np.uint8)


@dataclass(frozen=True, slots=True)
class OddColumn:
    """A column that holds no texts, or not where they belong; None if it cannot be read."""

    value: Reader | None
    valid: Bools | None
    refusal: str = ""

    def has_any(self, rows: Rows) -> bool:
        """Whether not all of some rows are null."""
        return self.valid is None or bool(self.valid[as_places(rows)].any())


FieldColumn: TypeAlias = Texts | TextLists | OddColumn


class FieldPath(NamedTuple):
    """A column of the table, and the way from its values to those of a field."""

    column: ArrowPath
    steps: Steps = ()

    @classmethod
    def of(cls, source: ArrowSource, path: str) -> FieldPath:
        """The column of a path; where a path leads into its values, that of what it begins in."""
        column = path.partition("[")[0]
        while not source.has(column) and "." in column:
            column = column.rpartition(".")[0]
        if source.has(path) or not source.has(column):
            return cls(source.path(path))
        return cls(source.path(column), steps_of(path[len(column) :]))

    def reader(self, cells: Cells) -> Reader:
        """A function from a row to the value of the field."""
        if not self.steps:
            return value_reader(cells, self.column)
        read = value_reader(cells, self.column)
        return lambda row: value_at(read(row), self.steps)


def _column_of(name: str, path: FieldPath, cells: Cells) -> FieldColumn | None:
    """The column of a field; None if it is nothing but nulls by its type."""
    if cells.schema.format == "n":
        return None
    column: FieldColumn | None = None
    if not path.steps and is_list(cells.schema):
        lists_allowed = name in ("contexts", "ground_truth")
        column = text_lists_of(cells, path.column) if lists_allowed else None
    elif not path.steps:
        texts = texts_of(cells)
        column = texts
        if (name == "contexts" and not _are_single(texts)) or (
            name == "ground_truth" and _may_be_lists(texts)
        ):
            column = None
    if column is not None:
        return column
    try:
        return OddColumn(path.reader(cells), cells.valid if not path.steps else None)
    except InputError as error:
        return OddColumn(None, cells.valid, str(error))


def _are_single(texts: Texts | None) -> bool:
    """Whether each text is one context: none is blank or may be a printed list."""
    if texts is None:
        return False
    data, offsets = texts.taken(range(len(texts.ends) - 1))
    lengths = np.diff(offsets)
    if np.any(lengths == 0 if texts.valid is None else (lengths == 0) & texts.valid):
        return False
    firsts = data[offsets[:-1][lengths > 0]]
    # The last four begin the spaces that are not ASCII.
    return not np.isin(firsts, _DOUBTFUL_FIRSTS).any()


def _may_be_lists(texts: Texts | None) -> bool:
    """Whether a text may be the print of a list."""
    if texts is None:
        return False
    data, offsets = texts.taken(range(len(texts.ends) - 1))
    return bool(np.any(data[offsets[:-1][np.diff(offsets) > 0]] == ord("[")))


class FieldTable:
    """A batch with the columns of our fields, which all of its blocks share."""

    __slots__ = ("_readers", "batch", "columns", "paths", "source")

    def __init__(
        self, source: ArrowSource, batch: ArrowBatch, paths: Mapping[str, FieldPath]
    ) -> None:
        self.source = source
        self.batch = batch
        self.paths = paths
        self.columns: dict[str, FieldColumn] = {}
        for name, path in paths.items():
            column = _column_of(name, path, batch.cells(path.column))
            if column is not None:
                self.columns[name] = column
        self._readers: dict[str, Reader] = {}

    def row_ends(self) -> Places:
        """How many bytes the texts of the rows up to each have, about."""
        total = np.zeros(len(self.batch) + 1, np.int64)
        for name in TEXT_FIELDS:
            column = self.columns.get(name)
            if isinstance(column, TextLists):
                total += ends_of(column.row_bytes() + _ITEM_BYTES * column.lengths)
            elif column is not None and not isinstance(column, OddColumn):
                total += column.ends - column.ends[0]
        return total

    def reader(self, name: str) -> Reader | None:
        """A function from a row of the batch to its value of a column; None if there is none."""
        found = self._readers.get(name)
        if found is None:
            if not self.source.has(name):
                return None
            path = self.source.path(name)
            found = self._readers[name] = value_reader(self.batch.cells(path), path)
        return found

    def field_reader(self, name: str) -> Reader | None:
        """As :meth:`reader`, by our field; None also where the column cannot be read."""
        column = self.columns.get(name)
        if column is None:
            return None
        if isinstance(column, OddColumn):
            return column.value
        if isinstance(column, TextLists):
            return self.reader(self.paths[name].column.name)
        return TextReader(column)
