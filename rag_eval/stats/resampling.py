"""The door to the kernel of resamples: sums of groups in, their sums in each resample out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval._native import resampling
from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import seed_number, thread_count, whole_from_one
from rag_eval.plumbing.interrupts import deferred_interrupts, result_of
from rag_eval.stats.arrays import Floats, Whole

_Words: TypeAlias = npt.NDArray[np.uint64]

# Columns the kernel adds at once.
_STRIP: Final = 4
# Rows times resamples of a call, some 20 ms: Ctrl-C is seen between calls.
_DRAWS_PER_CALL: Final = 1 << 23
# Fewer cells than this are done before a second thread has begun.
_CELLS_FOR_THREADS: Final = 1 << 22
# Streams of one seed for different ends have nothing in common.
_SIGNS, _DRAWS = 0, 1


def resampled_sums(
    values: npt.ArrayLike, n_resamples: int, seed: int, threads: int | None = None
) -> Floats:
    """Column sums of as many groups as there are, drawn with replacement.

    Parameters
    ----------
    values : float64, shape (G, K)
        Numbers of groups, such as sums and counts; columns share their draws.
    n_resamples : int
        B.
    seed : int
        From 0 on.
    threads : int, optional
        All cores by default; any number gives the same bits.

    Returns
    -------
    float64, shape (B, K)

    Raises
    ------
    InputError
        For numbers that are not finite, or options out of range.
    """
    rows, streams = _finite_rows(values), _streams(n_resamples, seed, _DRAWS)
    n_rows, n_columns = rows.shape
    n_strips = -(-n_columns // _STRIP)
    padded = np.zeros((n_strips, n_rows, _STRIP))
    for column in range(n_columns):
        padded[column // _STRIP, :, column % _STRIP] = rows[:, column]
    sums = np.zeros((n_strips, len(streams), _STRIP))
    at_once = max(1, _DRAWS_PER_CALL // max(1, n_rows))
    # Strips of columns and ranges of resamples are shared by threads.
    calls = [
        (padded[strip], streams, begin, min(begin + at_once, len(streams)), sums[strip])
        for begin in range(0, len(streams), at_once)
        for strip in range(n_strips)
    ]
    _run(calls, thread_count(threads), n_strips * n_rows * len(streams))
    return np.concatenate([np.empty((len(streams), 0)), *sums], axis=1)[:, :n_columns]


def drawn_places(
    n_groups: int, n_resamples: int, seed: int, begin: int = 0, end: int | None = None
) -> Whole:
    """The groups that :func:`resampled_sums` draws for resamples ``begin`` to ``end``.

    Returns
    -------
    int64, shape (end - begin, G)
    """
    streams = _streams(n_resamples, seed, _DRAWS)[begin:end]
    words = np.empty((len(streams), n_groups), np.uint64)
    resampling.words(streams, 0, words)
    return upper_halves(words, n_groups).astype(np.int64)


def counted_words(seed: int, n_words: int) -> _Words:
    """Random words of a seed; the first are the same however many are asked for."""
    return _streams(n_words, seed, _SIGNS)


def upper_halves(words: _Words, factor: int) -> _Words:
    """The upper 64 bits of ``word * factor``, for a factor below 2**32."""
    n, half = np.uint64(factor), np.uint64(32)
    low: _Words = ((words & np.uint64(2**32 - 1)) * n) >> half
    found: _Words = ((words >> half) * n + low) >> half
    return found


def _streams(n_resamples: int, seed: int, purpose: int) -> _Words:
    """Where the words of each resample begin."""
    whole_from_one(n_resamples, "n_resamples")
    left = seed_number(seed)
    key = _word(left % 2**64, 0)
    while left := left >> 64:
        key = _word(key ^ left % 2**64, 0)
    streams = np.empty((1, n_resamples), np.uint64)
    resampling.words(np.array([_word(key, purpose)], np.uint64), 0, streams)
    return streams.reshape(-1)


def _word(stream: int, number: int) -> int:
    word = np.empty((1, 1), np.uint64)
    resampling.words(np.array([stream], np.uint64), number, word)
    return int(word[0, 0])


def _finite_rows(values: npt.ArrayLike) -> Floats:
    rows = np.asarray(values, np.float64)
    if rows.ndim != 2:
        raise InputError(
            f"resampled numbers must be a two-dimensional array, got {rows.ndim} dimensions"
        )
    if not np.isfinite(rows).all():
        raise InputError("resampled numbers must be finite; use 0 for a group without a value")
    return rows


def _run(calls: list[tuple[Floats, _Words, int, int, Floats]], threads: int, n_cells: int) -> None:
    if threads == 1 or n_cells < _CELLS_FOR_THREADS:
        for call in calls:
            resampling.drawn_sums(*call)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="rag_eval")
    try:
        with deferred_interrupts():
            under_way = [pool.submit(resampling.drawn_sums, *call) for call in calls]
        for future in under_way:
            result_of(future)
    finally:
        # On Ctrl-C: what has not begun is dropped, a call that runs is short.
        pool.shutdown(wait=True, cancel_futures=True)
