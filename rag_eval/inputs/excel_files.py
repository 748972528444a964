"""Excel workbooks (.xlsx) -> blocks of rows: the values of the first sheet that holds any.

A workbook is a zip archive of XML. Sheets are read as a stream; what is held as a whole, such as
the table of shared texts, may be as large as a JSON array may be. Formulas are not run: the value
is what the spreadsheet kept of them.
"""

from __future__ import annotations

import lzma
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from itertools import islice
from typing import IO, Any, Final
from xml.parsers import expat

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import ByteFile
from rag_eval.inputs.csv_files import CellReader, PeekedRows, cell_blocks
from rag_eval.inputs.csv_records import CsvRow, check_header
from rag_eval.inputs.row_blocks import RowBlocks
from rag_eval.inputs.schemas.maps import FieldMap, FirstRows, listed
from rag_eval.plumbing.extras import package

_MOST_ROWS: Final = 1 << 20  # of a sheet, as Excel has it
_ROWS_AT_ONCE: Final = 16
_SHEETS: Final = ("xl/worksheets/", "xl/chartsheets/")
_MOST_ELEMENTS: Final = 1 << 20  # of a row, and of all that is not rows
_DAMAGED: Final = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, NotImplementedError, RuntimeError),  # of packings, keys and lengths
)
_CHUNK_BYTES: Final = 1 << 16


def excel_blocks(
    file: ByteFile,
    fields_of: Callable[[list[str], FirstRows], FieldMap],
    context_separator: str | None = None,
    skip_rows: int = 0,
) -> RowBlocks:
    """The rows of a workbook from row ``skip_rows`` on; ``fields_of`` maps the header.

    Raises
    ------
    InputError
        If it is not a valid workbook, has no rows, or has one that is longer than a row may be.
    MissingExtraError
        Without openpyxl.
    """
    openpyxl = package("openpyxl", f"reading {file.source}", "excel")
    content = file.whole()
    _check_archive(content, file)
    try:
        with _quietly():
            book = openpyxl.load_workbook(content, read_only=True, data_only=True, keep_links=False)
        yield from _blocks(book, file, fields_of, context_separator, skip_rows)
    except InputError:
        raise
    except Exception as error:  # it trusts what a file says, and fails in many ways
        raise InputError(f"{file.source} is not a valid workbook: {error}") from None


def _blocks(
    book: Any,
    file: ByteFile,
    fields_of: Callable[[list[str], FirstRows], FieldMap],
    context_separator: str | None,
    skip_rows: int,
) -> RowBlocks:
    sheet, rows = _first_sheet(book)
    others = [other.title for other in book.worksheets if other is not sheet]
    if others:
        file.remarks.append(f'rows: in the sheet "{sheet.title}" (not read: {listed(others)})')
    first = next(rows, None)
    if first is None:
        return
    header = first.cells
    while header and not header[-1]:
        header.pop()
    check_header(header, f"{file.source}: row {first.line + 1}")
    fitted = (CsvRow(_fitted(row.cells, len(header)), row.line) for row in rows)
    found = PeekedRows(fitted, header)
    read = CellReader(header, fields_of(header, found.first), context_separator)
    yield from cell_blocks(found, read, file.source, skip_rows, unit="row")


def _first_sheet(book: Any) -> tuple[Any, Iterator[CsvRow]]:
    """The first sheet with a row, and its rows that are not empty, as texts."""
    for sheet in book.worksheets:
        if sheet.sheet_state == "visible" and next(_rows(sheet), None) is not None:
            return sheet, _rows(sheet)
    return book.worksheets[0], iter(())


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress warnings about styles and extensions, which contain no rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"openpyxl\.")
        yield


def _rows(sheet: Any) -> Iterator[CsvRow]:
    # The size that a file states may be wrong, on purpose or not.
    sheet.reset_dimensions()
    rows = enumerate(sheet.iter_rows(max_row=_MOST_ROWS, values_only=True))
    while True:
        # Not over a yield, where the filters would be those of the caller; some come at the end.
        with _quietly():
            few = list(islice(rows, _ROWS_AT_ONCE))
        if not few:
            return
        for number, values in few:
            if any(value is not None for value in values):
                yield CsvRow(list(map(_text, values)), number)


def _fitted(cells: list[str], n_columns: int) -> list[str]:
    """As many cells as there are columns; more only where they hold something."""
    missing = n_columns - len(cells)
    if missing > 0:
        return cells + [""] * missing
    return cells if any(cells[n_columns:]) else cells[:n_columns]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    # Spreadsheets have no whole numbers: 17 is kept as 17.0 by some that write files.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


# -------------------------------------------------------------------------------------- archives


def _check_archive(content: IO[bytes], file: ByteFile) -> None:
    """Raise an error for content that would not fit into memory, before unpacking it."""
    try:
        with zipfile.ZipFile(content) as archive:
            members = archive.infolist()
            held = sum(one.file_size for one in members if not one.filename.startswith(_SHEETS))
            file.check_held(held, content.seek(0, os.SEEK_END))
            for member in members:
                if member.filename.endswith((".xml", ".rels")):
                    streamed = "row" if member.filename.startswith(_SHEETS) else "si"
                    with archive.open(member) as part:
                        _check_xml(part, file, streamed)
    except InputError:
        raise
    except (expat.ExpatError, *_DAMAGED) as error:
        raise InputError(f"{file.source} is not a valid workbook: {error}") from None


def _check_xml(part: IO[bytes], file: ByteFile, streamed: str) -> None:
    """Refuse declarations, by which XML grows, and rows that are too long or have too much.

    ``streamed`` is the element that openpyxl holds one at a time: a row, or a shared text.
    """
    parser = expat.ParserCreate()
    row = row_begin = n_elements = 0

    def refuse(*declared: Any) -> None:
        raise InputError(f"{file.source} is not a valid workbook: it declares a document type")

    def check_length(end: int) -> None:
        if end - row_begin > file.max_row_bytes:
            raise file.too_long(max(1, row), unit="row")

    def count(name: str, attributes: dict[str, str]) -> None:
        nonlocal row, row_begin, n_elements
        n_elements += 1
        kind = name.rpartition(":")[2]
        if kind == streamed:
            check_length(parser.CurrentByteIndex)
            row, row_begin, n_elements = row + 1, parser.CurrentByteIndex, 0
        elif n_elements > _MOST_ELEMENTS or kind == "si":  # texts that only claim to be a sheet
            raise InputError(f"{file.source} is not a valid workbook: a part has too many elements")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = count
    n_read = 0
    while chunk := part.read(_CHUNK_BYTES):
        parser.Parse(chunk)
        n_read += len(chunk)
        check_length(n_read)
    parser.Parse(b"", True)
