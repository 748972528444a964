"""Checked arrays in; scores by row and measure, from the kernel of rankings, out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval._native import rankings
from rag_eval.errors import InputError
from rag_eval.kernels.scoring import hash_seed
from rag_eval.metrics.measure_names import KINDS, Measure
from rag_eval.retrieval.measures import RankingRules
from rag_eval.retrieval.packing import Grades, Offsets, PackedRankings

# Between two looks for Ctrl-C.
_ROWS_PER_CALL: Final = 16_384
_NO_CUTOFF: Final = 2**63 - 1


def checked_rankings(
    ids: object, id_offsets: object, judged: object, grades: object, judged_offsets: object
) -> PackedRankings:
    """Arrays of any caller, in the form that kernels read.

    Raises
    ------
    InputError
        If one is not a one-dimensional array of integers, or they do not fit together.
    """
    packed = PackedRankings(
        _integers(ids, "ids"),
        _integers(id_offsets, "id_offsets"),
        _integers(judged, "judged"),
        _grades(_integers(grades, "grades")),
        _integers(judged_offsets, "judged_offsets"),
    )
    _check_offsets(packed.id_offsets, len(packed.ids), "id_offsets")
    _check_offsets(packed.judged_offsets, len(packed.judged), "judged_offsets")
    if len(packed.id_offsets) != len(packed.judged_offsets):
        raise InputError(
            "id_offsets and judged_offsets must have the same number of queries, got "
            f"{len(packed.id_offsets) - 1} and {len(packed.judged_offsets) - 1}"
        )
    if len(packed.grades) != len(packed.judged):
        raise InputError(
            f"judged and grades must have the same length, got {len(packed.judged)} and "
            f"{len(packed.grades)}"
        )
    return packed


def _integers(values: object, name: str) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise InputError(
            f"{name} must be a one-dimensional array of integers, got {array.dtype} in {array.ndim}"
        )
    return np.ascontiguousarray(array, np.int64)


def _grades(grades: npt.NDArray[np.int64]) -> Grades:
    if grades.size and not -(2**31) <= grades.min() <= grades.max() < 2**31:
        raise InputError("grades must fit into 32 bits")
    return grades.astype(np.int32)


def _check_offsets(offsets: Offsets, n_items: int, name: str) -> None:
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != n_items:
        raise InputError(f"{name} must begin with 0 and end with {n_items}, the number of ids")
    if np.any(offsets[1:] < offsets[:-1]):
        raise InputError(f"{name} must not decrease")


def score_rankings(
    packed: PackedRankings, measures: Sequence[Measure], rules: RankingRules
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Scores of shape (Q, M), and how many relevant documents each query has.

    The GIL is released while rows are scored.

    Raises
    ------
    InputError
        A grade is higher than a measure can take.
    """
    highest, why = rules.highest_grade(measures)
    if packed.grades.size and packed.grades.max() > highest:
        raise InputError(f"a grade is {packed.grades.max()}, above {highest}, {why}")
    n_rows = len(packed.id_offsets) - 1
    scores = np.empty((n_rows, len(measures)))
    n_relevant = np.empty(n_rows, np.int64)
    kinds = np.array([KINDS.index(measure.kind) for measure in measures], np.int32)
    cutoffs = np.array([measure.cutoff or _NO_CUTOFF for measure in measures], np.int64)
    for begin in range(0, n_rows, _ROWS_PER_CALL):
        rankings.score_rankings(
            *packed,
            kinds,
            cutoffs,
            rules.relevance_level,
            rules.gain == "exponential",
            rules.max_grade,
            rules.p,
            hash_seed(),
            begin,
            min(begin + _ROWS_PER_CALL, n_rows),
            scores,
            n_relevant,
        )
    return scores, n_relevant


def order_by_score(
    scores: npt.NDArray[np.float64], offsets: Offsets
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Places of the scores of each row, highest first, and where the next is as high.

    Equal scores keep their order. No score may be NaN.
    """
    order = np.empty(len(scores), np.int64)
    tied = np.empty(len(scores), np.uint8)
    n_rows = len(offsets) - 1
    for begin in range(0, n_rows, _ROWS_PER_CALL):
        end = min(begin + _ROWS_PER_CALL, n_rows)
        rankings.order_rows(scores, offsets, begin, end, order, tied)
    return order, tied.view(np.bool_)
