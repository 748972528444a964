"""Batches of Arrow data -> blocks of rows, packed for the kernels without a Python string a cell.

A block gives the scores and the faults that its rows would give as dicts. Where that takes more
than buffers, such as a column of another type, its rows become dicts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, time
from typing import Any, Final

import numpy as np

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.arrays import ArrowSource
from rag_eval.inputs.arrow.cells import Bools, Places
from rag_eval.inputs.arrow.field_columns import FieldPath, FieldTable, OddColumn
from rag_eval.inputs.arrow.packing import Part, grounded_batch, overlap_batch, part_of
from rag_eval.inputs.arrow.texts import Rows, as_places, first_invalid
from rag_eval.inputs.arrow.values import Reader, values_at
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import TEXT_FIELDS, FieldNeeds, SampleError, SampleLike, sample_name
from rag_eval.inputs.schemas.contexts import context_texts, said_text, truth_texts
from rag_eval.kernels.columns import SampleBatch

_FIELDS: Final = (*TEXT_FIELDS, "id", "language")
_LOOKED_AT_ROWS: Final = 64
_LISTED: Final = {
    **{"question": said_text, "answer": said_text},
    **{"contexts": context_texts, "ground_truth": truth_texts},
}
_ECHOED: Final = {"ground_truth": "groundTruth"}
_MAX_BLOCK_ROWS: Final = 8192
# More than in blocks of rows: nothing is copied, and each block costs the threads a turn.
_BLOCK_BYTES: Final = 1 << 22
_WHOLE_NUMBERS: Final = tuple("cCsSiIlL")  # formats of the C data interface


def arrow_blocks(
    source: ArrowSource,
    fields: Mapping[str, str],
    *,
    origin_name: str | None = None,
    first_row: int = 0,
) -> Iterator[ArrowBlock]:
    """Cut the rows of a table into blocks of about 4 MiB of texts.

    Parameters
    ----------
    source : ArrowSource
        Read to its end; closed when the generator is.
    fields : mapping of str
        Our field to the path of its column: question, answer, contexts, ground_truth, id and
        language, each only where there is one. Contexts may have any shape that
        :func:`~rag_eval.inputs.schemas.contexts.context_texts` understands.
    origin_name : str, optional
        The file that the rows are of.
    first_row : int
        Number of the first row, from 0.

    Raises
    ------
    InputError
        For a path that is not there or not unique, and for data that cannot be read.
    """
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        raise InputError(f"there is no field {unknown[0]!r} (fields: {', '.join(_FIELDS)})")
    paths = {name: FieldPath.of(source, fields[name]) for name in _FIELDS if name in fields}
    try:
        for batch in source.batches():
            table = FieldTable(source, batch, paths)
            ends = table.row_ends()
            for rows in _cuts(ends, _BLOCK_BYTES):
                n_bytes = int(ends[rows.stop] - ends[rows.start])
                number, origin = first_row + rows.start, None
                if origin_name is not None:
                    numbers = range(number, number + len(rows))
                    origin = FileOrigin(origin_name, "row", numbers, numbers)
                yield ArrowBlock(table, rows, rows.start, number, n_bytes, origin)
            first_row += len(batch)
    finally:
        source.close()


def first_rows(source: ArrowSource, paths: Sequence[str]) -> list[dict[str, Any]]:
    """The first rows of a table with what is at some paths, as far as it can be read."""
    batch = source.first_batch()
    if batch is None:
        return []
    readers: dict[str, Reader] = {}
    for path in paths:
        try:
            column = FieldPath.of(source, path)
            readers[path] = column.reader(batch.cells(column.column))
        except InputError:
            continue
    n_rows = min(len(batch), _LOOKED_AT_ROWS)
    return [{path: read(row) for path, read in readers.items()} for row in range(n_rows)]


def check_truths(paths: Collection[str], name: str) -> None:
    """Refuse columns of both spellings: which of them counts would be left to chance."""
    if {"ground_truth", "groundTruth"} <= set(paths):
        raise InputError(f"{name} has the columns ground_truth and groundTruth; drop or map one")


def _cuts(ends: Places, block_bytes: int) -> Iterator[range]:
    """Rows whose bytes end at ``ends``, in ranges of at most ``block_bytes`` or one row."""
    n_rows = len(ends) - 1
    begin = 0
    while begin < n_rows:
        fitting = int(np.searchsorted(ends, ends[begin] + block_bytes, side="right")) - 1
        end = min(max(fitting, begin + 1), begin + _MAX_BLOCK_ROWS, n_rows)
        yield range(begin, end)
        begin = end


class ArrowBlock:
    """Some rows of a batch, over its memory; see :class:`~rag_eval.inputs.blocks.SampleBlock`."""

    __slots__ = (
        *("_begin", "_rows", "_table", "absent", "first_row", "held", "n_bytes", "origin"),
        "unread",
    )

    def __init__(
        self,
        table: FieldTable,
        rows: Rows,
        begin: int,
        first_row: int,
        n_bytes: int,
        origin: FileOrigin | None,
    ) -> None:
        self._table = table
        self._rows = rows
        self._begin = begin  # the row of the batch that ``first_row`` is the number of
        self.first_row = first_row
        self.n_bytes = n_bytes
        self.origin = origin
        self.held: Any = None  # the batch as its own library has it, when that is wanted
        self.unread: Sequence[str] = ()  # columns of the file that are not in the batch
        self.absent: frozenset[str] = frozenset()

    @property
    def places(self) -> Places:
        """The block's rows among those of the batch."""
        return as_places(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def name(self, index: int) -> str:
        """How errors call the row at ``index``."""
        found = self._id(int(self._rows[index]))
        sample = {} if found is None else {"id": found}
        if self.origin is not None:
            return self.origin.name(index, sample)
        return sample_name(self.first_row + int(self._rows[index]) - self._begin, sample)

    def sample(self, index: int) -> dict[str, Any]:
        """The row at ``index`` under the names of result files, without what is null."""
        row = int(self._rows[index])
        sample: dict[str, Any] = {}
        for name in _FIELDS:
            reader = self._table.field_reader(name)
            value = None
            if name == "id":
                value = self._id(row)
            elif reader is not None:
                value = reader(row)
            if value is not None:
                texts_of_field = _LISTED.get(name)
                sample[_ECHOED.get(name, name)] = (
                    value if texts_of_field is None else texts_of_field(value)
                )
        return sample

    def _id(self, row: int) -> str | int | None:
        """The id of a row of the batch."""
        reader = self._table.field_reader("id")
        return None if reader is None else _as_id(reader(row))

    @property
    def ids_are_numbers(self) -> bool:
        """Whether ids are whole numbers, by their type; row numbers where there is no column."""
        path = self._table.paths.get("id")
        if path is None:
            return True
        schema = self._table.batch.cells(path.column).schema
        return schema.dictionary is None and schema.format in _WHOLE_NUMBERS

    @property
    def id_column(self) -> str | None:
        """The path of the column of ids."""
        path = self._table.paths.get("id")
        return None if path is None else path.column.name

    def ids(self) -> list[Any]:
        """The id of each row, None if it has none."""
        reader = self._table.field_reader("id")
        if reader is None:
            return [None] * len(self)
        found = values_at(reader, self._rows)
        if {str, int}.issuperset(map(type, found)):
            return found  # without a look at each
        return [_as_id(one) for one in found]

    def values(self, name: str) -> list[Any]:
        """A column of the table by its path; None if a row lacks it, or there is none."""
        reader = self._table.reader(name)
        if reader is None:
            return [None] * len(self)
        return values_at(reader, self._rows)

    def plain_rows(self, names: Sequence[str]) -> None:
        """None: rows are put together one by one."""
        return

    def taken(self, indices: Sequence[int]) -> ArrowBlock:
        """Some of the rows, over the same memory."""
        taken = ArrowBlock(
            self._table,
            self.places[np.array(indices, np.int64)],
            self._begin,
            self.first_row,
            self.n_bytes * len(indices) // max(1, len(self)),
            None if self.origin is None else self.origin.taken(indices),
        )
        taken.held, taken.unread, taken.absent = self.held, self.unread, self.absent
        return taken

    def fault(self, index: int, needs: FieldNeeds) -> str | None:
        """The fault of one row; None if it can be scored."""
        row = as_places(self._rows)[index : index + 1]
        for name, part in self._parts(needs, row).items():
            bad = first_invalid(part.texts)
            if bad >= 0:
                return f"{f'contexts[{bad}]' if name == 'contexts' else name} is not UTF-8"
        # The name of a column that is nearly right is part of what is said about a missing field.
        sample = {**dict.fromkeys(self.unread), **self.sample(index)}
        try:
            read_rows([sample], 0, needs).pack()
        except SampleError as error:
            return error.fault
        return None

    # -------------------------------------------------------------------------------- packing

    def pack(self, needs: FieldNeeds) -> SampleBatch:
        """The texts as kernels read them, where they lie as long as they lie in order.

        Raises
        ------
        SampleError
            For the first row that cannot be scored.
        InputError
            When a column that is read is of a type that cannot be.
        """
        parts = self._parts(needs, self._rows)
        doubtful = np.zeros(len(self), np.bool_)
        for part in parts.values():
            part.mark_invalid(doubtful)
        is_odd = len(parts) < len(_read_fields(needs)) or bool(needs.absent)
        if is_odd or any(part.too_long() for part in parts.values()):
            return self._pack_samples(needs, doubtful)
        if needs.profile == "overlap":
            truth = parts.get("ground_truth")
            if truth is not None and truth.row_texts is not None and np.any(truth.n_texts):
                return self._pack_samples(needs, doubtful)  # lists, and each has to be of one
            batch = overlap_batch(parts, needs, doubtful)
        else:
            batch = grounded_batch(parts, doubtful)
        self._raise_first(np.flatnonzero(doubtful), needs)
        return batch

    def _parts(self, needs: FieldNeeds, rows: Rows) -> dict[str, Part]:
        """The fields that are read, but for those in columns that hold no texts."""
        parts = {}
        for name in _read_fields(needs):
            column = self._table.columns.get(name)
            if isinstance(column, OddColumn):
                if column.value is None:
                    raise InputError(column.refusal)
                if column.has_any(rows):
                    continue
                column = None
            parts[name] = part_of(column, rows, as_lists=name == "contexts")
        return parts

    def _pack_samples(self, needs: FieldNeeds, doubtful: Bools) -> SampleBatch:
        """The rows packed as dicts."""
        self._raise_first(np.flatnonzero(doubtful)[:1], needs, before=True)
        rows: list[SampleLike] = [self.sample(index) for index in range(len(self))]
        try:
            return read_rows(rows, self.first_row, needs).pack()
        except SampleError:
            self._raise_first(range(len(self)), needs)
            raise

    def _raise_first(
        self, doubtful: Sequence[int] | Places, needs: FieldNeeds, *, before: bool = False
    ) -> None:
        """Raise the fault of the first row that has one, of some; or of any row before it."""
        if before and len(doubtful):
            doubtful = range(int(doubtful[0]) + 1)
        for index in doubtful:
            fault = self.fault(int(index), needs)
            if fault is not None:
                raise SampleError(self.name(int(index)), fault)


def _as_id(found: object) -> str | int | None:
    """A value as the name of a row; None for one that is missing, and for lists and structs."""
    if found is None or found != found or isinstance(found, (list, dict)):
        return None
    if isinstance(found, (str, int)) and not isinstance(found, bool):
        return found
    # A column of whole numbers is one of floats where one is missing.
    if isinstance(found, float) and found.is_integer():
        return int(found)
    if isinstance(found, (date, time)):
        return found.isoformat()
    if isinstance(found, bytes):
        try:
            return found.decode()
        except UnicodeDecodeError:
            return found.hex()
    return str(found)


def _read_fields(needs: FieldNeeds) -> list[str]:
    """The fields that are read, and the language in the profile that heeds it."""
    wanted = [name for name in TEXT_FIELDS if getattr(needs, name)]
    return wanted if needs.profile == "overlap" else [*wanted, "language"]
