"""Columns.  In: texts of some rows.  Out: flat UTF-8 buffers and offsets, as kernels read them."""

from __future__ import annotations

from typing import NamedTuple

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


class SampleBatch(NamedTuple):
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

    @property
    def n_rows(self) -> int:
        """R."""
        return len(self.row_contexts) - 1

    def row_context_texts(self, row: int) -> list[str]:
        """The contexts of one row as Python strings."""
        begin, end = self.row_contexts[row : row + 2]
        return [self.contexts.text(index) for index in range(begin, end)]
