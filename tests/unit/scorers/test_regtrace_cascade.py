"""Regtrace's cascade and gates: weights, severity, what is required."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.scorers.regtrace.cascade import (
    MetricOutcome,
    SuiteCase,
    case_score,
    detect_metrics,
    hash_content,
    metric_summaries,
    score_suite,
    severity,
    suite_score,
    threshold_of,
    weighted_average,
)
from rag_eval.scorers.regtrace.quality_gates import (
    NfrGates,
    QualityGates,
    check_quality_gates,
)
from tests.tables import every_row


def outcome(metric: str, score: float | None, **more: Any) -> MetricOutcome:
    return MetricOutcome(metric=metric, score=score, **more)


def case(name: str, *scores: float | None, weight: float = 1.0, **more: Any) -> SuiteCase:
    outcomes = tuple(outcome(f"m{place}", score, **more) for place, score in enumerate(scores))
    return SuiteCase(id=name, outcomes=outcomes, weight=weight)


# -------------------------------------------------------------------------------------- scores


def test_metrics_weigh_alike_unless_told() -> None:
    scores = {"factuality": 1.0, "tone": 0.0}
    assert case_score(scores) == 0.5
    assert case_score(scores, {"factuality": 3}) == 0.75
    assert case_score(scores, {"factuality": 0}) == 0.0


def test_what_has_no_score_has_no_part() -> None:
    assert case_score({"factuality": 1.0, "tone": None}, {"tone": 9}) == 1.0
    assert case_score({"tone": None}) is None
    assert case_score({}) is None
    assert suite_score([case("a", None, weight=5), case("b", 0.4)]) == 0.4
    assert suite_score([]) is None


def test_a_suite_whose_weights_are_all_zero_scores_zero() -> None:
    assert suite_score([case("a", 1.0, weight=0)]) == 0.0


def test_cases_weigh_in_the_suite_and_not_in_the_means_of_metrics() -> None:
    found = score_suite([case("a", 1.0, weight=3), case("b", 0.0)])
    assert found.score == 0.75
    assert found.metrics["m0"].score == 0.5
    assert found.metrics["m0"].pass_rate == 0.5
    assert found.metrics["m0"].n_cases == 2
    assert [each.score for each in found.cases] == [1.0, 0.0]


def test_weights_of_metrics_reach_the_suite() -> None:
    cases = [case("a", 1.0, 0.0), case("b", 0.5, 0.5)]
    assert score_suite(cases).score == 0.5
    assert score_suite(cases, {"m0": 3}).score == 0.625


def test_a_metric_is_summed_up_over_the_cases_that_have_it() -> None:
    found = metric_summaries([case("a", 1.0), case("b", 0.5, 0.2), case("c", None)])
    assert list(found) == ["m0", "m1"]
    assert (found["m0"].score, found["m0"].n_cases) == (0.75, 2)
    assert (found["m1"].score, found["m1"].pass_rate) == (0.2, 0.0)


PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e6)), min_size=1, max_size=20)


@given(PAIRS, st.randoms())
def test_an_average_is_within_its_scores_in_any_order(
    pairs: list[tuple[float, float]], draw: Any
) -> None:
    found = weighted_average(pairs)
    assert found is not None
    if math.fsum(weight for _, weight in pairs) > 1e-3:
        used = [score for score, weight in pairs if weight]
        assert min(used) - 1e-9 <= found <= max(used) + 1e-9
    shuffled = list(pairs)
    draw.shuffle(shuffled)
    assert weighted_average(shuffled) == found


@every_row(
    ("pairs", "reason"),
    [
        ([(1.5, 1)], "score must be between 0 and 1"),
        ([(math.nan, 1)], "score must be finite"),
        ([(0.5, -1)], "weight must be at least 0"),
        ([(0.5, math.inf)], "weight must be finite"),
        ([(0.5, 1.7e308), (0.5, 1.7e308)], "too large"),
    ],
)
def test_scores_and_weights_must_be_numbers_that_can_be(
    pairs: list[tuple[float, float]], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        weighted_average(pairs)


# ------------------------------------------------------------------------------------ severity


@every_row(
    ("scores", "found"),
    [
        ([1.0, 0.7], "pass"),
        ([1.0, 0.69], "warn"),
        ([1.0, 0.3], "warn"),
        ([1.0, 0.29], "fail"),
        ([0.5, 0.1], "fail"),
        ([1.0, None], "pass"),
        ([None], "warn"),
        ([], "warn"),
    ],
)
def test_severity_follows_the_worst_failing_metric(scores: list[float | None], found: str) -> None:
    assert severity(case("a", *scores).outcomes) == found


def test_a_low_score_that_passes_is_no_failure() -> None:
    assert severity([outcome("tone", 0.1, threshold=0.05)]) == "pass"


def test_a_case_has_its_own_thresholds() -> None:
    assert threshold_of("tone", {"tone": 0.9}) == 0.9
    assert threshold_of("tone", {"tone": None}, 0.6) == 0.6
    assert threshold_of("tone") == 0.7
    assert threshold_of("tone", {"tone": 0.0}) == 0.0


@every_row("bad", [{"score": 2}, {"score": 1, "confidence": -1}])
def test_an_outcome_that_cannot_be_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="of tone must be between 0 and 1"):
        MetricOutcome(metric="tone", **bad)


def test_a_case_has_one_outcome_of_a_metric() -> None:
    with pytest.raises(InputError, match="case 'a' has 2 outcomes of tone"):
        SuiteCase(id="a", outcomes=(outcome("tone", 1.0), outcome("tone", 0.0)))


# --------------------------------------------------------------------------------------- gates


def failing(suite: Any, gates: QualityGates | None = None, **more: Any) -> list[str]:
    return [each.gate for each in check_quality_gates(suite, gates, **more) if not each.passed]


def test_a_good_suite_passes_all_gates() -> None:
    suite = score_suite([case("a", 1.0), case("b", 0.9)])
    found = check_quality_gates(suite)
    assert all(gate.passed for gate in found)
    assert [gate.gate for gate in found] == [
        "suite_score_minimum",
        "max_failed_test_cases",
        "max_low_confidence_ratio",
        "regression_gate",
    ]
    assert found[0].message == "The score of the suite is 0.95; at least 0.7 is required."


def test_each_gate_fails_by_itself() -> None:
    good, bad = case("a", 1.0), case("b", 0.0)
    suite = score_suite([good, bad, *[case(str(n), 1.0) for n in range(8)]])
    assert failing(suite) == ["max_failed_test_cases"]
    assert failing(suite, QualityGates(max_failed_test_cases=1)) == []
    loose = {"max_failed_test_cases": 1}
    high = QualityGates(suite_score_minimum=0.95, **loose)
    assert failing(suite, high) == ["suite_score_minimum"]
    minimums = QualityGates(metric_score_minimums={"m0": 0.95, "tone": 1.0}, **loose)
    assert failing(suite, minimums) == ["metric_score_minimums.m0"]


def test_warnings_are_no_failed_cases() -> None:
    assert failing(score_suite([case("a", 1.0), case("b", 0.5)])) == []


def test_a_suite_without_scores_does_not_reach_its_minimum() -> None:
    suite = score_suite([case("a", None)])
    assert failing(suite) == ["suite_score_minimum"]
    assert check_quality_gates(suite)[0].actual is None


def test_low_confidence_counts_by_cases() -> None:
    suite = score_suite([case("a", 1.0, 1.0, confidence=0.5), case("b", 1.0, confidence=0.49)])
    assert failing(suite) == ["max_low_confidence_ratio"]
    assert failing(suite, QualityGates(max_low_confidence_ratio=0.5)) == []
    strict = QualityGates(max_low_confidence_ratio=0.5, low_confidence=0.6)
    assert failing(suite, strict) == ["max_low_confidence_ratio"]


@every_row(
    ("status", "holds"), [("clean", True), (None, True), ("warning", False), ("critical", False)]
)
def test_only_a_clean_comparison_passes(status: Any, holds: bool) -> None:
    suite = score_suite([case("a", 1.0)])
    assert failing(suite, regression_status=status) == ([] if holds else ["regression_gate"])
    ungated = QualityGates(regression_gate=False)
    assert failing(suite, ungated, regression_status=status) == []


def test_time_cost_and_coverage_are_gated() -> None:
    suite = score_suite([case("a", 1.0, 1.0, token_cost=40), case("b", 0.5, token_cost=1)])
    within = NfrGates(max_latency_ms=100, max_cost_usd=0.81, min_coverage=0.5)
    assert failing(suite, nfr_gates=within, duration_ms=100) == []
    beyond = NfrGates(max_latency_ms=99, max_cost_usd=0.8, min_coverage=0.51)
    names = ["max_latency_ms", "max_cost_usd", "min_coverage"]
    assert failing(suite, nfr_gates=beyond, duration_ms=100) == names
    with pytest.raises(InputError, match="max_latency_ms needs duration_ms"):
        check_quality_gates(suite, nfr_gates=within)


@every_row(
    "bad",
    [
        {"suite_score_minimum": 7},
        {"metric_score_minimums": [0.5]},
        {"metric_score_minimums": {"tone": "high"}},
        {"max_failed_test_cases": -1},
        {"max_low_confidence_ratio": math.nan},
        {"low_confidence": True},
        {"regression_gate": "yes"},
    ],
)
def test_a_demand_that_cannot_be_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        QualityGates(**bad)


def test_an_unknown_status_is_refused() -> None:
    suite = score_suite([case("a", 1.0)])
    with pytest.raises(InputError, match="regression_status must be"):
        check_quality_gates(suite, regression_status="new")  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------- small ones


@every_row(
    ("output", "has_tone"),
    [
        # What is no JSON has a tone, however short it is.
        ("one two three four", True),
        ("Yes. No.", True),
        ("[1, 2, 3, 4, 5, 6", True),
        ("[" * 100_000, True),
        ("", True),
        ("```json\n{}\n```", True),
        # JSON has one where it looks like prose: five words, a full stop.
        ('{"a": "one two three four five six"}', False),
        ('{"a": "one two three four. five six"}', True),
        ('{"a": "One. Two."}', False),
        ("[1, 2, 3, 4, 5, 6]", False),
        ("[1, 2, 3, 4, 5, 6.5]", True),
        ("1.5", False),
        ("\n[1, 2.5, 3]\n", True),
        ('"a.\x85b c d e"', False),
        ("null", False),
    ],
)
def test_tone_suits_what_is_no_json_or_looks_like_prose(output: str, has_tone: bool) -> None:
    assert detect_metrics(output) == ["factuality", "format", *(["tone"] if has_tone else [])]


def test_halves_of_characters_have_a_hash() -> None:
    assert hash_content("\ud800") == hash_content("\ufffd") != hash_content("?")
    assert hash_content("\ud83d\ude00") == hash_content("😀")
