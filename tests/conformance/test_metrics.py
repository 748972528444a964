"""Metrics, evaluate, evaluate_batch and create_evaluator against rag-eval-node-ts 0.3.2."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from typing import Any

import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.declared import normalized
from rag_eval.options.types import EvaluatorConfig
from tests.conformance.vectors import (
    comparable,
    load_batch,
    load_cases,
    load_samples,
    without_nulls,
)
from tests.tables import every_row

FUNCTIONS = (
    "scoreFaithfulness",
    "scoreAnswerRelevance",
    "scoreContextPrecision",
    "scoreContextRecall",
    "scoreContextRelevance",
    "scoreAnswerCorrectness",
    "scoreHallucinationRate",
    "computeMetric",
    "evaluate",
    "evaluateBatch",
    "createEvaluator",
)
CASES = {case["id"]: case for case in load_cases(*FUNCTIONS)}

# ------------------------------------------------------------------- the closed list of departures

# The README of the mirrored library says 1 for an empty answer with contexts; its code gives 0.
EMPTY_ANSWER = (
    "hm/scoreHallucinationRate/ans-empty",
    "hm/scoreHallucinationRate/ans-ws",
    "hm/scoreHallucinationRate/all-empty",
    "hm/computeMetric/hallucinationRate-ans-empty",
    "hm/evaluate/all-empty",
    "hm/evaluateBatch/all-empty",
)
# Documented there and never read: sentenceCoverageThreshold works here.
COVERAGE_THRESHOLD = (
    "rnd/scoreContextRecall/7",
    "rnd/scoreContextRecall/15",
    "rnd/scoreContextRecall/33",
    "rnd/evaluate/6",
    "rnd/evaluate/14",
    "rnd/evaluate/74",
    "rnd/evaluateBatch/7",
    "rnd/createEvaluator/0",
    "rnd/createEvaluator/7",
    "rnd/createEvaluator/13",
)
# A metric that became null is not comparable, instead of a drop to 0.
NOT_COMPARABLE = ("hm/evaluateBatch/empty-base", "rnd/evaluateBatch/18")
# A metric id in snake_case is valid here.
SNAKE_CASE_ID = ("hm/computeMetric/unknown-answer_relevance",)
# Ignored or half-taken there, refused here: id -> what the error says.
REFUSED = {
    "hm/computeMetric/unknown-empty": "unknown metric",
    "hm/computeMetric/unknown-toString": "unknown metric",
    "hm/evaluate/opt-m-unknown": "unknown metric",
    "hm/evaluate/opt-m-unknown-only": "unknown metric",
    "hm/evaluateBatch/empty-m": "unknown metric",
    "hm/evaluateBatch/m-unknown-base": "unknown metric",
    "hm/evaluate/opt-thr-null-nogt": "must be a number",
    "hm/evaluateBatch/thr-null": "must be a number",
    "hm/createEvaluator/e-c1-thr-null-val": "must be a number",
    "hm/err/batch-c0-empty": "concurrency",
    "hm/evaluate/opt-mode-hybrid": "judge",
    "rnd/evaluate/1": "judge",
    "rnd/evaluate/7": "judge",
    "rnd/evaluate/44": "judge",
    "rnd/evaluate/56": "judge",
    "rnd/evaluate/92": "judge",
    "rnd/evaluate/109": "judge",
    "rnd/evaluateBatch/39": "judge",
    "rnd/createEvaluator/20": "judge",
    "rnd/createEvaluator/44": "judge",
    "rnd/createEvaluator/51": "judge",
}
# Options that do not exist: a typing mistake must not pass in silence.
UNKNOWN_OPTION = (
    "hm/scoreFaithfulness/ans-mixed+unknown",
    "hm/scoreFaithfulness/good+unknown-opts",
    "hm/scoreContextPrecision/good+unknown-opts",
    "hm/scoreContextRelevance/good+unknown-opts",
    "hm/scoreAnswerCorrectness/good+unknown-opts",
    "hm/evaluate/opt-h-top-level-ignored",
    "hm/createEvaluator/e-c1-extra",
)
# ``create_evaluator`` takes keywords: there is no null configuration to refuse.
NO_SUCH_CALL = ("hm/err/create-null",)

DEPARTING = {
    *EMPTY_ANSWER,
    *COVERAGE_THRESHOLD,
    *NOT_COMPARABLE,
    *SNAKE_CASE_ID,
    *REFUSED,
    *UNKNOWN_OPTION,
    *NO_SUCH_CALL,
}


# --------------------------------------------------------------------------------------- helpers


def snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name)


def call(case: dict[str, Any]) -> Any:
    """The case's call, its result in the schema of result files."""
    function, args = case["fn"], case["args"]
    if function == "createEvaluator":
        evaluator = rag_eval.create_evaluator(**(args[0] or {}))
        if args[1] == "config":
            return plain(evaluator.config)
        return call_method(getattr(evaluator, snake(args[1])), args[2])
    if function.startswith("score"):
        options = args[1] if len(args) > 1 else None
        return getattr(rag_eval, snake(function))(args[0], **without_nulls(options)).to_dict()
    if function == "computeMetric":
        options = args[2] if len(args) > 2 else None
        return rag_eval.compute_metric(args[0], args[1], **without_nulls(options)).to_dict()
    return call_method(getattr(rag_eval, snake(function)), args)


