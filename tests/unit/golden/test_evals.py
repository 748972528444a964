"""``run_evals``: a target over items, scorers over its outputs, a mean for each scorer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from rag_eval.errors import InputError, RagEvalError
from rag_eval.golden import arun_evals, run_evals
from rag_eval.scorers.mastra import create_bias_scorer
from tests.fluent_judge import FluentJudge
from tests.tables import every_row

DATA = [
    {"input": "What is Paris?", "groundTruth": "The capital of France."},
    {"input": "What is Rome?", "groundTruth": "The capital of Italy."},
    {"input": "What is Bern?"},
]


def answer(question: str) -> str:
    return f"{question[8:-1]} is a city."


def length(run: Mapping[str, Any]) -> float:
    return len(run["output"]) / 100


def truth_length(run: Mapping[str, Any]) -> float | None:
    truth = run.get("groundTruth")
    return None if truth is None else len(truth) / 100


def test_a_mean_per_scorer_and_the_count_of_items() -> None:
    found = run_evals(DATA, [length, truth_length], answer)
    assert found.scores == {"length": pytest.approx(46 / 300), "truth_length": 0.215}
    assert found.to_dict() == {
        "scores": dict(found.scores),
        "summary": {"totalItems": 3, "scoredItems": {"length": 3, "truth_length": 2}},
    }
    assert [item["output"] for item in found.items] == [answer(item["input"]) for item in DATA]


def test_scorers_of_the_library_go_by_their_ids() -> None:
    found = run_evals(DATA, ["mastra.keyword_coverage"], answer)
    assert found.summary.scored_items == {"mastra.keyword_coverage": 3}
    assert 0.0 <= found.scores["mastra.keyword_coverage"] <= 1.0  # type: ignore[operator]


def test_a_scorer_that_finds_nothing_to_score_leaves_the_item_out() -> None:
    found = run_evals(DATA, ["omk.rouge_n"], answer)
    assert found.summary.scored_items == {"omk.rouge_n": 2}
    none = run_evals(DATA[2:], ["omk.rouge_n"], answer)
    assert none.scores == {"omk.rouge_n": None}


def test_tool_calls_of_messages_reach_the_scorers() -> None:
    def target(question: str) -> list[dict[str, Any]]:
        return [{"role": "assistant", "content": "Done.", "tool_calls": [{"toolName": "search"}]}]

    data = [{"input": "q", "expectedToolCalls": ["search", "send"]}]
    found = run_evals(data, ["hazel.trajectory_score"], target)
    assert found.scores == {"hazel.trajectory_score": 0.5}


def test_a_scorer_with_a_judge() -> None:
    scorer = create_bias_scorer(FluentJudge())
    found = run_evals(DATA[:2], [scorer], answer, concurrency=2)
    each = [scorer.run({"input": item["input"], "output": answer(item["input"])}) for item in DATA]
    assert [item["scores"]["mastra.bias"] for item in found.items] == [
        result.score for result in each[:2]
    ]
    assert found.scores["mastra.bias"] == pytest.approx(
        sum(item["scores"]["mastra.bias"] for item in found.items) / 2
    )
    assert found.summary.total_items == 2


@dataclass
class Scored:
    score: float | None


@every_row(
    ("returned", "mean"),
    [(1, 1.0), ({"score": 0.5}, 0.5), (Scored(0.25), 0.25), (float("nan"), None), (None, None)],
)
def test_what_a_function_may_return(returned: object, mean: float | None) -> None:
    assert run_evals(DATA, [lambda run: returned], answer).scores == {"<lambda>": mean}


@every_row("returned", ["0.5", True, [1], {"score": "x"}, float("inf")])
def test_what_is_no_score_is_an_error(returned: object) -> None:
    with pytest.raises(InputError, match="item 0: scorer <lambda> must return a number or None"):
        run_evals(DATA, [lambda run: returned], answer)


def test_an_error_names_its_item() -> None:
    def target(question: str) -> str:
        if "Rome" in question:
            raise ConnectionError("no network")
        return "x"

    with pytest.raises(RagEvalError, match="item 1: the target failed: no network") as caught:
        run_evals(DATA, [length], target)
    assert isinstance(caught.value.__cause__.__cause__, ConnectionError)  # type: ignore[union-attr]
    with pytest.raises(RagEvalError, match="item 0: scorer failing: 'no output'"):
        run_evals(DATA, [failing], answer)


def failing(run: Mapping[str, Any]) -> float:
    raise KeyError("no output")


def test_the_async_form_and_async_parts() -> None:
    seen: list[str] = []

    async def target(question: str) -> str:
        await asyncio.sleep(0)
        return answer(question)

    async def scorer(run: Mapping[str, Any]) -> float:
        await asyncio.sleep(0)
        return length(run)

    found = asyncio.run(
        arun_evals(DATA, [scorer], target, lambda item: seen.append(item["output"]), 3)
    )
    assert found.scores == {"scorer": pytest.approx(46 / 300)}
    assert sorted(seen) == sorted(answer(item["input"]) for item in DATA)


@every_row(
    ("arguments", "message"),
    [
        (([], [length], answer), "data must have at least one item"),
        (("text", [length], answer), "data must be a list of mappings, got str"),
        (([5], [length], answer), "item 0 must be a mapping, got int"),
        (([{"question": "q"}], [length], answer), "item 0 has no input"),
        ((DATA, [], answer), "a list of at least one scorer"),
        ((DATA, "length", answer), "a list of at least one scorer"),
        ((DATA, [length, length], answer), "two scorers have the name length"),
        ((DATA, [5], answer), "a scorer must be an id, a function or an object with id and run"),
        ((DATA, ["mastra.bias"], answer), "mastra.bias needs a judge; give it"),
        ((DATA, ["mastra.biased"], answer), "unknown metric 'mastra.biased'"),
        ((DATA, [length], "answer"), "the target must be callable, got str"),
        ((DATA, [length], answer, None, 0), "concurrency must be a whole number of at least 1"),
    ],
)
def test_arguments_are_checked(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_evals(*arguments)
