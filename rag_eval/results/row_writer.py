"""Results of rows, appended to an open result file as they come."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from rag_eval.plumbing import json_text


class RowWriter:
    """Writes what :func:`rag_eval.results.files.json_parts` gives, for rows that are pushed.

    A file named ``.jsonl`` gets one row a line, any other the rows as an array and the summary.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._lines = path.name.removesuffix(".gz").endswith(".jsonl")
        self._before = b"" if self._lines else b'{"results":[\n'

    def write(self, rows: list[bytes]) -> None:
        """Append some rows."""
        if not rows:
            return
        separator = b"\n" if self._lines else b",\n"
        self._file.write(self._before + separator.join(rows))
        self._before = separator

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write what comes after the rows, of which there was at least one."""
        end = b"\n" if self._lines else b"\n]," + json_text.dumps(summary)[1:] + b"\n"
        self._file.write(end)
