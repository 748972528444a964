"""Policies of the gate: each status, by runs made by hand; and the simulated false alarms."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from benchmarks.statistics import policies as simulated
from benchmarks.statistics.__main__ import PAGE
from benchmarks.statistics.populations import LUMPS, PairedPopulation
from rag_eval.errors import InputError
from rag_eval.gating import gate
from rag_eval.gating.tools.false_alarm_rates import N_REPLICATES, POLICIES, RATES, SEED, TIES
from rag_eval.gating.tools.omk_verdict import OmkLevel
from rag_eval.gating.tools.policies import TOOL_POLICIES, false_alarm_rate
from rag_eval.reports.gate import policy_lines
from rag_eval.scorers.regtrace.regression import RegressionStatus
from rag_eval.stats.differences import difference_lower_bound
from rag_eval.stats.paired import sign_flip_test
from rag_eval.stats.power import rows_needed
from tests.scored_runs import scored_run
from tests.tables import every_row

N = 200
GENERATOR = np.random.default_rng(7)
OLD = GENERATOR.uniform(0.3, 0.7, N)
WIGGLE = GENERATOR.normal(0, 0.05, N)
WIGGLE -= WIGGLE.mean()


def run(shift: float, *, n: int = N, metric: str = "faithfulness", **more: Any) -> Any:
    """The same rows a little moved, by ``shift`` on average."""
    return scored_run("new", {metric: (OLD + WIGGLE + shift)[:n]}, **more)


def old(n: int = N, metric: str = "faithfulness") -> Any:
    return scored_run("old", {metric: OLD[:n]})


# ---------------------------------------------------------------------------------- no-regression


def test_a_drop_that_is_shown_fails() -> None:
    report = gate(run(-0.03), old())
    assert (report.status, report.passed, report.exit_code) == ("REGRESSED", False, 1)
    (finding,) = report.baselines[0].findings
    assert finding.p_value == pytest.approx(1 / 2**14)
    assert finding.change == pytest.approx(-0.03)
    assert report.reason.startswith("faithfulness changed by -0.030 [-0.0")
    assert report.reason.endswith("p < 0.001 (max-T) (against old)")


def test_no_evidence_with_rows_enough_is_inconclusive_and_passes() -> None:
    report = gate(run(0.0), old())
    assert (report.status, report.passed) == ("INCONCLUSIVE", True)
    assert report.reason == "no evidence of a drop in 1 mean over 200 pairs (against old)"
    assert report.false_alarms is None


def test_no_evidence_with_few_rows_passes_with_a_notice() -> None:
    report = gate(run(0.0, n=6), old(6))
    assert (report.status, report.passed) == ("INCONCLUSIVE", True)
    assert any(
        notice.startswith("too few rows to detect a drop of 0.05 in faithfulness")
        for notice in report.notices
    )
    # What is worth finding decides what is too few.
    report = gate(run(0.0, n=6), old(6), care=0.5)
    assert not any(notice.startswith("too few rows") for notice in report.notices)


def test_a_gain_that_is_shown_is_an_improvement() -> None:
    report = gate(run(0.03), old())
    assert (report.status, report.passed) == ("IMPROVED", True)


def test_a_loss_within_the_margin_passes() -> None:
    assert gate(run(-0.03), old(), margin=0.05).passed
    assert not gate(run(-0.08), old(), margin=0.05).passed
    assert gate(run(-0.03), old(), margin={"faithfulness": 0.05}).passed
    assert gate(run(-0.03), old(), margin={"*": 0.05}).passed


def test_where_lower_is_better_a_rise_fails() -> None:
    metric = "noise_sensitivity"
    risen = gate(run(0.03, metric=metric), old(metric=metric), gating=[metric])
    assert (risen.status, risen.passed) == ("REGRESSED", False)
    assert risen.reason.startswith("noise_sensitivity changed by +0.030")
    fallen = gate(run(-0.03, metric=metric), old(metric=metric), gating=[metric])
    assert (fallen.status, fallen.passed) == ("IMPROVED", True)


def test_metrics_that_do_not_gate_fail_nothing() -> None:
    columns = {"faithfulness": OLD, "context_recall": OLD}
    moved = {"faithfulness": OLD + WIGGLE, "context_recall": OLD - 0.1}
    before, after = scored_run("old", columns), scored_run("new", moved)
    assert not gate(after, before).passed
    assert gate(after, before, gating=["faithfulness"]).passed


def test_a_drop_in_a_declared_slice_fails() -> None:
    topics = ["a" if row % 10 == 0 else "b" for row in range(N)]
    drop = np.where(np.array(topics) == "a", -0.1, 0.1 / 9)
    before = scored_run("old", {"faithfulness": OLD}, columns={"topic": topics})
    after = scored_run("new", {"faithfulness": OLD + drop}, columns={"topic": topics})
    assert gate(after, before).passed
    report = gate(after, before, slices=["topic"])
    assert not report.passed
    assert report.reason.startswith("faithfulness [topic=a] changed by -0.100")


def test_a_metric_that_lost_all_its_scores_fails() -> None:
    columns = {"faithfulness": OLD, "context_recall": OLD}
    lost = {"faithfulness": OLD, "context_recall": [None] * N}
    report = gate(scored_run("new", lost), scored_run("old", columns))
    assert (report.status, report.passed) == ("MISSING SCORES", False)
    assert "context_recall has no scores; the baseline's mean is" in report.reason


def missing(n_null: int, n: int = N, before: int = 0) -> tuple[Any, Any]:
    """A baseline, and a run whose first scores are null; ``before`` rows had none before."""
    scores = [None] * before + [0.5] * (n - before)
    lost = [None] * n_null + [0.5] * (n - n_null)
    return scored_run("new", {"faithfulness": lost}), scored_run("old", {"faithfulness": scores})


@every_row(
    ("n_null", "before", "limit", "passed"),
    [
        (40, 0, None, False),
        (40, 0, 0.2, True),  # exactly the limit
        (40, 0, 0.19, False),
        (40, 40, None, True),  # in both runs
        (39, 35, 0.01, True),  # a rise of 0.02 that 4 rows do not show
        (40, 35, None, False),  # and 5 do
        (4, 0, 0.01, True),
        (4, 0, 0.0, True),
        (10, 0, None, False),
        (10, 20, None, True),  # the rate fell
    ],
)
def test_scores_that_went_missing(
    n_null: int, before: int, limit: float | None, passed: bool
) -> None:
    report = gate(*missing(n_null, before=before), max_null_rise=limit)
    assert report.passed is passed
    warned = [text for text in report.notices if text.startswith("MISSING SCORES: faithfulness: ")]
    assert len(warned) == (passed and n_null > before)
    if not passed:
        assert report.status == "MISSING SCORES"
        limit = 0.02 if limit is None else limit
        assert f"more than the allowed rise of {limit:g}" in report.reason
        nulls = report.baselines[0].findings[0].nulls
        assert nulls is not None
        assert nulls.n_lost == n_null - before


def test_a_warning_of_missing_scores_is_beside_the_verdict() -> None:
    new, base = missing(2)
    report = gate(new, base)
    assert (report.status, report.passed) == ("MISSING SCORES", True)
    # Other metrics say how the run compares.
    columns = {"faithfulness": OLD, "context_recall": OLD}
    moved = {"faithfulness": [None, *OLD[1:]], "context_recall": OLD + WIGGLE}
    report = gate(scored_run("new", moved), scored_run("old", columns))
    assert (report.status, report.passed) == ("INCONCLUSIVE", True)
    assert [each.status for each in report.baselines[0].findings] == [
        "MISSING SCORES",
        "INCONCLUSIVE",
    ]


def test_a_metric_that_regressed_names_its_missing_scores_too() -> None:
    lost = [None] * 40 + [score - 0.05 for score in OLD[40:]]
    report = gate(scored_run("new", {"faithfulness": lost}), old())
    assert (report.status, report.passed) == ("REGRESSED", False)
    assert "40 of 200 rows lost their score (missing field: 40)" in report.reason


def test_scores_that_one_cluster_lost_are_one_loss() -> None:
    new, base = missing(40)
    documents = {"document": [f"d{row // 40}" for row in range(N)]}
    assert not gate(new, base).passed
    report = gate(new, replace(base, columns=documents), cluster_by="document")
    assert (report.status, report.passed) == ("MISSING SCORES", True)


def test_slices_have_tolerances_and_nulls_of_their_own() -> None:
    topics = {"topic": ["a" if row < 20 else "b" for row in range(N)]}
    before = scored_run("old", {"faithfulness": OLD}, columns=topics)
    # A twentieth of the rows, which the mean of all hardly shows.
    less = np.concatenate([OLD[:20] - 0.004, OLD[20:]])
    report = gate(scored_run("new", {"faithfulness": less}), before, slices=["topic"])
    found = {finding.name: finding.status for finding in report.baselines[0].findings}
    assert report.passed
    assert found["faithfulness [topic=a]"] == "WITHIN TOLERANCE"
    assert found["faithfulness [topic=b]"] == "NO CHANGE"
    lost = [*[None] * 15, *OLD[15:]]
    lenient = {"max_null_rise": 0.1}
    assert gate(scored_run("new", {"faithfulness": lost}), before, **lenient).passed
    report = gate(scored_run("new", {"faithfulness": lost}), before, slices=["topic"], **lenient)
    assert report.status == "MISSING SCORES"
    assert report.reason.startswith("faithfulness [topic=a]: 15 of 20 rows lost their score")


def test_a_few_rows_of_a_slice_may_all_be_null() -> None:
    topics = ["a", "a", *["b"] * (N - 2)]
    before = scored_run("old", {"faithfulness": OLD}, columns={"topic": topics})
    after = scored_run("new", {"faithfulness": [None, None, *OLD[2:]]}, columns={"topic": topics})
    report = gate(after, before, slices=["topic"])
    assert (report.status, report.passed) == ("MISSING SCORES", True)


@every_row(
    ("n_gone", "limit", "passed"),
    [
        (2, None, True),
        (3, None, False),
        (20, 0.1, True),
        (21, 0.1, False),
        (58, 0.29, True),  # 0.29 * 200 is a little less than 58
        (1, 0.0, False),
    ],
)
def test_rows_that_went_missing(n_gone: int, limit: float | None, passed: bool) -> None:
    new, base = missing(0, N - n_gone)[0], missing(0)[1]
    report = gate(new, base, max_missing_rows=limit)
    assert (report.status, report.passed) == ("NO CHANGE" if passed else "MISSING ROWS", passed)
    allowed = f"the allowed {100 * (0.01 if limit is None else limit):.4g} %"
    noted = [notice for notice in report.notices if f"{n_gone} of 200 row" in notice]
    if passed:
        assert noted == [f"{n_gone} of 200 rows of old are missing in this run, within {allowed}"]
    else:
        assert not noted
        assert f"missing in this run, more than {allowed}" in report.reason
        assert [gate.message for gate in report.baseline_gates if not gate.held] == [
            f"MISSING ROWS: {report.baselines[0].reason}"
        ]


def test_non_inferior_fails_for_missing_scores_and_rows() -> None:
    options: dict[str, Any] = {"policy": "non-inferior", "margin": 0.1}
    assert gate(*missing(0), **options).passed
    assert gate(*missing(2), **options).passed
    assert gate(*missing(40), **options).status == "MISSING SCORES"
    assert gate(*missing(40), **options, max_null_rise=0.2).passed
    gone = missing(0, N - 20)[0], missing(0)[1]
    assert gate(*gone, **options).status == "MISSING ROWS"
    assert gate(*gone, **options, max_missing_rows=0.1).passed


def test_a_drop_within_the_tolerance_passes_and_is_named() -> None:
    columns = {"faithfulness": OLD, "context_recall": OLD}
    moved = {"faithfulness": OLD - 0.004, "context_recall": OLD + 0.1}
    report = gate(scored_run("new", moved), scored_run("old", columns))
    assert (report.status, report.passed) == ("WITHIN TOLERANCE", True)
    assert "faithfulness changed by -0.004" in report.reason
    assert "within the tolerance of 0.005" in report.reason
    assert "Drops of up to 0.005 are allowed" in policy_lines(report)[0]
    both = {"faithfulness": OLD - 0.004, "context_recall": OLD - 0.1}
    report = gate(scored_run("new", both), scored_run("old", columns), tolerance={"*": 0.2})
    assert (report.status, report.passed) == ("WITHIN TOLERANCE", True)
    assert report.reason.endswith("; also context_recall (against old)")


def test_a_metric_whose_scored_rows_are_all_gone_fails() -> None:
    few = [0.5, 0.5, *[None] * (N - 2)]
    before = scored_run("old", {"faithfulness": OLD, "context_recall": few})
    ids = [f"q{row}" for row in range(2, N)]
    after = {"faithfulness": OLD[2:], "context_recall": few[2:]}
    report = gate(scored_run("new", after, ids=ids), before)
    assert (report.status, report.passed) == ("MISSING SCORES", False)
    assert report.reason.startswith("context_recall has no scores; the baseline's mean is 0.500")


def test_a_run_and_itself_are_unchanged_however_few_rows() -> None:
    for n in (3, N):
        same = scored_run("old", {"faithfulness": OLD[:n], "context_recall": OLD[:n]})
        report = gate(same, same)
        assert (report.status, report.passed) == ("NO CHANGE", True)
        assert report.reason.startswith(f"all scores are identical in {n} pairs")


def test_one_metric_that_moved_is_told_from_one_that_did_not() -> None:
    before = scored_run("old", {"faithfulness": OLD, "context_recall": OLD})
    moved = [*OLD[:-1], OLD[-1] / 2]
    found = gate(scored_run("new", {"faithfulness": moved, "context_recall": OLD}), before)
    assert found.status == "TOO FEW ROWS"
    statuses = [finding.status for finding in found.baselines[0].findings]
    assert statuses == ["TOO FEW ROWS", "NO CHANGE"]


@every_row(("policy", "margin"), [("no-regression", None), ("non-inferior", 0.02)])
def test_rows_that_moved_and_left_the_mean_are_told_as_no_change(
    policy: Any, margin: float | None
) -> None:
    before = scored_run("old", {"faithfulness": np.full(12, 0.5)})
    after = scored_run("new", {"faithfulness": np.tile([0.25, 0.75], 6)})
    (finding,) = gate(after, before, policy=policy, margin=margin).baselines[0].findings
    assert finding.message.startswith(
        "faithfulness did not change on average [-0.147, 0.147] over 12 pairs"
    )


# ----------------------------------------------------------------------------------- non-inferior


def test_non_inferior_wants_it_shown() -> None:
    shown = gate(run(-0.005), old(), policy="non-inferior", margin=0.02)
    assert (shown.status, shown.passed) == ("NON-INFERIOR", True)
    near = gate(run(-0.018), old(), policy="non-inferior", margin=0.02)
    assert (near.status, near.passed) == ("INCONCLUSIVE", False)
    assert "not shown to be within the margin of 0.02" in near.reason
    few = gate(run(0.0, n=6), old(6), policy="non-inferior", margin=0.02)
    assert not few.passed


def test_non_inferior_says_how_many_rows_are_needed() -> None:
    options: dict[str, Any] = {"policy": "non-inferior", "margin": 0.02}
    (finding,) = gate(run(-0.018), old(), **options).baselines[0].findings
    needed = rows_needed(0.02, float(WIGGLE.std(ddof=1)))
    told = f"; if nothing got worse, about {needed:,} rows would show it with 80 % power"
    assert finding.message.endswith(told)
    assert (
        gate(run(-0.03), old(), **options)
        .reason.partition(" (against")[0]
        .endswith("; the measured loss exceeds the margin, so more rows like these would not help")
    )
    same = scored_run("same", {"faithfulness": np.full(20, 0.5)})
    found = re.search(r"; (\d+) rows like these would show it", gate(same, same, **options).reason)
    assert found is not None
    enough = int(found[1])
    for n, passed in ((enough, True), (enough - 1, False)):
        same = scored_run("same", {"faithfulness": np.full(n, 0.5)})
        assert gate(same, same, **options).passed is passed


def test_non_inferior_holds_the_one_sided_bound_against_the_margin() -> None:
    bound = difference_lower_bound(WIGGLE - 0.005, alpha=0.1)
    assert bound is not None
    for margin, passed in ((-bound + 1e-6, True), (-bound - 1e-6, False)):
        found = gate(run(-0.005), old(), policy="non-inferior", margin=margin, alpha=0.1)
        assert found.passed is passed


def test_non_inferior_turns_metrics_of_which_lower_is_better() -> None:
    metric = "noise_sensitivity"
    options: dict[str, Any] = {"policy": "non-inferior", "margin": 0.02, "gating": [metric]}
    assert gate(run(-0.5, metric=metric), old(metric=metric), **options).passed
    assert not gate(run(0.05, metric=metric), old(metric=metric), **options).passed


@every_row("margin", [None, 0.0, {"*": 0.0}])
def test_non_inferior_needs_a_margin(margin: Any) -> None:
    with pytest.raises(InputError, match="non-inferior"):
        gate(run(0.0), old(), policy="non-inferior", margin=margin)


# ----------------------------------------------------------------------------------- all policies


@every_row("policy", ["no-regression", "non-inferior", "regtrace", "node"])
def test_a_margin_of_a_metric_that_is_not_compared_is_refused(policy: Any) -> None:
    with pytest.raises(InputError, match="margin names 'faithfulnes', which is not compared"):
        gate(run(0.0), old(), policy=policy, margin={"faithfulnes": 0.1, "*": 0.1})


@every_row("policy", ["no-regression", "node"])
def test_a_column_of_a_table_may_have_a_margin(policy: Any) -> None:
    name = "Mein Wert"
    report = gate(run(-0.06, metric=name), old(metric=name), policy=policy, margin={name: 0.1})
    assert report.passed
    assert report.baselines[0].findings[0].margin == 0.1


@every_row("policy", ["no-regression", "non-inferior", "omk", "regtrace", "node"])
def test_rows_that_are_gone_are_told(policy: Any) -> None:
    margin = 0.2 if policy != "omk" else None
    report = gate(run(0.0, n=150), old(), policy=policy, margin=margin)
    notice = "50 of 200 rows of old are missing in this run"
    if policy in TOOL_POLICIES:
        assert f"{notice} and not compared" in report.notices
    else:
        assert f"{notice}, more than the allowed 1 %" in report.reason
    kept = gate(run(0.0), old(150), policy=policy, margin=margin)
    assert not [text for text in kept.notices if "not in this run" in text]


def test_words_of_other_tools_are_explained_below_the_table() -> None:
    assert TOOL_POLICIES["omk"].words.keys() == set(get_args(OmkLevel))
    assert TOOL_POLICIES["regtrace"].words.keys() == set(get_args(RegressionStatus))
    lines = policy_lines(gate(run(-0.2), old(), policy="node"))
    assert lines[0] == "statuses of node: REGRESSED (it got worse by more than the threshold)"
    held = policy_lines(gate(run(0.0), old(), policy="node"))[0]
    assert held == "statuses of node: HELD (the mean got worse by no more than the threshold)"


# --------------------------------------------------------------------------- simulated error rates


def test_the_rate_of_the_nearest_size_and_ties() -> None:
    found = false_alarm_rate("node", 120, 0.6)
    assert found is not None
    assert (found.n_rows, found.tied) == (200, 0.5)
    assert found.rate == RATES["node"][200][1]
    assert false_alarm_rate("node", 90, 0.1) == false_alarm_rate("node", 50, 0.0)
    assert false_alarm_rate("non-inferior", 90, 0.1) is None
    assert false_alarm_rate("node", 0, 0.1) is None


def test_the_table_and_the_page_agree() -> None:
    page = PAGE.read_text("utf-8")
    for policy in POLICIES:
        for place, tied in enumerate(TIES):
            cells = [f"{rates[place]:.1%}" for rates in RATES[policy].values()]
            assert f"| {policy} | {tied:.0%} | {' | '.join(cells)} |" in page
    assert N_REPLICATES >= 4_000
    assert f"seed {SEED}" in page


def test_the_table_is_as_the_simulation_writes_it() -> None:
    cells = {
        (n_rows, tied): {policy: RATES[policy][n_rows][place] for policy in POLICIES}
        for n_rows in RATES["omk"]
        for place, tied in enumerate(TIES)
    }
    written = simulated.table_module(cells, N_REPLICATES, SEED)
    assert simulated.TABLE.read_text("utf-8") == written


def test_the_default_policy_keeps_its_promise_in_the_table() -> None:
    slack = 2 * math.sqrt(0.05 * 0.95 / N_REPLICATES)
    assert max(max(rates) for rates in RATES["no-regression"].values()) <= 0.05 + slack


def test_simulated_p_values_and_bounds_are_those_of_the_gate() -> None:
    population = PairedPopulation(scores=LUMPS, tied=0.5)
    generator = np.random.default_rng(3)
    before, after = population.draw(generator, 3, 40)
    signs = generator.choice([-1.0, 1.0], size=(4_000, 40))
    runs = simulated.Runs(before, after, signs, np.full((1, 40), 1 / 40))
    ours = [
        [sign_flip_test(rows[:, metric]).p_worse for metric in range(7)] for rows in after - before
    ]
    assert np.allclose(simulated.p_worse(runs), ours, atol=0.04)
    bounds = [
        [difference_lower_bound(rows[:, metric]) for metric in range(7)] for rows in after - before
    ]
    assert np.allclose(simulated.lower_bounds(after - before), np.array(bounds, np.float64))


def test_a_small_simulation_has_the_rates_of_the_table() -> None:
    found = simulated.rates(50, 0.5, 300, 1)
    for policy in POLICIES:
        rate = RATES[policy][50][1]
        assert abs(found[policy] - rate) <= 5 * math.sqrt(rate * (1 - rate) / 300)


@pytest.mark.deep
@every_row(
    ("n_rows", "null_share", "slices"),
    [(30, 0.05, ()), (100, 0.1, ()), (60, 0.3, ("topic",))],
)
def test_the_whole_gate_with_nulls_and_limits_keeps_its_promise(
    n_rows: int, null_share: float, slices: tuple[str, ...]
) -> None:
    """Runs of one system, whose nulls come and go: the tests of nulls are in the family."""
    n_replicates, n_metrics = 300, 7
    generator = np.random.default_rng(n_rows)
    before, after = PairedPopulation(scores=LUMPS, tied=0.3).draw(generator, n_replicates, n_rows)
    topics = {"topic": [f"t{row % 4}" for row in range(n_rows)]}
    failed = 0
    for pair in zip(before, after, strict=True):
        runs = []
        for scores in pair:
            nulls = generator.random((n_rows, n_metrics)) < null_share
            columns = np.where(nulls, np.nan, scores).T
            named = {f"metric_{place}": column for place, column in enumerate(columns)}
            runs.append(scored_run("run", named, columns=topics))
        failed += not gate(runs[1], runs[0], slices=slices, n_resamples=999).passed
    assert failed <= 0.05 * n_replicates + 2 * math.sqrt(0.05 * 0.95 * n_replicates)


@every_row(("alpha", "shown", "bound"), [(0.025, "2.5 %", "97.5 %"), (0.1, "10 %", "90 %")])
def test_chances_are_told_as_they_were_given(alpha: float, shown: str, bound: str) -> None:
    found = gate(run(-0.005), old(), policy="non-inferior", margin=0.02, alpha=alpha)
    assert f"; {bound} confidence bound: " in found.baselines[0].findings[0].message
    assert f"passes about {shown} of the time" in policy_lines(found)[0]
    (line,) = policy_lines(replace(found, policy="no-regression"))
    assert f"at most {shown} of unchanged builds fail" in line
