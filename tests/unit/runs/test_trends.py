"""Trends: which runs are in them, and which run a change begins with."""

from __future__ import annotations

from typing import Any

from rag_eval.runs.run_records import RunRecord
from rag_eval.runs.trends import trends_of
from tests.stored_runs import SIGNATURE


def record(number: int, mean: float | None, **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "run_id": f"run-{number}",
        "created_at": f"2026-01-{number + 1:02}T00:00:00.000Z",
        "status": None,
        "dataset_hash": "ab" * 32,
        "git_commit": None,
        "branch": None,
        "dirty": None,
        "library_version": "1",
        "n_rows": 3,
        "metrics": ("faithfulness",),
        "aggregates": {"faithfulness": {} if mean is None else {"mean": mean, "nullRate": 0.0}},
        "signature": SIGNATURE,
    }
    return RunRecord(**{**values, **changes})


def test_only_runs_like_the_newest_one_are_compared_oldest_first() -> None:
    records = [record(number, number / 10) for number in range(5)]
    records[1] = record(1, 0.1, dataset_hash="cd" * 32)
    found = trends_of(records[::-1])
    assert [one.run_id for one in found.records] == ["run-0", "run-2", "run-3", "run-4"]
    assert found.n_other == 1
    [trend] = found.metrics
    assert [mean.mean for mean in trend.known] == [0.0, 0.2, 0.3, 0.4]


def test_a_change_is_told_by_its_first_run_and_a_missing_mean_moves_nothing() -> None:
    means: list[float | None] = [0.8] * 6 + [None] + [0.7] * 6
    [trend] = trends_of([record(n, mean) for n, mean in enumerate(means)][::-1]).metrics
    assert trend.means[6] is None
    [(run_id, change)] = trend.changes
    assert run_id == "run-7"
    assert (round(change.before, 9), round(change.after, 9)) == (0.8, 0.7)
    assert trend.to_dict()["changePoints"][0]["runId"] == "run-7"


def test_a_metric_without_any_mean_has_no_trend() -> None:
    assert trends_of([record(0, None)]).metrics == []
