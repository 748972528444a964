"""Regtrace's regressions against golden vectors.

Decided otherwise, as its documents have it:

- without a baseline the status is ``new``, where the code says clean (or null, for the metric);
- ``regression.metric_quirk``: its pipeline never hands the current score over and scores 0 then,
  so that every case fails from the second run on. Here nothing can be measured;
- ``regression.block_exclude_quirk``: it looks cases up among metrics, so that all are listed as
  excluded and none is. Here a case is excluded when the baseline lacks it, and then in every score.
"""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.metrics.registry import metric_of
from rag_eval.scorers.regtrace.regression import (
    CaseDelta,
    case_deltas,
    regression_block,
    regression_metric,
    regression_status,
    relative_delta,
    worst_status,
)
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

Case = dict[str, Any]


def block_of(args: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {key: value for key, value in args.items() if key not in ("test_case_ids", "baseline")}
    given.pop("exclude_new_test_cases", None)
    version = given.pop("current_golden_set_version")
    found = regression_block(baseline=args["baseline"], current_version=version, **given, **more)
    return found.to_dict()


@every_row("case", cases("regtrace.regression.block"), ids=lambda case: case["id"])
def test_block(case: Case) -> None:
    found, expected = block_of(case["args"]), case["expected"]
    if case["args"]["baseline"] is None:
        assert found.pop("regression_status") == "new"
        expected = {key: value for key, value in expected.items() if key != "regression_status"}
    assert same(found, expected)


@pytest.mark.parametrize(
    "case", cases("regtrace.regression.block_exclude_quirk"), ids=lambda case: case["id"]
)
def test_block_lists_what_was_excluded(case: Case) -> None:
    excluded = case["expected"]["test_cases_excluded"]
    assert same(block_of(case["args"], cases_excluded=excluded), case["expected"])


@every_row("case", cases("regtrace.regression.metric"), ids=lambda case: case["id"])
def test_metric(case: Case) -> None:
    args = dict(case["args"])
    found, status = regression_metric(
        args.pop("current_score"), args.pop("baseline_suite_score"), **args
    )
    expected = case["expected"]
    assert status == (expected["status"] or "new")
    assert same(found, expected["score"])
    assert (found == 1.0) is expected["passed"]


@every_row("case", cases("regtrace.regression.metric_quirk"), ids=lambda case: case["id"])
def test_without_a_current_score_nothing_is_measured(case: Case) -> None:
    assert regression_metric(None, case["args"]["baseline_suite_score"])[0] is None
    # What the tool computes there is what it would for a current score of 0.
    found, status = regression_metric(0.0, case["args"]["baseline_suite_score"])
    assert (found, status) == (case["expected"]["score"], case["expected"]["status"])


def test_a_drop_of_exactly_the_tolerance_is_compared_as_it_is() -> None:
    assert relative_delta(0.95, 1.0) < -0.05
    assert regression_status(relative_delta(0.95, 1.0)) == "warning"
    assert regression_status(-0.05) == "clean"
    assert regression_status(-0.15) == "warning"
    assert regression_status(-0.150001) == "critical"


def test_the_worst_status() -> None:
    assert worst_status(["clean", "critical", "warning"]) == "critical"
    assert worst_status(["new", "clean"]) == "clean"
    assert worst_status([]) == "clean"


def test_cases_one_by_one() -> None:
    now = {"a": 1.0, "b": 0.5, "c": 0.97, "fresh": 0.2, "unscored": None, "never": None}
    then = {"gone": 0.4, "a": 0.8, "b": 0.8, "c": 1.0, "unscored": 0.3, "never": None}
    assert [(each.id, each.change) for each in case_deltas(now, then)] == [
        ("a", "improved"),
        ("b", "regressed"),
        ("c", "unchanged"),
        ("unscored", "removed"),
        ("fresh", "new"),
        ("gone", "removed"),
    ]
    assert case_deltas({"x": 0.1}, {"x": 0.0}) == [CaseDelta("x", "improved", 1.0)]


def test_as_a_scorer() -> None:
    spec = metric_of("regtrace.regression")
    assert spec is not None
    assert spec.threshold == 1.0
    scorer = spec.create()
    assert scorer.score({"current_score": 0.9}).score == 1.0
    assert scorer.score({"current_score": 0.9, "baseline_score": 1}).score == 0.5
    assert spec.create(baseline_score=0.5, tolerance=0.5).score({"current_score": 0.3}).score == 1.0
    with pytest.raises(InputError, match="current_score must be a number, got str"):
        scorer.score({"current_score": "high"})
    with pytest.raises(InputError, match="tolerance must be at least 0"):
        spec.create(tolerance=-0.1)


@every_row(
    ("baseline", "message"),
    [
        ({"suite_score": None}, "suite_score of the baseline must be a number"),
        ({"suite_score": 1, "metric_summary": 3}, "metric_summary must be an object"),
        ({"suite_score": 1, "metric_summary": {"tone": {}}}, "score of tone in the baseline"),
    ],
)
def test_a_baseline_without_scores_is_refused(baseline: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        regression_block(0.5, {}, baseline)
