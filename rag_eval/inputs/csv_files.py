"""CSV -> blocks of rows.  Cells are texts; contexts are a JSON array in one cell, or split up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.byte_files import ByteFile, plain_name
from rag_eval.inputs.csv_blocks import CsvBlock, RecordScanner, fields_of_columns
from rag_eval.inputs.csv_records import CsvRow, CsvTable, width_fault
from rag_eval.inputs.row_blocks import BLOCK_BYTES, RowBlock
from rag_eval.inputs.schemas.contexts import list_in
from rag_eval.inputs.schemas.maps import FieldMap, FirstRows

_MAX_ROWS: Final = 1024
_LOOKED_AT_ROWS: Final = 64
_TRUTHS: Final = ("ground_truth", "groundTruth")
# Fields whose cells are not simply texts.
_NO_TEXTS: Final = ("contexts", *_TRUTHS, "id", "language")


def separator_of(name: str | Path) -> str | None:
    """The separator for a file of this name; None if its first line decides."""
    return "\t" if plain_name(name).endswith(".tsv") else None


def usual_separator(fields: FieldMap) -> str | None:
    """What is between contexts in a cell of plain text, if nobody says so; None for one context.

    deepeval's own files join them.
    """
    return "|" if fields.schema == "deepeval" else None


class CellReader:
    """Cells of a row -> the sample it stands for.

    Parameters
    ----------
    fields : FieldMap
        Which column holds which field.
    context_separator : str, optional
        Splits a cell into contexts; None wants a JSON array, or takes the cell as one context.

    Attributes
    ----------
    renamed : dict
        Our name of a column.
    """

    def __init__(
        self, header: list[str], fields: FieldMap, context_separator: str | None = None
    ) -> None:
        mapped = {path: name for name, path in fields.paths.items()}
        self.renamed = fields.renamed
        self._header = header
        self._fields = fields
        names = [(column, mapped.get(column, column)) for column in header]
        self._read_columns = [(column, name) for column, name in names if name in _NO_TEXTS]
        self._separator = context_separator
        self._joined_by = usual_separator(fields)

    def scanner(self, table: CsvTable) -> RecordScanner | None:
        """A scanner for the bytes of a table; None where each cell has to be looked at."""
        if self._separator is not None or self._joined_by is not None or self._fields.keys is None:
            return None
        columns = fields_of_columns(self._header, self._fields.keys)
        return (
            None
            if columns is None
            else RecordScanner(columns, table.separator_byte, table.most_bytes)
        )

    def sample(self, cells: list[str]) -> dict[str, Any]:
        """The sample of a row, its contexts as a list where they can be understood.

        Raises
        ------
        ValueError
            Saying what is wrong with the number of cells.
        """
        if fault := width_fault(cells, self._header):
            raise ValueError(fault)
        row: dict[str, Any] = dict(zip(self._header, cells, strict=True))
        for column, name in self._read_columns:
            row[column] = self._value(name, row[column])
        return self._fields.row(row)

    def _value(self, name: str, cell: str) -> Any:
        if name == "contexts":
            return self._contexts(cell)
        return cell or None

    def _contexts(self, cell: str) -> Any:
        """The cell, or its parts if it is not a list."""
        if not cell or cell.isspace():
            return []
        if self._separator is not None:
            return cell.split(self._separator)
        if self._joined_by is not None and list_in(cell) is None:
            return cell.split(self._joined_by)
        return cell


class PeekedRows:
    """Rows of a table; the first ones can be inspected before they are read."""

    def __init__(self, rows: Iterator[CsvRow], header: list[str]) -> None:
        self._rows = rows
        self._header = header
        self._first: list[CsvRow] = []
        self._failed: InputError | None = None

    def first(self, _: Sequence[str]) -> list[dict[str, str]]:
        """The first rows, as far as they can be read."""
        if not self._first:
            try:
                self._look()
            except InputError as error:
                self._failed = error
        return [dict(zip(self._header, row.cells, strict=False)) for row in self._first]

    def _look(self) -> None:
        left = BLOCK_BYTES
        for row in islice(self._rows, _LOOKED_AT_ROWS):
            self._first.append(row)
            left -= sum(map(len, row.cells)) + len(row.cells)
            if left < 0:
                break

    def peeked(self) -> Iterator[CsvRow]:
        """The rows that were inspected."""
        yield from self._first
        if self._failed is not None:
            raise self._failed

    def __iter__(self) -> Iterator[CsvRow]:
        yield from self.peeked()
        yield from self._rows


def csv_blocks(
    file: ByteFile,
    fields_of: Callable[[list[str], FirstRows], FieldMap],
    context_separator: str | None = None,
    skip_rows: int = 0,
    separator: str | None = None,
    scans: bool = True,
) -> Generator[RowBlock | CsvBlock, None, None]:
    """The rows of a CSV file from row ``skip_rows`` on; ``fields_of`` maps the header.

    With ``scans`` false, all blocks are of decoded rows.
    """
    table = CsvTable(file, separator, BLOCK_BYTES)
    rows = PeekedRows(table.rows(), table.header)
    read = CellReader(table.header, fields_of(table.header, rows.first), context_separator)
    scanner = read.scanner(table) if scans else None
    row = yield from cell_blocks(rows.peeked(), read, file.source, skip_rows)
    while True:
        if scanner is not None:
            row = yield from _scanned_blocks(scanner, table, read, row, skip_rows)
        # The record that is not simple, and some after it: others may be like it.
        few = islice(table.rows(), _MAX_ROWS)
        first, row = row, (yield from cell_blocks(few, read, file.source, skip_rows, row))
        if row == first:
            return


def _scanned_blocks(
    scanner: RecordScanner, table: CsvTable, read: CellReader, row: int, skip_rows: int
) -> Generator[RowBlock | CsvBlock, None, int]:
    """Blocks of the next rows, as far as they are simple; returns the number of rows so far."""
    lines = table.lines
    while (held := lines.ahead()).begin < held.end:
        scanned = scanner.scanned(held)
        if scanned is None:
            break
        n_rows, first_line = len(scanned.marks), lines.n_read + 1
        lines.skip(scanned.end, scanned.n_lines)
        if row + n_rows > max(row, skip_rows):
            origin = scanned.origin(table.source, first_line, row)
            block = CsvBlock(scanned, read.renamed, row, origin, table.separator_byte, read.sample)
            yield _from_row(block, skip_rows) if row < skip_rows else block
        row += n_rows
    return row


def _from_row(block: CsvBlock, row: int) -> RowBlock:
    """The rows of a block from one of the file's on."""
    rest = block.taken(range(row - block.first_row, len(block)))
    rest.first_row = row
    return rest


