"""Blocks over the bytes of a file, in which a kernel found the texts of our fields.

Their texts go to the kernels without a Python object a row. A block gives the scores and the faults
that its rows would give as dicts; rows are decoded where somebody asks for them, and where one
lacks a field.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval._native import line_scans
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.inputs.samples import FieldNeeds, SampleLike
from rag_eval.kernels.columns import (
    GIVEN,
    GroundedColumns,
    SampleBatch,
    TextColumn,
    ends_of,
)
from rag_eval.kernels.settings import DETECT

Places: TypeAlias = npt.NDArray[np.int64]

# Fields as kernels number them, so that the marks of the first three are the bits GIVEN_*.
_QUESTION, _ANSWER, _CONTEXTS, _GROUND_TRUTH, _ID, _LANGUAGE = range(6)
SCANNED_FIELDS: Final = {
    **{"question": _QUESTION, "answer": _ANSWER, "contexts": _CONTEXTS},
    **{"ground_truth": _GROUND_TRUTH, "id": _ID, "language": _LANGUAGE},
}
_ID_IS_NUMBER: Final = 1 << 5
_MAX_ROWS: Final = 8192
_FIRST_ITEMS: Final = 1 << 14
_LIST, _ESCAPE = b"[\\"


class _Texts(NamedTuple):
    """Where texts lie in the bytes that were scanned.

    Attributes
    ----------
    begins, lengths : int64, shape (n,)
        As they stand there.
    sizes : int64, shape (n,)
        Their bytes without escapes; 0 also where there is no text.
    """

    begins: Places
    lengths: Places
    sizes: Places

    def those(self, kept: npt.NDArray[np.bool_]) -> _Texts:
        return _Texts(self.begins[kept], self.lengths[kept], self.sizes[kept])


_NO_TEXTS: Final = _Texts(*[np.empty(0, np.int64)] * 3)


class ScannedRows(NamedTuple):
    """Some lines in which our fields were found.

    Attributes
    ----------
    lines : bytes
        These and others.
    begin, end : int
        Where the lines begin and end.
    n_lines : int
        How many they are, blank ones among them.
    rows : int64, shape (3, R)
        Per row its last line, from 0, and where what it was read from begins and ends in ``lines``.
    texts : bytes or uint8, shape (B,)
        What places are places in: the lines, or texts that were taken from them.
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
    rows: Places
    texts: bytes | npt.NDArray[np.uint8]
    places: Places
    marks: npt.NDArray[np.uint8]
    contexts: Places

    def of_field(self, field: int) -> _Texts:
        """A text a row."""
        return _Texts(*self.places[field])

    def laid(self, texts: _Texts) -> TextColumn:
        """Texts end to end, as they are without escapes."""
        offsets = ends_of(texts.sizes)
        data = np.empty(int(offsets[-1]), np.uint8)
        line_scans.lay_texts(self.texts, texts.begins, texts.lengths, offsets, data)
        return TextColumn(data, offsets)

    def origin(self, source: str, first_line: int, first_row: int) -> FileOrigin:
        """Where the rows are in a file, told the number of the first line and row."""
        n_rows = len(self.marks)
        numbers: Sequence[int] = range(first_line, first_line + n_rows)
        if self.n_lines > n_rows:  # some are blank, or a row has several
            numbers = (self.rows[0] + first_line).tolist()
        return FileOrigin(source, "line", numbers, range(first_row, first_row + n_rows))


