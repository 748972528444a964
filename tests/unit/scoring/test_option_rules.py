"""One rule for options and baselines, whichever call they are given to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rag_eval

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
    }


def test_a_misspelt_option_is_named_with_the_nearest_by_every_call(
    calls: dict[str, Callable[..., Any]],
) -> None:
    for name, call in calls.items():
        with pytest.raises(
            TypeError, match=f"^{name} has no option 'thresholdz'; did you mean 'thresholds'\\?$"
        ):
            call(thresholdz={})


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
        report = calls["run_file"](baseline=baseline)
        assert [row.delta for row in report.result.regressions] == [0.0]


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
    report = calls["run_file"](baseline=baseline, regression_threshold=-0.5)
    assert report.result.regressions[0].regressed
