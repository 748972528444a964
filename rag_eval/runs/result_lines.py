"""A result file as this library writes it, a row a line, in; its rows one at a time out.

Of a hundred thousand rows with their texts the whole would not fit in half a gigabyte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import opened_bytes
from rag_eval.inputs.file_states import unchanged
from rag_eval.plumbing import json_text

_HEAD: Final = b'{"results":[\n'
_END: Final = b"],"

_decode = msgspec.json.Decoder().decode


def is_line_by_line(path: str | Path) -> bool:
    """Whether a file begins as this library writes result files; others may hold the same."""
    with opened_bytes(path) as file:
        return next(file.chunks(len(_HEAD)), b"") == _HEAD


def result_lines(
    path: str | Path, on_summary: Callable[[dict[str, Any]], None]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its place; then ``on_summary`` gets what comes after the rows.

    Raises
    ------
    InputError
        For a line that is not what is written there, or a file that ends before its summary.
    """
    with unchanged(path), opened_bytes(path) as file:
        lines = file.lines()
        next(lines)
        for number, line in enumerate(lines):
            if line.startswith(_END):
                on_summary(_object(b"{" + line[len(_END) :], f"{file.source}, its summary"))
                return
            place = f"results[{number}]"
            yield place, _object(line.rstrip().removesuffix(b","), f"{file.source}, {place}")
        raise InputError(f"{file.source} is not JSON: it ends before its summary")


def _object(text: bytes, where: str) -> dict[str, Any]:
    try:
        try:
            value = _decode(text)
        except msgspec.DecodeError:
            value = json_text.loads(text)  # escapes of lone surrogates
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: wanted an object")
    return value
