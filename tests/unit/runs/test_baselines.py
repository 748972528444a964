"""Which earlier run is the baseline, by rules; the store's own are in test_run_store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from rag_eval.errors import InputError
from rag_eval.runs.baselines import age_note, find_baseline, newest_first


class Record(NamedTuple):
    run_id: str
    created_at: str
    status: str | None = "passed"
    branch: str | None = None


DAYS = [f"2026-11-{day:02}T12:00:00.000Z" for day in range(1, 10)]


def test_the_own_branch_wins_over_a_newer_run_elsewhere() -> None:
    runs = [Record("own", DAYS[0], branch="x"), Record("main", DAYS[1], branch="main")]
    assert find_baseline(runs, branch="x", fallback_branch="main") == runs[0]


def test_the_fallback_wins_over_a_newer_run_of_a_third_branch() -> None:
    runs = [Record("main", DAYS[0], branch="main"), Record("y", DAYS[1], branch="y")]
    assert find_baseline(runs, branch="x", fallback_branch="main") == runs[0]
    assert find_baseline(runs, branch="x", fallback_branch=None) == runs[1]


def test_without_a_branch_the_fallback_says_nothing() -> None:
    runs = [Record("main", DAYS[0], branch="main"), Record("y", DAYS[1], branch="y")]
    assert find_baseline(runs, fallback_branch="main") == runs[1]


def test_runs_that_failed_or_were_not_judged_are_none() -> None:
    runs = [Record("a", DAYS[0], "failed"), Record("b", DAYS[1], None)]
    assert find_baseline(runs) is None


def test_a_pinned_run_counts_whatever_its_status() -> None:
    runs = [Record("a", DAYS[0], "failed"), Record("b", DAYS[1])]
    assert find_baseline(runs, "pinned", pinned_run_id="a") == runs[0]
    assert find_baseline(runs, "pinned", pinned_run_id="gone") is None
    assert find_baseline(runs, "pinned") == runs[1]


def test_times_of_other_zones_are_compared_as_times() -> None:
    runs = [
        Record("first", "2026-11-01T23:30:00+00:00"),
        Record("second", "2026-11-02T00:40:00+00:00"),
        Record("third", "2026-11-02T00:50:00-05:00"),
    ]
    assert [run.run_id for run in newest_first(runs)] == ["third", "second", "first"]


def test_of_one_time_the_first_stays_first() -> None:
    runs = [Record(name, DAYS[0]) for name in "abc"]
    assert newest_first(runs) == runs


def test_an_unknown_strategy_or_time_is_refused() -> None:
    with pytest.raises(InputError, match="strategy must be"):
        find_baseline([], "newest")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the time must be in ISO 8601, got 'soon'"):
        find_baseline([Record("a", "soon")])


def test_a_baseline_is_called_old_after_a_week() -> None:
    run = Record("run-1", "2026-11-01T12:00:00.000Z")
    assert age_note(run, datetime(2026, 11, 8, 12, tzinfo=UTC)) is None
    note = age_note(run, datetime(2026, 11, 10, 13, tzinfo=UTC))
    assert note == "the baseline run-1 is 9 days old"
