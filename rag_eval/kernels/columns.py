"""Columns: texts of rows as flat UTF-8 and offsets, as kernels read them, and what they keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self, TypeAlias, overload

import numpy as np
import numpy.typing as npt


class TextColumn(NamedTuple):
    """Texts laid end to end; text ``i`` is ``data[offsets[i]:offsets[i + 1]]``.

    Attributes
    ----------
    data : uint8, shape (B,)
        UTF-8; lone surrogates are three bytes each, a surrogate pair is one code point. Several
        columns may lie in one buffer.
    offsets : int64, shape (R + 1,)
        Never decreases, ends at B or before.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    def text(self, index: int) -> str:
        """Text ``index`` as a Python string."""
        return self.text_bytes(index).decode("utf-8", "surrogatepass")

    def text_bytes(self, index: int) -> bytes:
        """Text ``index`` in UTF-8."""
        begin, end = self.offsets[index : index + 2]
        return self.data[begin:end].tobytes()

    def all_bytes(self) -> list[bytes]:
        """Every text in UTF-8."""
        begin, end = self.offsets[0], self.offsets[-1]
        content = self.data[begin:end].tobytes()
        return [content[first:last] for first, last in pairwise((self.offsets - begin).tolist())]

    def all_texts(self) -> list[str]:
        """Every text as a Python string."""
        return [text.decode("utf-8", "surrogatepass") for text in self.all_bytes()]


GIVEN_QUESTION, GIVEN_ANSWER, GIVEN_CONTEXTS = 1, 2, 4
GIVEN: Final = {
    "question": GIVEN_QUESTION,
    "answer": GIVEN_ANSWER,
    "contexts": GIVEN_CONTEXTS,
}


class GroundedColumns(NamedTuple):
    """What the grounded profile reads of R rows besides their texts.

    Attributes
    ----------
    row_truths : int64, shape (R + 1,)
        Row ``i`` has the ground truths ``row_truths[i]`` to ``row_truths[i + 1]``.
    given : uint8, shape (R,)
        Bits ``GIVEN_*`` of the fields that are there: an empty text is not a missing one.
    languages : int8, shape (R,)
        Numbers of the languages that samples name, -1 if one is to be detected.
    """

    row_truths: npt.NDArray[np.int64]
    given: npt.NDArray[np.uint8]
    languages: npt.NDArray[np.int8]


class SampleBatch(NamedTuple):
    """The texts of R rows, one column per field.

    Attributes
    ----------
    question, answer, ground_truth : TextColumn, R texts each
        An empty ground truth counts as none. A field that no requested metric reads is empty.
        In the grounded profile ``ground_truth`` holds those of all rows, end to end.
    contexts : TextColumn
        The contexts of all rows, end to end.
    row_contexts : int64, shape (R + 1,)
        Row ``i`` has the contexts ``row_contexts[i]`` to ``row_contexts[i + 1]``.
    grounded : GroundedColumns or None
        What the grounded profile reads besides; None in the overlap profile.
    absent : frozenset of str
        Fields that no row of the source has, where the overlap profile does without them. They are
        empty here, and metrics that read them are null.
    """

    question: TextColumn
    answer: TextColumn
    ground_truth: TextColumn
    contexts: TextColumn
    row_contexts: npt.NDArray[np.int64]
    grounded: GroundedColumns | None = None
    absent: frozenset[str] = frozenset()

    @property
    def n_rows(self) -> int:
        """R."""
        return len(self.row_contexts) - 1

    def row_context_texts(self, row: int) -> list[str]:
        """The contexts of one row as Python strings."""
        begin, end = self.row_contexts[row : row + 2]
        return [self.contexts.text(index) for index in range(begin, end)]

    def row_truth_texts(self, row: int) -> list[str]:
        """The ground truths of one row as Python strings."""
        if self.grounded is None:
            truth = self.ground_truth.text(row)
            return [truth] if truth else []
        begin, end = self.grounded.row_truths[row : row + 2]
        return [self.ground_truth.text(index) for index in range(begin, end)]

    def gives(self, row: int, field: int) -> bool:
        """Whether a row has a field; one of the bits ``GIVEN_*``."""
        if self.grounded is None:
            return not any(GIVEN[name] == field for name in self.absent)
        return bool(self.grounded.given[row] & field)

    def row(self, row: int) -> SampleBatch:
        """A batch of one row, over the same buffer."""
        return self.rows(row, row + 1)

    def rows(self, begin: int, end: int) -> SampleBatch:
        """A batch of the rows from ``begin`` to ``end``, over the same buffer."""
        row_contexts = self.row_contexts[begin : end + 1]
        first, last = int(row_contexts[0]), int(row_contexts[-1])
        contexts = TextColumn(self.contexts.data, self.contexts.offsets[first : last + 1])
        truths = self.ground_truth
        grounded = self.grounded
        if grounded is None:
            truths = _texts_of(truths, begin, end)
        else:
            row_truths = grounded.row_truths[begin : end + 1]
            truths = _texts_of(truths, int(row_truths[0]), int(row_truths[-1]))
            grounded = GroundedColumns(
                row_truths - row_truths[0],
                grounded.given[begin:end],
                grounded.languages[begin:end],
            )
        return SampleBatch(
            _texts_of(self.question, begin, end),
            _texts_of(self.answer, begin, end),
            truths,
            contexts,
            row_contexts - first,
            grounded,
            self.absent,
        )


