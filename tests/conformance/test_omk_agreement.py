"""Repeats, ensembles and agreement of judges against omk and the package krippendorff."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.judge.bias_checks import DebiasReport, debias_check, sensitivity
from rag_eval.scorers.omk.judges import (
    ensemble_agreement,
    ensemble_score,
    judge_agreement,
    judge_independence,
    parse_judge_models,
    repeat_count,
    repeated_score,
)
from rag_eval.stats.agreement import pearson
from rag_eval.stats.krippendorff import krippendorff_alpha
from tests.conformance.other_tools import cases
from tests.tables import every_row

# ------------------------------------------------------------------- the closed list of departures

# A judge that failed there counts as a score of 0 when the judges of a sample are compared.
FAILED_JUDGE_COMPARED = "omk.judge.ensemble.0030"
# The interval there is of two means as if of different samples; here of the differences of pairs,
# which is narrower. It tells effects apart that the other does not.
MORE_IS_SEEN = {
    "omk.length_debias_validate.0003": "strong",
    "omk.length_debias_validate.0022": "strong",
    "omk.length_debias_validate.0027": "weak",
    "omk.length_debias_validate.0029": "strong",
    "omk.length_debias_validate.0032": "weak",
}
# No pair and a single one are given a level there; they have no interval here.
NO_INTERVAL = ("omk.length_debias_validate.0001", "omk.length_debias_validate.0002")
# A row that could not be judged again is left out there and not spoken of; here it is listed.
# A column of one value has no correlation. There that is so only if the mean of its sum is exact:
# twenty times 3.1 correlates with anything, by about 1e-16, and counts as 0 in means over pairs.


OWNED = (
    "omk.parse_judge_models",
    "omk.judge_independence",
    "omk.judge.ensemble",
    "omk.judge.repeat",
    "omk.judge.agreement",
    "omk.ensemble_aggregate",
    "omk.agreement.krippendorff_alpha",
    "omk.agreement.pearson",
    "omk.length_debias_validate",
    "ref.krippendorff_alpha_matrix",
)
CASES = {case["id"]: case for function in OWNED for case in cases(function)}


def ids_of(function: str) -> list[str]:
    found = [name for name, case in CASES.items() if case["fn"] == function]
    assert found
    return found


def same(found: object, expected: object) -> bool:
    """Equal, numbers within 1e-9."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in found)
    if isinstance(found, (list, tuple)) and isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, float) and isinstance(expected, (int, float)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    return found == expected


def test_a_wrong_number_is_not_the_same() -> None:
    assert same({"a": [1.0, None]}, {"a": [1, None]})
    assert not same({"a": [1.0]}, {"a": [1.00001]})
    assert not same({"a": 1.0}, {"a": 1.0, "b": 2})
    assert not same([1.0], [1.0, 2.0])
    assert not same(None, 0)


def test_the_departures_are_among_the_cases() -> None:
    assert {FAILED_JUDGE_COMPARED, *MORE_IS_SEEN, *NO_INTERVAL} <= CASES.keys()
    assert len(CASES) == 195


@every_row("name", ids_of("krippendorff_alpha_matrix"))
def test_alpha_is_that_of_the_package(name: str) -> None:
    args, expected = CASES[name]["args"], CASES[name]["expected"]
    found = krippendorff_alpha(args["ratings"], measurement=args["level"])
    # Where it is not defined the package raises or gives NaN.
    assert found is None if expected in ("NaN", {"error": True}) else same(found, expected)


@every_row("name", ids_of("agreement.krippendorff_alpha"))
def test_alpha_of_two_coders(name: str) -> None:
    args, expected = CASES[name]["args"], CASES[name]["expected"]
    found = krippendorff_alpha([args["gold"], args["judge"]])
    assert found is None if expected == "NaN" else same(found, expected)


@every_row("name", ids_of("agreement.pearson"))
def test_pearson(name: str) -> None:
    args, expected = CASES[name]["args"], CASES[name]["expected"]
    found = pearson(args["gold"], args["judge"])
    assert found is None if expected == "NaN" else same(found, expected)


def score_of(raw: str | None) -> float:
    """These replies are clean JSON; others are a matter of the reader."""
    return 0 if raw is None else json.loads(raw)["score"]


@every_row("name", ids_of("judge.repeat"))
def test_repeats(name: str) -> None:
    args = CASES[name]["args"]
    n_asked = repeat_count(float(args["repeat"]))
    found = repeated_score([score_of(raw) for raw in args["raw_outputs"][:n_asked]])
    assert same(found, CASES[name]["expected"])


@every_row(("repeat", "n_asked"), [(3, 3), (2.9, 2), (0, 1), (-2, 1), (math.nan, 1), (math.inf, 1)])
def test_how_often_a_judge_is_asked(repeat: float, n_asked: int) -> None:
    assert repeat_count(repeat) == n_asked


@every_row("name", ids_of("judge.ensemble"))
def test_ensembles(name: str) -> None:
    found, expected = (
        ensemble_score(CASES[name]["args"]["scores_per_judge"]),
        CASES[name]["expected"],
    )
    if name == FAILED_JUDGE_COMPARED:
        assert (expected["mean_abs_diff"], expected["pair_count"]) == (2.833, 6)
        # Of 5, 3 and 5: differences of 2, 0 and 2.
        expected = {**expected, "mean_abs_diff": 1.333, "pair_count": 3}
    assert same(found, expected)


@every_row("name", ids_of("judge.agreement"))
def test_agreement_of_judges(name: str) -> None:
    assert same(judge_agreement(CASES[name]["args"]["matrix"]), CASES[name]["expected"])


@every_row("name", ids_of("ensemble_aggregate"))
def test_agreement_over_a_report(name: str) -> None:
    ensembles = [
        {judge["judge"]: judge["score"] for judge in entry.get("llmEnsemble") or ()}
        for entry in CASES[name]["args"]["entries"]
        # A sample whose run failed is not looked at.
        if entry.get("ok", True)
    ]
    assert same(ensemble_agreement(ensembles), CASES[name]["expected"])


@every_row(
    ("ensembles", "expected"),
    [
        # A judge that never scored is none of them.
        ([(3, 4, 0), (2, 5, 0), (4, 4, 0)], (2, -0.866, 1.333, 3)),
        # Both scored, on different samples: there is nothing to compare.
        ([(3, 0), (0, 4)], (2, None, None, None)),
        ([(3, 0), (4, 0)], (0, None, None, None)),
        ([(3, 4)], (2, None, None, None)),
        # Judges are compared by name, in whatever order a sample has them.
        ([{"a": 3, "b": 4}, {"b": 2, "a": 5}, {"a": 1, "b": 2}], (2, 0.0, 1.667, 3)),
        # A sample of one judge tells nothing about agreement; one that lacks a judge neither.
        ([{"c": 1}, {"a": 3, "b": 4}, {"a": 1}, {"a": 4, "b": 5}], (2, 1.0, 1.0, 2)),
        ([], (0, None, None, None)),
    ],
)
def test_judges_of_a_report_are_those_that_scored(ensembles: Any, expected: Any) -> None:
    keys = ("judge_count", "pearson", "meanAbsDiff", "sampleCount")
    assert same(ensemble_agreement(ensembles), dict(zip(keys, expected, strict=True)))


@every_row("name", ids_of("judge_independence"))
def test_independence(name: str) -> None:
    args = CASES[name]["args"]
    found = judge_independence(
        args["judges"],
        args["output_executor"],
        gold=args.get("gold", False),
        no_judge=args.get("noJudge", False),
    )
    assert found == CASES[name]["expected"]


@every_row(
    ("judges", "output", "vendors"),
    [
        (("./judge.sh",), "claude", ["unknown", "anthropic"]),
        (("claude", "codex-cloud"), "claude", ["anthropic", "unknown", "anthropic"]),
        (("openai-api", "openai-api"), "dsh-host", ["openai", "openai", "unknown"]),
        (("gemini", "gemini"), "gemini", ["unknown", "unknown", "unknown"]),
    ],
)
def test_a_vendor_that_is_not_known_is_told_and_nothing_is_said_of_it(
    judges: tuple[str, ...], output: str, vendors: list[str]
) -> None:
    """As taken from the tool; no vector has such an executor."""
    assert judge_independence([(name, "m") for name in judges], output) == {
        "judgeVendors": vendors[:-1],
        "outputVendors": vendors[-1:],
        "goldCalibrated": False,
        "crossVendorJudgePresent": False,
        "sameVendorJudge": False,
        "singleVendorEnsemble": False,
    }


def test_judges_of_one_vendor_are_an_ensemble_of_one_vendor() -> None:
    found = judge_independence([("codex", "a"), ("codex-sdk", "b")], "claude")
    assert (found["crossVendorJudgePresent"], found["singleVendorEnsemble"]) == (True, True)


@every_row("name", ids_of("parse_judge_models"))
def test_lists_of_judges(name: str) -> None:
    raw, expected = CASES[name]["args"]["raw"], CASES[name]["expected"]
    if "error" in expected:
        with pytest.raises(InputError, match="judge"):
            parse_judge_models(raw)
    else:
        judges = [(judge["executor"], judge["model"]) for judge in expected["judges"]]
        assert list(parse_judge_models(raw)) == judges


def test_space_around_the_colon_belongs_to_the_names() -> None:
    assert parse_judge_models("a: b,\ufeffa:b,a : b ") == (("a", " b"), ("a", "b"), ("a ", " b"))
    with pytest.raises(InputError, match="executor:model"):
        parse_judge_models("a: ")


def debias_report(args: dict[str, Any]) -> DebiasReport:
    """Our check of a stored report; a row is its own name, a failed judgement None."""
    known = set(args["known_sample_ids"])
    rows = {entry["sample_id"]: entry["sample_id"] for entry in args["original"]}

    async def judge_rows(names: Sequence[str], with_paragraph: bool) -> list[float | None]:
        assert with_paragraph is not args["original_length_debias"]
        return [args["rejudged"][name] or None for name in names]

    return asyncio.run(
        debias_check(
            {name: row if name in known else None for name, row in rows.items()},
            judge_rows,
            stored={entry["sample_id"]: entry["score"] or None for entry in args["original"]},
            stored_with_paragraph=args["original_length_debias"],
            scale=(1, 5),
            seed=args["seed"],
        )
    )


def checked_level(name: str) -> str | None:
    return None if name in NO_INTERVAL else MORE_IS_SEEN.get(name, CASES[name]["expected"]["level"])


@every_row("name", ids_of("length_debias_validate"))
def test_the_check_of_the_length_paragraph(name: str) -> None:
    args, expected = CASES[name]["args"], CASES[name]["expected"]
    report = debias_report(args)
    had_it = args["original_length_debias"]
    before, after = ("usual", "changed") if had_it else ("changed", "usual")
    pairs = [
        {
            "sample_id": pair.row,
            "originalScore": getattr(pair, before),
            "alternateScore": getattr(pair, after),
        }
        for pair in report.scores.pairs
    ]
    assert pairs == expected["pairs"]
    assert list(report.unscored) == expected["unscored"]
    assert list(report.missing) == expected["missing"]
    means = report.scores.mean_usual, report.scores.mean_changed
    expected_means = expected["meanOriginal"], expected["meanAlternate"]
    if pairs:
        assert means == pytest.approx(expected_means[:: 1 if had_it else -1], abs=5.1e-4)
    else:
        assert means == (None, None)
    failed = {
        entry["sample_id"] for entry in args["original"] if not args["rejudged"][entry["sample_id"]]
    }
    assert set(report.scores.failed) == failed - {*report.unscored, *report.missing}
    assert report.level == checked_level(name)


@every_row("name", ids_of("length_debias_validate"))
def test_the_difference_has_the_same_estimate_and_a_narrower_interval(name: str) -> None:
    args, expected = CASES[name]["args"], CASES[name]["expected"]["diffCI"]
    found = debias_report(args).scores.difference
    if name in NO_INTERVAL:
        assert found is None or found.low is None
        return
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    sign = 1 if args["original_length_debias"] else -1
    assert found.estimate * sign == pytest.approx(expected["estimate"], abs=5.1e-5)
    assert found.high - found.low <= expected["high"] - expected["low"]


@every_row("name", ids_of("length_debias_validate"))
def test_levels_follow_from_the_interval(name: str) -> None:
    expected = CASES[name]["expected"]
    interval = expected["diffCI"]
    assert sensitivity(interval["low"], interval["high"], (1, 5)) == expected["level"]
