"""String similarity.  In: two texts, or two columns of them.  Out: shares and distances.

Everything is counted in UTF-16 units, as JavaScript's strings do: a character beyond the basic
plane is two of them, and two emoji may have one in common. Lone surrogates are units like any
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval._native import string_similarity as native
from rag_eval.errors import InputError
from rag_eval.kernels.packed_texts import check_text, strings
from rag_eval.kernels.scoring import hash_seed
from rag_eval.plumbing.interrupts import interruptible

_Scores: TypeAlias = npt.NDArray[np.float64]
_Counts: TypeAlias = npt.NDArray[np.int64]

MAX_LCS_CELLS: Final = 2.0**39
"""Pairs of units that a subsequence may be looked for in, about ten seconds' worth.

Two texts of 741,455 units that have neither beginning nor end in common make as many.
"""

MAX_LEVENSHTEIN_CELLS: Final = 2.0**37
"""The same for distances, which take longer; 370,727 units."""

# Units of one side, so that the texts at hand stay in the cache (20 % of the time).
_BLOCK_UNITS: Final = 2**15


def n_units(text: str) -> int:
    """Length of a text in UTF-16 units."""
    return int(_measured("n_units: text", [text])[1][-1])


def dice_similarity(a: str, b: str) -> float:
    """Sørensen-Dice coefficient of the two texts' bigrams, repeats counting, in [0, 1].

    All white space is left out first. ``2 * shared / all``; 1 for texts that are then equal, also
    when both are empty, and else 0 if one has fewer than two units. The rule of the npm package
    string-similarity 4.0.4, in linear time.

    Examples
    --------
    >>> dice_similarity("night", "nacht")
    0.25
    """
    return float(dice_similarities([a], [b])[0])


def dice_similarities(left: Sequence[str], right: Sequence[str]) -> _Scores:
    """`dice_similarity` of each text of ``left`` with the same one of ``right``.

    Parameters
    ----------
    left, right : sequences of R str

    Returns
    -------
    float64, shape (R,)

    Raises
    ------
    InputError
        Unequal lengths.
    """
    pairs = _Pairs.of("dice_similarities", left, right)
    scores = np.empty(pairs.n_rows)
    for block in pairs.blocks(pairs.n_units.max(axis=1)):
        native.dice_similarities(*block.units, hash_seed(), block.begin, block.end, scores)
    return scores


def lcs_length(a: str, b: str) -> int:
    """Units of the longest subsequence that both texts have, which need not be in one piece.

    Raises
    ------
    InputError
        See `lcs_ratios`.
    """
    return int(_aligned(_Pairs.of("lcs_length", [a], [b]), edits=False)[0])


def lcs_ratio(a: str, b: str) -> float:
    """``2 * lcs_length / units of both``, in [0, 1]; 1 when both texts are empty.

    ``difflib`` gives another measure under the same name: that of matching blocks.

    Raises
    ------
    InputError
        See `lcs_ratios`.

    Examples
    --------
    >>> lcs_ratio("abcd", "bxd")
    0.5714285714285714
    """
    return float(lcs_ratios([a], [b])[0])


def lcs_ratios(left: Sequence[str], right: Sequence[str]) -> _Scores:
    """`lcs_ratio` of each text of ``left`` with the same one of ``right``.

    Time grows with the product of the lengths of what the texts do not have in common at either
    end, 64 pairs of units a step; memory with the lengths.

    Parameters
    ----------
    left, right : sequences of R str

    Returns
    -------
    float64, shape (R,)

    Raises
    ------
    InputError
        Unequal lengths, or a pair of texts that makes more than `MAX_LCS_CELLS` pairs of units.
    """
    pairs = _Pairs.of("lcs_ratios", left, right)
    totals = pairs.n_units.sum(axis=1)
    ratios: _Scores = 2.0 * _aligned(pairs, edits=False) / np.maximum(totals, 1)
    return np.where(totals > 0, ratios, 1.0)


def levenshtein(a: str, b: str) -> int:
    """Minimum number of units to insert, delete or replace to turn one text into the other.

    Raises
    ------
    InputError
        See `levenshteins`.

    Examples
    --------
    >>> levenshtein("kitten", "sitting")
    3
    """
    return int(_aligned(_Pairs.of("levenshtein", [a], [b]), edits=True)[0])


def levenshteins(left: Sequence[str], right: Sequence[str]) -> _Counts:
    """`levenshtein` of each text of ``left`` with the same one of ``right``.

    Parameters
    ----------
    left, right : sequences of R str

    Returns
    -------
    int64, shape (R,)

    Raises
    ------
    InputError
        Unequal lengths, or a pair of texts that makes more than `MAX_LEVENSHTEIN_CELLS` pairs of
        units.
    """
    return _aligned(_Pairs.of("levenshteins", left, right), edits=True)


class _Block(NamedTuple):
    """Rows of two columns: their units, and where those of all rows begin, left and right."""

    units: tuple[npt.NDArray[np.uint16], _Counts, npt.NDArray[np.uint16], _Counts]
    begin: int
    end: int


class _Pairs(NamedTuple):
    """Two columns of R texts each, and the offsets of their units, of shape (R + 1,)."""

    left: list[str]
    left_offsets: _Counts
    right: list[str]
    right_offsets: _Counts

    @classmethod
    def of(cls, where: str, left: Sequence[str], right: Sequence[str]) -> _Pairs:
        pairs = cls(*_measured(f"{where}: left", left), *_measured(f"{where}: right", right))
        if len(pairs.left) != len(pairs.right):
            raise InputError(
                f"{where}: left has {len(pairs.left)} texts and right {len(pairs.right)}"
            )
        return pairs

    @property
    def n_rows(self) -> int:
        return len(self.left)

    @property
    def n_units(self) -> _Counts:
        """Units of each text, of shape (R, 2)."""
        return np.stack([np.diff(self.left_offsets), np.diff(self.right_offsets)], axis=1)

    def blocks(self, costs: npt.NDArray[Any]) -> Iterator[_Block]:
        """The rows in blocks of about ``_BLOCK_UNITS``, each row having one of the ``costs``."""
        memory = [np.empty(0, np.uint16)] * 2
        for begin, end in _row_ranges(costs):
            for side, (texts, offsets) in enumerate((self[:2], self[2:])):
                size = int(offsets[end] - offsets[begin])
                if len(memory[side]) < size:
                    memory[side] = np.empty(size, np.uint16)
                native.fill(texts, offsets, begin, end, memory[side])
            yield _Block((memory[0], self.left_offsets, memory[1], self.right_offsets), begin, end)


def _measured(where: str, texts: Sequence[str]) -> tuple[list[str], _Counts]:
    listed = strings(where, texts)
    offsets = np.empty(len(listed) + 1, np.int64)
    failed = native.measure(listed, offsets)
    if failed >= 0:
        check_text(f"{where}[{failed}]", listed[failed])
    return listed, offsets


def _row_ranges(costs: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Rows in ranges that cost ``_BLOCK_UNITS`` at most, or are one row."""
    begin, n_rows = 0, len(costs)
    ends = np.cumsum(costs, dtype=np.float64)
    while begin < n_rows:
        before = ends[begin - 1] if begin else 0.0
        end = int(np.searchsorted(ends, before + _BLOCK_UNITS, "right"))
        # Empty texts cost nothing.
        end = min(max(end, begin + 1), begin + _BLOCK_UNITS)
        yield begin, end
        begin = end


def _aligned(pairs: _Pairs, *, edits: bool) -> _Counts:
    """Subsequences or distances, of shape (R,)."""
    limit = MAX_LEVENSHTEIN_CELLS if edits else MAX_LCS_CELLS
    counts = np.empty(pairs.n_rows, np.int64)
    sizes = pairs.n_units
    for block in pairs.blocks(sizes.max(axis=1)):
        interruptible(
            native.align,
            *block.units,
            edits,
            limit,
            block.begin,
            block.end,
            counts,
        )
        refused = np.flatnonzero(counts[block.begin : block.end] < 0)
        if len(refused):
            row = block.begin + int(refused[0])
            n_left, n_right = sizes[row].tolist()
            raise InputError(
                f"pair {row}: texts of {n_left:,} and {n_right:,} UTF-16 units are too long to "
                "align; without what they have in common at either end they may make "
                f"{limit:,.0f} pairs of units at most"
            )
    return counts
