"""compare: two runs paired by id, one test per metric, one family for those that decide."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.comparing import MetricChange, RunComparison, Slice, compare
from rag_eval.comparing.disagreements import disagreement_line, disagreements
from rag_eval.comparing.statuses import Status
from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.plumbing import json_text
from rag_eval.reports.comparison import findings as report_lines
from rag_eval.results.reading import MissingIdsError
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.run_files import read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats.power import minimum_detectable_effect
from tests.tables import every_row

_Column = Sequence[float | None]


def run(
    scores: Mapping[str, _Column],
    *,
    ids: Sequence[str] | None = None,
    name: str = "run",
    passed: Sequence[int] | None = None,
    columns: Mapping[str, Sequence[str | None]] | None = None,
    **fields: Any,
) -> ScoredRun:
    matrix = np.array([list(column) for column in scores.values()], np.float64).T
    n_rows = len(matrix)
    return ScoredRun(
        name=name,
        ids=list(ids) if ids is not None else [f"r{number:03}" for number in range(n_rows)],
        metrics=tuple(scores),
        scores=matrix,
        null_reasons=np.isnan(matrix).astype(np.uint8),
        metric_passed=np.full(matrix.shape, NO_VERDICT, np.int8),
        composite=np.full(n_rows, np.nan),
        passed=np.array(passed or [NO_VERDICT] * n_rows, np.int8),
        columns=dict(columns or {}),
        **fields,
    )


def reordered(found: ScoredRun, order: Sequence[int]) -> ScoredRun:
    rows = list(order)
    return replace(
        found,
        ids=[found.ids[row] for row in rows],
        scores=found.scores[rows],
        null_reasons=found.null_reasons[rows],
        metric_passed=found.metric_passed[rows],
        composite=found.composite[rows],
        passed=found.passed[rows],
        columns={name: [values[row] for row in rows] for name, values in found.columns.items()},
        digests=None if found.digests is None else found.digests[rows],
    )


def some_runs(n_rows: int = 60, seed: int = 1) -> tuple[ScoredRun, ScoredRun]:
    """Two runs of three metrics, one of verdicts, with nulls, lost and added rows, and topics."""
    draw = random.Random(seed)
    base = [[draw.random(), draw.random(), float(draw.random() < 0.7)] for _ in range(n_rows)]
    topics = ["xyz"[number % 3] for number in range(n_rows)]
    ids = [f"r{number:03}" for number in range(n_rows)]

    def column(place: int, shift: float) -> list[float | None]:
        found: list[float | None] = []
        for row in base:
            value = row[place] if draw.random() < 0.5 else min(1.0, draw.random() + shift)
            found.append(None if draw.random() < 0.05 else value)
        return found

    def one(shift: float, skipped: int) -> ScoredRun:
        verdicts = [row[2] if draw.random() < 0.8 else 1.0 - row[2] for row in base]
        found = run(
            {
                "faithfulness": column(0, shift),
                "context_recall": column(1, 0.0),
                "mine": verdicts,
            },
            ids=ids,
            passed=[int(draw.random() < 0.6) for _ in base],
            columns={"topic": topics, "doc": [f"d{number // 4}" for number in range(n_rows)]},
        )
        return reordered(found, [row for row in range(n_rows) if row != skipped])

    return replace(one(0.8, 5), name="old"), replace(one(0.0, 9), name="new")


def figures(comparison: RunComparison) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = comparison.to_dict(descriptive=True)["changes"]
    return found


# ----------------------------------------------------------------------------- worked by hand


def test_a_fall_worked_by_hand() -> None:
    """Five rows fall, one ties: of 32 patterns of signs one is as low, so p is 1/32."""
    old = run({"faithfulness": [1.0, 0.5, 0.75, 1.0, 0.5, 0.25]}, name="then")
    new = run({"faithfulness": [0.5, 0.25, 0.5, 0.75, 0.0, 0.25]}, name="now")
    found = compare(old, new)
    (change,) = found.changes
    assert (change.old.mean, change.new.mean) == (4 / 6, 2.25 / 6)
    assert change.delta == pytest.approx(-1.75 / 6, rel=1e-15)
    assert (change.n_pairs, change.verdict) == (6, "REGRESSED")
    assert change.test is not None
    assert (change.test.name, change.test.exact) == ("sign-flip", True)
    assert (change.test.p_worse, change.test.p_better) == (1 / 32, 1.0)
    assert change.test.n_informative == 5
    assert change.test.adjusted_p_worse == 1 / 32  # a family of one
    low, high = change.difference.low, change.difference.high
    assert low is not None
    assert high is not None
    assert low < -1.75 / 6 < high
    assert change.rows == {
        "improved": 0,
        "regressed": 5,
        "unchanged": 1,
        "new": 0,
        "removed": 0,
        "not comparable": 0,
    }
    moved = found.moved_rows("faithfulness", 3)
    # Of rows that moved as far the first ids.
    assert [row.id for row in moved] == ["r000", "r004", "r001"]
    assert moved[0].contribution == -0.5 / 6
    assert found.regressions == (change,)


def test_verdicts_worked_by_hand() -> None:
    """Six rows got worse and one better: P(6 or more of 7) = 8/128."""
    old = run({"mine": [1, 1, 1, 1, 1, 1, 0, 0, 1]})
    new = run({"mine": [0, 0, 0, 0, 0, 0, 1, 0, 1]})
    (change,) = compare(old, new).changes
    assert change.test is not None
    assert (change.test.name, change.test.n_resamples) == ("mcnemar", 0)
    assert change.test.p_worse == pytest.approx(8 / 128)
    assert change.test.p_better == pytest.approx(127 / 128)
    assert change.verdict == "INCONCLUSIVE"
    # With a margin, or in clusters, the mean of the differences is what is tested.
    with_margin = compare(old, new, margin=0.01).changes[0].test
    assert with_margin is not None
    assert with_margin.name == "sign-flip"
    docs = replace(old, columns={"doc": list("aaabbbccd")})
    in_clusters = compare(docs, new, cluster_by="doc").changes[0].test
    assert in_clusters is not None
    assert (in_clusters.name, in_clusters.n_clusters) == ("sign-flip", 4)


def test_the_family_is_metrics_times_slices() -> None:
    old, new = some_runs()
    found = compare(old, new, slices=["topic"], adjust="holm")
    gating = [change for change in found.changes if change.gating]
    assert found.n_tests == len(gating) == 3 * 4
    raw = sorted(change.test.p_worse for change in gating if change.test is not None)
    least = min(c.test.adjusted_p_worse for c in gating if c.test is not None)
    assert least == min(1.0, raw[0] * 12)
    assert {c.slice for c in found.changes} == {None, *(Slice("topic", x) for x in "xyz")}
    # The verdict on rows is for looking around, and in another family.
    others = [change for change in found.changes if not change.gating]
    assert [change.name for change in others] == ["passed"] * 4
    assert {c.test.adjustment for c in others if c.test} == {"benjamini-hochberg"}
    assert {c.test.adjustment for c in gating if c.test} == {"holm"}


def test_a_slice_has_its_own_rows() -> None:
    topics = {"topic": ["a", "a", "a", "b", "b"]}
    old = run({"mine": [0.5, 0.5, 0.5, 0.25, None]}, columns=topics)
    new = run({"mine": [0.25, 0.25, 0.25, 0.75, 0.5]})
    whole, a, b = compare(old, new, slices=["topic"]).changes
    assert [change.n_pairs for change in (whole, a, b)] == [4, 3, 1]
    assert [change.delta for change in (whole, a, b)] == [-0.0625, -0.25, 0.5]
    assert [(c.old.n, c.new.n, c.new.n_rows) for c in (a, b)] == [(3, 3, 3), (1, 2, 2)]
    assert a.test is not None
    assert b.test is not None
    assert (a.test.p_worse, b.test.p_worse) == (1 / 8, 1.0)


def test_intervals_of_shares_stay_in_their_range() -> None:
    old, new = run({"mine": [1.0] * 4}), run({"mine": [0.0, 0.0, 0.0, 1.0]})
    fell, rose = (compare(*pair).changes[0].difference for pair in ((old, new), (new, old)))
    assert (fell.low, rose.high) == (-1.0, 1.0)


def test_families_are_adjusted_each_by_its_rule() -> None:
    """Holm: p times the tests not rejected yet; Benjamini and Hochberg: p times tests over rank."""
    old, new = some_runs()
    changes = compare(old, new, slices=["topic"], adjust="holm").changes
    for gating in (True, False):
        tests = [c.test for c in changes if c.gating == gating and c.test is not None]
        n = len(tests)
        ordered = sorted(tests, key=lambda test: test.p_worse)
        for rank, test in enumerate(ordered):
            if gating:
                steps = [(n - k) * ordered[k].p_worse for k in range(rank + 1)]
                wanted = min(1.0, max(steps))
            else:
                wanted = min(1.0, *(n / (k + 1) * ordered[k].p_worse for k in range(rank, n)))
            assert test.adjusted_p_worse == pytest.approx(wanted, rel=1e-12)


def test_what_gates_can_be_chosen() -> None:
    old, new = some_runs()
    found = compare(old, new, gating=["passed", "contextRecall"])
    assert [c.name for c in found.changes if c.gating] == ["context_recall", "passed"]
    assert found.n_tests == 2


def test_a_margin_is_a_loss_that_is_accepted() -> None:
    old = run({"faithfulness": [0.5] * 10, "context_recall": [0.5] * 10})
    new = run({"faithfulness": [0.4] * 10, "context_recall": [0.6] * 10})
    without = compare(old, new)
    assert [change.verdict for change in without.changes] == ["REGRESSED", "IMPROVED"]
    within = compare(old, new, margin={"faithfulness": 0.15})
    assert [change.margin for change in within.changes] == [0.15, 0.0]
    assert within.change("faithfulness").verdict == "INCONCLUSIVE"
    # That the loss is within the margin is no gain.
    test = within.change("faithfulness").test
    assert test is not None
    assert (test.p_worse, test.p_better) == (1.0, 1.0)
    everywhere = compare(old, new, margin={"*": 0.05, "context_recall": 0.0})
    assert [change.margin for change in everywhere.changes] == [0.05, 0.0]
    assert everywhere.change("faithfulness").verdict == "REGRESSED"


def test_clusters_are_flipped_as_wholes() -> None:
    old = run({"faithfulness": [1.0] * 40}, columns={"doc": [f"d{n // 10}" for n in range(40)]})
    new = run({"faithfulness": [0.5] * 40})
    alone = compare(old, new).changes[0]
    assert alone.verdict == "REGRESSED"
    together = compare(old, new, cluster_by="doc").changes[0]
    assert together.test is not None
    assert (together.test.n_clusters, together.test.p_worse) == (4, 1 / 16)
    assert together.verdict == "TOO FEW ROWS"
    assert together.difference.too_few
    assert together.old_interval is not None
    assert together.old_interval.too_few


def test_less_is_better_where_that_is_known_or_said(tmp_path: Path) -> None:
    old, new = run({"seconds": [1.0] * 9}), run({"seconds": [2.0] * 9})
    assert compare(old, new).changes[0].verdict == "IMPROVED"
    told = compare(old, new, lower_is_better=["seconds"])
    assert told.changes[0].verdict == "REGRESSED"
    assert (told.changes[0].delta, told.changes[0].better_by) == (1.0, -1.0)
    assert told.changes[0].rows["regressed"] == 9
    by_file = compare(replace(old, lower_is_better=frozenset({"seconds"})), new)
    assert by_file.changes[0].verdict == "REGRESSED"
    known = compare(run({"mastra.bias": [0.0] * 9}), run({"mastra.bias": [0.5] * 9}))
    assert known.changes[0].verdict == "REGRESSED"


def test_rows_that_lost_their_scores() -> None:
    old = run({"faithfulness": [0.5] * 20})
    new = run({"faithfulness": [None] * 5 + [0.5] * 15})
    nulls = compare(old, new).changes[0].nulls
    assert nulls is not None
    assert (nulls.n_old, nulls.n_new, nulls.n_lost, nulls.n_gained) == (0, 5, 5, 0)
    assert (nulls.rate_old, nulls.rate_new, nulls.rise) == (0.0, 0.25, 0.25)
    assert nulls.reasons == {"missing_field": 5}
    # The scores, which did not move, cost the nulls nothing.
    assert (nulls.p_worse, nulls.adjusted_p_worse) == (1 / 32, 1 / 32)
    # By Holm's method five rows cannot show it at 0.05 / 2, and the test is not in the family.
    held = compare(old, new, adjust="holm").changes[0].nulls
    assert held is not None
    assert (held.p_worse, held.adjusted_p_worse) == (1 / 32, 1.0)
    assert compare(old, new).changes[0].verdict == "MISSING SCORES"
    back = compare(new, old).changes[0].nulls
    assert back is not None
    assert (back.p_worse, back.n_lost, back.rise) == (1.0, 0, -0.25)
    # One row is enough for the status.
    few = run({"faithfulness": [None] + [0.5] * 19})
    assert compare(old, few).changes[0].verdict == "MISSING SCORES"
    more = run({"faithfulness": [None] * 6 + [0.5] * 14})
    nulls = compare(old, more, adjust="holm").changes[0].nulls
    assert nulls is not None
    assert (nulls.p_worse, nulls.adjusted_p_worse) == (1 / 64, 2 / 64)


def test_reasons_of_lost_scores_are_counted_the_most_frequent_first() -> None:
    old = run({"faithfulness": [0.5] * 6 + [None]})
    new = run({"faithfulness": [None] * 5 + [0.5, None]})
    reasons = np.array([[3], [13], [13], [3], [13], [0], [13]], np.uint8)
    nulls = compare(old, replace(new, null_reasons=reasons)).changes[0].nulls
    assert nulls is not None
    assert list(nulls.reasons.items()) == [("refusal", 3), ("judge_failed", 2)]
    assert str(nulls) == (
        "5 of 7 rows lost their score (refusal: 3, judge failed: 2); null rate 0.143 → 0.857, "
        "adjusted p 0.031"
    )


def test_a_test_of_nulls_without_a_lost_row_leaves_the_scores_their_p_values() -> None:
    old, new = some_runs()
    full = [replace(each, scores=np.nan_to_num(each.scores, nan=0.5)) for each in (old, new)]
    found = compare(*full, adjust="holm")
    tests = [change.test for change in found.changes if change.gating]
    raw = sorted(test.p_worse for test in tests if test is not None)
    assert min(test.adjusted_p_worse for test in tests if test is not None) == 3 * raw[0]


@every_row(
    ("before", "after", "rows", "verdict"),
    [
        ([0.5] * 40, [0.4] * 40, 40, "REGRESSED"),
        ([0.5] * 40, [0.495] * 40, 40, "WITHIN TOLERANCE"),
        ([0.5] * 40, [0.494] * 40, 40, "REGRESSED"),
        ([0.5] * 40, [0.505] * 40, 40, "IMPROVED"),
        ([0.5] * 40, [0.5] * 40, 40, "NO CHANGE"),
        ([0.5] * 40, [0.5] * 40, 39, "NO CHANGE"),
        ([0.5] * 40, [0.5] * 39 + [None], 40, "MISSING SCORES"),
        ([0.5] * 39 + [None], [0.5] * 39 + [None], 40, "NO CHANGE"),
        ([0.5] * 39 + [None], [0.5] * 40, 40, "TOO FEW ROWS"),
        ([0.5] * 39 + [None], [None] + [0.5] * 39, 40, "MISSING SCORES"),
        ([0.5] * 40, [0.6] * 39 + [None], 40, "MISSING SCORES"),
        ([0.5] * 40, [0.499] * 39 + [None], 40, "MISSING SCORES"),
        ([0.5] * 40, [0.4] * 39 + [None], 40, "REGRESSED"),
        ([0.5] * 40, [None] * 40, 40, "MISSING SCORES"),
        ([None] * 40, [0.5] * 40, 40, "NOT COMPARABLE"),
    ],
)
def test_statuses(before: _Column, after: _Column, rows: int, verdict: str) -> None:
    new = reordered(run({"faithfulness": after}), range(rows))
    (change,) = compare(run({"faithfulness": before}), new).changes
    assert change.verdict == verdict


def test_tolerances_are_given_like_margins() -> None:
    metrics = ("faithfulness", "context_recall")
    old, new = (run(dict.fromkeys(metrics, [score] * 40)) for score in (0.5, 0.48))
    for tolerance, verdicts in (
        (0.02, ["WITHIN TOLERANCE"] * 2),
        (0.019, ["REGRESSED"] * 2),
        ({"faithfulness": 0.02}, ["WITHIN TOLERANCE", "REGRESSED"]),
        ({"*": 0.02, "contextRecall": 0.0}, ["WITHIN TOLERANCE", "REGRESSED"]),
    ):
        found = compare(old, new, tolerance=tolerance)
        assert [change.verdict for change in found.changes] == verdicts
    assert [change.tolerance for change in found.changes] == [0.02, 0.0]
    with pytest.raises(InputError, match="tolerance names 'recall', which is not compared"):
        compare(old, new, tolerance={"recall": 0.1})
    with pytest.raises(InputError, match="tolerance must be at least 0"):
        compare(old, new, tolerance=-0.1)


def test_what_nulls_could_hide() -> None:
    old = run({"faithfulness": [0.5, 0.5, None, 0.25]})
    new = run({"faithfulness": [0.75, None, 1.0, 0.25]})
    found = compare(old, new)
    assert found.changes[0].delta == 0.125
    # At the least 0.25 - 0.5 + 0 + 0 over 4 rows, at the most 0.25 + 0.5 + 1 + 0.
    assert found.worst_case("faithfulness") == (-0.0625, 0.4375)
    assert compare(old, old).worst_case("faithfulness") == (-0.25, 0.25)


def test_what_became_of_each_row() -> None:
    old = run({"mine": [0.5, 0.5, 0.5, 0.5, None]}, ids=["a", "b", "c", "gone", "e"])
    new = run({"mine": [0.75, 0.25, 0.5 + 1e-10, 1, 0.5]}, ids=["a", "b", "c", "added", "e"])
    found = compare(old, new)
    assert [tuple(row) for row in found.row_changes("mine")] == [
        ("a", "improved", 0.5, 0.75),
        ("added", "new", None, 1.0),
        ("b", "regressed", 0.5, 0.25),
        ("c", "unchanged", 0.5, 0.5 + 1e-10),
        ("e", "not comparable", None, 0.5),
        ("gone", "removed", 0.5, None),
    ]
    assert set(found.changes[0].rows.values()) == {1}
    assert (found.n_pairs, found.changes[0].n_pairs) == (4, 3)
    # What is the same within epsilon is so for the test too.
    assert found.improvements("mine").tolist()[3] == 0.0
    strictly = compare(old, new, epsilon=0.0)
    assert strictly.changes[0].rows["improved"] == 2
    assert [row.id for row in strictly.moved_rows("mine", 9)] == ["a", "b", "c"]
    assert [row.id for row in found.moved_rows("mine", 9)] == ["a", "b"]


def test_a_plan_for_the_next_run() -> None:
    old, new = some_runs()
    found = compare(old, new, adjust="holm")
    better = found.improvements("faithfulness")
    better = better[~np.isnan(better)]
    spread = float(better.std(ddof=1))
    wanted = minimum_detectable_effect(spread, len(better), alpha=0.05 / 3)
    assert found.change("faithfulness").detectable == pytest.approx(wanted, rel=1e-12)
    alone = compare(old, new, metrics=["faithfulness"], adjust="holm")
    # The nulls of some rows changed, which is a second test.
    assert alone.changes[0].detectable == pytest.approx(
        minimum_detectable_effect(spread, len(better), alpha=0.05 / 2), rel=1e-12
    )
    assert compare(old, old).change("faithfulness").detectable is None


def test_nothing_is_detectable_where_no_loss_of_so_many_rows_can_be_shown() -> None:
    """Regression: two rows had a detectable drop, which could exceed 1."""

    def detectable(rows: int) -> float | None:
        old = [0.0, 1.0] * (rows // 2)
        return compare(run({"mine": old}), run({"mine": old[::-1]})).change("mine").detectable

    assert [detectable(rows) for rows in (2, 4)] == [None, None]  # 1 / 2 ** 4 is above 0.05
    assert detectable(6) is None  # 6 rows would detect a drop of 1.3
    found = detectable(40)
    assert found is not None
    assert 0 < found < 1


def test_a_plan_costs_less_where_metrics_move_together() -> None:
    """The limit of max-T is that of one test for copies of it, and Holm's at most."""
    draw = np.random.default_rng(8)
    steps = draw.normal(0, 0.1, (5, 80))

    def detectable(columns: np.ndarray, adjust: Any) -> float:
        names = "abcde"[: len(columns)]
        old = run({name: [0.5] * 80 for name in names})
        new = run({name: (0.5 + c).tolist() for name, c in zip(names, columns, strict=True)})
        found = compare(old, new, adjust=adjust).change("a").detectable
        assert found is not None
        return found

    alone = detectable(steps[:1], "holm")
    assert detectable(steps[[0] * 5], "max-t") == pytest.approx(alone, rel=0.03)
    assert detectable(steps, "max-t") == pytest.approx(detectable(steps, "holm"), rel=0.03)
    assert detectable(steps, "holm") > 1.2 * alone


