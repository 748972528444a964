"""The door to the scoring kernels: check, allocate, call."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval._native import grounded_block, overlap_block, text_columns
from rag_eval.kernels.columns import KeptPlace, KeptRows, SampleBatch, TextColumn
from rag_eval.kernels.settings import (
    LOSSES,
    GroundedSettings,
    OverlapSettings,
    Settings,
    language_number,
    overlap_arguments,
)
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_NUMBERS
from rag_eval.metrics.seven import OVERLAP_METRICS
from rag_eval.plumbing.interrupts import interruptible
from rag_eval.samples import MetricId, NullReason

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Offsets: TypeAlias = npt.NDArray[np.int64]

# Pairs of bytes that are compared within a second however odd the texts are.
_QUICK_PAIRS: Final = 1 << 29


@functools.cache
def hash_seed() -> int:
    """Seed of all hash tables of this process, so that texts cannot be made to collide in advance.

    Scores do not depend on it.
    """
    return int.from_bytes(os.urandom(8))  # ``secrets`` takes as long to import as 40 rows to score


@functools.lru_cache(maxsize=64)
def metric_numbers(metrics: tuple[MetricId, ...]) -> npt.NDArray[np.int64]:
    """The kernels' numbers of some metrics, the same in every profile; read-only."""
    numbers = np.array([METRIC_NUMBERS[metric] for metric in metrics], np.int64)
    numbers.flags.writeable = False
    return numbers


@functools.lru_cache(maxsize=64)
def _weights(weights: tuple[float, ...]) -> npt.NDArray[np.float64]:
    """Those of the losses, as kernels read them."""
    return np.array(weights, np.float64)


def joined_texts(lists: list[list[str]], missing: str | None = None) -> list[str]:
    """The texts of some lists, one after the other, with ``missing`` in place of None."""
    return text_columns.joined(lists, missing)


