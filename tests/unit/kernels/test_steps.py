"""Rows are scored in ranges, between which signals are handled: the scores are the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rag_eval import evaluate_batch
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels import scoring
from rag_eval.kernels.settings import GroundedSettings, OverlapSettings, Settings
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.plumbing.interrupts import interruptible
from rag_eval.samples import Profile

ROWS = [
    {
        "question": f"Where is house {n}?",
        "answer": f"House {n} is in Rome. " * (1 + n % 5),
        "contexts": [f"House {k} is in Rome, near the river." for k in range(n)],
        "ground_truth": "In Rome.",
    }
    for n in range(30)
]
METRICS = {"overlap": METRIC_IDS, "grounded": ALL_METRIC_IDS}


@pytest.mark.parametrize("quick_pairs", [1, 1 << 10, 1 << 14])
def test_scores_do_not_depend_on_where_rows_are_parted(
    monkeypatch: pytest.MonkeyPatch, quick_pairs: int
) -> None:
    for profile, metrics in METRICS.items():
        whole = evaluate_batch(ROWS, metrics, profile=profile, threads=1)  # type: ignore[arg-type]
        with monkeypatch.context() as patch:
            patch.setattr(scoring, "_QUICK_BYTES", 0)
            patch.setattr(scoring, "_QUICK_PAIRS", quick_pairs)
            parted = evaluate_batch(ROWS, metrics, profile=profile, threads=1)  # type: ignore[arg-type]
            explained = parted.results[17].to_dict(details=True)
        assert parted.scores.tobytes() == whole.scores.tobytes()
        assert parted.null_reasons.tobytes() == whole.null_reasons.tobytes()
        assert explained["metrics"] == whole.results[17].to_dict(details=True)["metrics"]


def test_ranges_are_all_rows_in_order_and_only_single_rows_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = read_rows(ROWS, 0, FieldNeeds.of(METRIC_IDS, "overlap")).pack()
    settings, metrics = OverlapSettings(), np.arange(len(METRIC_IDS))

    def ranges() -> list[tuple[int, int, bool]]:
        found = []

        def recorded(is_long: bool, kernel: Any, *arguments: Any) -> object:
            *_, begin, end, _, _ = arguments
            found.append((begin, end, is_long))
            return interruptible(is_long, kernel, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(scoring, "interruptible", recorded)
            scoring.score_batch(batch, settings, metrics)
        return found

    assert ranges() == [(0, batch.n_rows, False)]
    monkeypatch.setattr(scoring, "_QUICK_BYTES", 0)
    monkeypatch.setattr(scoring, "_QUICK_PAIRS", 1 << 14)
    steps = ranges()
    assert steps[0][0] == 0
    assert steps[-1][1] == batch.n_rows
    assert all(left[1] == right[0] for left, right in pairwise(steps))
    assert all(end == begin + 1 for begin, end, is_long in steps if is_long)
    assert {is_long for _, _, is_long in steps} == {True, False}
    with ThreadPoolExecutor(1) as pool:  # a thread that handles no signals
        assert pool.submit(ranges).result() == [(0, batch.n_rows, False)]
    assert scoring.may_take_long(batch)
    assert not scoring.may_take_long(batch, 0)
    monkeypatch.setattr(scoring, "_QUICK_PAIRS", 1)
    assert ranges() == [(row, row + 1, True) for row in range(30)]


@pytest.mark.parametrize("explains", [False, True])
def test_rows_without_contexts_are_ended_too(
    monkeypatch: pytest.MonkeyPatch, explains: bool
) -> None:
    """A thread's range may have any number of them."""
    rows = [{**row, "contexts": []} for row in ROWS]
    score = scoring.explained_batch if explains else scoring.score_batch
    profiles: dict[Profile, Settings] = {
        "overlap": OverlapSettings(),
        "grounded": GroundedSettings(),
    }
    monkeypatch.setattr(
        scoring, "interruptible", lambda _, kernel, *given: kernel(*given, bytearray(b"!"))
    )
    for profile, settings in profiles.items():
        batch = read_rows([*rows], 0, FieldNeeds.of(METRIC_IDS, profile)).pack()
        with pytest.raises(InterruptedError):
            score(batch, settings, np.arange(len(METRIC_IDS)))
