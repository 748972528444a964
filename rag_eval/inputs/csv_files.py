"""CSV -> blocks of rows.  Cells are texts; contexts are a JSON array in one cell, or split up."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.byte_files import ByteFile, plain_name
from rag_eval.inputs.csv_records import CsvRecords
from rag_eval.inputs.row_blocks import BLOCK_BYTES, RowBlock, RowBlocks
from rag_eval.inputs.schemas.contexts import list_in
from rag_eval.inputs.schemas.maps import FieldMap, FirstRows
from rag_eval.plumbing.spelling import counted

_MAX_ROWS: Final = 1024
_LOOKED_AT_ROWS: Final = 64
_LARGEST_CELL: Final = 0x7FFFFFFF
# A line that Excel writes and reads before the header.
_TOLD_SEPARATOR: Final = re.compile(rb"sep=([,;\t|])", re.IGNORECASE)
# What the standard library says of a quote that the file ends in.
_NOT_CLOSED: Final = "unexpected end of data"
_QUOTED: Final = re.compile(r'"[^"]*"')
_TRUTHS: Final = ("ground_truth", "groundTruth")
# Fields whose cells are not simply texts.
_NO_TEXTS: Final = ("contexts", *_TRUTHS, "id", "language")


class CsvRow(NamedTuple):
    """The cells of one row and the number of its last line."""

    cells: list[str]
    line: int


def width_fault(cells: Sequence[str], header: Sequence[str]) -> str:
    """The fault of a row with more or fewer cells than there are columns."""
    if len(cells) == len(header):
        return ""
    return f"{counted(len(cells), 'cell')}, but the header names {counted(len(header), 'column')}"


def separator_of(name: str | Path) -> str | None:
    """The separator for a file of this name; None if its first line decides."""
    return "\t" if plain_name(name).endswith(".tsv") else None


class CsvTable:
    """A CSV file that is being read: its ``header``, then its rows.

    ``separator`` stands between cells; by default the header tells.

    Raises
    ------
    InputError
        For text that is not CSV or not UTF-8 and for a row that is too long, naming the line, and
        for a header that cannot be.
    """

    def __init__(self, file: ByteFile, separator: str | None = None) -> None:
        # The limit is the process's; Python's own would refuse a cell of ten contexts. That of
        # rows holds for their cells, too.
        csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
        self.source = file.source
        self._file = file
        self._row_bytes = self._line = self._first_of_row = 0
        lines = self._lines()
        first = next(lines, b"")
        if told := _TOLD_SEPARATOR.fullmatch(first.rstrip(b"\r\n")):
            separator, self._row_bytes = separator or told[1].decode(), 0
            first = next(lines, b"")
        of_header = self._line
        mark = separator or _separator(self._decoded(first))
        self._records = CsvRecords(chain([first], lines), mark, self._decoded)
        self.header = self._next() or []
        check_header(self.header, f"{self.source}: line {of_header or 1}")

    def _next(self) -> list[str] | None:
        try:
            return next(self._records, None)
        except csv.Error as error:
            raise InputError(f"{self.source}, {self._fault(str(error))}") from None
        finally:
            self._row_bytes = 0

    def _fault(self, error: str) -> str:
        """What is wrong with the row that was read last, and on which line."""
        first, line = self._first_of_row, self._line
        if error == _NOT_CLOSED:
            return f"line {first}: is not CSV: a quote in this row is not closed"
        begun = "" if first == line else f". The row begins on line {first}: is a quote not closed?"
        return f"line {line}: is not CSV: {error}{begun}"

    def _lines(self) -> Iterator[bytes]:
        """The lines of the file; an error if one row has too many."""
        most = self._file.max_row_bytes + 1
        for number, line in enumerate(self._file.lines(), 1):
            if not self._row_bytes:
                self._first_of_row = number
            self._line = number
            self._row_bytes += len(line) + 1
            if self._row_bytes > most:
                raise self._file.too_long(self._first_of_row, " (is a quote in it not closed?)")
            yield line

    def _decoded(self, line: bytes) -> str:
        """The text of the line that was read last, or of one that is UTF-8."""
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            fault = f"byte 0x{line[error.start]:02x}){self._file.encoding_hint(line)}"
            where = f"{self.source}, line {self._line}"
            raise InputError(f"{where} is not valid UTF-8 ({fault}") from None

    def rows(self) -> Iterator[CsvRow]:
        """The rows below the header, without empty lines."""
        while (cells := self._next()) is not None:
            if cells:
                yield CsvRow(cells, self._line)

    def width_fault(self, row: CsvRow) -> str:
        """The fault of a row with more or fewer cells than there are columns."""
        return width_fault(row.cells, self.header)


def _separator(line: str) -> str:
    """The separator of the header: a comma, unless there is none.

    Spreadsheets write semicolons where a comma is in numbers.
    """
    bare = _QUOTED.sub("", line)
    if "," in bare:
        return ","
    return next((mark for mark in ";\t|" if mark in bare), ",")


def check_header(header: Sequence[str], where: str) -> None:
    """Raise an InputError for a header without names, or with one of them twice."""
    if not any(header):
        raise InputError(f"{where} must name the columns")
    for name, n_columns in Counter(header).items():
        if n_columns > 1:
            raise InputError(
                f"{where} names the column {name!r} twice; the first line has to hold the "
                "names of the columns, each once"
            )


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
        self.renamed = mapped = {path: name for name, path in fields.paths.items()}
        self._header = header
        self._fields = fields
        names = [(column, mapped.get(column, column)) for column in header]
        self._read_columns = [(column, name) for column, name in names if name in _NO_TEXTS]
        self._separator = context_separator
        self._joined_by = usual_separator(fields)

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

    def __iter__(self) -> Iterator[CsvRow]:
        yield from self._first
        if self._failed is not None:
            raise self._failed
        yield from self._rows


def csv_blocks(
    file: ByteFile,
    fields_of: Callable[[list[str], FirstRows], FieldMap],
    context_separator: str | None = None,
    skip_rows: int = 0,
    separator: str | None = None,
) -> RowBlocks:
    """The rows of a CSV file from row ``skip_rows`` on; ``fields_of`` maps the header."""
    table = CsvTable(file, separator)
    rows = PeekedRows(table.rows(), table.header)
    read = CellReader(table.header, fields_of(table.header, rows.first), context_separator)
    yield from cell_blocks(rows, read, file.source, skip_rows)


def cell_blocks(
    rows: Iterable[CsvRow], read: CellReader, source: str, skip_rows: int, unit: str = "line"
) -> RowBlocks:
    """Blocks of the samples that rows of cells stand for, from row ``skip_rows`` on."""
    ordinal = 0

    def new_block() -> RowBlock:
        return RowBlock(ordinal, [], FileOrigin(source, unit, [], []), renamed=read.renamed)

    block, failed = new_block(), None
    try:
        for row in rows:
            ordinal += 1
            if ordinal <= skip_rows:
                block.first_row = ordinal
                continue
            _add(block, row, ordinal - 1, read)
            if block.text_bytes >= BLOCK_BYTES or len(block) >= _MAX_ROWS:
                yield block
                block = new_block()
    except InputError as error:
        failed = error
    if ordinal > block.first_row:
        yield block
    if failed is not None:
        raise failed


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
