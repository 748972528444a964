"""Gates of a release line that share one significance level."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.gating import gate_stored
from rag_eval.gating.verdicts import GateReport
from rag_eval.runs.store import RunStore
from rag_eval.stats import spending_level
from tests.scored_runs import scored_run

N = 60
BASE = np.random.default_rng(5).uniform(0.3, 0.7, N)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.db")


def add(store: RunStore, shift: float = 0.0, data: str = "d") -> str:
    """A run of the same rows with noise of its own."""
    noise = np.random.default_rng(store.count()).normal(0, 0.05, N)
    scores = BASE + noise - noise.mean() + shift
    return store.add(scored_run("run", {"faithfulness": scores}, dataset_hash=data * 64))


def spent(store: RunStore, run_id: str = "latest", **options: Any) -> tuple[int, int, float]:
    """Number, baselines and level of a gate; the report states all of them."""
    report = gate_stored(store, run_id, spend=True, **options)
    found = report.spending
    assert found is not None
    assert report.alpha == found.level
    assert all(each.options.alpha == found.level for each in report.comparisons)
    assert report.to_dict()["spending"]["gateNumber"] == found.gate_number
    return found.gate_number, found.n_baselines, found.level


def test_levels_fall_and_never_add_up_to_more_than_alpha() -> None:
    levels = [spending_level(0.05, number) for number in range(1, 10_000)]
    assert all(later < earlier for earlier, later in pairwise(levels))
    for k in (1, 20, 9_999):
        assert sum(levels[:k]) == pytest.approx(0.05 * (1 - (k + 1) ** -0.5), rel=1e-9)
    with pytest.raises(InputError, match="number must be"):
        spending_level(0.05, 0)


def test_the_gates_of_a_line_are_counted(store: RunStore) -> None:
    first = add(store)
    # Without a baseline nothing is tested, and nothing spent.
    assert gate_stored(store, first, spend=True).spending is None
    second = add(store)
    assert spent(store) == (1, 1, spending_level(0.05, 1))
    third = add(store)
    assert spent(store, alpha=0.1) == (2, 1, spending_level(0.1, 2))
    # To gate a run again costs nothing, however many gates there were since.
    assert spent(store, second) == (1, 1, spending_level(0.05, 1))
    # A gate without sharing has spent at least as much; one of other data has its own line.
    add(store)
    gate_stored(store)
    for _ in range(2):
        add(store, data="e")
        gate_stored(store, spend=True)
    latest = add(store)
    assert spent(store)[0] == 4
    # What was deleted still counts.
    for run_id in (second, third):
        store.delete(run_id)
    add(store)
    assert spent(store)[0] == 5
    # Against two baselines each has half; a pin of the newest run begins a new line.
    store.pin(first)
    add(store)
    assert spent(store) == (6, 2, spending_level(0.05, 6) / 2)
    newest = add(store)
    store.set_status(newest, "passed")
    store.pin(newest)
    add(store)
    assert spent(store) == (1, 1, spending_level(0.05, 1))
    assert store.record(latest).gate_number == 4


def test_the_highest_number_survives_pruning(store: RunStore) -> None:
    add(store)
    gate_stored(store)
    for _ in range(2):
        add(store)
        assert gate_stored(store, spend=True).passed
    failed = add(store, shift=-0.3)
    assert spent(store)[0] == 3
    assert store.record(failed).status == "failed"
    add(store)
    store.prune(keep=1)
    assert failed in {record.run_id for record in store.runs()}
    assert spent(store)[0] == 4
    # Of several with a number only the highest is kept for it.
    store.prune(keep=0, older_than=timedelta(0))
    assert failed not in {record.run_id for record in store.runs()}


def test_a_gate_that_shares_needs_clearer_evidence(store: RunStore) -> None:
    add(store)
    gate_stored(store)
    reports: dict[bool, GateReport] = {}
    for _ in range(20):
        add(store)
        gate_stored(store, spend=True)
    drop = add(store, shift=-0.023)
    for spend in (False, True):
        reports[spend] = gate_stored(store, drop, spend=spend)
    assert (reports[False].status, reports[True].status) == ("REGRESSED", "INCONCLUSIVE")
    (alone,), (shared,) = (report.baselines[0].findings for report in reports.values())
    assert alone.p_value is not None
    assert reports[True].alpha < alone.p_value < 0.05
    assert alone.detectable is not None
    assert shared.detectable is not None
    assert alone.detectable < shared.detectable
    # There are sign patterns enough to find a large one.
    large = add(store, shift=-0.1)
    found = gate_stored(store, large, spend=True)
    assert (found.status, found.spending and found.spending.gate_number) == ("REGRESSED", 22)


def test_only_tests_share_a_level(store: RunStore) -> None:
    add(store)
    for options, message in (
        ({"policy": "non-inferior", "margin": 0.1}, "policy non-inferior takes no spend"),
        ({"policy": "node"}, "policy node takes no spend"),
        ({"alpha": 0.9}, "alpha must be above 0 and below 0.5, got 0.9"),
    ):
        with pytest.raises(InputError, match=message):
            gate_stored(store, spend=True, **options)
    assert store.record("latest").status is None
