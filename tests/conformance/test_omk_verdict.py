"""omk's verdict against golden vectors."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.gating.tools.omk_verdict import omk_verdict
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

# A departure without a vector: a treatment that is in no pair of the report is passed over there;
# here it is compared without an interval. tests/unit/gating/tools/test_omk_verdict.py has it.

OPTIONS = {"gateThreshold": "gate_threshold", "triviallySmallDiff": "trivial"}

CONTROL = {"avgFactScore": 4.0, "avgCompositeScore": 4.0}


@every_row("case", cases("omk.verdict"), ids=lambda case: case["id"])
def test_verdict(case: dict[str, Any]) -> None:
    options = {OPTIONS[name]: value for name, value in case["args"].get("options", {}).items()}
    found = omk_verdict(case["args"]["report"], **options)
    assert same(found.to_dict(), case["expected"])


def report(
    *treatments: tuple[float, float, float], n_samples: object = 30, **more: Any
) -> dict[str, Any]:
    """One treatment for each (estimate, low, high), all layers above the gate."""
    names = [f"t{place}" for place in range(len(treatments))]
    pairs = [
        {
            "control": "base",
            "treatment": name,
            "diffBootstrapCI": {"estimate": at, "significant": low > 0 or high < 0},
        }
        for name, (at, low, high) in zip(names, treatments, strict=True)
    ]
    return {
        "meta": {
            "variants": ["base", *names],
            "sampleCount": n_samples,
            "pairComparisons": pairs,
        },
        "summary": dict.fromkeys(["base", *names], CONTROL),
        **more,
    }


GAIN, NOTHING, LOSS = (0.5, 0.2, 0.8), (0.1, -0.2, 0.4), (-0.5, -0.8, -0.2)


@every_row(
    ("found", "level"),
    [
        (report(GAIN), "PROGRESS"),
        (report(GAIN, NOTHING), "NOISE"),
        (report(GAIN, NOTHING, n_samples=19), "UNDERPOWERED"),
        (report(GAIN, NOTHING, n_samples=20), "NOISE"),
        (report(GAIN, LOSS), "REGRESS"),
        (report((0.05, 0.01, 0.09), NOTHING), "CAUTIOUS"),
    ],
)
def test_the_worst_treatment_decides(found: dict[str, Any], level: str) -> None:
    verdict = omk_verdict(found)
    assert (verdict.level, verdict.ships) == (level, level == "PROGRESS")


def test_six_equal_gains_are_progress() -> None:
    """The tool asks for no number of samples there; ours does, and theirs is kept as it is."""
    assert omk_verdict(report((0.3, 0.3, 0.3), n_samples=6)).level == "PROGRESS"


def test_scattered_repeats_take_progress_back_and_nothing_else() -> None:
    spread = {"runs": 2, "perVariant": {"base": {"mean": 4, "stddev": 0.7}}}
    assert omk_verdict(report(GAIN, variance=spread)).level == "CAUTIOUS"
    assert omk_verdict(report(NOTHING, variance=spread)).level == "NOISE"
    assert omk_verdict(report(GAIN, variance={**spread, "runs": 1})).level == "PROGRESS"


def test_unsaturated_repeats_are_too_few_unless_it_is_certain() -> None:
    def found(confidence: str) -> str:
        verdicts = {"t0": {"saturated": False, "confidence": confidence}}
        return omk_verdict(report(NOTHING, variance={"saturation": {"verdicts": verdicts}})).level

    assert [found("low"), found("high")] == ["UNDERPOWERED", "NOISE"]


@every_row(
    ("gap", "is_told"),
    [
        ({"gapRate": 0.2, "testSetPath": "t.json", "testSetHash": "h"}, True),
        ({"gapRate": 0.19, "testSetPath": "t.json", "testSetHash": "h"}, False),
        ({"gapRate": 0.9}, False),
    ],
)
def test_gaps_of_a_named_test_set_are_told_from_a_fifth_on(
    gap: dict[str, Any], is_told: bool
) -> None:
    found = omk_verdict(report(GAIN, analysis={"gapReports": {"t0": gap}}))
    assert (found.level, found.gap_signal) == ("PROGRESS", is_told)


def test_judges_that_disagree_make_a_gain_doubtful() -> None:
    found = report(GAIN)
    found["summary"]["t0"] = {**CONTROL, "judgeAgreement": {"pearson": 0.39}}
    assert omk_verdict(found).level == "CAUTIOUS"
    found["summary"]["t0"] = {**CONTROL, "judgeAgreement": {"pearson": 0.4}}
    assert omk_verdict(found).level == "PROGRESS"


@every_row(
    ("found", "message"),
    [
        ({}, "an omk report needs an object 'meta', got None"),
        ({"meta": {}, "summary": 3}, "an omk report needs an object 'summary', got 3"),
        (report(NOTHING, n_samples="30"), "meta.sampleCount must be a number, got '30'"),
    ],
)
def test_a_report_that_lacks_a_part_is_refused(found: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        omk_verdict(found)
