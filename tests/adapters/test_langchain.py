"""LangChain's string evaluators, where they still are, with ours among them."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime

import pytest

pytest.importorskip("langchain_classic", reason="make adapters installs langchain-classic")

from langchain_core.documents import Document
from langsmith.evaluation import run_evaluator
from langsmith.schemas import Run

from rag_eval.errors import InputError
from rag_eval.integrations.langchain import RagStringEvaluator
from rag_eval.integrations.langsmith import rag_evaluator
from tests.adapters.samples import METRICS, NO_TRUTH, SAMPLES, SILENT, UNSUPPORTED, Sample, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_scores_are_ours_in_both_ways_to_call(sample: Sample, metric: str) -> None:
    ours = wanted(sample).metrics[metric]
    evaluator = RagStringEvaluator(metric)
    assert (evaluator.evaluation_name, evaluator.requires_input) == (metric, True)
    assert evaluator.requires_reference is (metric == "answer_correctness")
    given = {
        "prediction": sample["answer"],
        "reference": sample.get("ground_truth"),
        "input": sample["question"],
        "contexts": [Document(page_content=text) for text in sample["contexts"]],
    }
    if evaluator.requires_reference and sample is NO_TRUTH:
        with pytest.raises(ValueError, match="requires a reference"):
            evaluator.evaluate_strings(**given)
        return
    found = evaluator.evaluate_strings(**given)
    assert (found["score"], found["metadata"].get("passed")) == (ours.score, ours.passed)
    assert asyncio.run(evaluator.aevaluate_strings(**given)) == found


def test_the_metadata_say_why_a_score_is_null() -> None:
    given = {"prediction": SILENT["answer"], "input": SILENT["question"]}
    evaluator = RagStringEvaluator("faithfulness")
    found = evaluator.evaluate_strings(**given, contexts=SILENT["contexts"])
    assert found["score"] is None
    assert found["metadata"]["null_reason"] == "nothing_to_measure"
    without = evaluator.evaluate_strings(**given | {"prediction": "Foxes."})
    assert (without["score"], without["metadata"]["null_reason"]) == (None, "missing_field")


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
