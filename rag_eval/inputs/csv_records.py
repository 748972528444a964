"""CSV -> its header and records, as the standard library's reader gives them.

That reader looks at every character. Most of a long record is one or two long texts, so a kernel
cuts records by searching. What it refuses, and whatever is not CSV or not UTF-8, is left to the
standard library, so that messages are the same either way.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rag_eval._native import line_scans
from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import CHUNK_BYTES, ByteFile
from rag_eval.inputs.file_lines import FileLines
from rag_eval.plumbing.spelling import counted

_LARGEST_CELL: Final = 0x7FFFFFFF
# A line that Excel writes and reads before the header.
_TOLD_SEPARATOR: Final = re.compile(rb"sep=([,;\t|])", re.IGNORECASE)
# What the standard library says of a quote that the file ends in.
_NOT_CLOSED: Final = "unexpected end of data"
_QUOTED: Final = re.compile(r'"[^"]*"')


class CsvRow(NamedTuple):
    """The cells of one row and the number of its last line."""

    cells: list[str]
    line: int


def width_fault(cells: Sequence[str], header: Sequence[str]) -> str:
    """The fault of a row with more or fewer cells than there are columns."""
    if len(cells) == len(header):
        return ""
    return f"{counted(len(cells), 'cell')}, but the header names {counted(len(header), 'column')}"


class CsvTable:
    """A CSV file that is being read: its ``header``, then its rows.

    Parameters
    ----------
    separator : str, optional
        Stands between cells; by default the header tells.
    n_bytes : int
        How many are read at a time.

    Attributes
    ----------
    lines : FileLines
        The lines below those that were read.
    separator_byte : int
        The separator that was given or found: a character of ASCII.

    Raises
    ------
    InputError
        For text that is not CSV or not UTF-8 and for a row that is too long, naming the line, and
        for a header that cannot be.
    """

    def __init__(
        self, file: ByteFile, separator: str | None = None, n_bytes: int = CHUNK_BYTES
    ) -> None:
        # The limit is the process's; Python's own would refuse a cell of ten contexts. That of
        # rows holds for their cells, too.
        csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
        self.source = file.source
        self._file = file
        self.lines = FileLines(file, n_bytes)
        first = self.lines.next() or b""
        if told := _TOLD_SEPARATOR.fullmatch(first.rstrip(b"\r\n")):
            separator = separator or told[1].decode()
            first = self.lines.next() or b""
        self._first_line = max(1, self.lines.n_read)
        self._row_bytes = 0
        separator = separator or _separator(self._decoded(first))
        self.separator_byte = ord(separator)
        self._reader = csv.reader(self._texts(first), delimiter=separator, strict=True)
        where = f"{self.source}: line {self._first_line}"
        self.header = self._by_library() or []
        check_header(self.header, where)

    @property
    def most_bytes(self) -> int:
        """The longest row, with its line ends."""
        return self._file.max_row_bytes + 1

    def rows(self) -> Iterator[CsvRow]:
        """The rows below the header, without empty lines."""
        while (cells := self._next()) is not None:
            if cells:
                yield CsvRow(cells, self.lines.n_read)

    def width_fault(self, row: CsvRow) -> str:
        """The fault of a row with more or fewer cells than there are columns."""
        return width_fault(row.cells, self.header)

    def _next(self) -> list[str] | None:
        content, begin, end = self.lines.held()
        if begin < end:
            try:
                found = line_scans.cut_record(content, begin, end, self.separator_byte)
            except UnicodeDecodeError:
                found = None
            if found is not None:
                cells, stop, n_lines = found
                if stop + 1 - begin <= self.most_bytes:
                    self.lines.skip(min(stop + 1, end), n_lines)
                    return cells
        self._first_line, self._row_bytes = self.lines.n_read + 1, 0
        return self._by_library()

    def _by_library(self) -> list[str] | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise InputError(f"{self.source}, {self._fault(str(error))}") from None

    def _texts(self, line: bytes | None) -> Iterator[str]:
        """The lines that the standard library reads; an error if one row has too many."""
        while line is not None:
            self._row_bytes += len(line) + 1
            if self._row_bytes > self.most_bytes:
                raise self._file.too_long(self._first_line, " (is a quote in it not closed?)")
            yield self._decoded(line) + "\n"
            line = self.lines.next()

    def _decoded(self, line: bytes) -> str:
        """The text of the line that was read last."""
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            fault = f"byte 0x{line[error.start]:02x}){self._file.encoding_hint(line)}"
            where = f"{self.source}, line {self.lines.n_read}"
            raise InputError(f"{where} is not valid UTF-8 ({fault}") from None

    def _fault(self, error: str) -> str:
        """What is wrong with the row that was read last, and on which line."""
        first, line = self._first_line, self.lines.n_read
        if error == _NOT_CLOSED:
            return f"line {first}: is not CSV: a quote in this row is not closed"
        begun = "" if first == line else f". The row begins on line {first}: is a quote not closed?"
        return f"line {line}: is not CSV: {error}{begun}"


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
