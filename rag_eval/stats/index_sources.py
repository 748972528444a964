"""Where resamples come from: a size and a seed in, drawn places out, some resamples at a time.

A bootstrap takes any of these, or places of the caller's own: so the resamples of another tool can
be used to the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.stats.resampling import drawn_places

Indices: TypeAlias = Iterable[npt.NDArray[np.int64]]
"""Drawn places, arrays of shape (B, G) with numbers from 0 to G - 1; the B may differ."""

# Places held at once, 8 MB.
_CELLS: Final = 1 << 20
_U32: Final = 2**32


def numpy_indices(n_groups: int, n_resamples: int, seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """Places by numpy's default generator."""
    generator = np.random.default_rng(seed)
    for begin, end in _cuts(n_groups, n_resamples):
        yield generator.integers(n_groups, size=(end - begin, n_groups))


def counted_indices(n_groups: int, n_resamples: int, seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """The places that :func:`rag_eval.stats.resampling.resampled_sums` draws."""
    for begin, end in _cuts(n_groups, n_resamples):
        yield drawn_places(n_groups, n_resamples, seed, begin, end)


def mulberry32_indices(
    sizes: Sequence[int], n_resamples: int, seed: int
) -> Iterator[npt.NDArray[np.int64]]:
    """Places by the generator mulberry32, as omk draws them.

    Parameters
    ----------
    sizes : sequence of int
        Each resample draws as many places from the first part of the rows as it has, then from the
        next, and so on: (n,) for one sample, (n, m) for two that are not paired.
    n_resamples : int
    seed : int
        Its lowest 32 bits count.

    Yields
    ------
    int64, shape (B, sum of sizes)
        Places among the rows of all parts, one part after the other.
    """
    n_rows = sum(sizes)
    limits = np.repeat(np.asarray(sizes, np.float64), sizes)
    first = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    for begin, end in _cuts(n_rows, n_resamples):
        words = mulberry32(seed, (end - begin) * n_rows, begin * n_rows).reshape(-1, n_rows)
        # In doubles, as there.
        yield np.floor(words / _U32 * limits).astype(np.int64) + first


def mulberry32(seed: int, n_words: int, first: int = 0) -> npt.NDArray[np.uint32]:
    """Words ``first``, ``first + 1``, ... of the generator mulberry32, by Tommy Ettinger (2017).

    Its state is a counter, so any word can be had without those before it.
    """
    counters = np.arange(first + 1, first + n_words + 1, dtype=np.uint64)
    state = ((counters * np.uint64(0x6D2B79F5)) + np.uint64(seed % _U32)).astype(np.uint32)
    word = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    word ^= word + (word ^ (word >> np.uint32(7))) * (word | np.uint32(61))
    found: npt.NDArray[np.uint32] = word ^ (word >> np.uint32(14))
    return found


def checked_places(places: object, n_groups: int) -> npt.NDArray[np.int64]:
    """Places given by a caller, as they may be looked up.

    Raises
    ------
    InputError
        They are no whole numbers in rows of ``n_groups``, or one is out of range.
    """
    found = np.asarray(places)
    if found.ndim != 2 or found.shape[1] != n_groups or found.dtype.kind not in "iu":
        raise InputError(
            f"indices must be whole numbers in rows of {n_groups}, one for each group, got "
            f"{found.dtype} of shape {found.shape}"
        )
    if found.size and not 0 <= found.min() <= found.max() < n_groups:
        raise InputError(
            f"indices must be from 0 to {n_groups - 1}, got {found.min()} to {found.max()}"
        )
    return found.astype(np.int64, copy=False)


def _cuts(n_groups: int, n_resamples: int) -> Iterator[tuple[int, int]]:
    at_once = max(1, _CELLS // max(1, n_groups))
    for begin in range(0, n_resamples, at_once):
        yield begin, min(begin + at_once, n_resamples)
