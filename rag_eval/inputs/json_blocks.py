"""Lines of JSON -> blocks whose texts go to the kernels without a Python object a row.

A block gives the scores and the faults that its rows would give as dicts. Lines that are not simple
are left to the decoder, and so are blocks with a row that lacks a field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from rag_eval._native import json_lines
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.inputs.samples import FieldNeeds, SampleLike
from rag_eval.inputs.schemas.fields import FieldMap
from rag_eval.kernels.columns import (
    GIVEN,
    GroundedColumns,
    SampleBatch,
    TextColumn,
    ends_of,
)
from rag_eval.kernels.settings import DETECT

_Places: TypeAlias = npt.NDArray[np.int64]

# Fields as the kernel numbers them, so that the marks of the first three are the bits GIVEN_*.
_QUESTION, _ANSWER, _CONTEXTS, _GROUND_TRUTH, _ID, _LANGUAGE = range(6)
_FIELDS: Final = {
    **{"question": _QUESTION, "answer": _ANSWER, "contexts": _CONTEXTS},
    **{"ground_truth": _GROUND_TRUTH, "id": _ID, "language": _LANGUAGE},
}
_ID_IS_NUMBER: Final = 1 << 5
_MAX_ROWS: Final = 8192
_LIST, _ESCAPE = b"[\\"
_FIRST_ITEMS: Final = 1 << 14

_decode = msgspec.json.Decoder().decode


class _Texts(NamedTuple):
    """Where texts lie in the lines.

    Attributes
    ----------
    begins, lengths : int64, shape (n,)
        As they stand there.
    sizes : int64, shape (n,)
        Their bytes without escapes; 0 also where there is no text.
    """

    begins: _Places
    lengths: _Places
    sizes: _Places

    def those(self, kept: npt.NDArray[np.bool_]) -> _Texts:
        return _Texts(self.begins[kept], self.lengths[kept], self.sizes[kept])


_NO_TEXTS: Final = _Texts(*[np.empty(0, np.int64)] * 3)


class ScannedLines(NamedTuple):
    """Some lines in which our fields were found.

    Attributes
    ----------
    lines : bytes
        These and others; all places are places in them.
    begin, end : int
        Where the lines begin and end.
    n_lines : int
        How many they are, blank ones among them.
    rows : int64, shape (3, R)
        Per row its line, from 0, and begin and end of its object.
    places : int64, shape (5, 3, R)
        Per field and row begin, length and size of a text, or the first context and how many.
    marks : uint8, shape (R,)
        A bit for each field that is there and not null, and one for an id that is a number.
    contexts : int64, shape (3, C)
        Begin, length and size of the contexts of all rows.
    """

    lines: bytes
    begin: int
    end: int
    n_lines: int
    rows: _Places
    places: _Places
    marks: npt.NDArray[np.uint8]
    contexts: _Places

    def texts(self, field: int) -> _Texts:
        """A text a row."""
        return _Texts(*self.places[field])

    def laid(self, texts: _Texts) -> TextColumn:
        """Texts end to end, as they are without escapes."""
        offsets = ends_of(texts.sizes)
        data = np.empty(int(offsets[-1]), np.uint8)
        json_lines.lay_texts(self.lines, texts.begins, texts.lengths, offsets, data)
        return TextColumn(data, offsets)


class LineScanner:
    """Finds our fields in lines, by the keys that a map of fields has for them."""

    def __init__(self, keys: Mapping[str, Sequence[str]]) -> None:
        named = [
            (key.encode("utf-8", "surrogatepass"), _FIELDS[name])
            for name in _FIELDS
            for key in keys[name]
        ]
        self._keys = np.frombuffer(b"".join(key for key, _ in named), np.uint8)
        self._key_offsets = ends_of(np.array([len(key) for key, _ in named], np.int64))
        self._key_fields = np.array([field for _, field in named], np.uint8)
        # Scratch memory; each block takes what it needs.
        self._rows = np.empty((3, _MAX_ROWS), np.int64)
        self._places = np.empty((5, 3, _MAX_ROWS), np.int64)
        self._marks = np.empty(_MAX_ROWS, np.uint8)
        self._items = np.empty((3, _FIRST_ITEMS), np.int64)
        self._counts = np.empty(3, np.int64)

    def scanned(self, lines: bytes, begin: int) -> ScannedLines | None:
        """The lines from ``begin`` on, up to 8192 rows; None if one of them is not simple."""
        while True:
            end = json_lines.scan_lines(
                lines,
                begin,
                self._keys,
                self._key_offsets,
                self._key_fields,
                self._rows.reshape(-1),
                self._places.reshape(-1),
                self._marks,
                self._items.reshape(-1),
                self._counts,
            )
            if end < 0:
                return None
            if end > begin or begin == len(lines):
                break
            self._items = np.empty((3, 4 * self._items.shape[1]), np.int64)
        n_rows, n_items, n_lines = self._counts.tolist()
        return ScannedLines(
            lines,
            begin,
            end,
            n_lines,
            self._rows[:, :n_rows].copy(),
            self._places[:, :, :n_rows].copy(),
            self._marks[:n_rows].copy(),
            self._items[:, :n_items].copy(),
        )


class JsonBlock:
    """Some lines, over their bytes; see :class:`~rag_eval.inputs.blocks.SampleBlock`."""

    __slots__ = (
        *("_decoded", "_fields", "_ids", "_scanned", "absent", "first_row", "n_bytes", "origin"),
    )

    def __init__(
        self, scanned: ScannedLines, fields: FieldMap, first_row: int, origin: FileOrigin
    ) -> None:
        self._scanned = scanned
        self._fields = fields
        self._decoded: list[SampleLike] | None = None
        self._ids: list[Any] | None = None
        self.first_row = first_row
        self.origin: FileOrigin | None = origin
        self.n_bytes = scanned.end - scanned.begin
        self.absent: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._scanned.marks)

    def name(self, index: int) -> str:
        """How errors call the row at ``index``."""
        assert self.origin is not None
        return self.origin.name(index, {"id": self.ids()[index]})

    def sample(self, index: int) -> SampleLike:
        """The row at ``index``, as its line has it."""
        if self._decoded is not None:
            return self._decoded[index]
        _, begins, ends = self._scanned.rows
        with memoryview(self._scanned.lines) as lines, lines[begins[index] : ends[index]] as line:
            return self._fields.row(_decode(line))

    def echoed(self) -> list[bytes | None]:
        """Each row as JSON is written here, which its line tells; None where it does not.

        The ground truth is under the name that result files have for it.
        """
        if not self._fields.is_native or self._may_have_lists():
            return [None] * len(self)
        _, begins, ends = self._scanned.rows
        scratch = bytearray(2 * int((ends - begins).max(initial=0)))
        return json_lines.echoed_objects(self._scanned.lines, begins, ends, scratch)

    def as_rows(self) -> RowBlock:
        """The block with its rows decoded."""
        if self._decoded is None:
            self._decoded = [self.sample(index) for index in range(len(self))]
        return RowBlock(
            self.first_row,
            self._decoded,
            self.origin,
            self.n_bytes,
            self._fields.renamed,
            absent=self.absent,
        )

    def ids(self) -> list[Any]:
        """The id of each row, None if it has none."""
        if self._ids is None:
            self._ids = self._read_ids()
        return self._ids

    def _read_ids(self) -> list[Any]:
        data, offsets = self._scanned.laid(self._scanned.texts(_ID))
        ends = offsets.tolist()
        content = data.tobytes()
        found: list[Any]
        if content.isascii():
            text = content.decode()
            found = [text[begin:end] for begin, end in pairwise(ends)]
        else:
            found = [content[begin:end].decode() for begin, end in pairwise(ends)]
        kinds = self._scanned.marks & (1 << _ID | _ID_IS_NUMBER)
        for index in np.flatnonzero(kinds != 1 << _ID).tolist():
            found[index] = int(found[index]) if kinds[index] else None
        return found

    def values(self, name: str) -> list[Any]:
        """A key of the lines under its own name; None if a row lacks it."""
        return self.as_rows().values(name)

    def plain_rows(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """All rows, if they hold columns of these names as the lines have them."""
        return self.as_rows().plain_rows(names)

    def fault(self, index: int, needs: FieldNeeds) -> str | None:
        """The fault of one row; None if it can be scored."""
        return self.as_rows().fault(index, needs)

    def taken(self, indices: Sequence[int]) -> RowBlock:
        """Some of the rows, decoded."""
        return self.as_rows().taken(indices)

    # -------------------------------------------------------------------------------- packing

    def pack(self, needs: FieldNeeds) -> SampleBatch:
        """The texts as kernels read them.

        Raises
        ------
        SampleError
            For the first row that cannot be scored.
        """
        bits = [bit for name, bit in GIVEN.items() if getattr(needs, name)]
        wanted = np.uint8(sum(bits))
        given = self._scanned.marks & wanted
        if needs.ground_truth and self._may_have_lists():
            return self.as_rows().pack(needs)
        if needs.profile == "grounded":
            return self._packed(needs, given)
        absent = np.uint8(sum(GIVEN[name] for name in needs.absent))
        if np.any(given != wanted & ~absent):
            # Which rows may lack a field is known to those who read them one by one.
            return self.as_rows().pack(needs)
        return self._packed(needs, None)

    def _may_have_lists(self) -> bool:
        """Whether a ground truth may be a list that is written as a text."""
        truths = self._scanned.texts(_GROUND_TRUTH)
        begins = truths.begins[truths.sizes > 0]
        firsts = np.frombuffer(self._scanned.lines, np.uint8)[begins]
        return bool(np.any((firsts == _LIST) | (firsts == _ESCAPE)))

    def _packed(self, needs: FieldNeeds, given: npt.NDArray[np.uint8] | None) -> SampleBatch:
        """The batch, of the grounded profile when told what is given."""
        scanned, n_rows = self._scanned, len(self)
        no_texts = np.zeros(n_rows + 1, np.int64)
        truths, row_truths = scanned.texts(_GROUND_TRUTH), no_texts
        if given is not None and needs.ground_truth:
            there = truths.sizes > 0
            truths, row_truths = truths.those(there), ends_of(there)
        texts = [
            scanned.texts(_QUESTION) if needs.question else _NO_TEXTS,
            scanned.texts(_ANSWER) if needs.answer else _NO_TEXTS,
            truths if needs.ground_truth else _NO_TEXTS,
            _Texts(*scanned.contexts) if needs.contexts else _NO_TEXTS,
        ]
        data, offsets = scanned.laid(_Texts(*map(np.concatenate, zip(*texts, strict=True))))
        ends = ends_of(np.array([len(column.sizes) for column in texts])).tolist()
        question, answer, ground_truth, contexts = (
            TextColumn(data, offsets[begin : end + 1]) for begin, end in pairwise(ends)
        )
        row_contexts = no_texts
        if needs.contexts:
            row_contexts = ends_of(scanned.places[_CONTEXTS, 1])
        grounded = None
        if given is not None:
            grounded = GroundedColumns(row_truths, given, np.full(n_rows, DETECT, np.int8))
        # A field that no metric reads is empty in every row.
        empty = TextColumn(data, no_texts)
        return SampleBatch(
            question if needs.question else empty,
            answer if needs.answer else empty,
            ground_truth if needs.ground_truth else empty,
            contexts,
            row_contexts,
            grounded,
            needs.absent,
        )


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