class Scratch:
    """Memory that scans write into; each block takes what it needs."""

    def __init__(self) -> None:
        self._rows = np.empty((3, _MAX_ROWS), np.int64)
        self._places = np.empty((5, 3, _MAX_ROWS), np.int64)
        self._marks = np.empty(_MAX_ROWS, np.uint8)
        self._items = np.empty((3, _FIRST_ITEMS), np.int64)
        self.counts = np.empty(3, np.int64)

    def arrays(self) -> tuple[Places, Places, npt.NDArray[np.uint8], Places]:
        """What kernels fill: rows, places, marks and items."""
        return (
            self._rows.reshape(-1),
            self._places.reshape(-1),
            self._marks,
            self._items.reshape(-1),
        )

    def grow(self) -> None:
        """Make room for more items."""
        self._items = np.empty((3, 4 * self._items.shape[1]), np.int64)

    def taken(
        self, lines: bytes, begin: int, end: int, texts: bytes | npt.NDArray[np.uint8]
    ) -> ScannedRows:
        """What was found."""
        n_rows, n_items, n_lines = self.counts.tolist()
        return ScannedRows(
            lines,
            begin,
            end,
            n_lines,
            self._rows[:, :n_rows].copy(),
            texts,
            self._places[:, :, :n_rows].copy(),
            self._marks[:n_rows].copy(),
            self._items[:, :n_items].copy(),
        )


class ScannedBlock(ABC):
    """Some rows, over the bytes of their lines; see :class:`~rag_eval.inputs.blocks.SampleBlock`.

    ``renamed`` gives our name of a column of the file.
    """

    __slots__ = (
        *("_decoded", "_ids", "_renamed", "_scanned", "absent", "first_row", "n_bytes", "origin"),
    )

    def __init__(
        self, scanned: ScannedRows, renamed: Mapping[str, str], first_row: int, origin: FileOrigin
    ) -> None:
        self._scanned = scanned
        self._renamed = renamed
        self._decoded: list[SampleLike] | None = None
        self._ids: list[Any] | None = None
        self.first_row = first_row
        self.origin: FileOrigin | None = origin
        self.n_bytes = scanned.end - scanned.begin
        self.absent: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._scanned.marks)

    @abstractmethod
    def _row(self, begin: int, end: int) -> SampleLike:
        """The sample of the row that was read from these places of the lines."""

    def name(self, index: int) -> str:
        """How errors call the row at ``index``."""
        assert self.origin is not None
        return self.origin.name(index, {"id": self.ids()[index]})

    def sample(self, index: int) -> SampleLike:
        """The row at ``index``, as its line has it."""
        if self._decoded is not None:
            return self._decoded[index]
        _, begin, end = self._scanned.rows[:, index].tolist()
        return self._row(begin, end)

    def as_rows(self) -> RowBlock:
        """The block with its rows decoded."""
        if self._decoded is None:
            _, begins, ends = self._scanned.rows.tolist()
            self._decoded = list(map(self._row, begins, ends))
        return RowBlock(
            self.first_row,
            self._decoded,
            self.origin,
            self.n_bytes,
            self._renamed,
            absent=self.absent,
        )

    def ids(self) -> list[Any]:
        """The id of each row, None if it has none."""
        if self._ids is None:
            self._ids = self._read_ids()
        return self._ids

    def _read_ids(self) -> list[Any]:
        data, offsets = self._scanned.laid(self._scanned.of_field(_ID))
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
        """A column of the file under its own name; None if a row lacks it."""
        return self.as_rows().values(name)

    def plain_rows(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """All rows, if they hold columns of these names as the file has them."""
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
        truths = self._scanned.of_field(_GROUND_TRUTH)
        begins = truths.begins[truths.sizes > 0]
        firsts = np.frombuffer(self._scanned.texts, np.uint8)[begins]
        return bool(np.any((firsts == _LIST) | (firsts == _ESCAPE)))

    def _packed(self, needs: FieldNeeds, given: npt.NDArray[np.uint8] | None) -> SampleBatch:
        """The batch, of the grounded profile when told what is given."""
        scanned, n_rows = self._scanned, len(self)
        no_texts = np.zeros(n_rows + 1, np.int64)
        truths, row_truths = scanned.of_field(_GROUND_TRUTH), no_texts
        if given is not None and needs.ground_truth:
            there = truths.sizes > 0
            truths, row_truths = truths.those(there), ends_of(there)
        texts = [
            scanned.of_field(_QUESTION) if needs.question else _NO_TEXTS,
            scanned.of_field(_ANSWER) if needs.answer else _NO_TEXTS,
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
