"""Golden runs: what runners may do, how cases score, and what is left after Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.golden import (
    CaseOutput,
    CaseResult,
    GoldenCase,
    GoldenDataset,
    arun_golden_dataset,
    run_golden_dataset,
)
from rag_eval.metrics.own import metric
from rag_eval.metrics.registry import unregister
from tests.tables import every_row
from tests.virtual_time import VirtualTime


def dataset(*cases: GoldenCase) -> GoldenDataset:
    return GoldenDataset(name="d", version="1", cases=cases)


def numbered(n: int, **fields: Any) -> GoldenDataset:
    return dataset(*(GoldenCase(id=f"c{i}", input=f"q{i}", **fields) for i in range(n)))


def one(output: Any, **fields: Any) -> CaseResult:
    result = run_golden_dataset(
        dataset(GoldenCase(id="a", input="q", **fields)), lambda case: output
    )
    return result.case_results[0]


# ----------------------------------------------------------------------------------------- scores


@every_row(
    ("output", "expected", "score"),
    [
        ("Refunds within 30 days.", "within 30 days", 1.0),
        ("Refunds Within 30 Days.", "within 30 days", 0.0),
        ("  WITHIN 30 DAYS\n", "within 30 days", 1.0),
        ("anything", "", 1.0),
        ("", "x", 0.0),
    ],
)
def test_the_expected_output_is_contained_or_equal_but_for_case(
    output: str, expected: str, score: float
) -> None:
    assert one(output, expected_output=expected).score == score


def test_signals_are_averaged_each_counting_the_same() -> None:
    found = one(
        {"output": "no", "toolCalls": ["a", "b"], "retrievedIds": ["x", "y", "z", "w"]},
        expected_output="yes",
        expected_tool_calls=("a",),
        expected_retrieved_ids=("x", "y", "z"),
    )
    assert [(signal.name, signal.score) for signal in found.signals] == [
        ("expected_output", 0.0),
        ("expected_tool_calls", 1.0),
        ("expected_retrieved_ids", 0.75),
    ]
    assert found.score == 1.75 / 3
    assert not found.passed


def test_a_case_that_expects_nothing_scores_one() -> None:
    found = one("x", expected_tool_calls=(), expected_retrieved_ids=())
    assert (found.score, found.passed, found.signals) == (1.0, True, ())


def test_equal_scores_have_their_value_as_average() -> None:
    """The sum of three times 0.7 over three is below 0.7 in doubles."""
    ids = tuple("abcdefghij")
    case = {"expected_tool_calls": ids}
    result = run_golden_dataset(
        numbered(3, **case), lambda case: {"toolCalls": list(ids[:7])}, min_average_score=0.7
    )
    assert [found.score for found in result.case_results] == [0.7] * 3
    assert result.average == 0.7
    assert result.passed


def test_weights_count_in_the_average() -> None:
    cases = (
        GoldenCase(id="a", input="q", expected_output="yes", weight=3.0),
        GoldenCase(id="b", input="q", expected_output="no"),
    )
    assert run_golden_dataset(dataset(*cases), lambda case: "yes").average == 0.75
    weightless = dataset(GoldenCase(id="a", input="q", weight=0.0))
    assert run_golden_dataset(weightless, lambda case: "yes").average == 0.0


def test_a_run_passes_only_when_every_case_does() -> None:
    cases = (
        *(GoldenCase(id=f"{i}", input="q", expected_output="yes") for i in range(9)),
        GoldenCase(id="last", input="q", expected_output="no"),
    )
    result = run_golden_dataset(dataset(*cases), lambda case: "yes", min_average_score=0.5)
    assert result.average == 0.9
    assert not result.passed
    assert [case.id for case in result.failed] == ["last"]


def test_an_empty_dataset_fails() -> None:
    result = run_golden_dataset(dataset(), lambda case: "", min_average_score=0)
    assert (result.average, result.passed, result.case_results) == (0.0, False, ())


def test_a_case_with_metrics_is_scored_by_them() -> None:
    found = one(
        "Paris is the capital of France.",
        contexts=("Paris is the capital of France.",),
        metrics=("faithfulness",),
        expected_output="unrelated",
        thresholds={"faithfulness": 0.9},
    )
    assert [signal.name for signal in found.signals] == ["faithfulness"]
    assert found.signals[0].passed
    assert found.score == found.signals[0].score == 1.0
    low = one(
        "Bananas grow on the tall mountains of Norway.",
        contexts=("Paris is the capital of France.",),
        metrics=("hallucination_rate",),
        thresholds={"hallucination_rate": 0.2},
    )
    assert (low.score, low.passed, low.signals[0].passed) == (0.0, False, False)


def test_a_metric_that_needs_a_judge_is_an_error_of_its_case() -> None:
    found = one("x", metrics=("mastra.bias",))
    assert (found.score, found.passed) == (0.0, False)
    assert found.error == (
        "not scored: mastra.bias needs a judge; golden datasets are scored without one"
    )
    assert one("x", metrics=("faithfulnes",)).error.startswith(  # type: ignore[union-attr]
        "not scored: unknown metric 'faithfulnes'; did you mean 'faithfulness'?"
    )


def test_a_custom_metric_that_fails_is_an_error_of_its_case() -> None:
    metric("own.halves")(lambda answer: 1 / (len(answer) - 1))
    try:
        found = one("x", metrics=("own.halves",))
        others = one("xyz", metrics=("own.halves",))
    finally:
        unregister("own.halves")
    assert found.error is not None
    assert found.error.startswith("not scored: metric 'own.halves' raised ZeroDivisionError")
    assert others.score == 0.5


def test_a_metric_that_finds_nothing_to_score_is_no_pass() -> None:
    found = one("x", metrics=("answer_correctness",))
    assert (found.score, found.passed) == (0.0, False)
    assert "no metric could be scored" in str(found.error)


def test_without_an_earlier_run_there_is_no_regression() -> None:
    found = one("x", metrics=("regtrace.regression",))
    assert (found.score, found.passed, found.error) == (1.0, True, None)
    assert found.signals[0].score is None


def test_assertions_are_one_signal() -> None:
    assertions = (
        {"type": "contains", "value": "hello"},
        {"type": "max_length", "value": 3, "weight": 2},
        {"type": "tools_called", "values": ["t"]},
    )
    found = one({"output": "Hello!", "toolCalls": ["t"]}, assertions=assertions)
    assert found.score == 0.5
    assert found.signals[0].explanation == "2 of 3 assertions passed; failed: max_length"


def test_the_time_of_a_runner_counts_for_assertions_unless_it_tells_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assertions = ({"type": "latency_max", "value": 50},)
    clock = VirtualTime()
    monkeypatch.setattr("rag_eval.golden.runner.time", SimpleNamespace(perf_counter=clock))

    def slow(case: Any) -> dict[str, Any]:
        clock.passed(0.06)
        return {"output": "", "latencyMs": 20} if case["id"] == "c1" else {"output": ""}

    result = run_golden_dataset(numbered(2, assertions=assertions), slow)
    assert [case.score for case in result.case_results] == [0.0, 1.0]


def test_scorers_take_options() -> None:
    case = GoldenCase(
        id="a",
        input="q",
        expected_output="x",
        metrics=("hazel.precision_at_k",),
        expected_retrieved_ids=("x",),
    )
    output = {"output": "", "retrievedIds": ["x", "y"]}
    for k, score in ((1, 1.0), (2, 0.5)):
        result = run_golden_dataset(
            dataset(case), lambda case: output, scorer_options={"hazel.precision_at_k": {"k": k}}
        )
        assert result.case_results[0].signals[-1].score == score
    with pytest.raises(
        InputError, match=r"scorer_options\['hazel.precision_at_k'\]: unknown option 'n'"
    ):
        run_golden_dataset(
            dataset(case), lambda case: output, scorer_options={"hazel.precision_at_k": {"n": 1}}
        )
    with pytest.raises(InputError, match="unknown metric 'x'"):
        run_golden_dataset(dataset(case), lambda case: output, scorer_options={"x": {}})


# ---------------------------------------------------------------------------------------- runners


def test_a_runner_is_told_the_input_and_not_what_is_expected() -> None:
    seen: list[Any] = []

    def runner(given: Any) -> str:
        seen.append(given)
        return ""

    case = GoldenCase(
        id="a",
        input="q",
        metadata={"flag": 1},
        contexts=("c",),
        tags=("t",),
        system_prompt="s",
        expected_output="secret",
    )
    run_golden_dataset(dataset(case), runner)
    assert seen == [
        {
            "id": "a",
            "input": "q",
            "metadata": {"flag": 1},
            "contexts": ["c"],
            "system_prompt": "s",
            "tags": ["t"],
        }
    ]


@every_row(
    "output",
    [
        {"output": "yes", "toolCalls": ["t"], "retrievedIds": [1]},
        {"output": "yes", "tool_calls": [{"name": "t"}], "retrieved_ids": (1,)},
        {"output": "yes", "toolCalls": [{"toolName": "t", "args": {}}], "retrieved_ids": [1]},
        {"output": "yes", "toolCalls": ["t"], "tool_calls": ["t"], "retrievedIds": [1]},
        CaseOutput("yes", ("t",), (1,)),
    ],
)
def test_outputs_are_read_in_either_spelling(output: Any) -> None:
    expected = {"expected_output": "yes", "expected_tool_calls": ("t",)}
    assert one(output, **expected, expected_retrieved_ids=(1,)).score == 1.0


@every_row(
    ("output", "message"),
    [
        (None, "must return a str or a mapping .* got NoneType"),
        (5, "got int"),
        (b"yes", "got bytes"),
        (["yes"], "got list"),
        ({}, "output is missing; it must be a string"),
        ({"answer": "x"}, "output is missing; it must be a string"),
        ({"output": 5}, "output must be a string, got int 5"),
        ({"output": 10**18 - 1}, "output must be a string, got int 999999999999999999$"),
        ({"output": 10**18}, "output must be a string, got int a huge number$"),
        ({"output": "x", "toolCalls": "search"}, "toolCalls must be a list, got 'search'"),
        ({"output": "x", "toolCalls": [7]}, r"toolCalls\[0\] must be the name of a tool"),
        ({"output": "x", "retrievedIds": [None]}, r"retrievedIds\[0\] must be an id"),
        (
            {"output": "x", "retrievedID": ["a"]},
            "retrievedID: unknown key; did you mean 'retrievedIds'",
        ),
        ({"output": "x", "tool_calls": ["a"], "toolCalls": ["b"]}, "the same in both spellings"),
        ({"output": "x", "costUsd": float("nan")}, "costUsd must be a number"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_its_case(output: object, message: str) -> None:
    found = one(output)
    assert (found.score, found.passed, found.output) == (0.0, False, None)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(found.error)


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@every_row(
    ("error", "text"),
    [
        (ValueError("boom"), "boom"),
        (ValueError(), "ValueError"),
        (SilentError(), "SilentError"),
        (SystemExit(3), "3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "the function cancelled itself"),
        (StopIteration(5), "coroutine raised StopIteration"),
    ],
)
@every_row("is_async", [False, True])
def test_a_runner_that_raises_fails_its_case_and_no_other(
    error: BaseException, text: str, is_async: bool
) -> None:
    def runner(case: Any) -> str:
        if case["id"] == "c1":
            raise error
        return "yes"

    async def waiting(case: Any) -> str:
        await asyncio.sleep(0)
        return runner(case)

    result = run_golden_dataset(numbered(3), waiting if is_async else runner)
    assert [case.passed for case in result.case_results] == [True, False, True]
    assert result.case_results[1].error == text
    assert (result.n_errors, result.passed) == (1, False)


class Answering:
    def __call__(self, case: Any) -> str:
        return f"answer to {case['input']}"


class AnsweringLater:
    async def __call__(self, case: Any) -> str:
        await asyncio.sleep(0)
        return f"answer to {case['input']}"


async def with_prefix(prefix: str, case: Any) -> str:
    await asyncio.sleep(0)
    return f"{prefix} {case['input']}"


@every_row(
    "runner",
    [
        Answering(),
        AnsweringLater(),
        Answering().__call__,
        functools.partial(with_prefix, "answer to"),
        lambda case: with_prefix("answer to", case),
    ],
)
def test_runners_of_all_kinds(runner: Any) -> None:
    result = run_golden_dataset(numbered(2, expected_output="answer to q"), runner)
    assert result.passed


def test_results_keep_the_order_of_the_cases() -> None:
    async def runner(case: Any) -> str:
        await asyncio.sleep(3 - int(case["id"][1:]))
        return str(case["input"])

    completed: list[str] = []
    result = VirtualTime().run(
        arun_golden_dataset(
            numbered(4),
            runner,
            concurrency=4,
            on_case_complete=lambda case: completed.append(case.id),
        )
    )
    assert [case.id for case in result.case_results] == ["c0", "c1", "c2", "c3"]
    assert [case.output.output for case in result.case_results if case.output] == [
        "q0",
        "q1",
        "q2",
        "q3",
    ]
    assert completed == ["c3", "c2", "c1", "c0"]


@every_row("concurrency", [1, 3])
def test_no_more_cases_run_at_once_than_were_asked_for(concurrency: int) -> None:
    running = most = 0

    async def runner(case: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1
        return ""

    VirtualTime().run(arun_golden_dataset(numbered(9), runner, concurrency=concurrency))
    assert most == concurrency


@every_row("is_async", [False, True])
def test_a_runner_that_never_returns_is_left_behind(is_async: bool) -> None:
    clock, never = VirtualTime(), threading.Event()

    def runner(case: Any) -> str:
        if case["id"] == "c0":
            never.wait(60)
        return ""

    async def waiting(case: Any) -> str:
        if case["id"] == "c0":
            await asyncio.Event().wait()
        return ""

    with contextlib.ExitStack() as stack:
        result = clock.run(
            arun_golden_dataset(
                numbered(3),
                waiting if is_async else runner,
                timeout_s=0.1,
                # The other two take their time.
                on_case_complete=lambda case: stack.enter_context(clock.standing_still()),
            )
        )
    never.set()
    assert [case.error for case in result.case_results] == ["timed out after 0.1 s", None, None]


def test_it_works_inside_of_a_running_loop() -> None:
    async def main() -> tuple[bool, bool]:
        blocking = run_golden_dataset(numbered(2), AnsweringLater())
        waited = await arun_golden_dataset(numbered(2), AnsweringLater(), concurrency=2)
        return blocking.passed, waited.passed

    assert asyncio.run(main()) == (True, True)


def test_coroutines_of_the_async_form_run_in_the_callers_loop() -> None:
    async def main() -> bool:
        loop = asyncio.get_running_loop()

        async def runner(case: Any) -> str:
            return "yes" if asyncio.get_running_loop() is loop else "no"

        result = await arun_golden_dataset(numbered(1, expected_output="yes"), runner)
        return result.passed

    assert asyncio.run(main())


def test_what_a_callback_raises_ends_the_run() -> None:
    ran: list[str] = []

    def runner(case: Any) -> str:
        ran.append(case["id"])
        return ""

    def stop(result: CaseResult) -> None:
        raise LookupError(result.id)

    with pytest.raises(LookupError, match="c0"):
        run_golden_dataset(numbered(5), runner, on_case_complete=stop)
    assert ran == ["c0"]


@every_row(
    ("options", "message"),
    [
        ({"concurrency": 0}, "concurrency must be a whole number of at least 1, got 0"),
        ({"concurrency": True}, "concurrency"),
        ({"concurrency": 2.0}, "concurrency"),
        ({"min_average_score": 1.1}, "min_average_score must be a number from 0 to 1, got 1.1"),
        ({"min_average_score": float("nan")}, "min_average_score"),
        ({"min_average_score": "0.7"}, "min_average_score"),
        ({"timeout_s": 0}, "timeout_s must be a number above 0 or None, got 0"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"on_case_complete": 5}, "on_case_complete must be callable"),
    ],
)
def test_options_are_checked_before_any_case_runs(options: dict[str, Any], message: str) -> None:
    def runner(case: Any) -> str:
        raise AssertionError("a case ran")

    with pytest.raises(InputError, match=message):
        run_golden_dataset(numbered(1), runner, **options)
    with pytest.raises(InputError, match="the runner must be callable, got str"):
        run_golden_dataset(numbered(1), "module:function")  # type: ignore[arg-type]


def test_the_result_as_json() -> None:
    result = run_golden_dataset(
        numbered(1, expected_output="y"), lambda case: {"output": "y", "toolCalls": ["t"]}
    )
    assert json.loads(json.dumps(result.to_dict())) == {
        "dataset": "d",
        "version": "1",
        "passed": True,
        "average": 1.0,
        "minAverageScore": 0.7,
        "totalCases": 1,
        "passedCases": 1,
        "erroredCases": 0,
        "caseResults": [
            {
                "id": "c0",
                "score": 1.0,
                "passed": True,
                "signals": [{"name": "expected_output", "score": 1.0}],
                "output": "y",
                "toolCalls": ["t"],
            }
        ],
    }


_INTERRUPTED = """
import os, signal, threading
from rag_eval.errors import Interrupted
from rag_eval.golden import run_golden_dataset

