"""Regtrace's cascade and gates on the tool's own results."""

from __future__ import annotations

from typing import Any

from rag_eval.scorers.regtrace.cascade import (
    CaseResult,
    MetricOutcome,
    MetricSummary,
    SuiteCase,
    SuiteResult,
    detect_metrics,
    hash_content,
    score_suite,
    threshold_of,
)
from rag_eval.scorers.regtrace.format_formulas import format_mean
from rag_eval.scorers.regtrace.formulas import CONFIDENCE, ngram_factuality, tone_heuristic
from rag_eval.scorers.regtrace.quality_gates import (
    GateOutcome,
    NfrGates,
    QualityGates,
    check_quality_gates,
)
from tests.conformance.other_tools import cases, same
from tests.tables import every_row


def ids(case: dict[str, Any]) -> str:
    return str(case["id"])


# --------------------------------------------------------------------------------------- suite


def score(metric: str, case: dict[str, Any], args: dict[str, Any]) -> tuple[float, float]:
    """Score and confidence of the tool's own formula."""
    actual, expected = case["actual"], case["expected"]
    if metric == "factuality":
        found = ngram_factuality(actual, expected, args["factuality_mode"]).score
        assert found is not None
        return found, 1.0
    if metric == "format":
        tolerance = args["format_length_tolerance"]
        mean = format_mean(
            actual, expected, sub_checks=args["format_sub_checks"], length_tolerance=tolerance
        )
        return mean.score, 1.0
    dimensions = [name for name, is_on in args["tone_sub_dimensions"].items() if is_on]
    return tone_heuristic(actual, expected, {}, dimensions).score, CONFIDENCE


def outcome(metric: str, case: dict[str, Any], args: dict[str, Any]) -> MetricOutcome:
    found, confidence = score(metric, case, args)
    threshold = threshold_of(metric, case.get("thresholds"), args["default_threshold"])
    return MetricOutcome(metric=metric, score=found, threshold=threshold, confidence=confidence)


def document(suite: SuiteResult) -> dict[str, Any]:
    """A suite in the form of the vectors."""
    return {
        "suite_score": suite.score,
        "metric_summary": {
            name: {"score": summary.score, "pass_rate": summary.pass_rate}
            for name, summary in suite.metrics.items()
        },
        "test_cases": [case_document(case) for case in suite.cases],
    }


def case_document(case: CaseResult) -> dict[str, Any]:
    metrics = {
        each.metric: {
            "score": each.score,
            "passed": each.passed,
            "threshold": each.threshold,
            "confidence": each.confidence,
        }
        for each in case.outcomes
    }
    passed = case.overall_passed
    return {"id": case.id, "overall_passed": passed, "severity": case.severity, "metrics": metrics}


@every_row("vector", cases("regtrace.suite"), ids=ids)
def test_a_suite_scores_the_same(vector: dict[str, Any]) -> None:
    args = vector["args"]
    given = [
        SuiteCase(
            id=case["id"],
            weight=case["weight"],
            outcomes=tuple(outcome(metric, case, args) for metric in case["metrics"]),
        )
        for case in args["cases"]
    ]
    # What is compared with a baseline is not the cascade's.
    expected = {name: vector["expected"][name] for name in document(SuiteResult(score=0, cases=()))}
    assert same(document(score_suite(given)), expected)


# --------------------------------------------------------------------------------------- gates

OUR_NAMES = {
    "suiteScore": "suite_score_minimum",
    "maxFailedCases": "max_failed_test_cases",
    "maxLowConfidence": "max_low_confidence_ratio",
    "regression": "regression_gate",
    "latency": "max_latency_ms",
    "cost": "max_cost_usd",
    "coverage": "min_coverage",
}


def suite_of(args: dict[str, Any]) -> SuiteResult:
    found = []
    for place, case in enumerate(args["cases"]):
        outcomes = tuple(
            MetricOutcome(metric=str(n), score=1.0, **each)
            for n, each in enumerate(case["metrics"])
        )
        severity = case["severity"]
        found.append(CaseResult(id=str(place), score=1.0, severity=severity, outcomes=outcomes))
    summaries = {
        name: MetricSummary(score=each["score"], pass_rate=each["pass_rate"], n_cases=1)
        for name, each in args["metric_summary"].items()
    }
    return SuiteResult(score=args["suite_score"], cases=tuple(found), metrics=summaries)


def gates_of(args: dict[str, Any]) -> list[GateOutcome]:
    return check_quality_gates(
        suite_of(args),
        QualityGates(**args["quality_gates"]),
        NfrGates(**args["nfr_gates"]) if "nfr_gates" in args else None,
        regression_status=args["regression_status"],
        duration_ms=args["duration_ms"],
    )


@every_row("vector", cases("regtrace.quality_gates"), ids=ids)
def test_gates_hold_or_fail_the_same(vector: dict[str, Any]) -> None:
    found = {gate.gate: gate for gate in gates_of(vector["args"])}
    expected = dict(vector["expected"]["gates"])
    expected |= expected.pop("nfr", {}).get("gates", {})
    minimums = expected.pop("metricScores", None)
    metric_gates = [found.pop(name) for name in list(found) if "." in name]
    if minimums is not None:
        failures = [
            {"metric": gate.gate.partition(".")[2], "actual": gate.actual, "minimum": gate.demanded}
            for gate in metric_gates
            if not gate.passed
        ]
        assert same(failures, minimums["failures"])
    assert list(found) == [OUR_NAMES[name] for name in expected]
    for name, wanted in expected.items():
        gate = found[OUR_NAMES[name]]
        # passed, actual, demanded; of the regression only passed and status
        assert same([gate.passed, gate.actual, gate.demanded][: len(wanted)], list(wanted.values()))
    assert all(gate.passed for gate in gates_of(vector["args"])) is vector["expected"]["passed"]


# ---------------------------------------------------------------------------------- small ones


@every_row("vector", cases("regtrace.detect_metrics"), ids=ids)
def test_the_same_metrics_suit_an_output(vector: dict[str, Any]) -> None:
    assert detect_metrics(vector["args"]["output"]) == vector["expected"]


@every_row("vector", cases("regtrace.hash_content"), ids=ids)
def test_the_same_text_has_the_same_hash(vector: dict[str, Any]) -> None:
    assert hash_content(vector["args"]["text"]) == vector["expected"]
