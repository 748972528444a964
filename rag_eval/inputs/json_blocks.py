"""Lines of JSON -> blocks over their bytes.

Lines that are not simple are left to the decoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from rag_eval._native import line_scans
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.samples import SampleLike
from rag_eval.inputs.scanned_blocks import SCANNED_FIELDS, ScannedBlock, ScannedRows, Scratch
from rag_eval.inputs.schemas.fields import FieldMap
from rag_eval.kernels.columns import ends_of

_decode = msgspec.json.Decoder().decode


class LineScanner:
    """Finds our fields in lines, by the keys that a map of fields has for them."""

    def __init__(self, keys: Mapping[str, Sequence[str]]) -> None:
        named = [
            (key.encode("utf-8", "surrogatepass"), number)
            for name, number in SCANNED_FIELDS.items()
            for key in keys[name]
        ]
        self._keys = np.frombuffer(b"".join(key for key, _ in named), np.uint8)
        self._key_offsets = ends_of(np.array([len(key) for key, _ in named], np.int64))
        self._key_fields = np.array([field for _, field in named], np.uint8)
        self._scratch = Scratch()

    def scanned(self, lines: bytes, begin: int) -> ScannedRows | None:
        """The lines from ``begin`` on, up to 8192 rows; None if one of them is not simple."""
        scratch = self._scratch
        while True:
            end = line_scans.scan_lines(
                lines,
                begin,
                self._keys,
                self._key_offsets,
                self._key_fields,
                *scratch.arrays(),
                scratch.counts,
            )
            if end < 0:
                return None
            if end > begin or begin == len(lines):
                return scratch.taken(lines, begin, end, lines)
            scratch.grow()


class JsonBlock(ScannedBlock):
    """Some lines, over their bytes."""

    __slots__ = ("_fields",)

    def __init__(
        self, scanned: ScannedRows, fields: FieldMap, first_row: int, origin: FileOrigin
    ) -> None:
        super().__init__(scanned, fields.renamed, first_row, origin)
        self._fields = fields

    def _row(self, begin: int, end: int) -> SampleLike:
        with memoryview(self._scanned.lines) as lines, lines[begin:end] as line:
            return self._fields.row(_decode(line))

    def echoed(self) -> list[bytes | None]:
        """Each row as JSON is written here, which its line tells; None where it does not.

        The ground truth is under the name that result files have for it.
        """
        if not self._fields.is_native or self._may_have_lists():
            return [None] * len(self)
        _, begins, ends = self._scanned.rows
        scratch = bytearray(2 * int((ends - begins).max(initial=0)))
        return line_scans.echoed_objects(self._scanned.lines, begins, ends, scratch)


# ------------------------------------------------------------------------------- simple objects

_NEWLINE, _OPENS, _CLOSES = b"\n{}"


def count_objects(lines: memoryview) -> int:
    """The number of lines if each begins and ends with a brace; otherwise -1."""
    if not len(lines):
        return -1
    content = np.frombuffer(lines, np.uint8)
    newlines = np.flatnonzero(content == _NEWLINE)
    inner = newlines[:-1] if len(newlines) and newlines[-1] == len(content) - 1 else newlines
    if (
        content[0] != _OPENS
        or content[-1 if len(inner) == len(newlines) else -2] != _CLOSES
        or np.any(content[inner - 1] != _CLOSES)
        or np.any(content[inner + 1] != _OPENS)
    ):
        return -1
    return len(inner) + 1
