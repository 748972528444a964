"""Resampled sums: fair draws, and what is refused."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.stats

from rag_eval._native import resampling as kernel
from rag_eval.errors import InputError
from rag_eval.stats import counted_indices, numpy_indices, resampling
from rag_eval.stats.index_sources import checked_places
from rag_eval.stats.resampling import drawn_places, resampled_sums
from tests.tables import every_row

# A test of chance may fail once in so many seeds; the seed is fixed, so it fails always or never.
RARE = 1e-4


@every_row("seed", [1, 2, 2**32, 2**64, 2**64 + 1, 2**128])
def test_seeds_have_draws_of_their_own(seed: int) -> None:
    assert (drawn_places(64, 5, 0) != drawn_places(64, 5, seed)).any()


@every_row("n_groups", [2, 3, 7, 64, 1000])
def test_each_group_is_drawn_as_often_as_any_other(n_groups: int) -> None:
    drawn = drawn_places(n_groups, 200_000 // n_groups, 5)
    counts = np.bincount(drawn.ravel(), minlength=n_groups)
    assert RARE < scipy.stats.chisquare(counts).pvalue < 1 - RARE
    # And so is each pair of neighbours in the order of drawing.
    if n_groups <= 7:
        pairs = np.bincount((drawn[:, :-1] * n_groups + drawn[:, 1:]).ravel())
        assert RARE < scipy.stats.chisquare(pairs).pvalue < 1 - RARE


def test_how_often_a_group_is_drawn_is_binomial() -> None:
    counts = resampled_sums(np.eye(50), 4000, 2)
    assert (counts.sum(axis=1) == 50).all()
    seen = np.bincount(counts.ravel().astype(int), minlength=6)
    wanted = scipy.stats.binom.pmf(np.arange(5), 50, 1 / 50) * counts.size
    table = [*seen[:5], seen[5:].sum()]
    # Groups of one resample are tied to one another, by 1 part in 50.
    assert scipy.stats.chisquare(table, [*wanted, counts.size - wanted.sum()]).pvalue > RARE


def test_moments_of_the_sums() -> None:
    rows = np.random.default_rng(0).exponential(size=(400, 3))
    drawn = resampled_sums(rows, 20_000, 4)
    for column in range(3):
        values = rows[:, column]
        spread = math.sqrt(400) * float(values.std())
        error = 4 * spread / math.sqrt(2e4)
        assert float(drawn[:, column].mean()) == pytest.approx(float(values.sum()), abs=error)
        assert float(drawn[:, column].std()) == pytest.approx(spread, rel=0.02)
    # One draw for all columns: sums go together as the columns do.
    assert np.corrcoef(drawn.T) == pytest.approx(np.corrcoef(rows.T), abs=0.03)


def test_no_rows_and_no_columns() -> None:
    assert resampled_sums(np.empty((0, 3)), 4, 0).tolist() == [[0.0] * 3] * 4
    assert resampled_sums(np.empty((5, 0)), 4, 0).shape == (4, 0)


@every_row(
    ("rows", "options", "message"),
    [
        ([1.0], {}, "resampled numbers must be a two-dimensional array, got 1 dimensions"),
        ([[math.nan]], {}, "resampled numbers must be finite; use 0 for a group without a value"),
        ([[math.inf]], {}, "resampled numbers must be finite"),
        ([[1.0]], {"n_resamples": 0}, "n_resamples must be a whole number of at least 1, got 0"),
        ([[1.0]], {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ([[1.0]], {"seed": True}, "seed must be a whole number of at least 0, got True"),
        ([[1.0]], {"threads": 0}, "threads must be a whole number of at least 1, got 0"),
    ],
)
def test_what_is_refused(rows: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        resampled_sums(rows, **{"n_resamples": 3, "seed": 0, **options})


@every_row("threads", [1, 2])
def test_ctrl_c_is_seen_between_calls(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has not begun is dropped; a failure in a thread comes out in the caller's."""
    monkeypatch.setattr(resampling, "_CELLS_FOR_THREADS", 0)
    monkeypatch.setattr(resampling, "_DRAWS_PER_CALL", 1000)
    begun: list[int] = []
    dropped = threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            dropped.set()
            super().shutdown(wait=wait)

    def pressed_at_the_third(*call: Any) -> None:
        number = call[2]  # a call draws one resample, in whatever order threads begin them
        begun.append(number)
        if number == 2:
            raise KeyboardInterrupt
        if number > 2:
            dropped.wait()
        drawn_sums(*call)

    drawn_sums = kernel.drawn_sums
    monkeypatch.setattr(kernel, "drawn_sums", pressed_at_the_third)
    monkeypatch.setattr(resampling, "ThreadPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt):
        resampled_sums(np.ones((1000, 1)), 5000, 0, threads=threads)
    assert len(begun) <= 3 + threads


# ---------------------------------------------------------------------------------- index sources


@every_row("source", [counted_indices, numpy_indices])
def test_a_source_gives_the_same_places_in_any_blocks(
    source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = source(9, 30, 3)
    assert whole.shape == (30, 9)
    assert whole.dtype == np.int64
    monkeypatch.setattr("rag_eval.stats.index_sources._CELLS", 50)
    blocks = list(source(9, 30, 3))
    assert len(blocks) == 6
    assert np.concatenate(blocks).tolist() == whole.tolist()


@every_row(
    ("places", "message"),
    [
        (
            [0, 1, 2],
            r"indices must be an integer array with 3 columns, .* got int64 of shape \(3,\)",
        ),
        (
            [[0, 1]],
            r"indices must be an integer array with 3 columns, .* got int64 of shape \(1, 2\)",
        ),
        ([[0.0, 1.0, 2.0]], "indices must be an integer array with 3 columns, .* got float64"),
        ([[0, 1, 3]], "indices must be from 0 to 2, got 0 to 3"),
        ([[-1, 1, 2]], "indices must be from 0 to 2, got -1 to 2"),
    ],
)
def test_wrong_places_are_named(places: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked_places(places, 3)