def plain(value: Any) -> Any:
    """Read-only mappings and tuples as JSON has them."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def call_method(method: Any, args: list[Any]) -> Any:
    metrics = args[1] if len(args) > 1 else None
    options = without_nulls(args[2] if len(args) > 2 else None)
    if method.__name__ == "evaluate_batch":
        # rag-eval-node-ts gives nulls for a metric that no sample has the fields for.
        options["allow_missing"] = True
    return method(args[0], metrics, **options).to_dict()


def difference(found: Any, wanted: Any, path: str = "result") -> str | None:
    """Where two results differ, if they do; means over a batch may differ by 1e-12 relatively."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        if found.keys() != wanted.keys():
            return f"{path}: keys {sorted(found)} != {sorted(wanted)}"
        pairs = [(found[key], wanted[key], f"{path}.{key}") for key in wanted]
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(found) != len(wanted):
            return f"{path}: {len(found)} items != {len(wanted)}"
        pairs = [(f, w, f"{path}[{i}]") for i, (f, w) in enumerate(zip(found, wanted, strict=True))]
    else:
        return None if same(found, wanted, path) else f"{path}: {found!r} != {wanted!r}"
    return next((text for pair in pairs if (text := difference(*pair))), None)


def same(found: Any, wanted: Any, path: str) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool) or found is None or wanted is None:
        return found is wanted
    if over_a_batch(path) and isinstance(found, (int, float)):
        return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-15)
    return bool(found == wanted)


def over_a_batch(path: str) -> bool:
    return "ggregate" in path or ".regressions" in path


def without_coverage_threshold(case: dict[str, Any]) -> dict[str, Any]:
    """The case with the option taken out that only this library reads."""
    plain = copy.deepcopy(case)

    def strip(value: Any) -> None:
        if isinstance(value, dict):
            value.pop("sentenceCoverageThreshold", None)
            for item in value.values():
                strip(item)
        elif isinstance(value, list):
            for item in value:
                strip(item)

    strip(plain["args"])
    return plain


# ----------------------------------------------------------------------------------------- tests


@every_row("name", [name for name in CASES if name not in DEPARTING])
def test_vector(name: str) -> None:
    case = CASES[name]
    wanted = case["expected"]
    if isinstance(wanted, dict) and "$error" in wanted:
        with pytest.raises((InputError, TypeError)):
            call(case)
        return
    if case["fn"] == "createEvaluator" and case["args"][1] == "config":
        wanted = normalized(wanted, "config", EvaluatorConfig)
        if "metrics" in wanted:
            wanted["metrics"] = [to_metric_id(name) for name in wanted["metrics"]]
    assert difference(comparable(call(case)), comparable(wanted)) is None