def runner(case):
    if case["id"] == "c2":
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait()
    return "yes"

cases = [{"id": f"c{n}", "input": "q"} for n in range(5)]
try:
    run_golden_dataset({"name": "d", "version": "1", "cases": cases}, runner)
except Interrupted as interrupted:
    print(interrupted)
    for case in interrupted.partial.case_results:
        print(case.id, case.score, case.error)
    print(interrupted.partial.passed)
"""


def test_ctrl_c_keeps_what_is_done() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], capture_output=True, text=True, timeout=50, check=True
    )
    why = "interrupted before it was run"
    assert done.stdout.splitlines() == [
        "2 of 5 cases were run",
        "c0 1.0 None",
        "c1 1.0 None",
        *(f"c{n} 0.0 {why}" for n in (2, 3, 4)),
        "False",
    ]


# ---------------------------------------------------------------------------------------- regtrace


def test_a_golden_set_of_regtrace_is_scored_by_its_metrics() -> None:
    case = {
        "id": "r1",
        "description": "d",
        "input": "Until when can I return it?",
        "system_prompt": None,
        "expected_output": "You can return it within 30 days.",
        "actual_output": None,
        "metrics": ["factuality", "tone", "regression"],
        "tags": [],
        "thresholds": {"tone": 1.0},
    }
    golden_set = {
        "name": "n",
        "version": "1",
        "description": "d",
        "interaction_type": "single_turn",
        "tags": [],
        "author": "a",
        "created_at": "2026-01-01",
        "updated_at": "2026-01-01",
        "test_cases": [case],
    }
    result = run_golden_dataset(golden_set, lambda case: "You can return it within 30 days.")
    found = result.case_results[0]
    scores = {signal.name: signal.score for signal in found.signals}
    assert scores == {"regtrace.factuality": 1.0, "regtrace.tone": 1.0, "regtrace.regression": None}
    assert result.passed
    worse = run_golden_dataset(
        golden_set, lambda case: "hey buddy, um, no idea lol!!! whatever", min_average_score=0.0
    ).case_results[0]
    assert [signal.passed for signal in worse.signals] == [False, False, None]
    assert not worse.passed
