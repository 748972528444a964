"""mlflow.genai.evaluate runs our scorer over a file of its own and keeps our scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

mlflow = pytest.importorskip("mlflow", reason="make adapters installs mlflow")

from mlflow.entities import SpanType

from rag_eval.errors import InputError
from rag_eval.integrations.mlflow import rag_scorer
from tests.adapters.samples import METRICS, SAMPLES, SILENT, UNSUPPORTED, Sample, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True, scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    experiment = mlflow.create_experiment("rag", artifact_location=(folder / "files").as_uri())
    mlflow.set_experiment(experiment_id=experiment)


def row_of(sample: Sample) -> dict[str, Any]:
    row: dict[str, Any] = {
        "inputs": {"question": sample["question"]},
        "outputs": {"answer": sample["answer"], "contexts": sample["contexts"]},
    }
    if "ground_truth" in sample:
        row["expectations"] = {"expected_response": sample["ground_truth"]}
    return row


def assessments(result: Any) -> dict[str, dict[str, Any]]:
    """Feedback by question and metric, read back from the store."""
    found = {}
    for trace in mlflow.search_traces(
        run_id=result.run_id, return_type="list", locations=[experiment_id()]
    ):
        request = trace.data.spans[0].inputs
        found[request["question"]] = {
            one.name: one for one in trace.info.assessments if one.name in METRICS
        }
    return found


def experiment_id() -> str:
    return str(mlflow.get_experiment_by_name("rag").experiment_id)


def assert_ours(result: Any) -> None:
    stored = assessments(result)
    assert len(stored) == len(SAMPLES)
    for sample in SAMPLES:
        ours = wanted(sample).metrics
        found = stored[sample["question"]]
        assert found.keys() == set(METRICS)
        for metric in METRICS:
            assert found[metric].value == ours[metric].score
            verdict = found[metric].metadata.get("passed")
            assert verdict == (
                None if ours[metric].passed is None else str(ours[metric].passed).lower()
            )


def test_scores_in_the_store_are_ours_and_nulls_are_errors() -> None:
    result = mlflow.genai.evaluate(
        data=[row_of(sample) for sample in SAMPLES], scorers=[rag_scorer(METRICS)]
    )
    assert_ours(result)
    null = assessments(result)[SILENT["question"]]["faithfulness"]
    assert null.error.error_code == "NOTHING_TO_MEASURE"
    assert null.error.error_message == wanted(SILENT).metrics.faithfulness.explanation
    scores = [wanted(sample).metrics.faithfulness.score for sample in SAMPLES]
    measured = [score for score in scores if score is not None]
    mean = result.metrics["faithfulness/mean"]
    assert mean == pytest.approx(sum(measured) / len(measured), rel=1e-15)


def test_contexts_come_from_the_retrievers_of_the_trace() -> None:
    by_question = {sample["question"]: sample for sample in SAMPLES}

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve(question: str) -> list[dict[str, Any]]:
        return [{"page_content": text} for text in by_question[question]["contexts"]]

    @mlflow.trace
    def answer(question: str) -> str:
        retrieve(question)
        return str(by_question[question]["answer"])

    rows = [{k: v for k, v in row_of(sample).items() if k != "outputs"} for sample in SAMPLES]
    assert_ours(mlflow.genai.evaluate(data=rows, predict_fn=answer, scorers=[rag_scorer(METRICS)]))


def test_the_rationale_names_the_failing_sentence() -> None:
    found = rag_scorer("faithfulness", profile="overlap")(**row_of(UNSUPPORTED))
    assert "Employees receive 4711 bananas" in found[0].rationale
    assert found[0].rationale.isprintable()
    ours = wanted(UNSUPPORTED, ["faithfulness"], profile="overlap").metrics.faithfulness
    assert found[0].value == ours.score


def test_fields_can_be_elsewhere_and_names_are_checked() -> None:
    scorer = rag_scorer("faithfulness", fields={"contexts": "outputs.hits[].body"})
    hits = [{"body": text} for text in UNSUPPORTED["contexts"]]
    found = scorer(
        inputs={"question": UNSUPPORTED["question"]},
        outputs={"answer": UNSUPPORTED["answer"], "hits": hits},
    )
    assert found[0].value == wanted(UNSUPPORTED).metrics.faithfulness.score
    with pytest.raises(InputError, match="faithfulnes"):
        rag_scorer("faithfulnes")
