"""Fields of some rows of Arrow data -> a batch for the kernels, and which rows to look at again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.cells import Bools, Places
from rag_eval.inputs.arrow.texts import Rows, TextLists, Texts, first_invalid, no_texts
from rag_eval.inputs.arrow.values import as_str
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.columns import (
    GIVEN_ANSWER,
    GIVEN_CONTEXTS,
    GIVEN_QUESTION,
    GroundedColumns,
    SampleBatch,
    TextColumn,
    ends_of,
)
from rag_eval.kernels.languages import language_code
from rag_eval.kernels.settings import DETECT, language_number

# Longer ones are refused, with the words that a string of that length is refused with.
_MAX_TEXT_BYTES: Final = 0x7FFFFF00


@dataclass(frozen=True, slots=True)
class Part:
    """A field of the rows of a block.

    Attributes
    ----------
    texts : TextColumn
        The texts of all rows, empty if there is none.
    given : bool, shape (R,)
        The row has the field.
    row_texts : int64, shape (R + 1,), or None
        Where the texts of each row begin, if it may have any number of them.
    valid : bool, one per text, or None
        False if a text of a list is null.
    """

    texts: TextColumn
    given: Bools
    row_texts: Places | None = None
    valid: Bools | None = None

    @property
    def n_texts(self) -> Places:
        """Number of texts per row, for lists."""
        assert self.row_texts is not None
        return np.diff(self.row_texts)

    def rows_of(self, texts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
        """The rows that some texts, by their indices, are of."""
        if self.row_texts is None:
            return texts
        return np.searchsorted(self.row_texts, texts, side="right") - 1

    def mark_invalid(self, doubtful: Bools) -> None:
        """Mark the first row with a text that is not UTF-8: kernels never see one."""
        bad = first_invalid(self.texts)
        if bad >= 0:
            doubtful[self.rows_of(np.array([bad]))] = True

    def too_long(self) -> bool:
        """Raise an error for a text that is too long for the kernels."""
        offsets = self.texts.offsets
        longest = 0
        if len(offsets) > 1 and offsets[-1] - offsets[0] > _MAX_TEXT_BYTES:
            longest = int(np.diff(offsets).max())
        return longest > _MAX_TEXT_BYTES


def part_of(column: Texts | TextLists | None, rows: Rows, *, as_lists: bool) -> Part:
    n_rows = len(rows)
    if column is None:
        ends = np.zeros(n_rows + 1, np.int64) if as_lists else None
        texts = no_texts(0 if as_lists else n_rows)
        return Part(texts, np.zeros(n_rows, np.bool_), ends)
    given = np.ones(n_rows, np.bool_) if column.valid is None else _at(column.valid, rows)
    if isinstance(column, TextLists):
        places = column.places(rows)
        valid = None if column.items.valid is None else _at(column.items.valid, places)
        texts = column.items.taken(places)
        return Part(texts, given, ends_of(_at(column.lengths, rows)), valid)
    texts = column.taken(rows)
    if not as_lists:
        return Part(texts, given)
    return Part(_without_empty(texts, given), given, ends_of(given))


def _at(values: npt.NDArray[Any], rows: Rows) -> npt.NDArray[Any]:
    return values[rows.start : rows.stop] if isinstance(rows, range) else values[rows]


def _without_empty(texts: TextColumn, kept: Bools) -> TextColumn:
    """Some of the texts, where all others are empty: the bytes stay where they are."""
    offsets = texts.offsets
    return TextColumn(texts.data, np.append(offsets[:-1][kept], offsets[-1:]))


def overlap_batch(parts: Mapping[str, Part], needs: FieldNeeds, doubtful: Bools) -> SampleBatch:
    """The batch of the overlap profile; rows that may have a fault are marked.

    Lists of ground truths are empty.
    """
    n_rows = len(doubtful)
    nothing = np.zeros(n_rows, np.bool_)
    contexts, truth = parts.get("contexts"), parts.get("ground_truth")
    has_contexts = nothing if contexts is None else contexts.n_texts > 0
    has_truth = nothing
    if truth is not None and truth.row_texts is None:
        has_truth = np.diff(truth.texts.offsets) > 0
    for name in ("question", "answer", "contexts"):
        part = parts.get(name)
        if part is not None and not part.given.all():
            read = [
                [needs.reads(name, {"contexts": found, "ground_truth": text}) for text in ("", "a")]
                for found in ([], ["a"])
            ]
            doubtful |= ~part.given & np.array(read)[has_contexts * 1, has_truth * 1]
    if contexts is not None and contexts.valid is not None:
        doubtful[contexts.rows_of(np.flatnonzero(~contexts.valid))] = True
    return SampleBatch(
        _texts(parts, "question", n_rows),
        _texts(parts, "answer", n_rows),
        truth.texts if truth is not None and truth.row_texts is None else no_texts(n_rows),
        no_texts(0) if contexts is None else contexts.texts,
        np.zeros(n_rows + 1, np.int64) if contexts is None else _row_texts(contexts),
    )


def grounded_batch(parts: Mapping[str, Part], doubtful: Bools) -> SampleBatch:
    """The batch of the grounded profile; rows that may have a fault are marked."""
    n_rows = len(doubtful)
    given = np.zeros(n_rows, np.uint8)
    bits = {"question": GIVEN_QUESTION, "answer": GIVEN_ANSWER, "contexts": GIVEN_CONTEXTS}
    for name, bit in bits.items():
        if name in parts:
            given |= np.where(parts[name].given, bit, 0).astype(np.uint8)
    contexts, truth = parts.get("contexts"), parts.get("ground_truth")
    truths, row_truths = no_texts(0), np.zeros(n_rows + 1, np.int64)
    if truth is not None:
        truths, row_truths = _acceptable(truth)
    return SampleBatch(
        _texts(parts, "question", n_rows),
        _texts(parts, "answer", n_rows),
        truths,
        no_texts(0) if contexts is None else contexts.texts,
        np.zeros(n_rows + 1, np.int64) if contexts is None else _row_texts(contexts),
        GroundedColumns(row_truths, given, _languages(parts["language"], doubtful)),
    )


def _texts(parts: Mapping[str, Part], name: str, n_rows: int) -> TextColumn:
    """A field of one text a row; empty if no metric reads it."""
    return parts[name].texts if name in parts else no_texts(n_rows)


def _row_texts(part: Part) -> Places:
    assert part.row_texts is not None
    return part.row_texts


def _acceptable(truth: Part) -> tuple[TextColumn, Places]:
    """The acceptable answers of all rows, and where those of each row begin.

    Of a row whose answers are all empty there is none.
    """
    ends = truth.texts.offsets
    if truth.row_texts is None:
        kept = np.diff(ends) > 0
        return _without_empty(truth.texts, kept), ends_of(kept)
    n_texts = truth.n_texts
    kept = np.diff(ends[truth.row_texts]) > 0
    row_truths = ends_of(np.where(kept, n_texts, 0))
    return _without_empty(truth.texts, np.repeat(kept, n_texts)), row_truths


def _languages(tags: Part, doubtful: Bools) -> npt.NDArray[np.int8]:
    """Numbers of the languages that rows name; rows with unknown tags are marked."""
    numbers = np.full(len(doubtful), DETECT, np.int8)
    known: dict[str, int] = {}
    for row in np.flatnonzero(np.diff(tags.texts.offsets)):
        tag = as_str(tags.texts.text_bytes(int(row)))
        try:
            if tag not in known:
                known[tag] = language_number(language_code(tag))
            numbers[row] = known[tag]
        except InputError:
            doubtful[row] = True
    return numbers
