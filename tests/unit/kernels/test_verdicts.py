"""Verdicts of the kernel are those of their definition, in the bits of a plain loop."""

from __future__ import annotations

import math
import random
from typing import Any, Final

import numpy as np
import pytest

from rag_eval.kernels.verdicts import Need, verdicts_of
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.options.plan import Plan, make_plan
from rag_eval.plumbing.javascript_numbers import plain_sum
from rag_eval.samples import NullReason

N_PLANS: Final = 600
N_ROWS: Final = 12
REASONS: Final = (NullReason.MISSING_FIELD, NullReason.NOTHING_TO_MEASURE, NullReason.REFUSAL)


def composite_of(row: dict[Any, float], plan: Plan) -> float:
    """The weighted mean of what is not null."""
    terms = [(row[one], plan.weights[one]) for one in plan.metrics if not math.isnan(row[one])]
    total = plain_sum(weight for _, weight in terms)
    return plain_sum(score * weight for score, weight in terms) / total if total > 0 else math.nan


def passes(row: dict[Any, float], reasons: dict[Any, int], plan: Plan) -> bool:
    limited = [one for one in plan.columns if plan.thresholds[one] is not None]
    if any(metric_passes(row[one], one, plan) is False for one in limited):
        return False
    is_composed = any(plan.specs[one].in_composite or plan.weights[one] for one in plan.metrics)
    if not plan.metrics:
        return False
    if is_composed and plan.composite_threshold is not None:
        return composite_of(row, plan) >= plan.composite_threshold
    if not limited:
        return not is_composed or not all(math.isnan(score) for score in row.values())
    if any(not math.isnan(row[one]) for one in limited):
        return True
    refused = [one for one in limited if reasons[one] == NullReason.REFUSAL]
    others = [one for one in limited if one not in refused]
    return bool(refused) and all(
        reasons[one] == NullReason.MISSING_FIELD and "ground_truth" in plan.specs[one].fields
        for one in others
    )


def metric_passes(score: float, metric: Any, plan: Plan) -> bool | None:
    """None where there is no score to judge."""
    limit = plan.thresholds[metric]
    if math.isnan(score):
        return None
    if limit is None:
        return True
    return score >= limit if plan.specs[metric].higher_is_better else score <= limit


def some_plan(draw: random.Random) -> Plan:
    """Of any metrics, some of them named twice, with any limits and weights."""
    names = ALL_METRIC_IDS if draw.random() < 0.7 else METRIC_IDS
    metrics = draw.choices(names, k=draw.randrange(9))
    options: dict[str, Any] = {"profile": "grounded"}
    if draw.random() < 0.6:
        options["thresholds"] = {one: draw.choice([0.0, 0.5, 1.0]) for one in metrics[::2]}
    if draw.random() < 0.6:
        own = [one for one in metrics[1::2] if one in METRIC_IDS]
        options["composite_weights"] = {one: draw.choice([0.0, 0.3, 2.0, -1.0]) for one in own}
    if draw.random() < 0.5:
        options["composite_threshold"] = draw.choice([-1.0, 0.0, 0.5])
    return make_plan(metrics, options)


def test_verdicts_are_those_of_the_definition() -> None:
    draw, n_passed, n_excused = random.Random(23), 0, 0
    for _ in range(N_PLANS):
        plan = some_plan(draw)
        shape = (N_ROWS, len(plan.columns))
        values = [draw.choice([0.0, 0.5, 1.0, draw.random()]) for _ in range(math.prod(shape))]
        scores = np.array(values).reshape(shape)
        reasons = np.zeros(shape, np.uint8)
        for row in range(N_ROWS):
            share = draw.choice([0.0, 0.3, 1.0])
            for column in range(shape[1]):
                if draw.random() < share:
                    scores[row, column] = math.nan
                    reasons[row, column] = draw.choice(REASONS[row % 2 * 2 :])
        found = verdicts_of(scores, plan.rule, reasons)
        for row in range(N_ROWS):
            by_metric = dict(zip(plan.columns, scores[row].tolist(), strict=True))
            why = dict(zip(plan.columns, reasons[row].tolist(), strict=True))
            composite = composite_of(by_metric, plan)
            assert np.array_equal(found.composite[row], composite, equal_nan=True)
            assert found.metric_passed[row].tolist() == [
                bool(metric_passes(by_metric[one], one, plan)) for one in plan.columns
            ]
            assert found.passed[row] == passes(by_metric, why, plan), (plan, by_metric, why)
            n_passed += bool(found.passed[row])
            is_excused = plan.rule.need == Need.LIMITED_SCORE and np.isnan(scores[row]).all()
            n_excused += bool(found.passed[row] and is_excused)
        strided = verdicts_of(np.asfortranarray(scores)[::-1], plan.rule, reasons[::-1])
        assert strided.passed.tolist() == found.passed[::-1].tolist()
    assert N_PLANS < n_passed < 10 * N_PLANS
    assert n_excused > 20, "refusals were among the rows that pass"


def test_columns_of_another_plan_are_refused() -> None:
    plan = make_plan(["faithfulness", "context_recall"], {})
    for scores, reasons in [
        (np.zeros((3, 3)), None),
        (np.zeros((3, 2)), np.zeros((2, 2), np.uint8)),
    ]:
        with pytest.raises(ValueError, match="must have the columns of the plan"):
            verdicts_of(scores, plan.rule, reasons)