def test_numbers_that_describe() -> None:
    old, new = some_runs()
    found = compare(old, new).descriptive("faithfulness")
    assert found["wilcoxon"]["rankBiserial"] == pytest.approx(
        2 * found["wilcoxon"]["rankSumBetter"] / _rank_sum(found) - 1
    )
    better = compare(old, new).improvements("faithfulness")
    better = better[~np.isnan(better)]
    assert found["cohensDz"] == pytest.approx(better.mean() / better.std(ddof=1))


def _rank_sum(found: dict[str, Any]) -> float:
    n = int(found["wilcoxon"]["n"])
    return n * (n + 1) / 2


# ------------------------------------------------------------------------------------------ laws


@every_row("options", [{}, {"cluster_by": "doc"}, {"slices": ["topic"]}])
def test_swapped_runs_are_a_mirror(options: dict[str, Any]) -> None:
    old, new = some_runs()
    forth, back = compare(old, new, **options), compare(new, old, **options)
    assert any(change.verdict == "REGRESSED" for change in forth.changes)
    turned = {"REGRESSED": "IMPROVED", "IMPROVED": "REGRESSED"}
    for one, other in zip(forth.changes, back.changes, strict=True):
        assert (one.name, one.slice, one.old, one.new) == (
            other.name,
            other.slice,
            other.new,
            other.old,
        )
        assert one.delta == -other.delta
        assert (one.difference.low, one.difference.high) == _negated(other)
        shown, mirrored = forth.shown_by_test(one), back.shown_by_test(other)
        assert shown == (turned[mirrored] if mirrored else None)
        assert one.test is not None
        assert other.test is not None
        assert one.test.p_worse == other.test.p_better
        assert one.test.p_better == other.test.p_worse
        assert one.test.adjusted_p_worse == other.test.adjusted_p_better
        assert one.test.p_two_sided == other.test.p_two_sided
        assert one.detectable == pytest.approx(other.detectable, rel=1e-12)
        if one.rows:
            assert one.rows["improved"] == other.rows["regressed"]
            assert one.rows["new"] == other.rows["removed"]


