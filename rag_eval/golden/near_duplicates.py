"""Cases -> those whose input is almost the same as that of an earlier case.

Two inputs are compared by the Jaccard overlap of their sets of words (or n-grams), as
:func:`rag_eval.ngram_overlap` has it. No near duplicate is missed: if two sets overlap by a share t
or more, they share one of the rarest ``size - ceil(t * size) + 1`` members of each (prefix
filtering: Bayardo, Ma and Srikant, 2007), so only cases that do are compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rag_eval.errors import InputError, glance
from rag_eval.golden.datasets import GoldenCase, GoldenDataset
from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.json_records import JsonRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy.sparse import csr_array

THRESHOLD: Final = 0.8

# Pairs that are compared at once; their rows are copied side by side.
_PAIRS: Final = 200_000
_BLOCK_ROWS: Final = 256
# What a product may be off a whole number; it must not cost a pair.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class NearDuplicate(JsonRecord):
    """A case whose input is almost the same as that of an earlier case.

    Attributes
    ----------
    id : str
    of : str
        The most similar earlier case that is not a duplicate itself.
    similarity : float
        In (0, 1].
    same_expectation : bool
        Whether both cases expect the same; if not, one of them may be wrong.
    """

    id: str
    of: str
    similarity: float
    same_expectation: bool


def near_duplicates(
    dataset: GoldenDataset, threshold: float = THRESHOLD, *, n: int = 1
) -> tuple[NearDuplicate, ...]:
    """The cases that duplicate an earlier case, in the order of the dataset.

    Parameters
    ----------
    threshold : float, default 0.8
        Minimum overlap of near duplicates, above 0 and up to 1.
    n : int, default 1
        Words per n-gram. A shorter input counts as one n-gram; inputs without words are near
        duplicates only of one another.

    Raises
    ------
    InputError
        For a threshold outside (0, 1] or an ``n`` below 1.
    """
    if not is_number(threshold) or not 0 < threshold <= 1:
        raise InputError(f"threshold must be a number above 0 and up to 1, got {glance(threshold)}")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, got {glance(n)}")
    cases = dataset.cases
    rows = _rows(cases, n)
    wordless = [row for row, size in enumerate(rows.indptr[1:] - rows.indptr[:-1]) if not size]
    found = _nearest_earlier(rows, threshold)
    for row in wordless[1:]:
        found[row] = (wordless[0], 1.0)
    result = []
    for row, (of, similarity) in sorted(found.items()):
        same = _expectation(cases[row]) == _expectation(cases[of])
        result.append(NearDuplicate(cases[row].id, cases[of].id, similarity, same))
    return tuple(result)


def without_near_duplicates(
    dataset: GoldenDataset, threshold: float = THRESHOLD, *, n: int = 1
) -> GoldenDataset:
    """The dataset without the cases that :func:`near_duplicates` finds."""
    found = {duplicate.id for duplicate in near_duplicates(dataset, threshold, n=n)}
    return dataset.with_cases([case for case in dataset if case.id not in found])


def _expectation(case: GoldenCase) -> tuple[object, ...]:
    return (
        case.expected_output,
        case.expected_tool_calls,
        case.expected_retrieved_ids,
        case.assertions,
    )


def _rows(cases: Sequence[GoldenCase], n: int) -> csr_array:
    """The sets of n-grams as a matrix of ones, columns in the order of how rare they are."""
    import numpy as np
    from scipy.sparse import csr_array

    ids: dict[str, int] = {}
    sets = [{ids.setdefault(gram, len(ids)) for gram in _grams(case.input, n)} for case in cases]
    sizes = np.array([len(grams) for grams in sets], np.int64)
    flat = np.fromiter((gram for grams in sets for gram in grams), np.int64, int(sizes.sum()))
    counts = np.bincount(flat, minlength=max(1, len(ids)))
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    ones = np.ones(len(flat), np.int32)
    matrix = csr_array((ones, rank[flat], offsets), shape=(len(cases), len(counts)))
    matrix.sort_indices()
    return matrix


def _grams(text: str, n: int) -> list[str]:
    from rag_eval.text import get_ngrams, tokenize

    tokens = tokenize(text)
    return get_ngrams(tokens, min(n, len(tokens))) if tokens else []


def _nearest_earlier(rows: csr_array, threshold: float) -> dict[int, tuple[int, float]]:
    """For each row the most similar earlier row that is not a duplicate itself, and how similar."""
    import numpy as np

    prefixes = _prefixes(rows, threshold)
    kept = np.ones(rows.shape[0], np.bool_)
    found: dict[int, tuple[int, float]] = {}
    for begin in range(0, rows.shape[0], _BLOCK_ROWS):
        end = min(begin + _BLOCK_ROWS, rows.shape[0])
        # Rows before the block that are known to be near to another are no candidates.
        candidates = np.flatnonzero(kept[:end])
        shared = (prefixes.members[begin:end] @ prefixes.members[candidates].T).tocoo()
        left, right = shared.row + begin, candidates[shared.col]
        may_be_near = prefixes.may_be_near(left, right, shared.data, threshold)
        left, right = left[may_be_near], right[may_be_near]
        overlaps = _overlaps(rows, left, right)
        near = overlaps >= threshold
        _decide(left[near], right[near], overlaps[near], kept, found)
    return found


def _decide(
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    overlaps: npt.NDArray[np.float64],
    kept: npt.NDArray[np.bool_],
    found: dict[int, tuple[int, float]],
) -> None:
    """Go through near pairs row by row: a row counts for later ones only if it is near to none."""
    import numpy as np

    # The nearest first, and of equally near ones the earliest.
    order = np.lexsort((right, -overlaps, left))
    pairs = zip(left[order].tolist(), right[order].tolist(), overlaps[order].tolist(), strict=True)
    for row, other, overlap in pairs:
        if kept[other] and row not in found:
            found[row] = (other, overlap)
            kept[row] = False


@dataclass(frozen=True, slots=True)
class _Prefixes:
    """Of each row the members that a near row must share one of, and what bounds an overlap."""

    members: csr_array
    sizes: npt.NDArray[np.int64]
    n_after: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]

    def may_be_near(
        self,
        left: npt.NDArray[np.int64],
        right: npt.NDArray[np.int64],
        n_shared: npt.NDArray[np.int32],
        threshold: float,
    ) -> npt.NDArray[np.bool_]:
        """Which pairs, the second row the earlier, may be near by what their prefixes share.

        The row whose prefix ends first shares no more after it than it has there.
        """
        import numpy as np

        first = np.where(self.last[left] <= self.last[right], left, right)
        least = (self.sizes[left] + self.sizes[right]) * (threshold / (1.0 + threshold))
        enough: npt.NDArray[np.bool_] = n_shared + self.n_after[first] >= least - _ROUNDING
        return enough & (right < left)


def _prefixes(rows: csr_array, threshold: float) -> _Prefixes:
    import numpy as np
    from scipy.sparse import csr_array

    sizes = np.diff(rows.indptr).astype(np.int64)
    lengths = sizes - np.ceil(sizes * threshold - _ROUNDING).astype(np.int64) + 1
    lengths = np.minimum(lengths, sizes)
    place = np.arange(len(rows.indices)) - np.repeat(rows.indptr[:-1], sizes)
    taken = rows.indices[place < np.repeat(lengths, sizes)]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    ones = np.ones(len(taken), np.int32)
    # A row without members shares none, whatever stands here for its last.
    last = np.append(taken, 0)[np.maximum(offsets[1:] - 1, 0)]
    members = csr_array((ones, taken, offsets), shape=rows.shape)
    return _Prefixes(members, sizes, sizes - lengths, last)


def _overlaps(
    rows: csr_array, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    import numpy as np

    from rag_eval.text import paired_ngram_overlap

    found = np.empty(len(left), np.float64)
    longest = int(np.diff(rows.indptr).max(initial=1))
    step = max(1, math.floor(_PAIRS * 16 / max(16, longest)))
    for begin in range(0, len(left), step):
        part = slice(begin, begin + step)
        found[part] = paired_ngram_overlap(rows[left[part]], rows[right[part]])
    return found
