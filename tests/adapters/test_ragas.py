"""Samples of ragas, made by its own classes, are read as ours and written back.

``import ragas`` may fail (an import of its own that later releases of others have not), so that the
package is entered by its module of shapes alone.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import pytest

_found = importlib.util.find_spec("ragas")
if _found is None or _found.submodule_search_locations is None:
    pytest.skip("make adapters installs ragas", allow_module_level=True)

_package = types.ModuleType("ragas")
_package.__path__ = list(_found.submodule_search_locations)
sys.modules.setdefault("ragas", _package)

from ragas.dataset_schema import EvaluationDataset, MultiTurnSample, SingleTurnSample
from ragas.messages import HumanMessage

from rag_eval import evaluate_batch
from rag_eval.errors import InputError
from rag_eval.integrations.ragas import from_ragas, to_ragas
from tests.adapters.samples import METRICS, SAMPLES, Sample, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


def theirs(sample: Sample) -> Any:
    return SingleTurnSample(
        user_input=sample["question"],
        response=sample["answer"],
        retrieved_contexts=sample["contexts"],
        reference=sample.get("ground_truth"),
    )


@pytest.mark.parametrize("kind", ["dataset", "samples", "dicts"])
def test_scores_of_its_samples_are_ours(kind: str) -> None:
    dataset = EvaluationDataset(samples=[theirs(sample) for sample in SAMPLES])
    given: Any = {"dataset": dataset, "samples": dataset.samples, "dicts": dataset.to_list()}[kind]
    found = evaluate_batch(from_ragas(given), METRICS, profile="grounded")
    for sample, result in zip(SAMPLES, found.results, strict=True):
        for metric, ours in wanted(sample).metrics.items():
            assert result.metrics[metric].score == ours.score


def test_there_and_back() -> None:
    dataset = EvaluationDataset(
        samples=[
            SingleTurnSample(
                user_input="q",
                response="a",
                retrieved_contexts=["c", "d"],
                reference="r",
                reference_contexts=["e"],
                retrieved_context_ids=["1", 2],
                rubrics={"score1": "bad"},
                query_style="formal",
            ),
            SingleTurnSample(user_input="q", response="a", retrieved_contexts=[]),
        ]
    )
    again = EvaluationDataset.from_list(to_ragas(from_ragas(dataset)))
    assert again.samples == dataset.samples


def test_our_samples_become_its() -> None:
    rows = EvaluationDataset.from_list(to_ragas(SAMPLES))
    assert rows.samples == [theirs(sample) for sample in SAMPLES]


def test_every_field_of_its_samples_is_known() -> None:
    every = dict.fromkeys(SingleTurnSample.model_fields)
    texts = {"user_input": "q", "response": "a", "reference": "r", "retrieved_contexts": ["c"]}
    values = {**every, **texts}
    for name in every.keys() - texts.keys():
        values[name] = {"a": "b"} if name == "rubrics" else ["x"]
    for name in ("persona_name", "query_style", "query_length"):
        values[name] = "x"
    sample = SingleTurnSample(**values)
    (row,) = to_ragas(from_ragas([sample]))
    assert row == sample.to_dict()
    assert row.keys() == every.keys()


def test_conversations_and_several_truths_are_refused() -> None:
    talk = MultiTurnSample(user_input=[HumanMessage(content="hello")])
    with pytest.raises(InputError, match="sample 0: user_input must be a string"):
        from_ragas([talk])
    with pytest.raises(InputError, match="sample 0: ragas takes one ground truth"):
        to_ragas([{"question": "q", "ground_truth": ["a", "b"]}])
