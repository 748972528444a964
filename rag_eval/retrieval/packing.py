"""Checked ids and grades in; integers and offsets for the kernels out."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from itertools import accumulate, count
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.retrieval.id_lists import DocId

Ids: TypeAlias = npt.NDArray[np.int64]
Offsets: TypeAlias = npt.NDArray[np.int64]
Grades: TypeAlias = npt.NDArray[np.int32]


class PackedRankings(NamedTuple):
    """Rankings and judgements of queries, a row each.

    Attributes
    ----------
    ids : int64, shape (D,)
        Ids of the retrieved documents, best first, of all rows end to end.
    id_offsets : int64, shape (Q + 1,)
        Row ``i`` is ``ids[id_offsets[i]:id_offsets[i + 1]]``.
    judged : int64, shape (J,)
        Ids of the judged documents.
    grades : int32, shape (J,)
        Theirs; 0 is judged not relevant, what is below counts as not judged.
    judged_offsets : int64, shape (Q + 1,)
    """

    ids: Ids
    id_offsets: Offsets
    judged: Ids
    grades: Grades
    judged_offsets: Offsets


def offsets_of(rows: Iterable[Collection[object]]) -> Offsets:
    """Where each row begins and ends, end to end."""
    return np.fromiter(accumulate(map(len, rows), initial=0), np.int64)


def row_numbers(
    rankings: Iterable[Iterable[DocId]], judged: Iterable[Collection[DocId]]
) -> tuple[Ids, Ids, set[type]]:
    """Numbers for the ids of each row's ranking and judgements, end to end, and the ids' types.

    No id may occur twice in a ranking, nor in the judgements of a row. Numbers are of one row: a
    small table stays in the cache of the processor.
    """
    ranked_numbers, judged_numbers = array("q"), array("q")
    kinds: set[type] = set()
    for ranking, row in zip(rankings, judged, strict=True):
        kinds.update(map(type, row), map(type, ranking))
        numbers = dict(zip(row, range(len(row)), strict=True))
        judged_numbers.extend(numbers.values())
        # What is not judged gets the next number.
        ranked_numbers.extend(map(numbers.get, ranking, count(len(row))))
    return _array(ranked_numbers), _array(judged_numbers), kinds


def _array(values: array[int]) -> Ids:
    return np.frombuffer(values, np.int64) if values else np.empty(0, np.int64)
