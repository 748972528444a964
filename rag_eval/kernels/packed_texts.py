"""What the primitives take and give.  In: texts, sparse matrices.  Out: checked flat buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.kernels.scoring import pack_texts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PackedTexts: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]

# Kernels number columns, and count a row's tokens, within these.
_MAX_COLUMNS: Final = 2**31 - 1
_MAX_COUNT: Final = 2**31 - 1
_MAX_ROW_TOTAL: Final = 2**32 - 1


def check_text(where: str, text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{where} must be a string, got {type(text).__name__}")


def strings(where: str, texts: Sequence[str]) -> list[str]:
    if isinstance(texts, (str, bytes, Mapping)) or not hasattr(texts, "__iter__"):
        raise TypeError(f"{where} must be a sequence of str, got {type(texts).__name__}")
    return list(texts)


def pack(where: str, texts: list[str]) -> PackedTexts:
    """Bytes and offsets of the texts; ``where`` names one of them, ``{}`` being its index."""
    try:
        return pack_texts(texts)
    except TypeError as error:
        index = error.args[0]
        check_text(where.format(index), texts[index])
        raise
    except OverflowError as error:
        raise InputError(f"{where.format(error.args[0])} must be shorter than 2 GiB") from None


def text_columns(
    where: str, left: Sequence[str], right: Sequence[str]
) -> tuple[npt.NDArray[np.uint8 | np.int64], ...]:
    columns = {"left": strings(f"{where}: left", left), "right": strings(f"{where}: right", right)}
    n_left, n_right = map(len, columns.values())
    if n_left != n_right:
        raise InputError(f"{where}: left has {n_left} texts and right {n_right}")
    left_column, right_column = (
        pack(f"{where}: {name}[{{}}]", texts) for name, texts in columns.items()
    )
    return (*left_column, *right_column)


class SparseRows(NamedTuple):
    """A CSR matrix of R rows; row ``i`` has the entries ``indptr[i]`` to ``indptr[i + 1]``.

    Columns of a row may stand in any order and more than once; zeros may be stored.

    Attributes
    ----------
    indptr : int64, shape (R + 1,)
        Starts at 0, never decreases, ends at N.
    indices : int32, shape (N,)
        Columns, in range.
    values : int32 counts or float64 weights, shape (N,)
    shape : (R, V)
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.int32 | np.float64]
    shape: tuple[int, int]

    @classmethod
    def of_counts(cls, where: str, matrix: Any) -> SparseRows:
        """Rows of whole counts from 0 on; ``where`` names the argument in errors."""
        rows = cls._of_matrix(where, matrix)
        counts = rows.values
        if len(counts):
            if not (counts.min() >= 0 and counts.max() <= _MAX_COUNT) or (
                counts.dtype.kind == "f" and (counts != np.floor(counts)).any()
            ):
                raise InputError(f"{where} must hold whole counts from 0 to {_MAX_COUNT}")
            totals = np.diff(np.append(0, np.cumsum(counts, dtype=np.int64))[rows.indptr])
            if totals.max(initial=0) > _MAX_ROW_TOTAL:
                raise InputError(f"{where} must have rows that add up to {_MAX_ROW_TOTAL} at most")
        return rows._replace(values=np.ascontiguousarray(counts, np.int32))

    @classmethod
    def of_weights(cls, where: str, matrix: Any) -> SparseRows:
        """Rows of float64 weights; ``where`` names the argument in errors."""
        rows = cls._of_matrix(where, matrix)
        return rows._replace(values=np.ascontiguousarray(rows.values, np.float64))

    @classmethod
    def _of_matrix(cls, where: str, matrix: Any) -> SparseRows:
        if not hasattr(matrix, "tocsr"):
            raise TypeError(f"{where} must be a CSR matrix, got {type(matrix).__name__}")
        if len(matrix.shape) != 2:
            raise InputError(f"{where} must have two axes, got shape {matrix.shape}")
        csr = matrix.tocsr()  # itself when it is CSR
        n_rows, n_columns = map(int, csr.shape)
        indptr = np.ascontiguousarray(csr.indptr, np.int64)
        n_entries = int(indptr[-1])
        indices, values = csr.indices[:n_entries], csr.data[:n_entries]
        if n_columns > _MAX_COLUMNS:
            raise InputError(f"{where} must have at most {_MAX_COLUMNS} columns, got {n_columns}")
        if values.dtype.kind not in "biuf":
            raise InputError(f"{where} must hold real numbers, got {values.dtype}")
        if (
            len(indptr) != n_rows + 1
            or indptr[0] != 0
            or (np.diff(indptr) < 0).any()
            or not len(indices) == len(values) == n_entries
            or (n_entries and not (indices.min() >= 0 and indices.max() < n_columns))
        ):
            raise InputError(f"{where} is not a valid CSR matrix")
        return cls(indptr, np.ascontiguousarray(indices, np.int32), values, (n_rows, n_columns))

    @property
    def arguments(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
        """The three buffers, in the order in which kernels take them."""
        return self.indptr, self.indices, self.values

    def to_scipy(self) -> csr_array:
        """The rows as a scipy array; its indices are int32 where that is enough."""
        from scipy.sparse import csr_array

        small = len(self.indices) <= _MAX_COLUMNS
        indptr = self.indptr.astype(np.int32) if small else self.indptr
        return csr_array((self.values, self.indices, indptr), shape=self.shape)
