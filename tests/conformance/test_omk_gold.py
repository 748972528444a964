"""Gold datasets of omk: what is read of a folder and skipped, and how it is compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_eval.labels.gold_dataset import read_gold_dataset
from rag_eval.labels.omk_gold import SCALE, gold_compare, omk_agreement, omk_weighted_kappa
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

# By rule: a resample of one value alone has no alpha. There its NaN stays in the list, the sort
# leaves it anywhere, and the bounds are NaN or any number; here it is left out, and above 5 % of
# such resamples there are no bounds.
NAN_RESAMPLES = "omk.agreement.with_ci_nan_resample_quirk"
# A file that holds a list, and metadata or annotations of another kind, are passed over there
# without a word; here with a warning, which is no issue.
# Departures without a vector: a judgement of 0 or less failed, so the sample is not scored; an
# unknown variant is an error. There both are compared, or reported as not scored.


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [case["id"] for case in found]


def number(value: float | None) -> Any:
    return "NaN" if value is None else value


def agrees(found: Any, expected: Any) -> bool:
    """As ``same``, with None where there is NaN."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            agrees(found[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(agrees, found, expected))
    return found is None if expected == "NaN" else same(found, expected)


def scale_of(args: dict[str, Any]) -> tuple[float, float] | None:
    scale = args.get("scale")
    return None if scale is None else (scale["min"], scale["max"])


LOADED = cases("omk.gold_dataset.load")


@every_row("case", LOADED, ids=ids(LOADED))
def test_what_is_read_of_a_folder(case: dict[str, Any], tmp_path: Path) -> None:
    for name, text in case["args"]["files"].items():
        (tmp_path / name).write_text(text, "utf-8")
    found = read_gold_dataset(tmp_path)
    annotations = () if found.dataset is None else found.dataset.annotations
    assert {
        "loaded": found.dataset is not None,
        "ok": found.ok,
        "annotation_ids": [one.sample_id for one in annotations],
        "issue_count": len(found.issues),
        "issue_files": [issue.file for issue in found.issues],
        "issue_indexes": [issue.index for issue in found.issues],
    } == case["expected"]


KAPPAS = cases("omk.agreement.weighted_kappa")


@every_row("case", KAPPAS, ids=ids(KAPPAS))
def test_weighted_kappa(case: dict[str, Any]) -> None:
    args = case["args"]
    found = omk_weighted_kappa(args["gold"], args["judge"], scale_of(args) or SCALE)
    assert agrees(found, case["expected"])


WITH_CI = cases("omk.agreement.with_ci")


@every_row("case", WITH_CI, ids=ids(WITH_CI))
def test_agreement_with_the_draws_of_omk(case: dict[str, Any]) -> None:
    args = case["args"]
    found = omk_agreement(args["gold"], args["judge"], samples=args["samples"], seed=args["seed"])
    assert agrees(found, case["expected"])


QUIRKS = cases(NAN_RESAMPLES)


@every_row("case", QUIRKS, ids=ids(QUIRKS))
def test_many_resamples_without_variety_leave_no_bounds(case: dict[str, Any]) -> None:
    args, expected = case["args"], dict(case["expected"])
    assert expected.pop("had_undefined_resamples")
    found = omk_agreement(args["gold"], args["judge"], samples=args["samples"], seed=args["seed"])
    bounds, their_bounds = found.pop("alphaCI"), expected.pop("alphaCI")
    assert agrees(found, expected)
    assert "NaN" in (their_bounds["low"], their_bounds["high"])
    assert (bounds["low"], bounds["high"]) == (None, None)
    assert agrees(bounds["estimate"], their_bounds["estimate"])


COMPARED = cases("omk.agreement.gold_compare")


@every_row("case", COMPARED, ids=ids(COMPARED))
def test_a_report_against_gold_labels(case: dict[str, Any]) -> None:
    args = case["args"]
    found = gold_compare(
        args["results"],
        {one["sample_id"]: one["score"] for one in args["annotations"]},
        annotator=args["annotator"],
        judges=[f"{judge['executor']}:{judge['model']}" for judge in args["judge_models"]],
        variants=args["variants"],
        variant=args["variant"],
        scale=scale_of(args),
        samples=100,
    )
    del found["alphaCI"]
    assert agrees(found, case["expected"])
