"""One rule for options and baselines, whichever call they are given to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.distributed import BatchScorer
from rag_eval.errors import glance
from rag_eval.jobs.judge_estimates import estimate_judging

ROWS = [
    {"question": "Where is it?", "answer": "It is in Rome.", "contexts": ["It is in Rome."]},
    {"question": "Who?", "answer": "Nobody knows.", "contexts": ["Ada wrote it."]},
]
METRICS = ["faithfulness"]


@pytest.fixture
def calls(tmp_path: Path) -> dict[str, Callable[..., Any]]:
    data = tmp_path / "samples.jsonl"
    data.write_text("\n".join(map(json.dumps, ROWS)))
    return {
        "evaluate": lambda **options: rag_eval.evaluate(ROWS[0], METRICS, **options),
        "evaluate_batch": lambda **options: rag_eval.evaluate_batch(ROWS, METRICS, **options),
        "create_evaluator": lambda **options: rag_eval.create_evaluator(metrics=METRICS, **options),
        "run_file": lambda **options: rag_eval.run_file(data, METRICS, **options),
        "score_file": lambda **options: rag_eval.score_file(
            data, tmp_path / "out.jsonl", METRICS, **options
        ),
        "estimate_judging": lambda **options: estimate_judging(
            data, METRICS, mode="llm", judge=lambda prompt: "", **options
        ),
        "BatchScorer": lambda **options: BatchScorer(METRICS, **options),
    }


def test_a_misspelt_option_is_named_with_the_nearest_by_every_call(
    calls: dict[str, Callable[..., Any]],
) -> None:
    for name, call in calls.items():
        with pytest.raises(
            TypeError, match=f"^{name} has no option 'thresholdz'; did you mean 'thresholds'\\?$"
        ):
            call(thresholdz={})


HUGE = 10**5000
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"profile": "groundet"}, "profile must be 'overlap' or 'grounded', got 'groundet'; did you"),
    ({"thresholds": 0.5}, "thresholds must be a mapping of metrics, got float"),
    ({"thresholds": {"faithfullness": 1}}, "did you mean 'faithfulness'"),
    ({"thresholds": {"faithfulness": "high"}}, "thresholds['faithfulness'] must be a number"),
    ({"composite_threshold": "0.5"}, "composite_threshold must be a number, got str"),
    ({"compositeThreshold": float("nan")}, "composite_threshold must be finite, got nan"),
    ({"heuristic": [1]}, "heuristic must be a mapping, got list"),
    ({"heuristic": {"ngram_sizes": [-1]}}, "heuristic option ngram_sizes must hold sizes from 0"),
    ({"composite_weights": {"faithfulness": 1e101}}, "must be at most 1e+100"),
    # More digits than Python writes out.
    ({"profile": HUGE}, "profile must be 'overlap' or 'grounded', got <int of 16610 bits>"),
    ({"heuristic": {"tfidf_weight": HUGE}}, "tfidf_weight must be finite, got <int of"),
    ({"heuristic": {"ngram_sizes": HUGE}}, "ngram_sizes must be a list of numbers, got <int of"),
    ({"heuristic": {"ngram_sizes": [HUGE]}}, "ngram_sizes must be finite, got <int of"),
    ({"profile": "grounded", "language": HUGE}, "language must be a language tag, got <int of"),
    ({"profile": "grounded", "stemmer": HUGE}, "stemmer must be 'light' or 'snowball', got <int"),
]
OF_JUDGES: list[tuple[dict[str, Any], str]] = [
    ({"judge_repeat": 0}, "judge_repeat must be a whole number of at least 1, got 0"),
    ({"audit_share": 1.5}, "audit_share must be between 0 and 1, got 1.5"),
    ({"judge_style": "claim"}, "judge_style must be 'claims' or 'rating', got 'claim'"),
    ({"length_debias": "no"}, "length_debias must be true or false, got 'no'"),
    ({"retries": -1}, "retries must be a whole number of at least 0, got -1"),
    ({"judge_seed": 0.5}, "judge_seed must be a whole number, got 0.5"),
]
OF_MANY_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"threads": 0}, "threads must be a whole number of at least 1, got 0"),
    ({"threads": "2"}, "threads must be a whole number of at least 1, got '2'"),
]
OF_FILES: list[tuple[dict[str, Any], str]] = [
    ({"quantiles": "exac"}, "quantiles must be 'exact' or 'sketch', got 'exac'"),
    ({"skip_invalid": 1}, "skip_invalid must be true or false, got 1"),
    ({"gold_separator": ""}, "gold_separator must be a non-empty string, got ''"),
    ({"max_row_bytes": 0}, "max_row_bytes must be a whole number of at least 1, got 0"),
]


def test_a_wrong_value_has_the_same_message_in_every_call(
    calls: dict[str, Callable[..., Any]],
) -> None:
    files = {"run_file", "score_file", "estimate_judging"}
    for name, call in calls.items():
        faults = [*WRONG]
        faults += [] if name == "BatchScorer" else OF_JUDGES
        faults += [] if name == "evaluate" else OF_MANY_ROWS
        faults += OF_FILES if name in files else []
        for options, message in faults:
            with pytest.raises(rag_eval.errors.InputError, match=re.escape(message)):
                call(**options)


def test_numbers_of_numpy_are_numbers(calls: dict[str, Callable[..., Any]]) -> None:
    options: dict[str, Any] = {
        "thresholds": {"faithfulness": np.float32(0.5)},
        "composite_weights": {"faithfulness": np.int64(2)},
        "heuristic": {"ngram_sizes": [np.int64(1), np.float16(2)], "tfidf_weight": np.float32(2)},
    }
    for call in calls.values():
        call(**options)
    calls["evaluate_batch"](threads=np.int64(1), judge_seed=np.uint8(3))
    with pytest.raises(rag_eval.errors.InputError, match="tfidf_weight must be a number, got bool"):
        calls["evaluate"](heuristic={"tfidf_weight": np.True_})


def test_an_option_has_a_name(calls: dict[str, Callable[..., Any]]) -> None:
    for name in (1, None, HUGE):
        with pytest.raises(TypeError, match=f"heuristic has no option {glance(name)}"):
            calls["evaluate"](heuristic={name: 1})


def test_an_option_that_is_not_used_is_checked_all_the_same(
    calls: dict[str, Callable[..., Any]],
) -> None:
    """No judge is asked here, no baseline given and no row kept."""
    for call in (calls["evaluate_batch"], calls["run_file"]):
        for options in ({"judge_repeat": "x"}, {"regression_threshold": "x"}):
            with pytest.raises(rag_eval.errors.InputError, match="must be a"):
                call(**options)
    with pytest.raises(
        rag_eval.errors.InputError, match="worst must be a whole number of at least 0"
    ):
        calls["run_file"](worst=-1)
    with pytest.raises(rag_eval.errors.InputError, match="columns must be a list of names"):
        calls["score_file"](columns="question")


def test_one_metric_and_an_evaluator_follow_the_same_rules() -> None:
    row = {**ROWS[0], "ground_truth": "Rome"}
    compute = partial(rag_eval.compute_metric, "faithfulness", row)
    evaluator = rag_eval.create_evaluator(metrics=METRICS)
    with pytest.raises(TypeError, match=r"^compute_metric has no option 'ngram_size'; did you"):
        compute(ngram_size=[1])
    with pytest.raises(TypeError, match=r"^evaluate has no option 'thresholdz'; did you mean"):
        evaluator.evaluate(row, thresholdz={})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^score_faithfulness has no option 'bogus'"):
        rag_eval.score_faithfulness(row, bogus=1)
    message = "heuristic option ngram_sizes must hold sizes from 0 on, got -1"
    for call in (
        lambda **options: compute(**options),
        lambda **options: evaluator.evaluate(row, heuristic=options),
        lambda **options: evaluator.evaluate_batch([row], heuristic=options),
    ):
        with pytest.raises(rag_eval.errors.InputError, match=message):
            call(ngramSizes=[-1])
    assert compute(ngramSizes=[1]) == replace(
        evaluator.evaluate(row, heuristic={"ngram_sizes": [1]}).metrics.faithfulness
    )


def test_options_are_taken_in_camel_case_by_every_call(
    calls: dict[str, Callable[..., Any]],
) -> None:
    for call in calls.values():
        call(compositeThreshold=0.5, thresholds={"faithfulness": 0.1})


def test_a_baseline_is_a_result_its_json_or_its_file_for_either_call(
    calls: dict[str, Callable[..., Any]], tmp_path: Path
) -> None:
    result = rag_eval.evaluate_batch(ROWS, METRICS)
    paths = [tmp_path / f"baseline.json{end}" for end in ("", ".gz", ".zst")]
    for path in paths:
        result.to_json(path)
    for baseline in (result, result.to_dict(), *paths, str(paths[0])):
        batch = calls["evaluate_batch"](baseline_result=baseline)
        assert [row.delta for row in batch.regressions] == [0.0]
        report = calls["run_file"](baseline=baseline, policy="node")
        assert [row.delta for row in report.result.regressions] == [0.0]
    named = [{**row, "id": str(number)} for number, row in enumerate(ROWS)]
    data = tmp_path / "named.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in named))
    rag_eval.evaluate_batch(named, METRICS).to_json(tmp_path / "named.json")
    for baseline in (rag_eval.evaluate_batch(named, METRICS), tmp_path / "named.json"):
        report = rag_eval.run_file(data, METRICS, baseline=baseline)
        assert report.against is not None
        assert report.against.status == "NO CHANGE"
        assert report.result.regressions is None
    alone = "--policy node compares only means"
    for baseline in (result.to_dict(), paths[0]):
        with pytest.raises(rag_eval.errors.InputError, match=alone):
            calls["run_file"](baseline=baseline)


def test_a_baseline_of_other_metrics_is_said_and_not_passed_over(
    calls: dict[str, Callable[..., Any]],
) -> None:
    other = rag_eval.evaluate_batch(ROWS, ["answer_relevance"])
    batch = calls["evaluate_batch"](baseline_result=other)
    assert batch.regressions == []
    assert any("nothing was compared" in note for note in batch.notes)
    with pytest.raises(rag_eval.errors.InputError, match="none of the metrics of this run"):
        calls["run_file"](baseline=other)


def test_a_threshold_below_zero_asks_for_a_rise_of_either_call(
    calls: dict[str, Callable[..., Any]],
) -> None:
    baseline = rag_eval.evaluate_batch(ROWS, METRICS)
    batch = calls["evaluate_batch"](baseline_result=baseline, regression_threshold=-0.5)
    assert batch.regressions[0].regressed
    report = calls["run_file"](baseline=baseline, policy="node", regression_threshold=-0.5)
    assert report.result.regressions[0].regressed


def test_a_switch_of_numpy_is_a_switch() -> None:
    found = rag_eval.evaluate_batch(ROWS, METRICS, keep_texts=np.bool_(False))  # type: ignore[arg-type]
    with pytest.raises(rag_eval.errors.TextsNotKeptError):
        found.results[0]
    with pytest.raises(rag_eval.errors.InputError, match="keep_texts must be true or false, got 1"):
        rag_eval.evaluate_batch(ROWS, METRICS, keep_texts=1)  # type: ignore[arg-type]
