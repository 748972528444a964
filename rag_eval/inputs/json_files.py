"""JSON lines and JSON arrays -> blocks of rows."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.byte_files import BOM, ByteFile, plain_name
from rag_eval.inputs.json_blocks import JsonBlock, LineScanner, count_objects
from rag_eval.inputs.json_faults import (
    FAULTY,
    cut_hint,
    decode_leniently,
    first_bad_byte,
    json_type,
    loads,
)
from rag_eval.inputs.row_blocks import BLOCK_BYTES, RowBlock, RowBlocks
from rag_eval.inputs.samples import SampleLike
from rag_eval.inputs.schemas.documents import rows_of_document
from rag_eval.inputs.schemas.fields import FieldMap
from rag_eval.plumbing import json_text

LineRows: TypeAlias = Generator[RowBlock | JsonBlock, None, None]

_MAX_ROWS: Final = 1024
_OF_LINES: Final = re.compile(r"\.(?:jsonl|ndjson)(?=(?:\.gz|\.zst)?$)", re.IGNORECASE)

_decode = msgspec.json.Decoder().decode
_decode_lines = msgspec.json.Decoder().decode_lines


def json_blocks(file: ByteFile, name: str | Path) -> RowBlocks:
    """The rows of a file whose name ends in .json (an array) or not (lines), also packed."""
    read = array_blocks if plain_name(name).endswith(".json") else line_blocks
    return read(file)


# ---------------------------------------------------------------------------------- JSON lines


def line_blocks(file: ByteFile) -> RowBlocks:
    """The rows of JSON lines; their fields are not looked at."""
    # Without fields no line is scanned.
    return cast("RowBlocks", LineBlocks(file).blocks())


class LineBlocks:
    """The rows of JSON lines, from row ``skip_rows`` on.

    Blank lines, a leading byte order mark and carriage returns at line ends are skipped.
    """

    def __init__(self, file: ByteFile, skip_rows: int = 0) -> None:
        self._file = file
        self._read = _LineReader(file, skip_rows)

    def scan(self, fields: FieldMap) -> None:
        """From the next buffer on, find the fields in the bytes, where they are simple keys.

        Blocks that are read so have the names of our fields already.
        """
        keys = fields.keys
        if keys is not None:
            self._read.scanner, self._read.fields = LineScanner(keys), fields

    def blocks(self) -> LineRows:
        """Blocks of decoded rows, or of lines that were scanned."""
        file, read = self._file, self._read
        # Lines are read where they lie: the bytes of a file are copied once, into this. It has room
        # for the longest row and its line end, so that a longer one never fits.
        most = file.max_row_bytes + 1
        usual = min(BLOCK_BYTES, most)
        buffer = bytearray(usual)
        filled, failed, at_end = 0, None, False
        while not at_end:
            try:
                n_read = file.fill(buffer, filled)
            except InputError as error:
                failed, n_read = error, 0
            filled += n_read
            at_end = n_read == 0
            if filled < len(buffer) and not at_end:
                continue
            whole = buffer.rfind(b"\n", 0, filled) + 1
            if at_end and failed is None:
                whole = filled
            yield from read.blocks(buffer, whole)
            buffer[: filled - whole] = buffer[whole:filled]
            filled -= whole
            # A line that is longer than the buffer needs a larger one, and only for as long.
            if filled == most:
                raise file.too_long(read.n_lines + 1)
            if filled == len(buffer):
                buffer.extend(bytes(min(len(buffer), most - len(buffer))))
            elif filled < usual < len(buffer):
                del buffer[usual:]
        if failed is not None:
            raise failed


class _LineReader:
    """Lines in a buffer -> blocks, with a count of lines and rows from call to call."""

    def __init__(self, file: ByteFile, skip_rows: int) -> None:
        self.scanner: LineScanner | None = None
        self.fields: FieldMap | None = None
        self._source = file.source
        self._hint = file.encoding_hint
        self._skip_rows = skip_rows
        self._line = 0
        self._row = 0

    @property
    def n_lines(self) -> int:
        """Number of lines so far."""
        return self._line

    def blocks(self, buffer: bytearray, end: int) -> LineRows:
        """The rows in the first bytes of the buffer, which end with a line."""
        begin = 3 if self._line == 0 and buffer.startswith(BOM) else 0
        if self.scanner is not None and self._row >= self._skip_rows:
            begin = yield from self._scanned_blocks(self.scanner, buffer, begin, end)
        rows = self._plain_rows(buffer, begin, end)
        if rows is None:
            yield from self._blocks_by_line(buffer, begin, end)
            return
        row_bytes = (end - begin) // max(1, len(rows)) + 1
        for first in range(0, len(rows), _MAX_ROWS):
            taken = rows[first : first + _MAX_ROWS]
            numbers = range(self._line + 1, self._line + 1 + len(taken))
            ordinals = range(self._row, self._row + len(taken))
            self._line += len(taken)
            self._row += len(taken)
            origin = FileOrigin(self._source, "line", numbers, ordinals)
            yield RowBlock(ordinals.start, taken, origin, row_bytes * len(taken))

    def _scanned_blocks(
        self, scanner: LineScanner, buffer: bytearray, begin: int, end: int
    ) -> Generator[JsonBlock, None, int]:
        """The lines from ``begin`` on, as far as they are simple; returns how far that is."""
        assert self.fields is not None
        with memoryview(buffer) as whole:
            lines = bytes(whole[begin:end])
        at = 0
        while at < len(lines) and (scanned := scanner.scanned(lines, at)) is not None:
            first_line, at = self._line + 1, scanned.end
            self._line += scanned.n_lines
            if not len(scanned.marks):
                continue
            origin = scanned.origin(self._source, first_line, self._row)
            block = JsonBlock(scanned, self.fields, self._row, origin)
            self._row += len(block)
            yield block
        return begin + at

    def _plain_rows(self, buffer: bytearray, begin: int, end: int) -> list[Any] | None:
        """The rows when every line is an object and nothing else; None when that is not so.

        A line that begins with a brace and ends with one is no part of a longer value: two lines of
        one value have a comma, a colon or a bracket between them. So as many values as lines are
        one value a line.
        """
        if self._row < self._skip_rows:
            return None
        with memoryview(buffer) as whole, whole[begin:end] as lines:
            n_lines = count_objects(lines)
            if n_lines < 0:
                return None
            try:
                rows = _decode_lines(lines)
            except (ValueError, RecursionError):
                return None
        return rows if len(rows) == n_lines else None

    def _blocks_by_line(self, buffer: bytearray, begin: int, end: int) -> RowBlocks:
        block: _RowReader | None = None
        while begin < end:
            stop = buffer.find(b"\n", begin, end)
            stop = end if stop < 0 else stop
            self._line += 1
            if self._row < self._skip_rows:
                self._row += not _is_blank(buffer, begin, stop)
            else:
                if block is None:
                    block = _RowReader(self._source, "line", self._row)
                self._read(block, memoryview(buffer)[begin:stop])
                self._row = block.ordinal
                if len(block.rows) >= _MAX_ROWS:
                    yield block.block
                    block = None
            begin = stop + 1
        if block is not None and block.ordinal > block.first_row:
            yield block.block

    def _read(self, block: _RowReader, line: memoryview) -> None:
        try:
            row = _decode(line)
        except (ValueError, RecursionError):
            text = line.tobytes()
            if not text or text.isspace():
                return
            row = decode_leniently(text, self._line, block.origin, self._hint)
            if row is FAULTY:
                block.ordinal += 1
                return
            block.may_be_infinite = True
        block.n_bytes += len(line)
        block.add(row, self._line)


def _is_blank(buffer: bytearray, begin: int, end: int) -> bool:
    # A line of a row has text right at its start.
    return begin == end or (buffer[begin : begin + 1].isspace() and buffer[begin:end].isspace())


def _belongs(source: str) -> str:
    """Where an array of samples is looked for; other rows are no better."""
    text = "An array of samples belongs in a .json file"
    renamed = _OF_LINES.sub(".json", source)
    return text if renamed == source else f"{text}: rename it to {renamed}"


class _RowReader:
    """Puts together the rows of one block."""

    def __init__(self, source: str, unit: str, ordinal: int) -> None:
        self.origin = FileOrigin(source, unit)
        self.first_row = self.ordinal = ordinal
        self.n_bytes = 0
        self.may_be_infinite = False
        self.rows: list[SampleLike] = []
        self.numbers: list[int] = []
        self.ordinals: list[int] = []

    def add(self, row: object, number: int) -> None:
        """Add the next row, or its fault if it is not an object."""
        if isinstance(row, dict):
            self.rows.append(row)
            self.numbers.append(number)
            self.ordinals.append(self.ordinal)
        else:
            fault = f"must be a JSON object, got {json_type(row)}"
            if isinstance(row, list) and self.ordinal == 0 and self.origin.unit == "line":
                fault += f". {_belongs(self.origin.source)}"
            self.origin.add_fault(number, row, fault)
        self.ordinal += 1

    @property
    def block(self) -> RowBlock:
        self.origin.numbers, self.origin.ordinals = self.numbers, self.ordinals
        return RowBlock(
            self.first_row,
            self.rows,
            self.origin,
            self.n_bytes,
            may_be_infinite=self.may_be_infinite,
        )


# --------------------------------------------------------------------------------- JSON arrays


def array_blocks(file: ByteFile, skip_rows: int = 0) -> RowBlocks:
    """The rows of a JSON array, which is held in memory as a whole.

    So are the rows in the documents that ``schemas.documents.rows_of_document`` opens.
    """
    data = file.content()
    if not data or data.isspace():
        return
    try:
        elements, strict = _decode(data), True
    except (ValueError, RecursionError):
        elements, strict = _array_leniently(data, file), False
    if isinstance(elements, dict):
        elements = _rows_inside(elements, file)
    if not isinstance(elements, list):
        raise InputError(
            f"{file.source} must hold a JSON array of samples, got {json_type(elements)}"
            "; one sample per line belongs in a .jsonl file"
        )
    row_bytes = max(1, len(data) // max(1, len(elements)))
    del data
    n_rows = max(1, min(_MAX_ROWS, BLOCK_BYTES // row_bytes))
    for begin in range(skip_rows, len(elements), n_rows):
        read = _RowReader(file.source, "row", begin)
        read.may_be_infinite = not strict
        for number, row in enumerate(elements[begin : begin + n_rows], begin):
            read.n_bytes += row_bytes
            read.add(row, number)
        yield read.block


def _rows_inside(document: dict[str, Any], file: ByteFile) -> Any:
    """The rows of a document of another tool, or the document when it has none."""
    try:
        found = rows_of_document(document)
    except InputError as error:
        raise InputError(f"{file.source}: {error}") from None
    if found is None:
        return document
    file.remarks.append(str(found))
    return found.rows


def _lines_of_objects(data: bytes) -> list[Any] | None:
    """The objects of JSON lines; None for anything else."""
    try:
        rows = [loads(line) for line in data.removeprefix(BOM).splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None
    return rows if all(isinstance(row, dict) for row in rows) else None


def _array_leniently(data: bytes, file: ByteFile) -> Any:
    source, bad_byte = file.source, first_bad_byte(data, file.encoding_hint)
    if bad_byte:
        raise InputError(f"{source} {bad_byte}")
    try:
        return loads(data)
    except RecursionError:
        raise InputError(f"{source} is nested too deeply") from None
    except ValueError as error:
        hint = cut_hint(error)
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            rows = _lines_of_objects(data)
            if rows is not None:
                file.remarks.append(f"rows: {len(rows):,} lines of JSON")
                return rows
            hint = ". If the file has one sample per line, rename it to end in .jsonl"
        fault = json_text.syntax_fault(error)
        raise InputError(f"{source} is not valid JSON: {fault}{hint}") from None
