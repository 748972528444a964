"""omk's holdout split, pre-flight warnings and sample diagnostics, by its own vectors."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rag_eval.planning.before_a_run import power_warnings
from rag_eval.planning.diagnostics import (
    DiagnosedSample,
    Outcome,
    SampleDiagnostics,
    sample_diagnostics,
)
from rag_eval.planning.holdout import HoldoutMeans, holdout_breakdown, holdout_split
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

# Departures of the diagnostics without a vector: no samples have no health (100 there), ids that
# repeat are refused, and near duplicates are looked for among up to 2,000 samples (500 there).


def named(function: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases(function)]


def half_up(value: float, digits: int) -> float:
    scale: int = 10**digits
    return math.floor(value * scale + 0.5) / scale


@every_row("case", named("omk.holdout_split"))
def test_the_split(case: dict[str, Any]) -> None:
    found = holdout_split(case["args"]["n"], case["args"]["ratio"])
    shown = found and {"holdout": list(found.holdout), "train_count": len(found.train)}
    assert same(shown, case["expected"])


def theirs(found: HoldoutMeans) -> dict[str, Any]:
    """In their file means have two digits, and there is 0 where no row has a score."""
    return {
        "trainScore": half_up(found.train_mean or 0, 2),
        "holdoutScore": half_up(found.holdout_mean or 0, 2),
        "trainCount": found.n_train,
        "holdoutCount": found.n_holdout,
        "trainScorable": found.n_train_scored,
        "holdoutScorable": found.n_holdout_scored,
    }


@every_row("case", named("omk.holdout_breakdown"))
def test_the_means_of_both_sides(case: dict[str, Any]) -> None:
    # Their scores are from 1 to 5; 0 says that there is none.
    scores = {
        name: [score or None for score in column] for name, column in case["args"]["scores"].items()
    }
    found = holdout_breakdown(scores, case["args"]["ratio"])
    by_system = {name: theirs(means) for name, means in (found or {}).items()}
    assert same({"disabled": found is None, "perVariant": by_system}, case["expected"])


@every_row("case", named("omk.power_warnings"))
def test_the_warnings_before_a_run(case: dict[str, Any]) -> None:
    args = case["args"]
    codes = [one.code for one in power_warnings(args["sample_count"], args["repeat"])]
    shown = {name: name in codes for name in ("tiny_n", "small_n", "single_run")}
    assert same({"count": len(codes), **shown}, case["expected"])


def diagnosed(args: dict[str, Any]) -> SampleDiagnostics:
    texts = {sample["sample_id"]: sample for sample in args["samples"] or []}
    samples = []
    for row in args["results"]:
        text = texts.get(row["sample_id"], {})
        outcomes = [
            Outcome(
                score=found["compositeScore"] or None,
                ok=found["ok"],
                cost=found["costUSD"],
                duration=found["durationMs"],
                judge_std_dev=found.get("llmScoreStddev"),
            )
            for found in row["variants"].values()
        ]
        samples.append(
            DiagnosedSample(
                id=row["sample_id"],
                outcomes=outcomes,
                prompt=text.get("prompt"),
                rubric=text.get("rubric"),
                capabilities=text.get("capability") or (),
            )
        )
    return sample_diagnostics(samples, best=5, worst=1, flat_below=0.5)


@every_row("case", named("omk.sample_diagnostics"))
def test_the_diagnostics_of_samples(case: dict[str, Any]) -> None:
    found = diagnosed(case["args"])
    assert found.health_score is not None
    shown = {
        "health_score": half_up(found.health_score, 0),
        "totals": {
            "samples": found.n_samples,
            "flagged": found.n_flagged,
            "errors": found.count("error"),
            "warnings": found.count("warning"),
            "infos": found.count("info"),
        },
        "issues": sorted([one.sample_id, one.severity, one.code] for one in found.issues),
    }
    assert same(shown, {**case["expected"], "issues": sorted(case["expected"]["issues"])})
