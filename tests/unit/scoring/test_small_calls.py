"""Calls with one row: what nobody looks at is not computed, and comes out alike when it is."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.options.plan import make_plan
from rag_eval.results.aggregates import aggregate_composite
from rag_eval.samples import Profile
from rag_eval.scoring import engine
from tests.counted_work import operations
from tests.tables import every_row

SAMPLE: dict[str, Any] = {
    "question": "What is the capital of France?",
    "answer": "The capital of France is Paris. It lies on the Seine. Nobody sings in Rome.",
    "contexts": ["Paris is the capital of France.", "The Seine flows through Paris."],
    "groundTruth": "The capital of France is Paris.",
}
ROWS = [SAMPLE, {**SAMPLE, "answer": "I do not know."}, {**SAMPLE, "contexts": []}]


def evaluated(profile: Profile) -> rag_eval.EvalResult:
    return rag_eval.evaluate(SAMPLE, profile=profile)


@every_row("profile", ["overlap", "grounded"])
def test_a_row_is_explained_where_somebody_looks(profile: Profile) -> None:
    """The words for a row take longer than its scores."""
    result = evaluated(profile)
    assert result.composite_score is not None
    assert operations(lambda: result.metrics["faithfulness"]) > 500
    assert operations(lambda: result.metrics["faithfulness"]) < 20


@every_row("profile", ["overlap", "grounded"])
def test_one_metric_is_explained_without_the_others(profile: Profile) -> None:
    alone, together = evaluated(profile).metrics, evaluated(profile).metrics
    work = operations(lambda: alone.faithfulness)
    assert 2 * work < operations(together.values)
    assert alone.faithfulness is alone["faithfulness"] is next(iter(alone.values()))
    assert list(alone.items()) == list(together.items())
    assert alone["context_recall"] is alone.contextRecall is [*alone.values()][3]


def test_calls_with_equal_options_share_a_plan() -> None:
    """To make one takes a tenth of the time of a call."""
    plan = make_plan(["faithfulness"], {"profile": "grounded", "threads": 1})
    assert make_plan(iter(["faithfulness"]), {"profile": "grounded"}) is plan
    others: list[dict[str, Any]] = [
        {},
        {"profile": "grounded", "thresholds": {"faithfulness": 0.7}},
        {"profile": "grounded", "language": "de"},
    ]
    assert all(make_plan(["faithfulness"], options) is not plan for options in others)
    with pytest.raises(InputError, match="profile must be 'overlap' or 'grounded'"):
        make_plan(None, {"profile": ["grounded"]})


@every_row("profile", ["overlap", "grounded"])
def test_explanations_are_those_of_the_sample_as_it_was(profile: Profile) -> None:
    sample = {**SAMPLE, "contexts": [*SAMPLE["contexts"]]}
    result = rag_eval.evaluate(sample, profile=profile)
    sample["answer"] = "Other words."
    sample["contexts"].clear()
    found = {name: metric.to_dict() for name, metric in result.metrics.items()}
    assert found == {name: one.to_dict() for name, one in evaluated(profile).metrics.items()}
    assert any(signal["evidence"] == "Nobody sings in Rome." for signal in _signals(found))


def _signals(found: dict[Any, dict[str, Any]]) -> list[dict[str, Any]]:
    signals = [signal for metric in found.values() for signal in metric["signals"]]
    return [signal for signal in signals if "evidence" in signal]


@every_row("again", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_what_was_not_looked_at_is_copied_with_the_rest(again: Callable[[Any], Any]) -> None:
    result = again(evaluated("grounded"))
    assert result.metrics["faithfulness"] == evaluated("grounded").metrics["faithfulness"]
    batch = again(rag_eval.evaluate_batch(ROWS, keep_texts=False))
    assert batch.composite_aggregate == _composite(batch)
    assert batch.aggregates["faithfulness"].n == 3


def _composite(batch: rag_eval.BatchEvalResult) -> Any:
    return aggregate_composite(batch.composite_scores, batch.sample_passed)


def test_the_statistics_of_a_batch_are_computed_where_somebody_looks() -> None:
    batch = rag_eval.evaluate_batch(ROWS)
    assert operations(lambda: batch.composite_aggregate) > 100
    assert operations(lambda: batch.composite_aggregate) < 20
    assert batch.composite_aggregate == _composite(batch)
    assert replace(batch, notes=["one"]).composite_aggregate == _composite(batch)
    assert {one.name for one in fields(batch)} <= set(dir(batch))
    with pytest.raises(AttributeError, match="'BatchEvalResult' object has no attribute 'mean'"):
        _ = batch.mean  # type: ignore[attr-defined]


def test_a_batch_of_one_block_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start one takes longer than to score a row."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a thread was started")

    wanted = rag_eval.evaluate_batch([*ROWS * 5, SAMPLE], threads=1).scores
    monkeypatch.setattr(engine, "Thread", refuse)
    found = rag_eval.evaluate_batch([*ROWS * 5, SAMPLE], threads=2).scores
    assert found.tobytes() == wanted.tobytes()
    with pytest.raises(AssertionError, match="a thread was started"):
        rag_eval.evaluate_batch(ROWS * 6, threads=2)
