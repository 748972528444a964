"""Rows of scores as JSON lines and as CSV."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import IO, Any, Final

import msgspec

from rag_eval.errors import InputError
from rag_eval.outputs.columns import ScoreColumns, block_lists
from rag_eval.plumbing import json_text
from rag_eval.plumbing.csv_cells import guarded_cell
from rag_eval.plumbing.own_folder import OwnFile
from rag_eval.scoring.engine import ScoredBlock

_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
_COPIED_BYTES: Final = 1 << 20
_ENDS_CELL: Final = re.compile('[,"\r\n]')


def _concatenate(parts: Iterable[OwnFile], file: IO[bytes]) -> None:
    for part in parts:
        with part.open("rb") as rows:
            shutil.copyfileobj(rows, file, _COPIED_BYTES)


class JsonLinesFormat:
    """One JSON object per row; a null is written as such, so that all rows have the same keys."""

    def __init__(self, columns: ScoreColumns) -> None:
        self._columns = columns
        self._names = columns.names
        self._row = _row_type(self._names)

    def encode(self, scored: ScoredBlock) -> bytes:
        """The rows of a block, each with its line end."""
        lists = block_lists(self._columns, scored)
        try:
            return _encode_lines(list(map(self._row, *lists)))
        except (UnicodeEncodeError, TypeError):
            # Row by row: how one is written must not depend on its neighbours.
            return b"".join(_line(self._row(*row)) for row in zip(*lists, strict=True))

    def assemble(
        self, parts: Sequence[OwnFile], file: IO[bytes], input_changes: Sequence[str]
    ) -> None:
        """Write the rows of all parts."""
        _concatenate(parts, file)


def _row_type(names: Sequence[str]) -> Callable[..., Any]:
    """Makes rows of values: a struct takes a third of the time of a dict."""
    fields = [f"column_{place}" for place in range(len(names))]
    try:
        return msgspec.defstruct("Row", fields, rename=dict(zip(fields, names, strict=True)))
    except (UnicodeEncodeError, ValueError):
        return lambda *row: dict(zip(names, row, strict=True))  # names that need escapes


def _line(row: Any) -> bytes:
    """One row, which may be one that the fast encoder does not take, with lone surrogates."""
    try:
        return _encode(row) + b"\n"
    except UnicodeEncodeError:
        values = row if isinstance(row, dict) else _renamed(row)
    except TypeError as error:
        raise InputError(f"a row cannot be written as JSON: {error}") from None
    try:
        return json_text.dumps(values) + b"\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"row {values['id']!r} cannot be written as JSON: {error}") from None


def _renamed(row: Any) -> dict[str, Any]:
    fields = msgspec.structs.fields(row)
    return {field.encode_name: getattr(row, field.name) for field in fields}


class CsvFormat:
    """A header and one line per row: nulls are empty, what is not a text or a number is JSON.

    A text that a spreadsheet would run as a formula has an apostrophe before it.
    """

    def __init__(self, columns: ScoreColumns) -> None:
        self._columns = columns

    def encode(self, scored: ScoredBlock) -> bytes:
        """The rows of a block."""
        return _csv_bytes(map(_cells, block_lists(self._columns, scored)))

    def assemble(
        self, parts: Sequence[OwnFile], file: IO[bytes], input_changes: Sequence[str]
    ) -> None:
        """Write the header and the rows of all parts."""
        file.write(self.header)
        _concatenate(parts, file)

    @property
    def header(self) -> bytes:
        """The line of column names."""
        return _csv_bytes([_cell(name)] for name in self._columns.names)


def _csv_bytes(columns: Iterable[Sequence[str]]) -> bytes:
    lines = [",".join(cells) for cells in zip(*columns, strict=True)]
    # A lone surrogate has no bytes in UTF-8; as an escape it can still be read.
    return "\n".join([*lines, ""]).encode("utf-8", "backslashreplace")


def _cells(column: list[Any]) -> list[str]:
    """The cells of a column: what :func:`_cell` makes of its values, sooner for most columns."""
    kinds = set(map(type, column)) - {NoneType}
    if not kinds:
        return [""] * len(column)
    if kinds == {float}:
        text = _encode(column).decode()
        # Exponents look different in JSON, which also has none in small numbers.
        if "e" not in text and "0.0000" not in text:
            return text[1:-1].replace("null", "").split(",")
    if kinds == {bool}:
        return ["" if value is None else "true" if value else "false" for value in column]
    return list(map(_cell, column))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        # Letters and digits alone are never a formula, and nothing that ends a cell.
        return value if value.isalnum() else _quoted(guarded_cell(value))
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else ""
    try:
        text = _encode(value).decode()
    except UnicodeEncodeError:
        return _quoted(json_text.dumps(value).decode())
    # Times, decimals and bytes are texts in JSON.
    return _quoted(guarded_cell(msgspec.json.decode(text)) if text.startswith('"') else text)


def _quoted(cell: str) -> str:
    """A cell as CSV has it, in quotation marks where it could end before its end."""
    return '"' + cell.replace('"', '""') + '"' if _ENDS_CELL.search(cell) else cell
