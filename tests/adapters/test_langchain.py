"""LangChain's string evaluators, where they still are, with ours among them."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime

import pytest

pytest.importorskip("langchain_classic", reason="make adapters installs langchain-classic")

from langchain_classic.smith.evaluation.string_run_evaluator import StringRunEvaluatorChain
from langchain_core.documents import Document
from langsmith.evaluation import run_evaluator
from langsmith.schemas import Example, Run

from rag_eval.errors import InputError
from rag_eval.integrations.langchain import RagStringEvaluator
from rag_eval.integrations.langsmith import rag_evaluator
from tests.adapters.samples import METRICS, SAMPLES, SILENT, UNSUPPORTED, Sample, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_scores_are_ours_in_both_ways_to_call(sample: Sample, metric: str) -> None:
    ours = wanted(sample).metrics[metric]
    evaluator = RagStringEvaluator(metric)
    given = {
        "prediction": sample["answer"],
        "reference": sample.get("ground_truth"),
        "input": sample["question"],
        "contexts": [Document(page_content=text) for text in sample["contexts"]],
    }
    found = evaluator.evaluate_strings(**given)
    assert (found["score"], found.get("passed")) == (ours.score, ours.passed)
    assert asyncio.run(evaluator.aevaluate_strings(**given)) == found


def test_the_reasoning_says_why_a_score_is_null() -> None:
    found = RagStringEvaluator().evaluate_strings(prediction=SILENT["answer"], reference="12")
    assert found["score"] is None
    assert found["null_reason"] == "nothing_to_measure"
    without = RagStringEvaluator("faithfulness").evaluate_strings(prediction="Foxes are red.")
    assert (without["score"], without["null_reason"]) == (None, "missing_field")


def test_an_evaluator_of_runs_calls_it() -> None:
    chain = StringRunEvaluatorChain.from_run_and_data_type(
        RagStringEvaluator(), "chain", "kv", input_key="question", prediction_key="answer",
        reference_key="answer",
    )  # fmt: skip
    now = datetime.now(UTC)
    run = Run(
        id=uuid.uuid4(),
        trace_id=uuid.uuid4(),
        name="chain",
        run_type="chain",
        start_time=now,
        inputs={"question": UNSUPPORTED["question"]},
        outputs={"answer": UNSUPPORTED["answer"]},
    )
    example = Example(
        id=uuid.uuid4(),
        dataset_id=uuid.uuid4(),
        created_at=now,
        inputs={"question": UNSUPPORTED["question"]},
        outputs={"answer": UNSUPPORTED["ground_truth"]},
    )
    ours = wanted(UNSUPPORTED).metrics.answer_correctness
    found = chain.evaluate_run(run, example)
    assert (found.key, found.score) == ("answer_correctness", ours.score)


def test_documents_in_the_outputs_of_a_run() -> None:
    documents = [Document(page_content=text) for text in UNSUPPORTED["contexts"]]
    run = Run(
        id=uuid.uuid4(),
        trace_id=uuid.uuid4(),
        name="chain",
        run_type="chain",
        start_time=datetime.now(UTC),
        inputs={"input": UNSUPPORTED["question"]},
        outputs={"answer": UNSUPPORTED["answer"], "context": documents},
    )
    found = run_evaluator(rag_evaluator("faithfulness")).evaluate_run(run, None)
    assert found["results"][0].score == wanted(UNSUPPORTED).metrics.faithfulness.score


def test_names_are_checked_when_it_is_made() -> None:
    with pytest.raises(InputError, match="faithfulnes"):
        RagStringEvaluator("faithfulnes")