def _negated(change: MetricChange) -> tuple[float | None, float | None]:
    low, high = change.difference.low, change.difference.high
    return (None if high is None else -high), (None if low is None else -low)


@every_row("options", [{}, {"cluster_by": "doc", "slices": ["topic"]}])
def test_the_order_of_rows_is_of_no_matter(options: dict[str, Any]) -> None:
    old, new = some_runs()
    draw = random.Random(3)
    shuffled = [reordered(one, draw.sample(range(len(one)), len(one))) for one in (old, new)]
    assert figures(compare(old, new, **options)) == figures(compare(*shuffled, **options))


@every_row("n_repeats", [2, 3])
def test_repeats_that_agree_are_one_run(n_repeats: int) -> None:
    """A mean of three equal doubles may differ from them by a bit, which would be a change."""
    old, new = some_runs()
    once, often = compare(old, new), compare([old] * n_repeats, [new] * n_repeats)
    assert figures(once) == figures(often)
    assert often.to_dict()["nRepeatsOld"] == n_repeats
    assert f"up to {n_repeats} repeats" in " ".join(often.notes)


def test_repeats_are_averaged_within_a_row() -> None:
    first, second = run({"mine": [0.2, 0.4, None]}), run({"mine": [0.6, None, None]})
    new = run({"mine": [0.4, 0.4, 0.4]})
    found = compare([first, second], new)
    assert [row.old for row in found.row_changes("mine")] == [pytest.approx(0.4), 0.4, None]
    assert found.changes[0].n_pairs == 2
    averaged = "the old run has up to 2 repeats per row; their scores are averaged. mine: "
    assert averaged in " ".join(found.notes)
    told = compare([run({"mine": [0.0, 0.5]}), run({"mine": [0.5, 1.0]})], run({"mine": [1, 1]}))
    assert "averaged. mine: 50% of the noise of the mean comes from repeats" in " ".join(told.notes)
    # Verdicts of repeats are shares: no more a matter for McNemar's test.
    flaky = [run({"mine": [1.0, 0.0]}), run({"mine": [0.0, 0.0]})]
    test = compare(flaky, run({"mine": [1.0, 1.0]})).changes[0].test
    assert test is not None
    assert test.name == "sign-flip"


