"""inspect_ai runs a task with a scripted model, and its log holds our scores."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="make adapters installs inspect-ai")

from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from rag_eval.integrations.inspect_ai import rag_scorer
from tests.adapters.samples import METRICS, SAMPLES, SILENT, UNSUPPORTED, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


def run(folder: Path, *scorers: Any) -> Any:
    """The log of a task whose model says each sample's answer in turn."""
    outputs = [ModelOutput.from_content("mockllm/model", sample["answer"]) for sample in SAMPLES]
    for output in outputs:
        output.usage = ModelUsage()  # or it would count tokens by a table from the network
    task = inspect_ai.Task(
        dataset=[
            InspectSample(
                input=sample["question"],
                target=sample.get("ground_truth", ""),
                metadata={"contexts": sample["contexts"]},
            )
            for sample in SAMPLES
        ],
        solver=inspect_ai.solver.generate(),
        scorer=list(scorers),
    )
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = inspect_ai.eval(
        task, model=model, log_dir=str(folder), display="none", max_samples=1, max_connections=1
    )
    assert log.status == "success", log.error
    return inspect_ai.log.read_eval_log(log.location)


def test_scores_in_the_log_are_ours(tmp_path: Path) -> None:
    log = run(tmp_path, rag_scorer(METRICS))
    for row, sample in enumerate(SAMPLES):
        found = log.samples[row].scores["rag_scorer"]
        assert found.answer == sample["answer"]
        for metric, ours in wanted(sample).metrics.items():
            value = found.value[metric]
            assert (None if math.isnan(value) else value) == ours.score
            assert found.metadata[metric].get("passed") == ours.passed


def test_null_scores_are_not_in_the_means(tmp_path: Path) -> None:
    log = run(tmp_path, rag_scorer(["faithfulness"]))
    (summary,) = log.results.scores
    scores = [wanted(sample).metrics.faithfulness.score for sample in SAMPLES]
    measured = [score for score in scores if score is not None]
    assert (summary.name, summary.unscored_samples) == ("faithfulness", 1)
    assert summary.metrics["mean"].value == pytest.approx(sum(measured) / 3, rel=1e-15)
    place = SAMPLES.index(SILENT)
    facts = log.samples[place].scores["rag_scorer"].metadata["faithfulness"]
    assert facts["null_reason"] == "nothing_to_measure"


def test_the_explanation_names_the_failing_sentence(tmp_path: Path) -> None:
    log = run(tmp_path, rag_scorer("faithfulness", profile="overlap"))
    found = log.samples[SAMPLES.index(UNSUPPORTED)].scores["rag_scorer"]
    assert "Employees receive 4711 bananas" in found.explanation
    assert found.explanation.isprintable()
    ours = wanted(UNSUPPORTED, ["faithfulness"], profile="overlap").metrics.faithfulness
    assert found.value["faithfulness"] == ours.score
