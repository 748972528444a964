"""LangSmith's own evaluate, run without its server, calls our function on every example."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

langsmith = pytest.importorskip("langsmith", reason="make adapters installs langsmith")

from langsmith.evaluation import run_evaluator
from langsmith.schemas import Example, Run

from rag_eval.errors import InputError
from rag_eval.integrations.langsmith import rag_evaluator
from tests.adapters.samples import METRICS, SAMPLES, SILENT, UNSUPPORTED, Sample, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


def example_of(sample: Sample) -> Example:
    truth = sample.get("ground_truth")
    return Example(
        id=uuid.uuid4(),
        dataset_id=uuid.uuid4(),
        inputs={"question": sample["question"]},
        outputs=None if truth is None else {"answer": truth},
        created_at=datetime.now(UTC),
    )


def run_of(outputs: dict[str, Any], sample: Sample) -> Run:
    return Run(
        id=uuid.uuid4(),
        name="chain",
        run_type="chain",
        start_time=datetime.now(UTC),
        trace_id=uuid.uuid4(),
        inputs={"question": sample["question"]},
        outputs=outputs,
    )


def outputs_of(sample: Sample) -> dict[str, Any]:
    return {"answer": sample["answer"], "contexts": sample["contexts"]}


def feedback(sample: Sample, evaluator: Any) -> dict[str, Any]:
    run = run_of(outputs_of(sample), sample)
    found = run_evaluator(evaluator).evaluate_run(run, example_of(sample))
    return {result.key: result for result in found["results"]}


@pytest.mark.parametrize("sample", SAMPLES)
def test_feedback_has_our_scores(sample: Sample) -> None:
    found = feedback(sample, rag_evaluator(METRICS))
    ours = wanted(sample).metrics
    assert list(found) == list(METRICS)
    for metric, result in found.items():
        assert result.score == ours[metric].score
        assert result.metadata.get("passed") == ours[metric].passed


def test_a_null_score_is_feedback_without_one() -> None:
    result = feedback(SILENT, rag_evaluator("faithfulness"))["faithfulness"]
    assert result.score is None
    assert result.value is None
    assert result.metadata["null_reason"] == "nothing_to_measure"
    assert result.comment == wanted(SILENT).metrics.faithfulness.explanation


def test_the_comment_names_the_failing_sentence() -> None:
    comment = feedback(UNSUPPORTED, rag_evaluator("faithfulness"))["faithfulness"].comment
    assert "Employees receive 4711 bananas" in comment
    assert comment.isprintable()


def test_evaluate_over_a_chain_without_a_server() -> None:
    by_question = {sample["question"]: sample for sample in SAMPLES}

    def chain(inputs: dict[str, Any]) -> dict[str, Any]:
        return outputs_of(by_question[inputs["question"]])

    results = langsmith.evaluate(
        chain,
        data=[example_of(sample) for sample in SAMPLES],
        evaluators=[rag_evaluator(METRICS)],
        upload_results=False,
        client=langsmith.Client(api_url="http://127.0.0.1:9", api_key="none"),
    )
    n_rows = 0
    for row in results:
        ours = wanted(by_question[row["example"].inputs["question"]]).metrics
        found = {one.key: one.score for one in row["evaluation_results"]["results"]}
        assert found == {metric: ours[metric].score for metric in METRICS}
        n_rows += 1
    assert n_rows == len(SAMPLES)


def test_fields_can_be_elsewhere() -> None:
    evaluator = rag_evaluator(
        "faithfulness", fields={"answer": "outputs.text", "contexts": "outputs.docs[].body"}
    )
    outputs = {
        "text": UNSUPPORTED["answer"],
        "docs": [{"body": text} for text in UNSUPPORTED["contexts"]],
    }
    found = run_evaluator(evaluator).evaluate_run(
        run_of(outputs, UNSUPPORTED), example_of(UNSUPPORTED)
    )
    ours = wanted(UNSUPPORTED).metrics.faithfulness
    assert found["results"][0].score == ours.score
    with pytest.raises(InputError, match=r"outputs\.text"):
        evaluator(inputs={"question": "q"}, outputs={"answer": "a"})
