"""Tables -> rows by field, each with its place: CSV, JSON lines or a JSON array, also gzipped.

For small tables beside a run, such as labels; samples come in through sample_files.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

from rag_eval.errors import InputError
from rag_eval.sample_files import FileOrigin, file_blocks, source_name

_BOM = b"\xef\xbb\xbf"


def table_rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its place: ``line 17 ("q-0042")``, or ``element [16]`` of a JSON array.

    Cells of CSV are texts. A line of CSV is the last of its row.

    Raises
    ------
    InputError
        At the first row that cannot be read, naming it.
    """
    if Path(path).name.lower().removesuffix(".gz").endswith(".csv"):
        yield from _csv_rows(path)
        return
    for block in file_blocks(path):
        origin = block.origin
        assert isinstance(origin, FileOrigin)
        if origin.faults:
            raise InputError(f"{origin.source}, {origin.faults[0]}")
        for number, row in zip(origin.numbers, block.rows, strict=True):
            assert isinstance(row, dict)
            yield origin.place(number, row), row


def file_bytes(path: str | Path) -> bytes:
    """The content of a file, unpacked when its name ends in ``.gz``, without byte order mark."""
    try:
        data = Path(path).read_bytes()
        if Path(path).name.lower().endswith(".gz"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}") from None
    return data.removeprefix(_BOM)


def _csv_rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    source = source_name(path)
    origin = FileOrigin(source, "line")
    text = TextIOWrapper(BytesIO(file_bytes(path)), "utf-8", newline="")
    reader = csv.reader(text, strict=True)
    try:
        header = next(reader, [])
        _check_header(header, source)
        for row in reader:
            if not row:
                continue
            cells = dict(zip(header, row, strict=False))
            place = origin.place(reader.line_num, cells)
            if len(row) != len(header):
                raise InputError(f"{source}, {place}: {len(row)} cells under {len(header)} columns")
            yield place, cells
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: is not CSV: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8: 0x{error.object[error.start]:02x}") from None


def _check_header(header: list[str], source: str) -> None:
    if not any(header):
        raise InputError(f"{source}: line 1 must name the columns")
    for name in header:
        if header.count(name) > 1:
            raise InputError(f"{source}: line 1 names the column {name!r} twice")
