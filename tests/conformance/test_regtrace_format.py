"""Regtrace's own formulas of format, against what the tool computed."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.scorers.regtrace.format_formulas import (
    format_mean,
    json_validity,
    length_ratio,
    markdown_features,
    phrase_penalty,
    regex_match,
    term_coverage,
    value_similarity,
)
from rag_eval.scorers.safe_patterns import UnsupportedPatternError
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

# Look-around and back-references take more than linear time, so they are refused, not run.
REFUSED = {
    "regtrace.format.regex_match.0036": "(?=...)",
    "regtrace.format.regex_match.0038": "(?<=...)",
    "regtrace.format.regex_match.0039": r"\1",
    "regtrace.format.regex_match.0043": r"\1",
    "regtrace.format.regex_match_js_dialect.0002": r"\k<name>",
}


def of(*functions: str) -> list[Any]:
    return [
        pytest.param(case, id=case["id"])
        for function in functions
        for case in cases(f"regtrace.format.{function}")
    ]


def check(case: dict[str, Any], score: float, *, fractional: bool) -> None:
    assert same(score, case["expected"]["score"])
    least = case["args"]["threshold"] if fractional else 1
    assert (score >= least) is case["expected"]["check_passed"]


@every_row("case", of("length", "length_utf16"))
def test_lengths(case: dict[str, Any]) -> None:
    args = case["args"]
    score = length_ratio(args["actual"], args["expected"], args["length_tolerance"])
    check(case, score, fractional=True)


@every_row("case", of("json_validity"))
def test_json_or_not(case: dict[str, Any]) -> None:
    check(case, json_validity(case["args"]["actual"]), fractional=False)


@every_row("case", of("json_schema"))
def test_values_that_are_alike(case: dict[str, Any]) -> None:
    score = value_similarity(case["args"]["actual"], case["args"]["expected"])
    check(case, score, fractional=True)


@every_row("case", of("markdown_structure"))
def test_features_of_markdown(case: dict[str, Any]) -> None:
    check(case, markdown_features(case["args"]["actual"]), fractional=True)


@every_row("case", of("required_fields"))
def test_words_that_are_covered(case: dict[str, Any]) -> None:
    score = term_coverage(case["args"]["actual"], case["args"]["expected"])
    check(case, score, fractional=True)


@every_row("case", of("forbidden_content"))
def test_phrases(case: dict[str, Any]) -> None:
    args = case["args"]
    check(case, phrase_penalty(args["actual"], args["lexicon"]), fractional=False)
    # The list that ships is the tool's own.
    check(case, phrase_penalty(args["actual"]), fractional=False)


@every_row("case", of("regex_match", "regex_match_js_dialect"))
def test_patterns(case: dict[str, Any]) -> None:
    args = case["args"]
    if case["id"] in REFUSED:
        with pytest.raises(UnsupportedPatternError):
            regex_match(args["actual"], args["expected"])
    else:
        check(case, regex_match(args["actual"], args["expected"]), fractional=False)


@every_row("case", of("combined"))
def test_means_of_sub_checks(case: dict[str, Any]) -> None:
    args = case["args"]
    found = format_mean(
        args["actual"],
        args["expected"],
        sub_checks=args["sub_checks"],
        threshold=args["threshold"],
        length_tolerance=args.get("length_tolerance", 0.2),
    )
    expected = case["expected"]
    assert same(found.score, expected["score"])
    assert (found.score >= args["threshold"]) is expected["passed"]
    details = [{"check": one.check, "passed": one.passed} for one in found.details]
    assert details == (expected["details"] or [])


def test_all_refused_patterns_are_among_the_cases() -> None:
    ids = {case.id for case in of("regex_match", "regex_match_js_dialect")}
    assert REFUSED.keys() <= ids
