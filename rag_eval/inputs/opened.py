"""Whatever a caller names as the data -> blocks of rows, under the names of our fields."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rag_eval.errors import InputChangedError, InputError
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.byte_files import MAX_ROW_BYTES, ByteFile, opened_bytes, plain_name
from rag_eval.inputs.byte_files import source_name as file_name
from rag_eval.inputs.csv_files import csv_blocks, separator_of, usual_separator
from rag_eval.inputs.file_states import FileState, file_identity
from rag_eval.inputs.json_blocks import JsonBlock
from rag_eval.inputs.json_faults import finite_rows
from rag_eval.inputs.json_files import LineBlocks, LineRows, array_blocks, json_blocks
from rag_eval.inputs.named_files import (
    COLUMNS,
    EXCEL,
    TABLES,
    DataSource,
    check_format,
    files_of,
    list_name,
    total_size,
)
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.inputs.sample_fields import split_gold
from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.inputs.scanned_blocks import ScannedBlock
from rag_eval.inputs.schemas.contexts import WHOLE
from rag_eval.inputs.schemas.fields import FieldMap, FirstRows, column_map, field_map, paths_of_rows
from rag_eval.inputs.schemas.maps import FoundFields
from rag_eval.inputs.wanted_columns import check_columns, check_keys
from rag_eval.plumbing.descriptors import is_standard_input

if TYPE_CHECKING:
    from rag_eval.inputs.parquet_files import ColumnFile


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """How the columns of the data become our fields.

    Attributes
    ----------
    schema : str, optional
        Whose field names they are, one of ``schemas.fields.SCHEMA_NAMES``; recognised where None.
    mapping : mapping of str
        Our field to its place in the data; wins over the schema.
    gold_separator : str, optional
        Splits a ground truth into acceptable answers.
    context_separator : str, optional
        Splits a cell of CSV into contexts.
    max_row_bytes : int
        The longest row, unpacked.
    encoding : str, optional
        In what text files are written, where that is not UTF-8.
    """

    schema: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    gold_separator: str | None = None
    context_separator: str | None = None
    max_row_bytes: int = MAX_ROW_BYTES
    encoding: str | None = None

    def fields(self, columns: Iterable[str], first_rows: FirstRows) -> FieldMap:
        """Where our fields are among some columns."""
        return field_map(
            list(columns), schema=self.schema, mapping=self.mapping, first_rows=first_rows
        )

    def column_fields(self, columns: Iterable[str], first_rows: FirstRows) -> FieldMap:
        """The same among the columns of a table."""
        return column_map(
            list(columns), schema=self.schema, mapping=self.mapping, first_rows=first_rows
        )

    def to_dict(self) -> dict[str, Any]:
        """What rows depend on, as JSON values: not the limit, which ends a run or does not."""
        return {
            "schema": self.schema,
            "map": dict(self.mapping),
            "goldSeparator": self.gold_separator,
            "contextSeparator": self.context_separator,
            # Runs of earlier versions that are resumed had no such option.
            **({} if self.encoding is None else {"encoding": self.encoding}),
        }


_READ: Final = (*TEXT_FIELDS, "groundTruth", "id", "language")


class Position(NamedTuple):
    """A place between two rows of an input.

    Attributes
    ----------
    file : int
        Number of the file, from 0.
    file_first_row : int
        How many rows the files before it have.
    row : int
        How many rows come before the place, those of earlier files among them.
    """

    file: int
    file_first_row: int
    row: int

    @classmethod
    def after(cls, block: SampleBlock) -> Position:
        """The place after a block."""
        origin = block.origin
        assert origin is not None
        row = block.first_row + len(block) + len(origin.faults)
        return cls(origin.file, origin.file_first_row, row)


START: Final = Position(0, 0, 0)


class Input:
    """Data that is named and not read yet.

    Attributes
    ----------
    name : str
        How messages call it.
    paths : list
        Its files, those of a pattern sorted by name.
    remarks : list of str
        How rows were found in the files read so far, where that is not their plain form.
    found : list of FoundFields
        The fields of each file that has been read, known with its first block.

    Parameters
    ----------
    columns : sequence of str
        Columns of the data that are wanted beside our fields.
    optional_columns : sequence of str
        Columns that are read where they are there.
    """

    def __init__(
        self,
        data: DataSource,
        options: InputOptions | None = None,
        columns: Sequence[str] = (),
        optional_columns: Sequence[str] = (),
    ) -> None:
        self.paths = files_of(data)
        self.name = file_name(self.paths[0]) if len(self.paths) == 1 else list_name(data)
        self.found: list[FoundFields] = []
        for path in self.paths:
            check_format(path)
        self._options = options or InputOptions()
        self._extra_columns = columns
        self._optional_columns = optional_columns
        self._n_bytes = total_size(self.paths)
        self._done = self._n_file_bytes = 0
        self._file: ByteFile | ColumnFile | None = None
        self._states: dict[str | Path, FileState | None] = {}
        self.remarks: list[str] = []

    @property
    def can_be_read_again(self) -> bool:
        """Whether it is made of files alone."""
        # A pipe is no file, also where it has a name.
        return all(not is_standard_input(path) and not Path(path).is_fifo() for path in self.paths)

    @property
    def share_read(self) -> float | None:
        """How much of it has been read, from 0 to 1; None if its size is not known."""
        if not self._n_bytes:
            return None
        here = 0 if self._file is None else self._file.position
        return min(1.0, (self._done + here) / self._n_bytes)

    @property
    def _is_all_read(self) -> bool:
        """Whether a file that has a size was read to its end."""
        return self._file is not None and 0 < self._n_file_bytes <= self._file.position

    def identity(self) -> list[dict[str, Any]]:
        """What tells whether the files are still what they were.

        Size, time of the last change, and a digest of parts from all over the file.
        """
        for path in self.paths:
            self._note_state(path)
        return [file_identity(Path(path)) for path in self.paths]

    def _note_state(self, path: str | Path) -> None:
        self._states.setdefault(path, FileState.of(path))

    def changes(self) -> list[str]:
        """How the files changed since they were opened, one sentence for each."""
        states = self._states.items()
        found = [state.change(path) for path, state in states if state is not None]
        return [change for change in found if change]

    def check_unchanged(self, *, allowed: bool = False) -> None:
        """Raise an InputChangedError for changed files if there are no results to keep."""
        changes = self.changes()
        if changes and not allowed:
            raise InputChangedError(changes)

    def explained(self, error: InputError) -> InputError:
        """An error of reading, with the changes of files that may be the reason."""
        changes = self.changes()
        return InputError("; ".join([str(error), *changes])) if changes else error

    def blocks(self, start: Position = START) -> Generator[SampleBlock, None, None]:
        """The rows, from a position on.

        Raises
        ------
        InputError
            When a file cannot be read, or as a whole is not what its name says.
        """
        self.found = []
        first_row = start.file_first_row
        self._done = total_size(self.paths[: start.file])
        for number, path in enumerate(self.paths[start.file :], start.file):
            end = first_row
            skip_rows = start.row - first_row if number == start.file else 0
            for block in self._file_blocks(path, skip_rows):
                origin = block.origin
                assert origin is not None
                origin.file, origin.file_first_row = number, first_row
                block.first_row += first_row
                end = block.first_row + len(block) + len(origin.faults)
                if first_row:
                    origin.ordinals = [row + first_row for row in origin.ordinals]
                yield block
            first_row = max(end, start.row if number == start.file else 0)
            self._done += total_size([path])
            self._file = None

    def _file_blocks(self, path: str | Path, skip_rows: int) -> Iterator[SampleBlock]:
        self._note_state(path)
        self._n_file_bytes = total_size([path])
        if plain_name(path).endswith(COLUMNS):
            from rag_eval.inputs.parquet_files import opened_columns

            with opened_columns(Path(path), self._options.max_row_bytes) as columns:
                self._file = columns
                yield from columns.blocks(
                    partial(self._noted, path, self._options.column_fields),
                    skip_rows,
                    self._extra_columns,
                    self._optional_columns,
                    is_mapped="ground_truth" in self._options.mapping,
                    gold_separator=self._options.gold_separator,
                )
            return
        options = self._options
        is_excel = plain_name(path).endswith(EXCEL)
        encoding = None if is_excel else options.encoding
        with opened_bytes(path, options.max_row_bytes, encoding) as file:
            self._file = file
            blocks: Generator[RowBlock | ScannedBlock, None, None]
            fields_of = partial(self._csv_fields, path)
            if is_excel:
                from rag_eval.inputs.excel_files import excel_blocks

                blocks = excel_blocks(file, fields_of, options.context_separator, skip_rows)
            else:
                # Standard input may be a terminal, which gives bytes when it likes.
                if options.encoding is None and not is_standard_input(path):
                    file.check_encoding()
                if plain_name(path).endswith(TABLES):
                    separator = separator_of(path)
                    # Ground truths are split in rows.
                    scans = options.gold_separator is None
                    blocks = csv_blocks(
                        file, fields_of, options.context_separator, skip_rows, separator, scans
                    )
                else:
                    blocks = self._json_blocks(file, path, skip_rows)
            # Closed with the file: a run may end in the middle.
            with closing(blocks):
                for block in blocks:
                    self._remark(file)
                    golds = options.gold_separator
                    yield block if golds is None else _split(block, golds)

    def _remark(self, file: ByteFile) -> None:
        """Record the remark about a file that was read, once."""
        where = "" if len(self.paths) == 1 else f"{file.source}: "
        self.remarks += [f"{where}{remark}" for remark in file.remarks]
        file.remarks.clear()

    def _noted(
        self,
        path: str | Path,
        fields_of: Callable[[Sequence[str], FirstRows], FieldMap],
        columns: Sequence[str],
        first_rows: FirstRows,
    ) -> FieldMap:
        """The fields among the columns of a file, which are noted in ``found``."""
        fields = fields_of(columns, first_rows)
        shapes = fields.shapes(first_rows)
        names_all = plain_name(path).endswith((*TABLES, EXCEL, *COLUMNS))
        if shapes.get("contexts") == WHOLE and plain_name(path).endswith((*TABLES, EXCEL)):
            separator = self._options.context_separator or usual_separator(fields)
            shapes = shapes if separator is None else {"contexts": f"split at {separator!r}"}
        self.found.append(FoundFields(file_name(path), fields, shapes, names_all))
        return fields

    def _json_blocks(self, file: ByteFile, path: str | Path, skip_rows: int) -> LineRows:
        fields_of = partial(self._noted, path, self._options.fields)
        fields = self._first_fields(path) if skip_rows else None
        if plain_name(path).endswith(".json"):
            return self._mapped(array_blocks(file, skip_rows), fields_of, fields)
        lines = LineBlocks(file, skip_rows)
        # Ground truths are split in rows.
        scan = lines.scan if self._options.gold_separator is None else None
        return self._mapped(lines.blocks(), fields_of, fields, scan)

    def _csv_fields(
        self, path: str | Path, header: Sequence[str], first_rows: FirstRows
    ) -> FieldMap:
        check_columns(self._extra_columns, header, path)
        return self._noted(path, self._options.fields, header, first_rows)

    def _first_fields(self, path: str | Path) -> FieldMap | None:
        """The fields of a file of JSON, which its first rows tell also when those are skipped."""
        with (
            opened_bytes(path, self._options.max_row_bytes, self._options.encoding) as file,
            closing(json_blocks(file, path)) as blocks,
        ):
            for block in blocks:
                if block.rows:
                    return _fields_of_rows(block, partial(self._noted, path, self._options.fields))
        return None

    def _check_keys(self, block: RowBlock, fields: FieldMap) -> None:
        # Further files may do without the columns of the first.
        if self._extra_columns and len(self.found) == 1:
            keys = [*paths_of_rows(block.rows), *fields.paths]  # type: ignore[arg-type]  # of JSON
            check_keys(self._extra_columns, keys, self.found[-1].source)

    def _mapped(
        self,
        blocks: LineRows,
        fields_of: Callable[[Sequence[str], FirstRows], FieldMap],
        fields: FieldMap | None = None,
        scan: Callable[[FieldMap], None] | None = None,
    ) -> LineRows:
        """Rows under the names of our fields, which the first block tells where they are not given.

        ``scan`` is told them as soon as they are known.
        """
        if fields is not None and scan is not None:
            scan(fields)
        with closing(blocks):
            peeked = _Peeked(blocks)
            for block in peeked:
                if isinstance(block, JsonBlock):
                    yield block
                    continue
                if fields is None and block.rows:
                    fields = _fields_of_rows(block, fields_of)
                    if scan is not None:
                        scan(fields)
                    # Not before all bytes are read: rows of a pipe are scored as they come, and
                    # of a long file it is known how much of it has been.
                    if self._is_all_read and peeked.is_at_end():
                        self.found[-1] = self.found[-1]._replace(names_all=True)
                    self._check_keys(block, fields)
                if fields is not None:
                    block.rows = [fields.row(row) for row in block.rows]  # type: ignore[arg-type]
                    block.renamed = fields.renamed
                if block.may_be_infinite:
                    yield finite_rows(block, [*_READ, *self._optional_columns])
                else:
                    yield block


class _Peeked:
    """Blocks that know whether the last one was taken."""

    def __init__(self, blocks: LineRows) -> None:
        self._blocks = blocks
        self._next: list[RowBlock | JsonBlock] = []
        self._failed: InputError | None = None

    def is_at_end(self) -> bool:
        """Whether there is no further block; one that cannot be read is reported in its turn."""
        try:
            self._next += islice(self._blocks, 1)
        except InputError as error:
            self._failed = error
        return not self._next and self._failed is None

    def __iter__(self) -> Iterator[RowBlock | JsonBlock]:
        while True:
            if self._failed is not None:
                raise self._failed
            if not self._next:
                self._next += islice(self._blocks, 1)
            if not self._next:
                return
            yield self._next.pop()


def _fields_of_rows(
    block: RowBlock, fields_of: Callable[[Sequence[str], FirstRows], FieldMap]
) -> FieldMap:
    rows: list[dict[str, Any]] = block.rows  # type: ignore[assignment]  # JSON has no others
    return fields_of(paths_of_rows(rows), lambda _: rows)


def _split(block: RowBlock | ScannedBlock, separator: str) -> RowBlock:
    assert isinstance(block, RowBlock)
    for row in block.rows:
        assert isinstance(row, dict)
        for name in ("ground_truth", "groundTruth"):
            if isinstance(row.get(name), str):
                row[name] = split_gold(row[name], separator)
    return block
