"""Integrations without their tools: what they import, and what they share.

Each is run with the real package by ``make adapters``.
"""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_eval import create_evaluator, evaluate, evaluate_batch
from rag_eval.errors import InputError, MissingExtraError
from rag_eval.integrations.datasets import RagColumns
from rag_eval.integrations.langsmith import rag_evaluator
from rag_eval.integrations.ragas import from_ragas, to_ragas
from rag_eval.integrations.scoring import SampleScorer, metric_scores
from rag_eval.integrations.tool_rows import RowReader, fields, plain_value
from rag_eval.results.row import EvalSignal
from tests.adapters.samples import METRICS, NO_TRUTH, SAMPLES, SILENT, UNSUPPORTED, wanted
from tests.tables import every_row

FOLDER = Path(__file__).parents[3] / "rag_eval" / "integrations"
# Classes of these inherit from those of the tool: without it there is nothing to import.
INHERITING = ("deepeval", "inspect_ai", "langchain", "llamaindex")
LAZY = ("datasets", "duckdb", "langsmith", "mlflow", "polars", "ragas")
SHARED = {"__init__", "columns", "scoring", "tool_rows"}
PACKAGES = {
    "datasets",
    "deepeval",
    "duckdb",
    "inspect_ai",
    "langchain",
    "langchain_classic",
    "langsmith",
    "llama_index",
    "mlflow",
    "polars",
    "ragas",
}


def test_every_module_of_a_tool_is_short() -> None:
    tools = {path.stem for path in FOLDER.glob("*.py")} - SHARED
    assert tools == {*INHERITING, *LAZY}
    for tool in tools:
        lines = (FOLDER / f"{tool}.py").read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 60, tool


def test_modules_import_nothing_of_their_tools() -> None:
    names = ", ".join(f"rag_eval.integrations.{tool}" for tool in LAZY)
    program = f"import sys, {names}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "rag_eval" in loaded
    assert not loaded & PACKAGES