def cell_blocks(
    rows: Iterable[CsvRow],
    read: CellReader,
    source: str,
    skip_rows: int,
    row: int = 0,
    unit: str = "line",
) -> Generator[RowBlock, None, int]:
    """Blocks of the samples that rows of cells stand for, from row ``skip_rows`` on.

    ``row`` is how many rows were read before them; returns how many have been read in all.
    """
    ordinal = row

    def new_block() -> RowBlock:
        return RowBlock(ordinal, [], FileOrigin(source, unit, [], []), renamed=read.renamed)

    block, failed = new_block(), None
    try:
        for found in rows:
            ordinal += 1
            if ordinal <= skip_rows:
                block.first_row = ordinal
                continue
            _add(block, found, ordinal - 1, read)
            if block.text_bytes >= BLOCK_BYTES or len(block) >= _MAX_ROWS:
                yield block
                block = new_block()
    except InputError as error:
        failed = error
    if ordinal > block.first_row:
        yield block
    if failed is not None:
        raise failed
    return ordinal


def _add(block: RowBlock, row: CsvRow, ordinal: int, read: CellReader) -> None:
    origin = block.origin
    assert origin is not None
    assert isinstance(origin.numbers, list)
    assert isinstance(origin.ordinals, list)
    try:
        sample = read.sample(row.cells)
    except ValueError as error:
        origin.add_fault(row.line, {}, str(error))
        return
    block.rows.append(sample)
    block.text_bytes += sum(map(len, row.cells))
    origin.numbers.append(row.line)
    origin.ordinals.append(ordinal)