def _texts_of(column: TextColumn, begin: int, end: int) -> TextColumn:
    return TextColumn(column.data, column.offsets[begin : end + 1])


KeptPlace: TypeAlias = "tuple[bytes, bytes, bytes, int, int, int]"
"""Numbers, values and texts of rows, and where one row begins in each of them."""


_FIRST_PLACE: Final = np.zeros((1, 3), np.int64)


def _as_places(begins: bytes) -> npt.NDArray[np.int64]:
    return np.frombuffer(begins, np.int64).reshape(-1, 3)


def ends_of(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Offsets of texts of these sizes, laid end to end; also of booleans."""
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends


class KeptRows(Sequence[Any]):
    """What the scores of rows are made of, as kernels kept it; a row is made an object on demand.

    Parameters
    ----------
    numbers, values, texts : bytes
        Those of all rows: int64, float64 and UTF-8.
    places : int64, shape (R, 3)
        Where each row begins in them.
    details : callable
        What kernels kept of a row -> its details.
    """

    __slots__ = ("_details", "numbers", "places", "texts", "values")

    def __init__(
        self,
        numbers: bytes,
        values: bytes,
        texts: bytes,
        places: npt.NDArray[np.int64],
        details: Callable[[KeptPlace], Any],
    ) -> None:
        self.numbers = numbers
        self.values = values
        self.texts = texts
        self.places = places
        self._details = details

    @classmethod
    def of(
        cls, kept: tuple[bytes, bytes, bytes, bytes], details: Callable[[KeptPlace], Any]
    ) -> Self:
        """The rows of a block as a kernel kept them."""
        numbers, values, texts, places = kept
        return cls(numbers, values, texts, _as_places(places), details)

    def alone(self, index: int) -> Self:
        """One row, without the memory of the others."""
        sizes = len(self.numbers) // 8, len(self.values) // 8, len(self.texts)
        number, value, text = self.places[index].tolist()
        ends = self.places[index + 1].tolist() if index + 1 < len(self) else sizes
        return type(self)(
            self.numbers[8 * number : 8 * ends[0]],
            self.values[8 * value : 8 * ends[1]],
            self.texts[text : ends[2]],
            _FIRST_PLACE,
            self._details,
        )

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> KeptRows: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            kept = self.numbers, self.values, self.texts
            return KeptRows(*kept, self.places[index], self._details)
        place = self.places[index].tolist()
        return self._details((self.numbers, self.values, self.texts, *place))