def test_a_run_and_itself() -> None:
    old, _ = some_runs()
    found = compare(old, old, slices=["topic"])
    assert {change.verdict for change in found.changes} == {"NO CHANGE"}
    assert {change.delta for change in found.changes} == {0.0}
    assert not found.regressions


def test_seeds_and_levels_are_kept() -> None:
    old, new = some_runs(200)
    one, other = compare(old, new, seed=1), compare(old, new, seed=2)
    assert one.to_dict()["options"]["seed"] == 1
    assert figures(one) != figures(other)
    assert figures(one) == figures(compare(old, new, seed=1))
    narrow = compare(old, new, level=0.5).changes[0].difference
    wide = one.changes[0].difference
    assert narrow.level == 0.5
    assert narrow.high is not None
    assert wide.high is not None
    assert narrow.high < wide.high


def test_a_comparison_is_strict_json() -> None:
    old, new = some_runs()
    empty = run({"faithfulness": [None], "context_recall": [0.5], "mine": [1]}, ids=["r000"])
    for other in (new, empty):
        value = json.loads(json_text.dumps(compare(old, other).to_dict(descriptive=True)))
        assert value["paired"] is True
    lost = value["changes"][0]
    assert lost["verdict"] == "MISSING SCORES"
    assert lost["newMean"] is lost["delta"] is lost["test"] is None
    assert lost["nulls"]["nLost"] == 1


