"""Scores that are read again are the same, and so is what their nulls tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rag_eval.results.score_spool import (
    ScoreSpool,
    lacked_texts_in,
    read_scores,
    reasons_in,
    with_reasons,
)
from tests.tables import every_row

WIDTH = 3


@every_row("most_bytes", [0, 100, 1 << 25])
@every_row("n_rows", [0, 1, 16_383, 16_384, 50_001])
def test_a_spool_gives_back_what_it_got(n_rows: int, most_bytes: int) -> None:
    scores = np.random.default_rng(n_rows).random((n_rows, WIDTH))
    scores[::5] = math.nan
    spool = ScoreSpool(WIDTH, most_bytes)
    for begin in range(0, n_rows, 1000):
        # Not contiguous, as a slice of columns is.
        spool.add(np.asfortranarray(scores[begin : begin + 1000]))
    for _ in range(2):
        blocks = list(spool.blocks())
        assert np.array_equal(
            np.concatenate([np.empty((0, WIDTH)), *blocks]), scores, equal_nan=True
        )
        assert all(len(block) <= 20_000 for block in blocks)
    spool.close()


def test_scores_are_read_a_piece_at_a_time(tmp_path: Any) -> None:
    scores = np.random.default_rng(1).random((40_000, WIDTH))
    (tmp_path / "scores").write_bytes(scores.tobytes())
    with (tmp_path / "scores").open("rb") as file:
        blocks = list(read_scores(file, WIDTH))
    assert len(blocks) == 3
    assert np.array_equal(np.concatenate(blocks), scores)


def test_nulls_tell_why_and_which_texts_their_row_lacks() -> None:
    scores = np.array([[0.5, math.nan], [math.nan, math.nan], [-0.0, 1.0]])
    reasons = np.array([[0, 1], [13, 2], [0, 0]], np.uint8)
    lacked = np.array([2, 7, 4], np.uint8)
    kept = np.frombuffer(with_reasons(scores, reasons, lacked).tobytes()).reshape(3, 2)
    np.testing.assert_array_equal(kept, scores)
    assert math.copysign(1, kept[2, 0]) == -1
    np.testing.assert_array_equal(reasons_in(kept), reasons)
    assert lacked_texts_in(kept).tolist() == [2, 7, 0], "a row without a null has no place for them"