@every_row("name", EMPTY_ANSWER)
def test_empty_answer_scores_one(name: str) -> None:
    found, wanted = comparable(call(CASES[name])), comparable(CASES[name]["expected"])
    if "results" in wanted:
        found, wanted = found["results"][0], wanted["results"][0]
    others = wanted.get("metrics", {"hallucinationRate": wanted})
    mine = found.get("metrics", {"hallucinationRate": found})
    for metric, entry in others.items():
        if metric == "hallucinationRate":
            assert entry["score"] == 0
            entry = {**entry, "score": 1.0, "passed": True}
        assert difference(mine[metric], entry) is None


@every_row("name", COVERAGE_THRESHOLD)
def test_coverage_threshold_is_the_only_difference(name: str) -> None:
    wanted = comparable(CASES[name]["expected"])
    assert difference(comparable(call(CASES[name])), wanted) is not None
    plain = comparable(call(without_coverage_threshold(CASES[name])))
    if "sample" in wanted:
        plain["sample"] = wanted["sample"]
    assert difference(plain, wanted) is None


@every_row("name", NOT_COMPARABLE)
def test_a_metric_that_became_null_is_not_comparable(name: str) -> None:
    found, wanted = call(CASES[name]), CASES[name]["expected"]
    rows = zip(found.pop("regressions"), wanted["regressions"], strict=True)
    departed = 0
    for mine, theirs in rows:
        if mine.get("notComparable"):
            departed += 1
            assert theirs["currentMean"] == 0
            assert mine["currentMean"] is None
            assert mine["delta"] is None
            assert not mine["regressed"]
        else:
            assert difference(mine, theirs, "result.regressions") is None
    assert departed
    rest = {key: value for key, value in wanted.items() if key != "regressions"}
    assert difference(comparable(found), comparable(rest)) is None


@pytest.mark.parametrize("name", SNAKE_CASE_ID)
def test_snake_case_id_is_valid(name: str) -> None:
    assert CASES[name]["expected"] == {"$undefined": True}
    assert call(CASES[name])["metricId"] == "answerRelevance"


@every_row("name", REFUSED)
def test_refused_with_a_reason(name: str) -> None:
    with pytest.raises(InputError, match=REFUSED[name]):
        call(CASES[name])


@every_row("name", UNKNOWN_OPTION)
def test_unknown_option_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError, match="has no option"):
        call(CASES[name])


@every_row("case", load_samples(), ids=lambda case: str(case["id"]))
def test_whole_sample(case: dict[str, Any]) -> None:
    found = comparable(rag_eval.evaluate(case["sample"]).to_dict())
    assert found.pop("sample") == case["sample"]
    assert difference(found, case["expected"]) is None


def test_default_batch() -> None:
    samples = [case["sample"] for case in load_samples()]
    found = comparable(rag_eval.evaluate_batch(samples).to_dict())
    wanted = comparable(load_batch()["default"]["expected"])
    assert difference({key: found[key] for key in wanted}, wanted) is None


def test_batch_with_a_baseline_and_options() -> None:
    vector = load_batch()["variant"]
    samples = [case["sample"] for case in load_samples()[:50]]
    arguments = vector["args"]
    batch = rag_eval.evaluate_batch(samples, arguments["metrics"], **arguments["options"])
    found, wanted = comparable(batch.to_dict()), comparable(vector["expected"])
    assert difference({key: found[key] for key in wanted}, wanted) is None
    rows = [
        {
            "compositeScore": row["compositeScore"],
            "passed": row["passed"],
            "scores": {name: metric["score"] for name, metric in row["metrics"].items()},
        }
        for row in found["results"]
    ]
    assert difference(rows, vector["expected_results_slim"]) is None


def test_the_comparison_sees_a_wrong_bit() -> None:
    right = {"score": 0.3, "aggregates": {"mean": 0.3}, "passed": True}
    assert difference(right, right) is None
    assert difference({**right, "score": 0.30000000000000004}, right)
    assert difference({**right, "aggregates": {"mean": 0.3 + 1e-11}}, right)
    assert difference({**right, "aggregates": {"mean": 0.3 + 1e-14}}, right) is None
    assert difference({**right, "passed": 1}, right)
