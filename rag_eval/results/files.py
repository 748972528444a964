"""Result files, written: JSON and JSON lines, in the schema of rag-eval-node-ts.

Written part by part, so that no file has to be held in memory, and put in place only when complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_eval.errors import InputError
from rag_eval.plumbing import json_text
from rag_eval.plumbing.durable_files import atomic_file

if TYPE_CHECKING:
    from rag_eval.results.batch import BatchEvalResult
    from rag_eval.results.row import EvalResult


def row_json(result: EvalResult, row: int, details: bool = False) -> bytes:
    """One row's result as JSON; an error names the sample with a value that cannot be written."""
    try:
        return json_text.dumps(result.to_dict(details))
    except (ValueError, TypeError) as error:
        sample = result.sample
        name = sample.get("id") if isinstance(sample, Mapping) else getattr(sample, "id", None)
        shown = f"sample {row}" if name is None else f'sample {row} ("{name}")'
        raise InputError(f"{shown} cannot be written as JSON: {error}") from None


def json_parts(rows: Iterable[bytes], summary: Callable[[], Mapping[str, Any]]) -> Iterator[bytes]:
    """The parts of a result file: its rows, then its summary, which may need all rows first."""
    yield b'{"results":['
    for index, row in enumerate(rows):
        yield b",\n" if index else b"\n"
        yield row
    yield b"\n]," + json_text.dumps(summary())[1:] + b"\n"


def batch_json_parts(batch: BatchEvalResult, details: bool = False) -> Iterator[bytes]:
    """The parts of a batch's result file; opens every row, one at a time."""
    rows = (row_json(result, row, details) for row, result in enumerate(batch.results))
    return json_parts(rows, batch.summary_dict)


def jsonl_parts(results: Iterable[EvalResult], details: bool = False) -> Iterator[bytes]:
    """One line of JSON per row."""
    for row, result in enumerate(results):
        yield row_json(result, row, details) + b"\n"


def write_or_return(parts: Iterable[bytes], path: str | Path | None) -> str | None:
    """Write the parts to a file, or give them as text when no path is named."""
    if path is None:
        return b"".join(parts).decode()
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)
    return None
