"""What omk's verdict makes of reports that lack a part or list pairs of their own."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.gating.tools.omk_verdict import omk_verdict
from tests.tables import every_row

GOOD = {"avgFactScore": 4.0, "avgCompositeScore": 4.0}
GAP = {"gapRate": 0.2, "testSetPath": "t.json"}
TRAINED = {"trainScore": 4, "holdoutScore": 3, "trainScorable": 5, "holdoutScorable": 5}


def pair(control: str, treatment: str, estimate: object) -> dict[str, Any]:
    interval = None if estimate is None else {"estimate": estimate, "significant": True}
    return {"control": control, "treatment": treatment, "diffBootstrapCI": interval}


def report(
    variants: str = "ca",
    pairs: list[dict[str, Any]] | None = None,
    summary: dict[str, Any] | None = None,
    n_samples: object = 30,
    **more: Any,
) -> dict[str, Any]:
    """Variants of one letter each, all with layers above the gate."""
    meta = {"variants": list(variants), "sampleCount": n_samples, "pairComparisons": pairs}
    return {"meta": meta, "summary": {**dict.fromkeys(variants, GOOD), **(summary or {})}, **more}


def levels(found: dict[str, Any], **options: Any) -> list[str]:
    """The level of the report, and each pair with its own."""
    verdict = omk_verdict(found, **options)
    return [verdict.level, *(f"{p.control}{p.treatment} {p.level}" for p in verdict.pairs)]


@every_row(
    ("variants", "pairs", "expected"),
    [
        ("ca", None, ["NOISE", "ca NOISE"]),
        ("ca", [pair("c", "a", 0.5)], ["PROGRESS", "ca PROGRESS"]),
        # Pairs are judged as the report lists them, in its order and whatever is the control.
        (
            "cab",
            [pair("c", "b", 0.5), pair("c", "a", -0.5)],
            ["REGRESS", "cb PROGRESS", "ca REGRESS"],
        ),
        (
            "cab",
            [pair("c", "a", 0.5), pair("a", "b", -0.5)],
            ["REGRESS", "ca PROGRESS", "ab REGRESS"],
        ),
        ("ca", [pair("c", "a", None)], ["NOISE", "ca NOISE"]),
        # A treatment in no pair was not compared: a gain of the others does not stand for it.
        ("cab", [pair("c", "a", 0.5)], ["NOISE", "ca PROGRESS", "cb NOISE"]),
    ],
)
def test_pairs_are_those_of_the_report_and_treatments_without_one(
    variants: str, pairs: list[dict[str, Any]] | None, expected: list[str]
) -> None:
    assert levels(report(variants, pairs)) == expected


@every_row(
    ("before", "after", "trivial", "level"),
    [
        ({"avgCompositeScore": 3.0}, {"avgCompositeScore": 3.15}, 0.2, "NOISE"),
        ({"avgCompositeScore": 3.0}, {"avgCompositeScore": 2.95}, 0.02, "REGRESS"),
        # The mean of layers is not rounded: 3.005 to 3.1 is less than 0.1, as 3.01 to 3.1 is.
        ({"avgFactScore": 3.0, "avgJudgeScore": 3.01}, {"avgFactScore": 3.1}, 0.1, "NOISE"),
        ({"avgFactScore": 3.0, "avgJudgeScore": 3.01}, {"avgFactScore": 3.1}, 0.0925, "CAUTIOUS"),
        ({}, {"avgFactScore": 1.0}, 0.1, "CAUTIOUS"),
    ],
)
def test_without_an_interval_means_are_compared_with_the_option(
    before: dict[str, float], after: dict[str, float], trivial: float, level: str
) -> None:
    found = report(summary={"c": before, "a": after})
    assert levels(found, trivial=trivial)[0] == level


@every_row(
    ("n_samples", "saturation", "level"),
    [
        (30, {}, "NOISE"),
        (None, {}, "UNDERPOWERED"),
        (30, {"a": {"confidence": "low"}}, "UNDERPOWERED"),
        (30, {"a": {}}, "UNDERPOWERED"),
        (30, {"a": {"saturated": True, "confidence": "low"}}, "NOISE"),
        (30, {"c": {}}, "NOISE"),
    ],
)
def test_what_is_not_known_of_the_samples_leaves_them_too_few(
    n_samples: object, saturation: dict[str, Any], level: str
) -> None:
    # No estimate: it is not looked at where the interval holds 0.
    pairs = [{"control": "c", "treatment": "a", "diffBootstrapCI": {"significant": False}}]
    variance = {"saturation": {"verdicts": saturation}}
    assert levels(report("ca", pairs, n_samples=n_samples, variance=variance))[0] == level


@every_row(
    ("variants", "named", "gap", "overfitting", "gap_signal"),
    [
        ("ca", "a", GAP, True, True),
        ("ca", "c", GAP, False, False),
        ("c", "c", GAP, True, True),
        ("c", "x", GAP, False, False),
        ("ca", "a", {"gapRate": 0.2, "testSetHash": "h"}, True, True),
        ("ca", "a", {"gapRate": 0.2}, True, False),
        ("ca", "a", {**GAP, "gapRate": 0.19}, True, False),
    ],
)
def test_gaps_and_overfitting_are_those_of_treatments_or_of_the_only_variant(
    variants: str, named: str, gap: dict[str, Any], overfitting: bool, gap_signal: bool
) -> None:
    analysis = {"holdout": {"perVariant": {named: TRAINED}}, "gapReports": {named: gap}}
    found = omk_verdict(report(variants, [pair("c", "a", 0.5)], analysis=analysis))
    assert (found.overfitting, found.gap_signal) == (overfitting, gap_signal)


@every_row(
    ("changed", "overfitting"),
    [
        ({}, True),
        ({"trainScorable": 2}, False),
        ({"holdoutScorable": 2}, False),
        # Where the counts are not told, the gap of the means is all there is to go by.
        ({"trainScorable": None, "holdoutScorable": None}, True),
        ({"holdoutScore": 3.5}, False),
        ({"holdoutScore": None}, False),
    ],
)
def test_overfitting_is_a_gap_of_scores_that_enough_samples_have(
    changed: dict[str, Any], overfitting: bool
) -> None:
    known = {name: value for name, value in {**TRAINED, **changed}.items() if value is not None}
    found = report("ca", analysis={"holdout": {"perVariant": {"a": known}}})
    assert omk_verdict(found).overfitting is overfitting


@every_row(
    ("variance", "level"),
    [
        ({"runs": 3, "perVariant": {"c": {"mean": 4, "stddev": 1}}}, "CAUTIOUS"),
        ({"runs": 3, "perVariant": {"c": {"mean": 4}}}, "PROGRESS"),
        ({"runs": 3}, "PROGRESS"),
    ],
)
def test_variants_without_a_spread_say_nothing_of_stability(
    variance: dict[str, Any], level: str
) -> None:
    assert levels(report("ca", [pair("c", "a", 0.5)], variance=variance))[0] == level


@every_row(
    ("found", "message"),
    [
        (report("ca", [pair("c", "a", "x")]), "estimate of a must be a number"),
        (report("ca", [{"control": "c"}]), "a pair comparison needs a control and a treatment"),
        (report("ca", ["c"]), "a pair comparison needs a control and a treatment"),  # type: ignore[list-item]
    ],
)
def test_a_pair_that_cannot_be_read_is_refused(found: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        omk_verdict(found)
