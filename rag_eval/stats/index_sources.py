"""Sources of resamples: a size and a seed in, drawn places out, some resamples at a time.

A bootstrap takes any of these, or given places, so that it can use exactly the resamples of another
tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import seed_number, whole_from_one
from rag_eval.stats.arrays import Whole
from rag_eval.stats.intervals import checked_level
from rag_eval.stats.resampling import drawn_places

Indices: TypeAlias = Iterable[Whole]
"""Drawn places, arrays of shape (B, G) with numbers from 0 to G - 1; the B may differ."""

# Places held at once, 8 MB.
_CELLS: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How a number is resampled for its interval; checked on creation.

    Attributes
    ----------
    seed : int
        The same seed and rows give the same interval.
    n_resamples : int
    level : float
        Of the interval, between 0 and 1.
    indices : iterable of int64 arrays, optional
        Drawn places in place of those of ``seed`` and ``n_resamples``.

    Raises
    ------
    InputError
        For a number out of range.
    """

    seed: int = 0
    n_resamples: int = 1000
    level: float = 0.95
    indices: Indices | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checked_level(self.level)
        whole_from_one(self.n_resamples, "n_resamples")
        seed_number(self.seed)

    def places(self, n_groups: int) -> Indices:
        """The groups that each resample draws."""
        if self.indices is not None:
            return self.indices
        return numpy_indices(n_groups, self.n_resamples, self.seed)


USUAL: Final = Resampling()


def numpy_indices(n_groups: int, n_resamples: int, seed: int) -> Iterator[Whole]:
    """Random places by numpy's default generator.

    Parameters
    ----------
    n_groups, n_resamples : int
    seed : int
    """
    generator = np.random.default_rng(seed)
    for begin, end in cuts(n_groups, n_resamples):
        yield generator.integers(n_groups, size=(end - begin, n_groups))


def counted_indices(n_groups: int, n_resamples: int, seed: int) -> Iterator[Whole]:
    """The places that :func:`rag_eval.stats.resampling.resampled_sums` draws."""
    for begin, end in cuts(n_groups, n_resamples):
        yield drawn_places(n_groups, n_resamples, seed, begin, end)


def checked_places(places: object, n_groups: int) -> Whole:
    """Places given by a caller, as they may be looked up.

    Raises
    ------
    InputError
        For indices that are not integers in rows of ``n_groups``, or out of range.
    """
    found = np.asarray(places)
    if found.ndim != 2 or found.shape[1] != n_groups or found.dtype.kind not in "iu":
        raise InputError(
            f"indices must be an integer array with {n_groups} columns, one for each group, got "
            f"{found.dtype} of shape {found.shape}"
        )
    if found.size and not 0 <= found.min() <= found.max() < n_groups:
        raise InputError(
            f"indices must be from 0 to {n_groups - 1}, got {found.min()} to {found.max()}"
        )
    return found.astype(np.int64, copy=False)


def cuts(n_groups: int, n_resamples: int) -> Iterator[tuple[int, int]]:
    """Ranges of resamples that are held at once."""
    at_once = max(1, _CELLS // max(1, n_groups))
    for begin in range(0, n_resamples, at_once):
        yield begin, min(begin + at_once, n_resamples)