# ------------------------------------------------------------------------- settings and columns


def test_runs_of_other_settings_are_refused() -> None:
    rows = [{"id": "a", "question": "q", "answer": "a", "contexts": ["c"]}]
    old = rag_eval.evaluate_batch(rows, ["faithfulness"])
    new = rag_eval.evaluate_batch(rows, ["faithfulness"], heuristic={"ngram_sizes": [1]})
    with pytest.raises(SignatureMismatchError, match=r"ngram_sizes.*or add --force"):
        compare(old, new)
    assert "ngram_sizes" in compare(old, new, force=True).differences[0]
    # A setting that is of no matter to what is compared is none.
    grounded = rag_eval.evaluate_batch(rows, ["faithfulness"], profile="grounded")
    with pytest.raises(SignatureMismatchError, match="profile: grounded, not overlap"):
        compare(old, grounded)


def test_tables_have_no_settings(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("id,faithfulness\na,0.5\nb,1\n")
    found = compare(tmp_path / "old.csv", tmp_path / "new.csv")
    assert found.notes == (
        "the runs do not record their settings, so the settings are not compared",
        "the runs do not record questions and answers, so edited rows are not noticed; result "
        "files and rag-eval score --digests record them",
    )
    rows = [{"id": "a", "question": "q", "answer": "a", "contexts": ["c"]}]
    grounded = rag_eval.evaluate_batch(rows, ["faithfulness"], profile="grounded")
    notes = compare(tmp_path / "old.csv", grounded).notes
    assert notes == (
        f"{tmp_path / 'old.csv'} does not record its settings, so the settings are not compared",
        f"{tmp_path / 'old.csv'} does not record questions and answers, so edited rows are not "
        "noticed; result files and rag-eval score --digests record them",
    )


@every_row(
    ("ids", "told"),
    [(range(3), True), ([0, 1, 3], False), ("abc", False), ([1, 2, 3], False)],
)
def test_row_numbers_as_ids_are_told(ids: Iterable[object], told: bool, tmp_path: Path) -> None:
    """``score`` writes them for samples without ids; a moved row was paired without a word."""
    lines = ["id,faithfulness", *(f"{name},0.5" for name in ids)]
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    notes = compare(tmp_path / "old.csv", tmp_path / "new.csv").notes
    assert any("the ids are row numbers" in note for note in notes) == told


def test_runs_with_other_metrics() -> None:
    old = run({"faithfulness": [0.5, 1], "context_recall": [1, 1]}, passed=[1, 0])
    new = run({"faithfulness": [0.5, 1]}, passed=[1, 1])
    found = compare(old, new)
    verdicts = [(change.name, change.gating, change.verdict) for change in found.changes]
    assert verdicts == [
        ("faithfulness", True, Status.NO_CHANGE),
        ("context_recall", True, Status.MISSING_SCORES),
    ]
    assert found.lost_metrics == ("context_recall",)
    assert "only one run has context_recall" in found.notes[1]
    # A new metric has nothing to be compared with, nor has one that was null in every row.
    empty = run({"faithfulness": [0.5, 1], "context_recall": [None, None]})
    for pair in ((new, old), (empty, new)):
        assert [change.name for change in compare(*pair).changes] == ["faithfulness"]
    both = compare(old, new, metrics=["passed"])
    assert [(c.name, c.gating, c.delta) for c in both.changes] == [("passed", False, 0.5)]


def test_a_diagnostic_has_no_part_in_composite_scores() -> None:
    composite = np.array([0.5, 1.0])
    new = replace(run({"faithfulness": [0.5, 1]}, passed=[1, 1]), composite=composite)
    for name, wanted in (
        ("unsupported_names", (["faithfulness", "composite"], "unsupported_names: row verdicts")),
        (
            "context_recall",
            (
                ["faithfulness", "context_recall"],
                "context_recall: composite scores and row verdicts",
            ),
        ),
    ):
        old = run({"faithfulness": [0.5, 1], name: [0, 1]}, passed=[1, 0])
        found = compare(replace(old, composite=composite), new)
        names, note = wanted
        # A diagnostic that is gone is missed only where it decides.
        assert found.lost_metrics == tuple(set(names) & {name})
        assert compare(old, new, gating=[name]).lost_metrics == (name,)
        assert [change.name for change in found.changes] == names
        assert f"only one run has {note}" in found.notes[1]


def test_datasets_that_differ_are_told() -> None:
    old, new = (replace(run({"mine": [1.0]}), dataset_hash=name) for name in "ab")
    assert "different datasets" in " ".join(compare(old, new).notes)
    assert "different datasets" not in " ".join(compare(old, old).notes)


def test_one_run_may_have_the_columns() -> None:
    old, new = some_runs()
    bare = replace(new, columns={})
    assert figures(compare(old, new, slices=["topic"])) != figures(compare(old, new))
    found = compare(old, bare, slices=["topic"], cluster_by="topic")
    # The row that only the new run has is in no slice, and in no cluster.
    assert "rows in no slice (no topic): 1 of 60" in found.notes
    assert found.change("faithfulness").new_interval is None
    assert found.change("faithfulness").old_interval is not None
    assert len(found.improvements("mine", Slice("topic", "x"))) == 20
    assert set(found.clusters(Slice("topic", "x")) or ()) == {"x"}


Call = Callable[[ScoredRun, ScoredRun], RunComparison]


@every_row(
    ("call", "message"),
    [
        (
            lambda old, new: compare(old, new, cluster_by="page"),
            "no row of old or new has a field 'page'",
        ),
        (lambda old, new: compare(old, new, slices="topic"), "slices must be a list of fields"),
        (
            lambda old, new: compare(old, new, metrics=["mime"]),
            "old has no scores of mime .metrics: faithfulness",
        ),
        (
            lambda old, new: compare(old, new, gating=["mime"]),
            "gating names 'mime', which is not compared; did you mean 'mine'",
        ),
        (lambda old, new: compare(old, new, margin={"mime": 0.1}), "margin names 'mime'"),
        (lambda old, new: compare(old, new, margin=-0.1), "margin must be"),
        (
            lambda old, new: compare(old, new, lower_is_better=["mime"]),
            "lower_is_better names 'mime'",
        ),
        (lambda old, new: compare(old, new, level=1.0), "level must be between 0 and 1"),
        (lambda old, new: compare(old, new, alpha=0), "alpha must be between 0 and 1"),
        (lambda old, new: compare(old, new, n_resamples=0), "n_resamples must be"),
        (lambda old, new: compare(old, new, seed=-1), "seed must be"),
        (lambda old, new: compare(old, new, seed=10**5000), r"seed must be at most 2\*\*256 - 1"),
        (lambda old, new: compare(old, new, epsilon=-1.0), "epsilon must be"),
        (
            lambda old, new: compare(old, new).change("mime"),
            r"mime was not compared.*compared: faith",
        ),
        (lambda old, new: compare(old, run({"other": [1.0]})), "have no metric in common"),
        (
            lambda old, new: compare(old, run({"mine": [1.0]}, ids=["z"])),
            "no id is in both runs: old has 'r000'",
        ),
    ],
)
def test_what_cannot_be_compared(call: Call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(*some_runs())


def test_columns_that_do_not_fit() -> None:
    old = run({"mine": [1.0, 0.0]}, columns={"topic": ["a", None]})
    new = run({"mine": [1.0, 0.0]}, columns={"topic": ["b", None]})
    with pytest.raises(InputError, match="row 'r000' has two values of topic, 'a' and 'b'"):
        compare(old, new, slices=["topic"])
    with pytest.raises(InputError, match="row 'r001' has no topic: with cluster_by every row"):
        compare(old, old, cluster_by="topic")
    many = run({"mine": [1.0] * 101}, columns={"topic": [str(n) for n in range(101)]})
    with pytest.raises(
        InputError,
        match="topic has 101 values, such as '0'; a field for slices can have at most 100",
    ):
        compare(many, many, slices=["topic"])


# -------------------------------------------------------------------------------- without pairs

NAMELESS = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}


def test_result_files_without_ids_are_compared_by_their_means(tmp_path: Path) -> None:
    for name, answer in (("old", "red fox."), ("new", "blue whale sings.")):
        rows = [NAMELESS, {**NAMELESS, "answer": answer}]
        rag_eval.evaluate_batch(rows, ["faithfulness"]).to_json(tmp_path / f"{name}.json")
    files = tmp_path / "old.json", tmp_path / "new.json"
    found = compare(*files)
    assert not found.paired
    assert [(c.name, c.delta, c.verdict) for c in found.changes] == [
        ("faithfulness", -0.5, "NOT COMPARABLE"),
        ("composite", -0.5, "NOT COMPARABLE"),
    ]
    assert found.notes[0].startswith("only means are compared, without a test")
    assert json_text.dumps(found.to_dict())
    with pytest.raises(InputError, match="were not paired: ids are missing"):
        found.moved_rows("faithfulness")
    # Where rows are needed that is no help.
    with pytest.raises(MissingIdsError):
        compare(*files, slices=["topic"])
    with pytest.raises(MissingIdsError):
        compare([files[0], files[0]], files[1])


def test_files_and_results_are_the_same(tmp_path: Path) -> None:
    rows = [{**NAMELESS, "id": f"q{number}"} for number in range(8)]
    worse = [{**row, "answer": "blue whale sings."} if n < 6 else row for n, row in enumerate(rows)]
    old, new = (rag_eval.evaluate_batch(r, ["faithfulness"]) for r in (rows, worse))
    wanted = figures(compare(old, new))
    assert [value["verdict"] for value in wanted] == ["REGRESSED"] * 3
    old.to_json(tmp_path / "old.json")
    new.to_jsonl(tmp_path / "new.jsonl")
    assert figures(compare(tmp_path / "old.json", tmp_path / "new.jsonl")) == wanted
    assert figures(compare(read_run(tmp_path / "old.json"), new)) == wanted
    assert math.isclose(wanted[0]["test"]["pWorse"], 2**-6)


# ------------------------------------------------------------------------- families and repeats


def test_a_large_family_draws_as_many_patterns_as_it_takes_to_reject() -> None:
    """Of 303 tests none could reject by 1,999 patterns, however large the loss."""
    n_rows = 400
    topics = [f"t{number % 100}" for number in range(n_rows)]
    base = {name: [0.5 + number % 5 / 10 for number in range(n_rows)] for name in ("a", "b", "c")}
    old = run(base, columns={"topic": topics})
    new = run({name: [v - 0.3 for v in base[name]] for name in base}, columns={"topic": topics})
    # By max-T, whose largest statistic is that of all tests, their number takes no more patterns.
    for adjust, alpha, least in (
        ("holm", 0.05, 2 * 606 / 0.05),  # of scores and of nulls
        ("max-t", 0.05, 1_999),
        ("max-t", 0.0001, 2 / 0.0001),
    ):
        options: dict[str, Any] = {"adjust": adjust, "alpha": alpha, "n_resamples": 1_999}
        found = compare(old, new, slices=["topic"], **options)
        assert found.n_tests == 303
        assert [c.verdict for c in found.changes if c.slice is None] == ["REGRESSED"] * 3
        test = found.change("a").test
        assert test is not None
        assert least <= test.n_resamples < 2 * least
        assert found.options.n_resamples == 1_999
    alone = compare(old, new, n_resamples=1_999).change("a").test
    assert alone is not None
    assert alone.n_resamples == 2_048


def test_nulls_in_some_repeats_are_lost_scores() -> None:
    """Every row still has a mean, of the repeats that were scored: nothing else would tell."""
    scores = [0.1, 0.5, 0.9, 0.3, 0.7, 0.2, 0.8, 0.4]
    full = run({"faithfulness": scores})
    nulls = run({"faithfulness": [None] * 7 + [0.4]})
    before, after = compare([full] * 3, [full] * 3), compare([full] * 3, [full, nulls, nulls])
    quiet, told = before.change("faithfulness").nulls, after.change("faithfulness").nulls
    assert quiet is not None
    assert told is not None
    assert (quiet.n_lost, quiet.n_gained, quiet.rise) == (0, 0, 0.0)
    assert (told.n_old, told.n_new, told.n_lost, told.n_gained) == (0, 7, 7, 0)
    assert told.p_worse == 2**-7
    assert told.rise == pytest.approx(7 * 2 / 3 / 8)
    assert after.change("faithfulness").verdict == "MISSING SCORES"
    assert after.change("faithfulness").n_pairs == 8
    # The same share in another repeat.
    more = compare([full, full, nulls], [full, nulls, full]).change("faithfulness").nulls
    assert more is not None
    assert (more.n_lost, more.n_gained) == (0, 0)
    swapped = compare([full, nulls, nulls], [full] * 3).change("faithfulness").nulls
    assert swapped is not None
    assert (swapped.n_lost, swapped.n_gained, swapped.p_worse) == (0, 7, 1.0)


def test_means_alone_are_of_the_metrics_that_were_asked_for(tmp_path: Path) -> None:
    files = tmp_path / "old.json", tmp_path / "new.json"
    for file in files:
        result = rag_eval.evaluate_batch([NAMELESS], ["faithfulness", "context_relevance"])
        result.to_json(file)
    names = [change.name for change in compare(*files).changes]
    assert names == ["faithfulness", "context_relevance", "composite"]
    found = compare(*files, metrics=["contextRelevance"])
    assert [(c.name, c.gating) for c in found.changes] == [("context_relevance", True)]
    chosen = compare(*files, gating=["faithfulness"], lower_is_better=["faithfulness"])
    assert [(c.name, c.gating, c.higher_is_better) for c in chosen.changes] == [
        ("faithfulness", True, False),
        ("context_relevance", False, True),
        ("composite", False, True),
    ]
    for options in ({"metrics": ["mine"]}, {"gating": ["mine"]}):
        with pytest.raises(InputError, match="names 'mine', which is not compared"):
            compare(*files, **options)  # type: ignore[arg-type]


# ----------------------------------------------------------------------- intervals beside tests


def test_an_interval_that_leaves_out_zero_beside_a_test_that_finds_nothing_is_explained() -> None:
    """One loss of 20 that Holm's rule does not let through."""
    wiggle = [0.01 * ((number * 7) % 11 - 5) for number in range(44)]
    base = {f"m{number:02}": [0.5] * 44 for number in range(20)}
    moved = {name: [0.5 + step for step in wiggle] for name in base}
    moved["m00"] = [0.5 + step - 0.011 for step in wiggle]
    found = compare(run(base), run(moved), adjust="holm")
    change = found.change("m00")
    assert change.verdict == "INCONCLUSIVE"
    assert change.difference.high is not None
    assert change.difference.high < 0
    assert [one.name for one in disagreements(found)] == ["m00"]
    line = disagreement_line(found)
    assert line is not None
    assert line.startswith("the confidence interval and the test disagree on m00: the interval is")
    assert "the test is one-sided and adjusted for 20 tests. The test decides" in line
    assert line in report_lines(found)
    # All metrics move together: max-T makes hardly more of them than of one.
    assert compare(run(base), run(moved)).change("m00").verdict == "REGRESSED"
    # By itself the same loss is found by both.
    alone = compare(run(base), run(moved), metrics=["m00"])
    assert alone.change("m00").verdict == "REGRESSED"
    assert disagreement_line(alone) is None
    assert line not in report_lines(alone)


def test_a_loss_that_the_two_sided_interval_does_not_show_is_explained() -> None:
    wiggle = [0.01 * ((number * 7) % 11 - 5) for number in range(44)]
    moved = [0.5 + step - 0.0085 for step in wiggle]
    found = compare(run({"mine": [0.5] * 44}), run({"mine": moved}))
    change = found.change("mine")
    assert change.verdict == "REGRESSED"
    assert change.difference.high is not None
    assert change.difference.high > 0
    line = disagreement_line(found)
    assert line is not None
    assert "for one mean, the test is one-sided. The test decides" in line


def test_a_score_that_rounding_put_beyond_one_is_a_share_all_the_same() -> None:
    over = [0.2, 0.6, 1 + 1e-12, 1.0, 0.5, 0.9]
    found = compare(run({"mine": over}), run({"mine": over})).change("mine")
    assert found.old_interval is not None
    assert found.old_interval.method == "bounded"
    assert found.difference.method == "share_moved"
    beyond = compare(run({"mine": [*over, 1.1]}), run({"mine": [*over, 1.1]})).change("mine")
    assert beyond.old_interval is not None
    assert beyond.old_interval.method == "t"
    assert beyond.difference.low is None


def test_a_margin_and_a_direction_turn_what_the_interval_says() -> None:
    base, moved = (
        [0.5 + 0.01 * (n % 5) for n in range(40)],
        [0.4 + 0.01 * (n % 4) for n in range(40)],
    )
    for margin, falls in itertools.product((0.0, 0.3), (False, True)):
        falling = ["mine"] if falls else []
        found = compare(
            run({"mine": base}), run({"mine": moved}), margin=margin, lower_is_better=falling
        )
        assert found.change("mine").verdict == (
            "IMPROVED" if falls else "INCONCLUSIVE" if margin else "REGRESSED"
        )
        assert disagreements(found) == []


# ------------------------------------------------------------------------------------ edited rows


def digests(*rows: tuple[int, int, int]) -> Any:
    return np.array(rows, np.uint32)


def of_digests(
    *rows: tuple[int, int, int], ids: Sequence[str] = "abcd", **fields: Any
) -> ScoredRun:
    scores = [0.5 + place / 10 for place in range(len(ids))]
    return run({"faithfulness": scores}, ids=list(ids), digests=digests(*rows), **fields)


def test_rows_with_other_inputs_are_left_out() -> None:
    old = of_digests((1, 5, 9), (2, 5, 9), (3, 5, 9), (4, 0, 0))
    new = of_digests((1, 5, 9), (7, 5, 9), (3, 6, 8), (4, 5, 7))
    found = compare(old, new)
    assert found.edited == ("b", "c")
    assert found.table is not None
    assert found.table.ids == ["a", "d"]
    assert found.n_pairs == found.change("faithfulness").n_pairs == 2
    # One side of d does not know its relevant ids and its answer, which says nothing.
    assert found.answers is not None
    assert found.answers.to_dict() == {"nRows": 1, "nChanged": 0, "nMovedAlone": 0}
    kept = compare(old, new, edited="keep")
    assert (kept.edited, kept.n_pairs) == (("b", "c"), 4)
    assert kept.answers is not None
    assert kept.answers.to_dict() == {"nRows": 3, "nChanged": 1, "nMovedAlone": 0}
    with pytest.raises(InputError, match="edited must be"):
        compare(old, new, edited="some")  # type: ignore[arg-type]


def test_the_order_of_rows_changes_no_digest() -> None:
    old = of_digests((1, 5, 9), (2, 5, 9), (3, 5, 9), (4, 5, 9))
    assert compare(old, reordered(old, [3, 1, 0, 2])).edited == ()


def test_runs_that_do_not_know_their_inputs_have_no_edited_rows() -> None:
    known = of_digests((1, 5, 9), (2, 5, 9), (3, 5, 9), (4, 5, 9))
    unknown = replace(known, digests=None)
    for pair in ((known, unknown), (unknown, known), (unknown, unknown)):
        found = compare(*pair)
        assert (found.edited, found.answers, found.n_pairs) == ((), None, 4)


def test_a_row_was_edited_if_any_of_its_repeats_was() -> None:
    ids = "aabb"
    old = of_digests((1, 0, 9), (1, 0, 8), (2, 0, 9), (2, 0, 9), ids=ids)
    new = of_digests((1, 0, 8), (1, 0, 9), (2, 0, 9), (3, 0, 9), ids=ids)
    found = compare(old, new)
    assert found.edited == ("b",)
    assert found.answers is not None
    assert found.answers.n_changed == 0


def test_scores_that_moved_with_the_same_answer() -> None:
    old = of_digests((1, 0, 9), (2, 0, 9), (3, 0, 9), (4, 0, 9))
    new = of_digests((1, 0, 9), (2, 0, 9), (3, 0, 9), (4, 0, 7))
    new.scores[1] += 0.1
    new.scores[2] = np.nan
    new.scores[3] += 0.1
    found = compare(old, new)
    assert found.answers is not None
    assert found.answers.to_dict() == {"nRows": 4, "nChanged": 1, "nMovedAlone": 2}
    assert (
        "answers differ in 1 of 4 rows; scores differ in 2 with the same answer: the contexts or "
        "the judge changed"
    ) in found.notes


def test_repeats_of_a_run_without_digests_are_joined() -> None:
    known = of_digests((1, 5, 9), (2, 5, 9), (3, 5, 9), (4, 5, 9))
    both = read_run([known, replace(known, digests=None)])
    assert both.digests is not None
    assert both.digests[4:].tolist() == [[0, 0, 0]] * 4
    assert compare(both, known).edited == ()
