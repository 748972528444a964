"""Lines of CSV -> blocks over their bytes.

Records that are not simple are left to a reader of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval._native import line_scans
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.file_lines import HeldLines
from rag_eval.inputs.samples import SampleLike
from rag_eval.inputs.scanned_blocks import SCANNED_FIELDS, ScannedBlock, ScannedRows, Scratch

_NO_FIELD: Final = 255


class RecordScanner:
    """Finds our fields in records, by the columns that hold them.

    Parameters
    ----------
    column_fields : uint8, shape (columns,)
        See :func:`fields_of_columns`.
    separator : int
        The character between cells.
    most_bytes : int
        The longest record, with its line ends.
    """

    def __init__(
        self, column_fields: npt.NDArray[np.uint8], separator: int, most_bytes: int
    ) -> None:
        self._column_fields = column_fields
        self._separator = separator
        self._most_bytes = most_bytes
        self._scratch = Scratch()

    def scanned(self, held: HeldLines) -> ScannedRows | None:
        """The next records, up to 8192; None where the first of them is not simple."""
        scratch = self._scratch
        lines, begin, end = held
        texts = np.empty(end - begin, np.uint8)
        while True:
            stop = line_scans.scan_records(
                lines,
                begin,
                end,
                self._separator,
                self._column_fields,
                self._most_bytes,
                *scratch.arrays(),
                texts,
                scratch.counts,
            )
            if stop < 0:
                return None
            if stop > begin:
                return scratch.taken(lines, begin, stop, texts)
            scratch.grow()


def fields_of_columns(
    header: Sequence[str], keys: Mapping[str, Sequence[str]]
) -> npt.NDArray[np.uint8] | None:
    """The field that each column holds, as kernels number them; None if two hold the same."""
    numbers = {key: number for name, number in SCANNED_FIELDS.items() for key in keys[name]}
    found = [numbers.get(column, _NO_FIELD) for column in header]
    known = [number for number in found if number != _NO_FIELD]
    return np.array(found, np.uint8) if len(known) == len(set(known)) else None


class CsvBlock(ScannedBlock):
    """Some records, over their bytes; ``sample_of`` gives the sample of a record's cells."""

    __slots__ = ("_sample_of", "_separator")

    def __init__(
        self,
        scanned: ScannedRows,
        renamed: Mapping[str, str],
        first_row: int,
        origin: FileOrigin,
        separator: int,
        sample_of: Callable[[list[str]], dict[str, Any]],
    ) -> None:
        super().__init__(scanned, renamed, first_row, origin)
        self._separator = separator
        self._sample_of = sample_of

    def _row(self, begin: int, end: int) -> SampleLike:
        found = line_scans.cut_record(self._scanned.lines, begin, end, self._separator)
        assert found is not None
        return self._sample_of(found[0])
