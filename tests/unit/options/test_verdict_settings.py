"""Thresholds and weights of a run: what is kept, and what differs between two runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.kernels.verdicts import Need
from rag_eval.options.plan import make_plan
from rag_eval.options.verdict_settings import VerdictSettings
from tests.tables import every_row

METRICS = ["faithfulness", "context_recall"]


def settings(metrics: list[str] | None = None, **options: Any) -> VerdictSettings:
    return VerdictSettings.of(make_plan(METRICS if metrics is None else metrics, options))


def test_they_come_back_from_json() -> None:
    found = settings(thresholds={"context_recall": 0.25}, composite_weights={"faithfulness": 2})
    value = json.loads(json.dumps(found.to_dict()))
    assert value["thresholds"]["contextRecall"] == 0.25
    assert value["compositeWeights"] == {"faithfulness": 2, "contextRecall": 1}
    assert VerdictSettings.from_dict(value) == found
    grounded = VerdictSettings.of(make_plan(None, {"profile": "grounded"}))
    assert VerdictSettings.from_dict(grounded.to_dict()) == grounded
    assert None in grounded.thresholds.values()


def test_a_metric_that_is_named_twice_has_twice_the_weight() -> None:
    twice = settings(["faithfulness", "faithfulness", "context_recall"])
    assert twice.weights == {"faithfulness": 2, "context_recall": 1}
    assert twice.weight_differences(settings()) == ["weight of faithfulness: 2, not 1"]


@every_row(
    ("options", "weights", "thresholds"),
    [
        ({}, [], []),
        ({"thresholds": {"faithfulness": 0.9}}, [], ["threshold of faithfulness: 0.9, not 0.7"]),
        ({"composite_weights": {"context_recall": 0}}, ["weight of context_recall: 0, not 1"], []),
        ({"composite_threshold": 0.9}, [], ["threshold of composite: 0.9, not 0.6"]),
    ],
)
def test_what_differs_is_named(
    options: dict[str, Any], weights: list[str], thresholds: list[str]
) -> None:
    found, usual = settings(**options), settings()
    assert found.weight_differences(usual) == weights
    assert found.threshold_differences(usual) == thresholds


@every_row(
    ("metrics", "options"),
    [
        (["faithfulness"], {}),
        (["faithfulness"], {"profile": "grounded"}),
        (["faithfulness"], {"composite_weights": {"faithfulness": 0}}),
        (["context_precision"], {"profile": "grounded"}),
        (["context_precision"], {"profile": "grounded", "composite_threshold": 0.5}),
        (["unsupported_numbers"], {"profile": "grounded"}),
        (["unsupported_numbers"], {"profile": "grounded", "composite_threshold": 0.5}),
        (["ir.P@1"], {}),
        (["ir.P@1"], {"thresholds": {"ir.P@1": 0.5}}),
        (["ir.P@1"], {"composite_weights": {"ir.P@1": 1}}),
    ],
)
def test_what_can_fail_a_row_follows_from_what_its_verdict_needs(
    metrics: list[str], options: dict[str, Any]
) -> None:
    plan = make_plan(metrics, options)
    found = VerdictSettings.from_dict(VerdictSettings.of(plan).to_dict())
    assert found.can_fail == (plan.rule.need in (Need.COMPOSITE, Need.LIMITED_SCORE))


def test_no_threshold_is_named_none() -> None:
    free = VerdictSettings({"faithfulness": None}, {"faithfulness": 1.0}, None)
    bound = VerdictSettings({"faithfulness": 0.5}, {"faithfulness": 1.0}, None)
    assert free.threshold_differences(bound) == ["threshold of faithfulness: none, not 0.5"]


@every_row(
    ("value", "message"),
    [
        ([], "settings must be an object"),
        ({"thresholds": {"faithfulness": "high"}}, "settings.thresholds.faithfulness must be a nu"),
        ({"compositeWeights": {"faithfulness": None}}, "settings.compositeWeights.faithfulness"),
        ({"compositeThreshold": True}, "settings.compositeThreshold must be a number or null"),
    ],
)
def test_what_they_cannot_be_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        VerdictSettings.from_dict(value)
