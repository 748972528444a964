"""How much of the noise of a mean is from repeats: against simulated means, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.planning import repeat_noise
from rag_eval.stats.repeat_noise import RepeatNoise, noise_line


def test_by_hand() -> None:
    """Means of rows 0.25 and 0.75: variance 1/8; within 1/8 each, of two repeats 1/16."""
    found = repeat_noise(["a", "a", "b", "b"], [0.0, 0.5, 0.5, 1.0])
    assert (found.n_rows, found.n_repeats) == (2, 2.0)
    assert found.error == pytest.approx((1 / 8 / 2) ** 0.5)
    assert found.share_of_repeats == pytest.approx(0.5)
    assert found.error_with(rows=2) == pytest.approx(found.error * 0.5**0.5)
    assert found.error_with(repeats=2) == pytest.approx(found.error * 0.75**0.5)
    assert str(found) == (
        "50% of the noise of the mean comes from repeats and 50% from rows: twice the rows would "
        "narrow its interval by 29%, twice the repeats by 13%"
    )


def test_the_parts_are_those_that_were_drawn() -> None:
    draw = np.random.default_rng(1)
    rows = draw.normal(0.5, 0.1, 4000)
    ids = [f"r{row}" for row in range(4000) for _ in range(1 + row % 3)]
    counts = np.array([1 + row % 3 for row in range(4000)])
    scores = np.repeat(rows, counts) + draw.normal(0, 0.2, counts.sum())
    found = repeat_noise(ids, scores)
    of_repeats = 0.04 * float((1 / counts).mean())
    assert found.share_of_repeats == pytest.approx(of_repeats / (of_repeats + 0.01), rel=0.05)
    assert found.error == pytest.approx(((of_repeats + 0.01) / 4000) ** 0.5, rel=0.05)


def test_rows_that_never_vary() -> None:
    still = repeat_noise(["a", "a", "b", "b"], [0.5, 0.5, 0.5, 0.5])
    assert (still.error, still.share_of_repeats) == (0.0, 0.0)
    assert "add no noise" in str(still)
    steady = repeat_noise(["a", "a", "b", "b", "c"], [0.5, 0.5, 1.0, 1.0, float("nan")])
    assert (steady.n_rows, steady.share_of_repeats) == (2, 0.0)


def test_what_cannot_be_told_is_refused() -> None:
    for ids, scores in ((["a", "b"], [0.1, 0.2]), (["a", "a"], [0.1, 0.2])):
        with pytest.raises(InputError, match="two rows with scores, and one of them twice"):
            repeat_noise(ids, scores)
    with pytest.raises(InputError, match=r"scores must have one value for each of 1 ids"):
        repeat_noise(["a"], [0.1, 0.2])


def test_several_metrics_have_one_line() -> None:
    noises = {
        name: RepeatNoise(n_rows=9, n_repeats=2.0, error=0.1, share_of_repeats=share)
        for name, share in (("faithfulness", 0.5), ("context_recall", 0.0))
    }
    assert noise_line(noises) == (
        "0% to 50% of the noise of the means comes from repeats (most: faithfulness), the rest "
        "from rows: twice the rows would narrow their intervals by 29%, twice the repeats by 0% "
        "to 13%"
    )
    del noises["context_recall"]
    assert noise_line(noises) == f"faithfulness: {noises['faithfulness']}"
