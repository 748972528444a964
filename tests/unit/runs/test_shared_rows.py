"""Which rows two runs share by their inputs, and the nearest dataset of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval.runs import shared_rows
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.runs.shared_rows import n_shared_rows, nearest_dataset, without_missing
from rag_eval.runs.store import RunStore
from tests.stored_runs import a_run, assert_same
from tests.tables import every_row


def of(*digests: tuple[int, int, int], **changes: Any) -> ScoredRun:
    return a_run(len(digests), digests=np.array(digests, np.uint32), **changes)


@every_row(
    ("one", "other", "shared"),
    [
        ((1, 0, 0), (1, 0, 5), 1),  # another answer
        ((1, 0, 0), (2, 0, 0), 0),
        ((1, 7, 0), (1, 7, 0), 1),
        ((1, 7, 0), (1, 8, 0), 0),
        ((1, 7, 0), (1, 0, 0), 1),  # relevant ids that one run does not know
        ((0, 0, 5), (1, 0, 5), 0),  # nor does it know the question
        ((0, 0, 5), (0, 0, 5), 0),
    ],
)
def test_what_makes_a_row_the_same(one: Any, other: Any, shared: int) -> None:
    assert n_shared_rows(of(one), of(other)) == n_shared_rows(of(other), of(one)) == shared


def test_rows_are_found_by_their_ids() -> None:
    run = of((1, 0, 0), (2, 0, 0), (3, 0, 0))
    turned = of((3, 0, 0), (2, 0, 0), (1, 0, 0), ids=["q-2", "q-1", "x"])
    assert n_shared_rows(run, turned) == 2
    assert n_shared_rows(run, a_run(3)) == n_shared_rows(a_run(3), run) == 0


def test_the_nearest_dataset_shares_most_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path / "runs.db")
    run = of((1, 0, 0), (2, 0, 0), (3, 0, 0))
    rows = {
        "a": of((1, 0, 0), (9, 0, 0), (9, 0, 0), dataset_hash="a"),
        "b": of((1, 0, 0), (2, 0, 0), (9, 0, 0), dataset_hash="b"),
        "c": of((9, 0, 0), (2, 0, 0), (3, 0, 0), dataset_hash="c"),
        "d": of((9, 0, 0), (9, 0, 0), (9, 0, 0), dataset_hash="d"),
    }
    ids = {name: store.add(rows[name]) for name in ("b", "c", "a", "d")}
    older = store.add(rows["c"])
    found = nearest_dataset(store, run, store.runs())
    assert found is not None
    assert found.n_shared == 2
    assert [record.run_id for record in found.records] == [older, ids["c"]]  # newer than b
    known = [record for record in store.runs() if record.dataset_hash == "d"]
    assert nearest_dataset(store, run, known) is None
    assert nearest_dataset(store, a_run(3), store.runs()) is None
    # Only so many of the newest are loaded.
    monkeypatch.setattr(shared_rows, "MOST_DATASETS", 1)
    assert nearest_dataset(store, run, [*known, *store.runs()]) is None


def test_rows_that_are_missing_leave_the_baseline() -> None:
    run = of((1, 0, 0), (2, 0, 0), (3, 0, 0))
    less = without_missing(run, a_run(1, ids=["q-1"]))
    assert (less.ids, less.scores.tolist()) == (["q-1"], run.scores[1:2].tolist())
    assert less.digests is not None
    assert less.digests.tolist() == [[2, 0, 0]]
    assert less.columns == {"topic": [None]}
    assert_same(without_missing(run, run), run)
    assert_same(without_missing(run, a_run(1, ids=["other"])), run)  # none would be left
