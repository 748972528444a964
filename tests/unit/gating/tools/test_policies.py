"""Policies of other tools, by runs made by hand."""

from __future__ import annotations

import math

import pytest

from rag_eval.errors import InputError
from rag_eval.gating import gate
from tests.scored_runs import scored_run
from tests.tables import every_row
from tests.unit.gating.test_policies import OLD, WIGGLE, N, old, run


def test_node_looks_at_plain_means() -> None:
    assert gate(run(-0.049), old(), policy="node").status == "HELD"
    report = gate(run(-0.051), old(), policy="node")
    assert (report.status, report.passed) == ("REGRESSED", False)
    assert "(threshold 0.050)" in report.reason
    assert gate(run(-0.051), old(), policy="node", margin=0.06).passed
    # Rows that are not in both count there.
    apart = scored_run("new", {"faithfulness": [*OLD, *([0.0] * N)]})
    assert not gate(apart, old(), policy="node").passed
    assert gate(apart, old()).passed


def test_node_takes_the_direction_of_a_metric_from_the_file() -> None:
    before = scored_run("old", {"mine": OLD}, lower_is_better=frozenset({"mine"}))
    after = scored_run("new", {"mine": OLD + 0.1})
    assert not gate(after, before, policy="node").passed
    assert gate(before, after, policy="node").passed


@every_row(
    ("shift", "status"), [(0.0, "clean"), (-0.04, "warning"), (-0.1, "critical"), (0.3, "clean")]
)
def test_regtrace_looks_at_the_relative_change(shift: float, status: str) -> None:
    # The mean is about 0.5: 0.04 is 8 % of it, 0.1 is 20 %.
    report = gate(run(shift), old(), policy="regtrace")
    assert (report.status, report.passed) == (status, status == "clean")
    named = [finding.message.partition(": ")[0] for finding in report.baselines[0].findings]
    assert named == [
        "relative change of the mean composite score",
        "relative change of the mean of faithfulness",
    ]


def test_regtrace_with_tolerances_lets_the_metrics_decide() -> None:
    columns = {"faithfulness": OLD, "context_recall": OLD}
    moved = {"faithfulness": OLD * 0.9, "context_recall": OLD * 1.1}
    before, after = scored_run("old", columns), scored_run("new", moved)
    assert gate(after, before, policy="regtrace").status == "clean"
    tolerant = gate(after, before, policy="regtrace", margin={"context_recall": 0.02})
    assert (tolerant.status, tolerant.passed) == ("warning", False)
    assert gate(after, before, policy="regtrace", margin={"faithfulness": 0.2}).passed


def test_regtrace_leaves_out_rows_that_the_baseline_lacks() -> None:
    more = scored_run("new", {"faithfulness": [*OLD, *([0.0] * 100)]})
    report = gate(more, old(), policy="regtrace")
    assert report.status == "clean"
    assert "rows left out because old lacks them: 100" in report.notices


@every_row(
    ("level", "shift", "n", "base"),
    [
        ("PROGRESS", 0.1, N, 0.3),
        ("CAUTIOUS", 0.1, N, 0.0),
        ("CAUTIOUS", 0.02, N, 0.3),
        ("NOISE", 0.0, N, 0.3),
        ("UNDERPOWERED", 0.0, 15, 0.3),
        ("REGRESS", -0.05, N, 0.3),
    ],
)
def test_omk_passes_on_progress_alone(level: str, shift: float, n: int, base: float) -> None:
    wiggle = WIGGLE[:n] - WIGGLE[:n].mean()
    before = scored_run("old", {"faithfulness": OLD[:n] + base})
    after = scored_run("new", {"faithfulness": OLD[:n] + base + wiggle + shift})
    report = gate(after, before, policy="omk")
    assert (report.status, report.passed) == (level, level == "PROGRESS")
    assert report.false_alarms is not None
    assert report.false_alarms.rate > 0.9


def test_tools_by_composites_need_composites() -> None:
    nothing = [math.nan] * N
    before = scored_run("old", {"faithfulness": OLD}, composite=nothing)
    for policy in ("omk", "regtrace"):
        with pytest.raises(InputError, match="composite"):
            gate(run(0.0), before, policy=policy)


def test_regtrace_needs_composites_on_the_rows_of_both() -> None:
    half = [0.5] * 5 + [math.nan] * 5
    names = [f"q{row}" for row in (0, 1, 2, 3, 4, 20, 21, 22, 23, 24)]
    before = scored_run("old", {"faithfulness": [0.5] * 10}, composite=half)
    after = scored_run("new", {"faithfulness": [0.5] * 10}, composite=half[::-1], ids=names)
    with pytest.raises(InputError, match="one run has none in the rows that both have"):
        gate(after, before, policy="regtrace")
