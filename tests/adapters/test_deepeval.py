"""deepeval measures its test cases by us, alone and through evaluate and assert_test."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

deepeval = pytest.importorskip("deepeval", reason="make adapters installs deepeval")

from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase

from rag_eval.errors import InputError
from rag_eval.integrations.deepeval import RagMetric
from tests.adapters.samples import (
    METRICS,
    NO_TRUTH,
    SAMPLES,
    SILENT,
    SUPPORTED,
    UNSUPPORTED,
    Sample,
    wanted,
)

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes files of its own into the working directory."""
    monkeypatch.chdir(tmp_path)


def case_of(sample: Sample) -> LLMTestCase:
    return LLMTestCase(
        input=sample["question"],
        actual_output=sample["answer"],
        expected_output=sample.get("ground_truth"),
        retrieval_context=sample["contexts"],
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sample", [SUPPORTED, UNSUPPORTED, SILENT])
def test_scores_are_ours_in_both_ways_to_measure(sample: Sample, metric: str) -> None:
    ours = wanted(sample).metrics[metric]
    found = RagMetric(metric)
    assert found.measure(case_of(sample)) == ours.score
    assert (found.score, found.success, found.threshold) == (
        ours.score,
        ours.passed,
        ours.threshold if ours.null_reason == 0 else found.threshold,
    )
    again = RagMetric(metric)
    assert asyncio.run(again.a_measure(case_of(sample))) == ours.score
    assert (again.success, again.reason) == (found.success, found.reason)


def test_the_direction_is_that_of_the_metric() -> None:
    # Two numbers of the answer are in no context: more is worse.
    strict, mild = RagMetric("unsupported_numbers", 0.0), RagMetric("unsupported_numbers", 1.0)
    assert strict.measure(case_of(UNSUPPORTED)) == mild.measure(case_of(UNSUPPORTED))
    assert strict.is_successful() is False
    assert mild.is_successful() is True


def test_a_missing_field_is_its_own_error() -> None:
    with pytest.raises(MissingTestCaseParamsError, match="answer_correctness"):
        RagMetric("answer_correctness").measure(case_of(NO_TRUTH))


def evaluated(samples: list[Sample], *metrics: RagMetric, run_async: bool, **errors: bool) -> Any:
    return deepeval.evaluate(
        [case_of(sample) for sample in samples],
        list(metrics),
        async_config=AsyncConfig(run_async=run_async),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=True),
        error_config=ErrorConfig(**errors),
    ).test_results


@pytest.mark.parametrize("run_async", [False, True])
def test_evaluate_keeps_scores_verdicts_and_options(run_async: bool) -> None:
    overlap = RagMetric("faithfulness", profile="overlap")
    grounded = RagMetric("faithfulness", 0.5)
    results = evaluated(SAMPLES, overlap, grounded, run_async=run_async)
    by_answer = {result.actual_output: result for result in results}
    for sample in SAMPLES:
        first, second = by_answer[sample["answer"]].metrics_data
        ours = wanted(sample, ["faithfulness"], profile="overlap").metrics.faithfulness
        assert (first.score, first.success) == (ours.score, ours.passed)
        ours = wanted(sample, thresholds={"faithfulness": 0.5}).metrics.faithfulness
        assert (second.score, second.success) == (ours.score, ours.passed)


def test_what_was_not_measured_neither_passes_nor_fails() -> None:
    (result,) = evaluated([SILENT], RagMetric("faithfulness"), run_async=False)
    (found,) = result.metrics_data
    assert (found.score, found.success, found.error) == (None, None, None)
    assert found.reason == wanted(SILENT).metrics.faithfulness.explanation
    (result,) = evaluated(
        [NO_TRUTH],
        RagMetric("answer_correctness"),
        RagMetric("faithfulness"),
        run_async=False,
        skip_on_missing_params=True,
    )
    assert [found.name for found in result.metrics_data] == ["rag_eval faithfulness"]


def test_assert_test_fails_with_the_failing_sentence() -> None:
    deepeval.assert_test(case_of(SUPPORTED), [RagMetric("faithfulness")], run_async=False)
    with pytest.raises(AssertionError, match="Employees receive 4711 bananas") as failure:
        deepeval.assert_test(case_of(UNSUPPORTED), [RagMetric("faithfulness", 0.95)])
    assert "\x1b[31m" not in str(failure.value)


def test_options_and_names_are_checked_when_it_is_made() -> None:
    with pytest.raises(InputError, match="faithfulnes"):
        RagMetric("faithfulnes")
    with pytest.raises(TypeError, match="profil"):
        RagMetric(profil="overlap")
