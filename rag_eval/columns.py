"""Columns.  In: texts of some rows.  Out: flat UTF-8 buffers and offsets, as kernels read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_eval import kernels


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Texts laid end to end; text ``i`` is ``data[offsets[i]:offsets[i + 1]]``.

    Attributes
    ----------
    data : uint8, shape (B,)
        UTF-8; lone surrogates are three bytes each, a surrogate pair is one code point.
    offsets : int64, shape (R + 1,)
        Starts at 0, never decreases, ends at B.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def from_texts(cls, texts: list[str]) -> TextColumn:
        """Pack a list of strings.

        Raises
        ------
        TypeError
            When an item is no string; ``args`` holds its index.
        OverflowError
            When a text takes 2 GiB or more; ``args`` holds its index.
        """
        return cls(*kernels.pack_texts(texts))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text(self, index: int) -> str:
        """Text ``index`` as a Python string."""
        return self.text_bytes(index).decode("utf-8", "surrogatepass")

    def text_bytes(self, index: int) -> bytes:
        """Text ``index`` in UTF-8."""
        begin, end = self.offsets[index : index + 2]
        return self.data[begin:end].tobytes()


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """The texts of R rows, one column per field.

    Attributes
    ----------
    question, answer, ground_truth : TextColumn, R texts each
        An empty ground truth counts as none. A field that no requested metric reads is empty.
    contexts : TextColumn
        The contexts of all rows, end to end.
    row_contexts : int64, shape (R + 1,)
        Row ``i`` has the contexts ``row_contexts[i]`` to ``row_contexts[i + 1]``.
    """

    question: TextColumn
    answer: TextColumn
    ground_truth: TextColumn
    contexts: TextColumn
    row_contexts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row_contexts) - 1

    @property
    def n_bytes(self) -> int:
        """Bytes of text in the batch."""
        columns = (self.question, self.answer, self.ground_truth, self.contexts)
        return sum(len(column.data) for column in columns)

    def row_context_texts(self, row: int) -> list[str]:
        """The contexts of one row as Python strings."""
        begin, end = self.row_contexts[row : row + 2]
        return [self.contexts.text(index) for index in range(begin, end)]
