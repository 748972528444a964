"""Gates: guards, several baselines, a store's baselines, reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.gating import Guards, NamedBaseline, gate, gate_stored, store_baselines
from rag_eval.gating.stored import gate_against_store
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.reports.console import console_for
from rag_eval.reports.gate import gate_markdown, print_gate
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.git_state import GitState
from rag_eval.runs.store import RunStore
from rag_eval.scoring.evaluator import evaluate_batch
from tests.scored_runs import scored_run
from tests.tables import every_row

FOX = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}


def ten(*fails: int, scores: list[float | None] | None = None, **more: Any) -> Any:
    """Ten rows; those named fail."""
    passed = [int(row not in fails) for row in range(10)]
    values = scores or [0.1 * row for row in range(10)]
    return scored_run("today", {"faithfulness": values}, passed=passed, **more)


def guarded(run: Any, **limits: Any) -> tuple[bool, str]:
    report = gate(run, guards=Guards(**limits))
    return report.passed, report.reason


# ------------------------------------------------------------------------------------------ guards


def test_thresholds_on_means() -> None:
    assert guarded(ten(), min_mean={"faithfulness": 0.45}) == (
        True,
        "no baseline to compare with; 1 guard held",
    )
    assert guarded(ten(), min_mean={"faithfulness": 0.5}) == (
        False,
        "faithfulness mean 0.45 (10/10) is below 0.50",
    )
    noisy = scored_run("today", {"noise_sensitivity": [0.2, 0.4]})
    assert guarded(noisy, max_mean={"noise_sensitivity": 0.25}) == (
        False,
        "noise_sensitivity mean 0.30 (2/2) is above 0.25",
    )
    with pytest.raises(InputError, match="where lower is better: use max_mean"):
        guarded(noisy, min_mean={"noise_sensitivity": 0.25})
    with pytest.raises(InputError, match="context_recall, which is not computed"):
        guarded(ten(), min_mean={"context_recall": 0.5})


def test_pass_rate() -> None:
    assert guarded(ten(3), min_pass_rate=0.9)[0]
    assert guarded(ten(3, 4), min_pass_rate=0.9) == (
        False,
        "pass rate 0.80 (8/10) is below 0.90",
    )
    unknown = scored_run("today", {"faithfulness": [0.5]})
    with pytest.raises(InputError, match="min_pass_rate: today has no row verdicts"):
        guarded(unknown, min_pass_rate=0.9)


def test_a_pass_rate_of_rows_that_cannot_fail_is_refused() -> None:
    """Regression: ``gate`` passed such runs, from files and from a store, with any rate."""
    free = VerdictSettings({"ir.P@1": None, "ir.P@3": None}, {"ir.P@1": 0.0, "ir.P@3": 0.0}, 0.6)
    with pytest.raises(
        InputError,
        match=r"^min_pass_rate .*no row of today can fail, because no threshold is set for ir.P@1, "
        r"ir.P@3. .*--thresholds ir.P@1=0.5",
    ):
        guarded(ten(settings=free), min_pass_rate=0.9)
    bound = replace(free, thresholds={"ir.P@1": 0.5, "ir.P@3": None})
    assert guarded(ten(settings=bound), min_pass_rate=0.9)[0]


def test_null_rates() -> None:
    run = ten(scores=[None, *[0.5] * 9])
    assert guarded(run, max_null_rate=0.1)[0]
    assert guarded(run, max_null_rate={"faithfulness": 0.05}) == (
        False,
        "faithfulness: share of null scores 0.10 (1/10) is above 0.05",
    )
    with pytest.raises(InputError, match="no scores of context_recall"):
        guarded(run, max_null_rate={"context_recall": 0.05})


def test_judge_failures() -> None:
    run = ten(n_judgements=10, n_failed_judgements=1)
    passed, reason = guarded(run)
    assert not passed
    assert reason == "share of failed judgements 0.10 (1/10) is above 0.00"
    assert guarded(run, max_judge_failures=0.1)[0]
    # Where no judge was asked, none can fail.
    assert gate(ten()).guards == ()


def test_a_critical_row_that_fails_fails_the_gate() -> None:
    assert guarded(ten(3), critical=["q1", "q2"])[0]
    assert guarded(ten(3, 4), critical=["q1", "q3", "q4"]) == (
        False,
        "2 of 3 critical rows failed: q3 (failed 1 of 1), q4 (failed 1 of 1)",
    )


def test_a_critical_row_nobody_scored_fails_the_gate() -> None:
    assert guarded(ten(), critical=["gone"]) == (
        False,
        "1 of 1 critical row failed: gone (not in the run)",
    )
    run = scored_run("today", {"faithfulness": [0.5, 0.5]}, passed=[NO_VERDICT, 1])
    assert "q0 (no verdict)" in guarded(run, critical=["q0"])[1]


def test_critical_rows_by_a_field() -> None:
    tags = {"tag": ["safety" if row < 3 else None for row in range(10)]}
    assert guarded(ten(3, columns=tags), critical_tags={"tag": ["safety"]})[0]
    assert not guarded(ten(2, columns=tags), critical_tags={"tag": ["safety"]})[0]
    with pytest.raises(InputError, match="no row of today has tag = 'legal'"):
        guarded(ten(columns=tags), critical_tags={"tag": ["legal"]})
    with pytest.raises(InputError, match="tag"):
        guarded(ten(), critical_tags={"tag": ["safety"]})


def test_a_critical_row_counts_when_it_fails_often_enough() -> None:
    def repeated(*verdicts: int) -> Any:
        n = len(verdicts)
        scores = {"faithfulness": [0.5] * n}
        return scored_run("today", scores, ids=["q0"] * n, passed=verdicts)

    limits: dict[str, Any] = {"critical": ["q0"], "critical_fails": 2}
    assert guarded(repeated(1, 0, 1), **limits)[0]
    passed, reason = guarded(repeated(0, 1, 0), **limits)
    assert not passed
    assert "q0 (failed 2 of 3)" in reason
    with pytest.raises(
        InputError, match=r"critical_fails is 2, .* more than once, so none can fail"
    ):
        guarded(repeated(0), **limits)
    with pytest.raises(InputError, match="today has no row verdicts"):
        guarded(scored_run("today", {"faithfulness": [0.5]}), critical=["q0"])


def test_every_guard_is_listed_and_the_first_failure_is_the_reason() -> None:
    report = gate(
        ten(3),
        guards=Guards(min_pass_rate=1.0, min_mean={"faithfulness": 0.1}, critical=["q3"]),
    )
    assert [(guard.gate, guard.held) for guard in report.guards] == [
        ("critical_rows", False),
        ("min_mean", True),
        ("min_pass_rate", False),
    ]
    assert report.reason.startswith("1 of 1 critical row failed")
    assert report.exit_code == 1


@every_row(
    ("limits", "message"),
    [
        ({"min_pass_rate": 1.5}, "min_pass_rate must be between 0 and 1"),
        ({"critical_fails": 0}, "critical_fails must be a whole number of at least 1"),
        ({"critical": "q1"}, "critical must be a list of ids"),
    ],
)
def test_limits_out_of_range_are_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Guards(**limits)


# --------------------------------------------------------------------------------------- baselines

N = 400
SCORES = np.random.default_rng(5).uniform(0.3, 0.7, N)
NOISE = np.random.default_rng(6).normal(0, 0.1, (8, N))
NOISE -= NOISE.mean(axis=1, keepdims=True)


def at(name: str, shift: float, noise: int = 0) -> Any:
    """The same rows with their own noise and a mean moved by ``shift``."""
    return scored_run(name, {"faithfulness": SCORES + NOISE[noise] + shift}, dataset_hash="d" * 64)


def test_without_a_baseline_the_guards_alone_decide() -> None:
    report = gate(ten())
    assert (report.status, report.passed) == ("NEW", True)
    assert (report.reason, report.notices) == ("no baseline to compare with", ())
    assert gate(ten(), policy="regtrace").status == "new"
    solo = gate(ten(), policy="omk")
    assert (solo.status, solo.passed) == ("SOLO", False)
    high = scored_run("today", {"faithfulness": [0.9, 0.7]})
    assert gate(high, policy="omk").passed


def test_all_baselines_must_hold() -> None:
    report = gate(at("today", -0.05, 1), [at("near", -0.05, 2), at("far", 0.0, 3)])
    assert [verdict.passed for verdict in report.baselines] == [True, False]
    assert not report.passed
    assert report.reason.endswith("(against far)")


def test_a_guard_fails_a_run_that_no_baseline_fails() -> None:
    limits = Guards(min_mean={"faithfulness": 0.9})
    report = gate(at("today", 0, 1), at("base", 0, 2), guards=limits)
    assert report.baselines[0].passed
    assert (report.status, report.passed) == ("GUARD", False)
    assert "is below 0.90" in report.reason
    assert gate(at("today", 0, 1), guards=limits).status == "GUARD"
    fallen = gate(at("today", -0.2, 1), at("base", 0, 2), guards=limits)
    assert fallen.status == "REGRESSED"


def test_small_losses_add_up_against_a_baseline_that_moves() -> None:
    """Each run passes against the one before; against the first, the last one does not."""
    runs = [at(f"run {step}", -0.006 * step, step) for step in range(8)]
    for before, after in pairwise(runs):
        assert gate(after, before).passed
    assert not gate(runs[-1], [runs[-2], NamedBaseline("pinned", runs[0])]).passed


def test_runs_of_other_settings_are_refused_unless_forced() -> None:
    rows = [{**FOX, "id": str(number)} for number in range(3)]
    overlap = evaluate_batch(rows, ["faithfulness"])
    grounded = evaluate_batch(rows, ["faithfulness"], profile="grounded")
    for policy in ("no-regression", "node"):
        with pytest.raises(SignatureMismatchError, match="profile"):
            gate(grounded, overlap, policy=policy)
        assert gate(grounded, overlap, policy=policy, force=True).passed


@every_row(
    ("options", "message"),
    [
        ({"policy": "strict"}, "policy must be"),
        ({"alpha": 0.6}, "alpha must be above 0 and below 0.5"),
        ({"care": 0}, "care must be above 0"),
        ({"margin": -0.1}, "margin must be at least 0"),
        ({"policy": "omk", "margin": 0.1}, "omk takes no margin"),
        ({"policy": "node", "slices": ["topic"]}, "node takes no slices"),
        ({"max_null_rise": -1}, "max_null_rise must be between 0 and 1"),
        ({"max_missing_rows": 2}, "max_missing_rows must be between 0 and 1"),
        ({"policy": "node", "max_null_rise": 0.1}, "node takes no max_null_rise"),
        ({"policy": "omk", "max_missing_rows": 0.1}, "omk takes no max_null_rise and no max_miss"),
        ({"policy": "regtrace", "tolerance": 0.1}, "regtrace takes no tolerance"),
        (
            {"policy": "non-inferior", "margin": 0.1, "tolerance": 0.1},
            "non-inferior takes no tolerance",
        ),
        ({"tolerance": -0.1}, "tolerance must be at least 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        gate(at("a", 0), at("b", 0), **options)


def test_a_report_is_the_same_whatever_the_order_of_rows() -> None:
    new, base = at("new", -0.01, 1), at("base", 0, 2)
    turned = scored_run(
        "new", {"faithfulness": new.scores[::-1, 0]}, ids=new.ids[::-1], dataset_hash="d" * 64
    )
    assert gate(new, base).to_dict() == gate(turned, base).to_dict()


# ------------------------------------------------------------------------------------------- store


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.db")


def test_a_stored_run_is_held_against_last_passing_and_pinned(store: RunStore) -> None:
    pinned = store.add(at("one", 0.0, 1), status="passed")
    store.pin(pinned)
    second = store.add(at("two", -0.02, 2), status="passed")
    third = store.add(at("three", -0.04, 3))
    report = gate_stored(store)
    assert report.name == third
    assert [(each.kind, each.name) for each in report.baselines] == [
        ("last_passing", second),
        ("pinned", pinned),
    ]
    assert [each.passed for each in report.baselines] == [False, False]
    assert store.record(third).status == "failed"
    # Failed, it is no baseline; with a margin it passes and is one.
    assert gate_stored(store, third, margin=0.1).passed
    assert store.record(third).status == "passed"
    fourth = store.add(at("four", -0.04, 4))
    assert gate_stored(store, fourth, margin=0.1).baselines[0].name == third


def test_the_first_run_of_a_store_has_no_baseline(store: RunStore) -> None:
    first = store.add(at("one", 0.0))
    report = gate_stored(store, first)
    assert (report.status, report.passed) == ("NEW", True)
    assert store.record(first).status == "passed"
    assert not gate_stored(store, first, guards=Guards(min_mean={"faithfulness": 0.9})).passed
    assert store.record(first).status == "failed"


def test_one_run_can_be_both_baselines(store: RunStore) -> None:
    only = store.add(at("one", 0.0, 1), status="passed")
    notes = store_baselines(store, "d" * 64)[1]
    assert any("no run is pinned" in note for note in notes)
    store.pin(only)
    (found,), notes = store_baselines(store, "d" * 64)
    assert found.kind == "last_passing and pinned"
    assert notes == []
    assert store_baselines(store, "e" * 64)[0][0].kind == "pinned"


def test_a_pinned_run_is_not_held_against_itself(store: RunStore) -> None:
    only = store.add(at("one", 0.0, 1), status="passed")
    store.pin(only)
    report = gate_stored(store, only)
    assert report.baselines == ()
    assert any(
        "is the pinned run and is not compared with itself" in notice for notice in report.notices
    )


def test_the_branch_of_a_run_comes_first(store: RunStore) -> None:
    mine = store.add(at("one", 0.0, 1), status="passed", git=GitState(branch="mine"))
    main = store.add(at("two", 0.0, 2), status="passed", git=GitState(branch="main"))
    new = store.add(at("three", 0.0, 3), git=GitState(branch="mine"))
    assert gate_stored(store, new).baselines[0].name == mine
    assert gate_stored(store, new, branch="other").baselines[0].name == main


def test_a_file_against_a_store_is_noted_nowhere(store: RunStore) -> None:
    base = store.add(at("one", 0.0, 1), status="passed")
    report = gate_against_store(at("new", -0.1, 2), store)
    assert not report.passed
    assert [each.name for each in report.baselines] == [base]
    assert len(store.runs()) == 1
    unknown = scored_run("new", {"faithfulness": SCORES})
    assert any("does not name its dataset" in n for n in gate_against_store(unknown, store).notices)


# ------------------------------------------------------------------------------------------ output


def test_the_report_in_json() -> None:
    value = gate(at("new", -0.05, 1), at("base", 0, 2), seed=7, n_resamples=999).to_dict()
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert (value["run"], value["policy"], value["status"]) == ("new", "no-regression", "REGRESSED")
    assert (value["seed"], value["nResamples"], value["alpha"]) == (7, 999, 0.05)
    finding = value["baselines"][0]["findings"][0]
    assert (finding["metricId"], finding["held"], finding["nPairs"]) == ("faithfulness", False, N)
    assert finding["pValue"] == pytest.approx(1 / 1024)
    assert gate(at("a", 0), at("b", 0, 1), policy="node").to_dict()["falseAlarms"]["rate"] > 0


def test_limits_of_numpy_are_numbers_in_json() -> None:
    run = scored_run("a", {"faithfulness": [0.5]}, passed=[1])
    guards = Guards(min_pass_rate=np.float32(0.5), max_judge_failures=np.float64(0.0))
    value = gate(run, guards=guards).to_dict()
    assert json.loads(json.dumps(value)) == value


def test_hostile_names_are_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    run = scored_run("a\x1b[2Jb", {"faithfulness": [0.5]}, ids=["x\x1b[31m|*q*"], passed=[0])
    report = gate(run, run, guards=Guards(critical=["x\x1b[31m|*q*"]))
    print_gate(report, console_for())
    shown = capsys.readouterr().out + gate_markdown(report)
    assert "\x1b" not in shown
    assert "\\|\\*q\\*" in shown