class _NoTools:
    """A finder that lets none of the tools be found, whatever is installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(name)


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_NoTools(), *sys.meta_path])


@pytest.mark.usefixtures("no_tools")
@every_row("tool", INHERITING)
def test_a_missing_tool_is_named_when_its_module_is_imported(tool: str) -> None:
    with pytest.raises(MissingExtraError, match=rf"integrations\.{tool} needs .*pip install"):
        importlib.import_module(f"rag_eval.integrations.{tool}")


@pytest.mark.usefixtures("no_tools")
def test_a_missing_mlflow_is_named_when_a_scorer_is_made() -> None:
    from rag_eval.integrations.mlflow import rag_scorer

    with pytest.raises(MissingExtraError, match="pip install 'mlflow>="):
        rag_scorer()


@pytest.mark.usefixtures("no_tools")
def test_a_missing_engine_is_named_when_its_function_is_called() -> None:
    from rag_eval.integrations.duckdb import register_rag_scores
    from rag_eval.integrations.polars import rag_scores

    with pytest.raises(MissingExtraError, match=r"^rag_scores needs polars: pip install polars$"):
        rag_scores()
    with pytest.raises(MissingExtraError, match=r"_rag_scores needs duckdb: pip install duckdb$"):
        register_rag_scores(SimpleNamespace())  # type: ignore[arg-type]


# --------------------------------------------------------------------------------- what they share


@every_row("sample", SAMPLES)
def test_scores_are_those_of_evaluate_in_the_grounded_profile(sample: dict[str, Any]) -> None:
    scorer = SampleScorer(METRICS, {})
    found = scorer.score(sample)
    ours = wanted(sample).metrics
    assert [one.metric for one in found] == list(METRICS)
    for one in found:
        assert (one.score, one.passed) == (ours[one.metric].score, ours[one.metric].passed)
        assert (one.score is None) == bool(one.null_reason)
    assert asyncio.run(scorer.ascore(sample)) == found


def test_options_are_those_of_the_library() -> None:
    (found,) = SampleScorer("faithfulness", {"profile": "overlap"}).score(UNSUPPORTED)
    assert found.score == evaluate(UNSUPPORTED, ["faithfulness"]).metrics.faithfulness.score
    (found,) = SampleScorer("faithfulness", {"thresholds": {"faithfulness": 0.0}}).score(
        UNSUPPORTED
    )
    assert (found.facts["threshold"], found.passed) == (0.0, True)
    with pytest.raises(TypeError, match="profil"):
        SampleScorer("faithfulness", {"profil": "overlap"})


def test_the_direction_of_a_metric_is_told() -> None:
    more, fewer = SampleScorer(["faithfulness", "unsupported_numbers"], {}).score(UNSUPPORTED)
    assert (more.facts["higher_is_better"], fewer.facts["higher_is_better"]) == (True, False)
    assert fewer.facts == {"higher_is_better": False}


def test_a_reason_names_failing_sentences_and_is_safe_to_print() -> None:
    (found,) = SampleScorer("faithfulness", {}).score(UNSUPPORTED)
    assert "Employees receive 4711 bananas" in found.reason
    assert found.reason.isprintable()
    assert "\\x1b[31mdaily\\u202e" in found.reason
    (silent,) = SampleScorer("faithfulness", {}).score(SILENT)
    assert (silent.score, silent.null_reason) == (None, "nothing_to_measure")
    assert silent.reason == "The answer contains no words."


def test_a_reason_names_the_gravest_findings_first() -> None:
    result = evaluate(UNSUPPORTED, ["faithfulness"], profile="grounded")
    signals = tuple(
        EvalSignal(id=kind, metric_id="faithfulness", severity=kind, message=f"a {kind} one.")
        for kind in ("info", "warning", "critical")
    )
    metric = replace(result.metrics.faithfulness, signals=signals)
    one = replace(result, metrics=type(result.metrics)({"faithfulness": metric}))
    (found,) = metric_scores(one)
    assert found.reason.endswith(" a critical one. a warning one. a info one.")


def test_a_reason_is_short_whatever_the_data() -> None:
    answer = " ".join(f"The {'w' * 100_000}{number} costs {number} euros." for number in range(40))
    (found,) = SampleScorer("faithfulness", {}).score({**UNSUPPORTED, "answer": answer})
    assert len(found.reason) < 5000
    assert found.reason.endswith("(35 more)")


class Document:
    """As tools have them: an object with its text."""

    def __init__(self, text: str) -> None:
        self.page_content = text


def test_objects_with_a_text_are_read_as_it() -> None:
    assert plain_value({"a": [Document("x"), ("y", 1)]}) == {"a": ["x", ["y", 1]]}
    assert fields(question="q", contexts=[Document("x")], answer=None) == {
        "question": "q",
        "contexts": ["x"],
    }
    endless: list[Any] = []
    endless.append(endless)
    plain_value(endless)


def test_rows_are_read_by_their_schema_or_by_paths() -> None:
    row = {
        "inputs": {"question": "q"},
        "outputs": {"answer": "a", "docs": [{"body": "x"}]},
        "reference_outputs": {},
        "expectations": None,
    }
    reader = RowReader(
        "langchain", {"contexts": "outputs.docs[].body", "ground_truth": "reference_outputs.gold"}
    )
    sample = reader.sample(row)
    known = {name: sample.get(name) for name in ("question", "answer", "contexts", "ground_truth")}
    assert known == {"question": "q", "answer": "a", "contexts": ["x"], "ground_truth": None}
    with pytest.raises(InputError, match=r"answer=outputs\.text: the samples have no field"):
        RowReader("langchain", {"answer": "outputs.text"}).sample(row)


def test_what_was_mapped_is_not_read_from_elsewhere() -> None:
    """A mapped ground truth that a row lacks was filled from what happened to be there."""
    row = {"inputs": {"question": "q"}, "outputs": {"answer": "a"}, "reference_outputs": {"b": "c"}}
    assert RowReader("langchain").sample(row)["ground_truth"] == "c"
    reader = RowReader("langchain", {"ground_truth": "reference_outputs.gold"})
    assert "ground_truth" not in reader.sample(row)


# ------------------------------------------------------------------------------ tools by their data


@every_row("sample", SAMPLES)
def test_langsmith_is_told_our_scores(sample: dict[str, Any]) -> None:
    found = rag_evaluator(METRICS)(
        inputs={"question": sample["question"]},
        outputs={"answer": sample["answer"], "context": [Document(c) for c in sample["contexts"]]},
        reference_outputs={"answer": sample["ground_truth"]} if "ground_truth" in sample else None,
    )
    ours = wanted(sample).metrics
    assert {one["key"]: one["score"] for one in found["results"]} == {
        metric: ours[metric].score for metric in METRICS
    }


def test_a_run_without_an_example_is_asked_for_its_own_inputs() -> None:
    """An example that is not there came as an empty object, and that as a question."""
    evaluator = rag_evaluator("answer_relevance")
    outputs = {"answer": UNSUPPORTED["answer"], "contexts": UNSUPPORTED["contexts"]}
    run = SimpleNamespace(inputs={"question": UNSUPPORTED["question"]})
    ours = wanted(UNSUPPORTED, ["answer_relevance"]).metrics.answer_relevance.score
    assert ours is not None
    found = evaluator(inputs={}, outputs=outputs, reference_outputs={}, run=run)
    assert found["results"][0]["score"] == ours
    found = evaluator(inputs={}, outputs=outputs)
    assert found["results"][0]["score"] is None
    assert found["results"][0]["metadata"]["null_reason"] == "missing_field"


def test_columns_of_a_batch() -> None:
    batch = {
        "user_input": [sample["question"] for sample in SAMPLES],
        "response": [sample["answer"] for sample in SAMPLES],
        "retrieved_contexts": [sample["contexts"] for sample in SAMPLES],
        "reference": [sample.get("ground_truth") for sample in SAMPLES],
    }
    found = RagColumns(METRICS, prefix="rag_")(batch)
    ours = evaluate_batch(SAMPLES, METRICS, profile="grounded")
    for metric in METRICS:
        assert found[f"rag_{metric}"] == [result.metrics[metric].score for result in ours.results]
    assert found["rag_passed"] == [result.passed for result in ours.results]
    assert found["rag_composite"] == [result.composite_score for result in ours.results]
    with pytest.raises(InputError, match="column 'passed' already exists"):
        RagColumns("faithfulness", fields={"answer": "response"})({**batch, "passed": [0] * 4})


def test_ragas_and_back() -> None:
    rows = to_ragas(SAMPLES)
    assert rows[0].keys() == {"user_input", "response", "retrieved_contexts", "reference"}
    evaluator = create_evaluator(profile="grounded", metrics=METRICS)
    for sample, again in zip(SAMPLES, from_ragas(rows), strict=True):
        ours = wanted(sample).metrics
        assert {name: one.score for name, one in evaluator.evaluate(again).metrics.items()} == {
            name: one.score for name, one in ours.items()
        }
    extra = {"question": "q", "rubrics": {"score1": "bad"}, "id": "7"}
    assert to_ragas([extra]) == [{"user_input": "q", "rubrics": {"score1": "bad"}}]
    empty = {"user_input": "q", "response": "", "retrieved_contexts": []}
    assert to_ragas([{"question": "q", "answer": "", "contexts": []}]) == [empty]
    with pytest.raises(InputError, match="sample 1: ragas takes one ground truth, got"):
        to_ragas([NO_TRUTH, {**NO_TRUTH, "ground_truth": ["a", "b"]}])
    with pytest.raises(InputError, match="sample 0: user_input must be a string"):
        from_ragas([{"user_input": [{"type": "human", "content": "hello"}]}])
