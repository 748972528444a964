"""Formats of a file of scores, by the suffix of its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, Protocol

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import plain_name
from rag_eval.options.signature import Signature
from rag_eval.outputs.columns import ScoreColumns
from rag_eval.plumbing.own_folder import OwnFile
from rag_eval.scoring.engine import ScoredBlock

SUFFIXES: Final = (".jsonl", ".ndjson", ".csv", ".parquet", ".arrow")


class RowFormat(Protocol):
    """Turns blocks into bytes, and parts of bytes into a file.

    The bytes of the file depend on the rows alone, not on how they came in blocks and parts.
    """

    def encode(self, scored: ScoredBlock) -> bytes:
        """The rows of a block."""
        ...

    def assemble(
        self, parts: Sequence[OwnFile], file: IO[bytes], input_changes: Sequence[str]
    ) -> None:
        """Write the whole file from parts, each of them encoded blocks.

        What became of the input since it was opened is noted where the kind of file has a place.
        """
        ...


def format_of(path: Path, columns: ScoreColumns, signature: Signature) -> RowFormat:
    """The format that the name of a file asks for.

    Raises
    ------
    InputError
        When the name says nothing, or asks for a packing inside of a format that packs.
    """
    name = plain_name(path)
    if not name.endswith(SUFFIXES):
        raise InputError(
            f"{path}: unknown file format. The name must end in {', '.join(SUFFIXES[:-1])} or "
            f"{SUFFIXES[-1]} (text formats may be compressed: .gz or .zst). To write JSON Lines to "
            "standard output, give -"
        )
    if name.endswith((".parquet", ".arrow")):
        if name != path.name.lower():
            raise InputError(
                f"{path}: {Path(name).suffix} files are compressed internally; leave out .gz"
            )
        from rag_eval.outputs.arrow_rows import ArrowFormat, ParquetFormat

        kind = ParquetFormat if name.endswith(".parquet") else ArrowFormat
        return kind(columns, signature)
    from rag_eval.outputs.text_rows import CsvFormat, JsonLinesFormat

    return CsvFormat(columns) if name.endswith(".csv") else JsonLinesFormat(columns)
