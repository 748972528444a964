"""Score matrices in; the same again, from memory or a file, with why scores are null, out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Scores: TypeAlias = npt.NDArray[np.float64]

# Rows that are read and kept together.
_BLOCK_ROWS: Final = 1 << 14
# Bits of the NaN that a number's result is; the lowest ones are free.
_NAN_BITS: Final = np.uint64(0x7FF8000000000000)
_LACKED_SHIFT: Final = np.uint64(8)


class ScoreSpool:
    """Score matrices kept to be read again: in memory, and past a limit in an unnamed file."""

    def __init__(self, width: int, most_bytes: int = 1 << 25) -> None:
        self._width = width
        self._most_bytes = most_bytes
        self._small: list[Scores] = []
        self._n_small = 0
        self._kept: list[Scores] = []
        self._n_bytes = 0
        self._file: IO[bytes] | None = None

    def add(self, scores: Scores) -> None:
        """Keep some rows."""
        self._small.append(scores)
        self._n_small += len(scores)
        if self._n_small < _BLOCK_ROWS:
            return
        self._kept.append(np.concatenate(self._small))
        self._small, self._n_small = [], 0
        self._n_bytes += self._kept[-1].nbytes
        if self._n_bytes > self._most_bytes:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # until close()
            for block in self._kept:
                self._file.write(np.ascontiguousarray(block).data)
            self._kept, self._n_bytes = [], 0

    def blocks(self) -> Iterator[Scores]:
        """All rows, some thousand at a time."""
        if self._file is not None:
            self._file.seek(0)
            yield from read_scores(self._file, self._width)
        yield from self._kept
        if self._small:
            yield np.concatenate(self._small)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def with_reasons(
    scores: Scores, null_reasons: npt.NDArray[np.uint8], lacked_texts: npt.NDArray[np.uint8]
) -> Scores:
    """The scores with the null reason in the low bits of each NaN, and what the row lacks."""
    # numpy 1 would make signed integers of a scalar of 64 bits and an array of 8.
    lacked = lacked_texts.astype(np.uint64) << _LACKED_SHIFT
    nulls = _NAN_BITS | null_reasons.astype(np.uint64) | lacked[:, np.newaxis]
    bits = np.where(np.isnan(scores), nulls, scores.view(np.uint64))
    return bits.view(np.float64)


def reasons_in(scores: Scores) -> npt.NDArray[np.uint8]:
    """What :func:`with_reasons` put there; 0 for a score."""
    found = np.ascontiguousarray(scores).view(np.uint64).astype(np.uint8)
    return np.where(np.isnan(scores), found, np.uint8(0))


def lacked_texts_in(scores: Scores) -> npt.NDArray[np.uint8]:
    """The bits of the texts that rows lack, of rows with a null; shape (rows,)."""
    bits = np.ascontiguousarray(scores).view(np.uint64) >> _LACKED_SHIFT
    found = np.where(np.isnan(scores), bits.astype(np.uint8), np.uint8(0))
    lacked: npt.NDArray[np.uint8] = np.bitwise_or.reduce(found, axis=1)
    return lacked


def read_scores(file: IO[bytes], width: int) -> Iterator[Scores]:
    """Score matrices from a file of doubles, row after row."""
    n_bytes = _BLOCK_ROWS * width * 8
    while data := file.read(n_bytes):
        yield np.frombuffer(data, np.float64).reshape(-1, width)
