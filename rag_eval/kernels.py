"""The only door to the compiled kernels: check, allocate, call."""

from __future__ import annotations

import functools
import secrets
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval._native import exact_sums, overlap_block, text_columns

if TYPE_CHECKING:
    from rag_eval.columns import SampleBatch
    from rag_eval.overlap_settings import OverlapSettings


_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Offsets: TypeAlias = npt.NDArray[np.int64]


@functools.cache
def hash_seed() -> int:
    """Seed of all hash tables of this process: texts cannot be made to collide in advance.

    Scores do not depend on it.
    """
    return secrets.randbits(64)


def pack_texts(texts: list[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """UTF-8 bytes of the texts end to end, and where each begins and ends.

    Raises TypeError for an item that is no string and OverflowError for one of 2 GiB and more,
    with the item's index as argument.
    """
    offsets = np.empty(len(texts) + 1, np.int64)
    failed = text_columns.measure(texts, offsets)
    if failed >= 0:
        raise (OverflowError if isinstance(texts[failed], str) else TypeError)(failed)
    data = np.empty(int(offsets[-1]), np.uint8)
    text_columns.fill(texts, offsets, data)
    return data, offsets


def score_overlap(
    batch: SampleBatch,
    settings: OverlapSettings,
    metrics: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Scores and null reasons of a batch, overlap profile; both of shape (R, M).

    A null score is NaN. The GIL is released while the rows are scored.
    """
    shape = (batch.n_rows, len(metrics))
    scores = np.empty(shape)
    reasons = np.empty(shape, np.uint8)
    overlap_block.score_block(
        *_batch_arguments(batch),
        metrics,
        *settings.kernel_arguments,
        hash_seed(),
        0,
        batch.n_rows,
        scores,
        reasons,
    )
    return scores, reasons


class RowDetails(NamedTuple):
    """What the scores of one row are made of; see ``overlap_block.row_details``."""

    scores: list[float]
    reasons: list[int]
    answer_spans: list[tuple[int, int]]
    support: list[float]
    overlap: list[float]
    coverage: list[float]
    chunk_tfidf: list[float]
    chunk_overlap: list[float]
    parts: tuple[float, float, float, float]


def overlap_details(
    batch: SampleBatch, row: int, settings: OverlapSettings, metrics: npt.NDArray[np.int64]
) -> RowDetails:
    """Score one row again and keep what its scores are made of."""
    return RowDetails(
        *overlap_block.row_details(
            *_batch_arguments(batch), metrics, *settings.kernel_arguments, hash_seed(), row
        )
    )


def _batch_arguments(
    batch: SampleBatch,
) -> tuple[_Bytes, _Offsets, _Bytes, _Offsets, _Bytes, _Offsets, _Bytes, _Offsets, _Offsets]:
    return (
        batch.question.data,
        batch.question.offsets,
        batch.answer.data,
        batch.answer.offsets,
        batch.ground_truth.data,
        batch.ground_truth.offsets,
        batch.contexts.data,
        batch.contexts.offsets,
        batch.row_contexts,
    )


def add_exactly(
    values: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int64],
    squares: npt.NDArray[np.int64],
) -> tuple[int, int, int]:
    """Add a column to the pieces of an exact sum; see ``exact_sums.add_column``."""
    return exact_sums.add_column(values, sums, squares)
