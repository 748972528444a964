"""The kernel of resamples against the same generator and additions in plain Python, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval._native import resampling as kernel
from rag_eval.stats import resampling
from rag_eval.stats.omk.bootstrap import mulberry32, mulberry32_indices
from rag_eval.stats.resampling import drawn_places, resampled_sums, upper_halves
from tests.oracle import resampling as oracle

SEEDS = st.one_of(st.integers(0, 5), st.integers(0, 2**200))
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False)


@given(st.integers(0, 140), st.integers(1, 9), st.integers(1, 5), SEEDS, st.data())
def test_the_kernel_is_the_oracle(
    n_rows: int, n_columns: int, n_resamples: int, seed: int, data: st.DataObject
) -> None:
    scale = data.draw(st.sampled_from((1.0, 1e-9, 1e12)))
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, n_columns)) * scale
    if n_rows:
        rows[data.draw(st.integers(0, n_rows - 1)), 0] = data.draw(NUMBERS)
    drawn = resampled_sums(rows, n_resamples, seed)
    assert drawn.shape == (n_resamples, n_columns)
    if n_rows:
        assert drawn.tolist() == oracle.drawn_sums(rows.tolist(), n_resamples, seed)
        places = [oracle.drawn(n_rows, seed, resample) for resample in range(n_resamples)]
        assert drawn_places(n_rows, n_resamples, seed).tolist() == places
    else:
        assert not drawn.any()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("per_call", [1, 100, 1 << 20])
def test_threads_and_calls_do_not_change_a_bit(
    threads: int, per_call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=(150, 6))
    wanted = resampled_sums(rows, 90, 3, threads=1)
    monkeypatch.setattr(resampling, "_CELLS_FOR_THREADS", 0)
    monkeypatch.setattr(resampling, "_DRAWS_PER_CALL", per_call)
    found = resampled_sums(rows, 90, 3, threads=threads)
    assert found.tobytes() == wanted.tobytes()


def test_a_resample_does_not_depend_on_how_many_there_are() -> None:
    rows = np.random.default_rng(0).normal(size=(70, 3))
    assert resampled_sums(rows, 5, 9).tobytes() == resampled_sums(rows, 50, 9)[:5].tobytes()
    assert drawn_places(70, 50, 9, 20, 23).tolist() == drawn_places(70, 50, 9)[20:23].tolist()


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**32 - 1))
@example(2**64 - 1, 2**32 - 1)
@example(2**63 + 2**31 + 1, 2**32 - 2)
@example(0xFFFFFFFF, 2**32 - 1)
@example((5 << 32) + 0xFFFFFFFF, 0x33333334)
def test_a_place_is_the_upper_half_of_the_product(word: int, n_groups: int) -> None:
    (found,) = upper_halves(np.array([word], np.uint64), n_groups).tolist()
    assert found == word * n_groups >> 64


def test_only_the_asked_for_rows_are_written() -> None:
    rows, streams = np.ones((3, 4)), np.arange(6, dtype=np.uint64)
    sums = np.full((6, 4), np.nan)
    kernel.drawn_sums(rows, streams, 2, 4, sums)
    assert np.isnan(sums[[0, 1, 4, 5]]).all()
    assert np.isfinite(sums[2:4]).all()
    kernel.drawn_sums(rows[:0], streams, 0, 6, sums)
    kernel.drawn_sums(rows, streams, 3, 3, sums)
    assert np.isnan(sums[[0, 1, 4, 5]]).all()


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31, 2**32 - 1, 20_260_616, 2**40 + 5, -1])
def test_mulberry32_is_that_of_one_word_after_another(seed: int) -> None:
    wanted = oracle.mulberry32(seed, 1000)
    assert mulberry32(seed, 1000).tolist() == wanted
    assert mulberry32(seed, 10, first=700).tolist() == wanted[700:710]


def test_mulberry32_draws_one_part_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    words = iter(oracle.mulberry32(5, 200))
    wanted = [
        [int(next(words) / 2**32 * 3) for _ in range(3)]
        + [3 + int(next(words) / 2**32 * 7) for _ in range(7)]
        for _ in range(20)
    ]
    (found,) = mulberry32_indices((3, 7), 20, 5)
    assert found.tolist() == wanted
    monkeypatch.setattr("rag_eval.stats.index_sources._CELLS", 45)  # four resamples at a time
    blocks = list(mulberry32_indices((3, 7), 20, 5))
    assert [len(block) for block in blocks] == [4] * 5
    assert np.concatenate(blocks).tolist() == wanted
