"""Small tables beside the samples, such as labels: CSV, JSON lines or a JSON array -> rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.byte_files import ByteFile, opened_bytes, plain_name
from rag_eval.inputs.csv_files import separator_of
from rag_eval.inputs.csv_records import CsvTable
from rag_eval.inputs.file_states import unchanged
from rag_eval.inputs.json_faults import finite_rows
from rag_eval.inputs.json_files import json_blocks
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.plumbing.csv_cells import unguarded_cell
from rag_eval.plumbing.descriptors import is_standard_input

_SHOWN_FIELDS: Final = 20


def table_rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its place: ``line 17 ("q-0042")``, or ``row 17`` of a JSON array.

    Standard input holds JSON lines.

    Cells of CSV are texts, without the apostrophe that keeps spreadsheets from running them. A line
    of CSV is the last of its row; rows of empty cells, which spreadsheets leave at the end, are
    none.

    Raises
    ------
    InputError
        At the first row that cannot be read, naming it.
    """
    if not is_standard_input(path) and not plain_name(path).endswith(
        (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
    ):
        raise InputError(
            f"{path}: unknown file format. The name must end in .csv, .tsv, .jsonl, .ndjson or "
            ".json (also with .gz or .zst)"
        )
    with unchanged(path), opened_bytes(path) as file:
        yield from rows_of(file, path)


def rows_of(file: ByteFile, name: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of an open file with a name: CSV, a JSON array, or else JSON lines."""
    if plain_name(name).endswith((".csv", ".tsv")):
        yield from _csv_rows(CsvTable(file, separator_of(name)))
        return
    for block in json_blocks(file, name):
        origin = block.origin
        assert origin is not None
        if isinstance(block, RowBlock) and block.may_be_infinite:
            block = finite_rows(block, {name for row in block.rows for name in row})  # type: ignore[union-attr]
        if origin.faults:
            raise InputError(f"{origin.source}, {origin.faults[0]}")
        for number, row in zip(origin.numbers, block.rows, strict=True):
            assert isinstance(row, dict)
            yield origin.place(number, row), row


def _csv_rows(table: CsvTable) -> Iterator[tuple[str, dict[str, Any]]]:
    origin = FileOrigin(table.source, "line")
    header = list(map(unguarded_cell, table.header))
    for row in table.rows():
        if not any(row.cells):
            continue
        cells = dict(zip(header, map(unguarded_cell, row.cells), strict=False))
        place = origin.place(row.line, cells)
        if fault := table.width_fault(row):
            raise InputError(f"{table.source}, {place}: {fault}")
        yield place, cells


# ---------------------------------------------------------------------------------------- cells


def cell_of(row: Mapping[str, Any], field: str, where: str) -> Any:
    """What a row has in a field.

    Raises
    ------
    InputError
        When it has no such field, naming those it has.
    """
    if field not in row:
        names = list(row)[:_SHOWN_FIELDS]
        fields = ", ".join(names) + (", …" if len(row) > _SHOWN_FIELDS else "")
        hint = suggestion(field, row)
        other = (
            f". If it has another name: --{field}-field FIELD" if field in ("id", "label") else ""
        )
        raise InputError(f"{where}: no field {field!r}{hint} (fields: {fields or 'none'}){other}")
    return row[field]


def name_of(value: object, field: str, where: str) -> str:
    """The name of a row or of a group as a text: CSV has no other kind.

    Raises
    ------
    InputError
        When there is none, or it is neither a text nor a whole number.
    """
    if value is None or value == "":
        raise InputError(f"{where}: {field} is missing")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(
            f"{where}: {field} must be a string or a whole number, got {type(value).__name__}"
        )
    return str(value)