def pack_texts(texts: list[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The UTF-8 bytes of all texts end to end, with the offsets of each text.

    Raises TypeError for an item that is not a string and OverflowError for one of 2 GiB or more,
    with the item's index as argument.
    """
    offsets = np.empty(len(texts) + 1, np.int64)
    return np.frombuffer(text_columns.pack(texts, offsets), np.uint8), offsets


def may_take_long(batch: SampleBatch) -> bool:
    """Whether a batch of one row may take so long to score that no event loop is to wait for it.

    What costs most is to hold each sentence of a short text against each place of a long one.
    """
    short = sum(map(_n_bytes, (batch.question, batch.answer, batch.ground_truth)))
    return short * (short + _n_bytes(batch.contexts)) >= _QUICK_PAIRS


def _n_bytes(texts: TextColumn) -> int:
    return int(texts.offsets[-1] - texts.offsets[0])


_Scores: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]
"""Scores, NaN where null, and null reasons of a batch; both of shape (R, M)."""


def score_batch(batch: SampleBatch, settings: Settings, metrics: npt.NDArray[np.int64]) -> _Scores:
    """Scores and null reasons of a batch in the profile of the settings.

    A null score is NaN. The GIL is released while the rows are scored.
    """
    if isinstance(settings, OverlapSettings):
        return score_overlap(batch, settings, metrics)
    return score_grounded(batch, settings, metrics)


def explained_batch(
    batch: SampleBatch, settings: Settings, metrics: npt.NDArray[np.int64]
) -> tuple[_Scores, KeptRows]:
    """As :func:`score_batch`, with the parts of each row's scores."""
    if isinstance(settings, OverlapSettings):
        return explained_overlap(batch, settings, metrics)
    return explained_grounded(batch, settings, metrics)


def score_overlap(
    batch: SampleBatch, settings: OverlapSettings, metrics: npt.NDArray[np.int64]
) -> _Scores:
    """As :func:`score_batch`, overlap profile."""
    return _overlap(overlap_block.score_block, batch, settings, metrics)[0]


def _overlap(
    kernel: Callable[..., Any],
    batch: SampleBatch,
    settings: OverlapSettings,
    metrics: npt.NDArray[np.int64],
) -> tuple[_Scores, Any]:
    texts, options = _batch_arguments(batch), overlap_arguments(settings)
    (scores, reasons), found = _scored(kernel, batch, metrics, (*texts, metrics, *options))
    if batch.absent:
        null = [
            lacked_field(batch.absent, ALL_METRIC_IDS[number]) is not None for number in metrics
        ]
        scores[:, null], reasons[:, null] = math.nan, NullReason.MISSING_FIELD
    return (scores, reasons), found


def lacked_field(absent: frozenset[str], metric: MetricId) -> str | None:
    """A field that a metric of the overlap profile reads, of those that no row of a batch has."""
    fields = OVERLAP_METRICS[metric].fields
    return next((name for name in fields if name in absent), None)


def score_grounded(
    batch: SampleBatch,
    settings: GroundedSettings,
    metrics: npt.NDArray[np.int64],
    losses: npt.NDArray[np.float64] | None = None,
) -> _Scores:
    """As :func:`score_batch`, grounded profile.

    Parameters
    ----------
    losses : float64, shape (R, 8), optional
        Filled with what each answer lacks, in the order of
        :data:`~rag_eval.kernels.settings.LOSSES`: what faithfulness weighs. NaN where faithfulness
        is null, 0 without counting, or not among the metrics.
    """
    texts, stems = _grounded_arguments(batch, settings), _stem_arguments(batch, settings)
    if losses is None:
        losses = np.empty((0, len(LOSSES)))
    return _scored(
        grounded_block.score_block,
        batch,
        metrics,
        (*texts, *stems, _weights(settings.weights), metrics),
        losses,
    )[0]


def _scored(
    kernel: Callable[..., Any],
    batch: SampleBatch,
    metrics: npt.NDArray[np.int64],
    arguments: Iterable[object],
    *filled: object,
) -> tuple[_Scores, Any]:
    """The scores, and what a kernel that explains returns."""
    shape = (batch.n_rows, len(metrics))
    scores, reasons = np.empty(shape), np.empty(shape, np.uint8)
    rows = (hash_seed(), 0, batch.n_rows, scores, reasons)
    return (scores, reasons), interruptible(kernel, *arguments, *rows, *filled)


class Evidence(NamedTuple):
    """What supports one sentence; spans in code points of the original strings, half-open."""

    span: tuple[int, int]
    support: float
    chunk: int | None
    window: tuple[int, int] | None
    covered: float
    missing_numbers: tuple[str, ...]
    contradiction: tuple[str, str] | None
    missing_names: tuple[str, ...]
    far_names: tuple[tuple[str, str], ...]
    no_claim: bool
    losses: tuple[float, ...]


Sentences: TypeAlias = list[tuple[Any, ...]]
"""The fields of an :class:`Evidence` for each sentence of a text.

Thousands are held at a time: plain tuples of plain values take none of the garbage collector's
time, unlike named ones.
"""


class GroundedDetails(NamedTuple):
    """What the scores of one row are made of; see ``grounded_block.explained_block``."""

    scores: list[float]
    reasons: list[int]
    causes: list[int]
    language: int
    chunk_scores: list[float] | None
    precision_scores: list[float] | None
    answer: Sentences | None
    best_truth: int | None
    truth: Sentences | None
    losses: tuple[float, ...] | None
    refusal: tuple[bool, bool] | None
    is_odd: bool


def grounded_details(
    batch: SampleBatch,
    row: int,
    settings: GroundedSettings,
    metrics: npt.NDArray[np.int64],
) -> GroundedDetails:
    """Score one row and keep the parts of its scores.

    Parameters
    ----------
    batch : SampleBatch
    row : int
        Place of the row in the batch.
    settings : GroundedSettings
    metrics : int64, shape (M,)
        Numbers of the metrics.
    """
    found: GroundedDetails = explained_grounded(batch.row(row), settings, metrics)[1][0]
    return found


def explained_grounded(
    batch: SampleBatch, settings: GroundedSettings, metrics: npt.NDArray[np.int64]
) -> tuple[_Scores, KeptRows]:
    """As :func:`score_grounded`, with the parts of each row's scores."""
    texts, stems = _grounded_arguments(batch, settings), _stem_arguments(batch, settings)
    scores, found = _scored(
        grounded_block.explained_block,
        batch,
        metrics,
        (*texts, *stems, _weights(settings.weights), metrics),
    )
    return scores, KeptRows.of(found, _grounded_details)


def _grounded_details(row: KeptPlace) -> GroundedDetails:
    return GroundedDetails(*grounded_block.kept_row(*row))


def grounded_words(batch: SampleBatch, settings: GroundedSettings) -> dict[int, set[bytes]]:
    """The distinct words of a batch by the number of the language they are read in."""
    return grounded_block.row_words(
        *_grounded_arguments(batch, settings), hash_seed(), 0, batch.n_rows
    )


_NO_TEXTS: tuple[_Bytes, _Offsets] = (np.empty(0, np.uint8), np.zeros(1, np.int64))


def _stem_arguments(
    batch: SampleBatch, settings: GroundedSettings
) -> tuple[_Bytes, _Offsets, _Bytes, _Offsets]:
    """Words and their stems, in place of the light English stems; none where these are wanted."""
    if settings.stemmer == "light":
        return (*_NO_TEXTS, *_NO_TEXTS)
    from rag_eval.kernels.snowball import snowball_stems

    words, stems = snowball_stems(grounded_words(batch, settings))
    return (*words, *stems)


def _grounded_arguments(
    batch: SampleBatch, settings: GroundedSettings
) -> tuple[
    _Bytes,
    _Offsets,
    _Bytes,
    _Offsets,
    _Bytes,
    _Offsets,
    _Offsets,
    _Bytes,
    _Offsets,
    _Offsets,
    _Bytes,
    npt.NDArray[np.int8],
]:
    columns = batch.grounded
    assert columns is not None
    languages = columns.languages
    if settings.language is not None:
        languages = np.full(batch.n_rows, language_number(settings.language), np.int8)
    return (
        *batch.question,
        *batch.answer,
        *batch.ground_truth,
        columns.row_truths,
        *batch.contexts,
        batch.row_contexts,
        columns.given,
        languages,
    )


class RowDetails(NamedTuple):
    """What the scores of one row are made of; see ``overlap_block.explained_block``."""

    scores: list[float]
    reasons: list[int]
    answer_spans: list[tuple[int, int]]
    support: list[float]
    overlap: list[float]
    coverage: list[float]
    chunk_tfidf: list[float]
    chunk_overlap: list[float]
    parts: tuple[float, float, float, float]
    is_odd: bool
    truth_spans: list[tuple[int, int]]
    support_chunks: list[int | None]
    coverage_chunks: list[int | None]


Details: TypeAlias = RowDetails | GroundedDetails


def overlap_details(
    batch: SampleBatch, row: int, settings: OverlapSettings, metrics: npt.NDArray[np.int64]
) -> RowDetails:
    """Score one row and keep the parts of its scores.

    Parameters
    ----------
    batch : SampleBatch
    row : int
        Place of the row in the batch.
    settings : OverlapSettings
    metrics : int64, shape (M,)
        Numbers of the metrics.
    """
    found: RowDetails = explained_overlap(batch.row(row), settings, metrics)[1][0]
    return found


def explained_overlap(
    batch: SampleBatch, settings: OverlapSettings, metrics: npt.NDArray[np.int64]
) -> tuple[_Scores, KeptRows]:
    """As :func:`score_overlap`, with the parts of each row's scores."""
    scores, found = _overlap(overlap_block.explained_block, batch, settings, metrics)
    lacked = [
        number
        for number in (metrics.tolist() if batch.absent else ())
        if lacked_field(batch.absent, ALL_METRIC_IDS[number]) is not None
    ]

    def details(row: KeptPlace) -> RowDetails:
        made = RowDetails(*overlap_block.kept_row(*row))
        for number in lacked:
            made.scores[number], made.reasons[number] = math.nan, NullReason.MISSING_FIELD
        return made

    return scores, KeptRows.of(found, details)


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
