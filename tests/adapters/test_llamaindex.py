"""LlamaIndex calls us as one of its evaluators: alone, over a response, and in its runner."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="make adapters installs llama-index-core")

from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BatchEvalRunner
from llama_index.core.schema import NodeWithScore, TextNode

from rag_eval.errors import InputError
from rag_eval.integrations.llamaindex import RagEvaluator
from tests.adapters.samples import METRICS, SAMPLES, SILENT, UNSUPPORTED, Sample, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


def response_of(sample: Sample) -> Response:
    nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in sample["contexts"]]
    return Response(response=sample["answer"], source_nodes=nodes)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_scores_are_ours(sample: Sample, metric: str) -> None:
    found = RagEvaluator(metric).evaluate_response(
        sample["question"], response_of(sample), reference=sample.get("ground_truth")
    )
    ours = wanted(sample).metrics[metric]
    assert (found.score, found.passing) == (ours.score, ours.passed)
    assert found.invalid_result is (ours.score is None)
    assert found.contexts == sample["contexts"]


def test_feedback_names_the_failing_sentence() -> None:
    found = RagEvaluator().evaluate_response(UNSUPPORTED["question"], response_of(UNSUPPORTED))
    assert found.feedback is not None
    assert "Employees receive 4711 bananas" in found.feedback
    assert found.feedback.isprintable()


def test_a_null_score_is_an_invalid_result_with_its_reason() -> None:
    found = RagEvaluator().evaluate_response(SILENT["question"], response_of(SILENT))
    assert found.score is None
    assert found.passing is None
    assert str(found.invalid_reason).startswith("nothing_to_measure: ")


def test_the_runner_scores_all_responses_by_all_evaluators() -> None:
    # A table of the evaluators by name, as the runner wants them.
    runner = BatchEvalRunner({metric: RagEvaluator(metric) for metric in METRICS}, workers=2)
    found = asyncio.run(
        runner.aevaluate_responses(
            queries=[sample["question"] for sample in SAMPLES],
            responses=[response_of(sample) for sample in SAMPLES],
            reference=[sample.get("ground_truth") for sample in SAMPLES],
        )
    )
    for metric in METRICS:
        ours = [wanted(sample).metrics[metric].score for sample in SAMPLES]
        assert [result.score for result in found[metric]] == ours


def test_options_and_names_are_checked_when_it_is_made() -> None:
    with pytest.raises(InputError, match="faithfulnes"):
        RagEvaluator("faithfulnes")
    strict = RagEvaluator(profile="overlap", thresholds={"faithfulness": 1.0})
    found = strict.evaluate_response("", response_of(UNSUPPORTED))
    ours = wanted(UNSUPPORTED, ["faithfulness"], profile="overlap").metrics.faithfulness
    assert (found.score, found.passing) == (ours.score, False)
