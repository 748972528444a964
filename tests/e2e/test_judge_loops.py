"""Judging from wherever people call it: scripts, loops, threads, notebooks, forks, under Ctrl-C."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from rag_eval import BatchEvalResult, aevaluate, aevaluate_batch, evaluate, evaluate_batch
from rag_eval.errors import Interrupted
from rag_eval.judge.failures import JudgeCallError, JudgeUnavailableError
from rag_eval.samples import NullReason
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Act, JudgeServer, Waits
from tests.warm_processes import WarmProcess, run_warm

ROOT = Path(__file__).parents[2]
FAITH = ["faithfulness"]


def samples(n_rows: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q-{n}",
            "question": f"What is thing {n}?",
            "answer": f"Thing {n} is red. It is number {n}.",
            "contexts": [f"Thing {n} is as red as wine."],
            "ground_truth": f"Thing {n} is red.",
        }
        for n in range(n_rows)
    ]


@pytest.fixture(scope="module")
def expected() -> BatchEvalResult:
    return evaluate_batch(samples(20), mode="llm", judge=FluentJudge())


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(FluentJudge()) as server:
        yield server


def check(found: BatchEvalResult, expected: BatchEvalResult) -> None:
    assert found.n_rows > 0
    np.testing.assert_array_equal(found.scores, expected.scores[: found.n_rows])
    assert found.judging is not None
    assert found.judging.n_failed == 0


# ---------------------------------------------------------------------------------------- loops


def judges(server: JudgeServer) -> dict[str, Any]:
    fluent = FluentJudge()

    async def coroutine(prompt: str) -> str:
        await asyncio.sleep(0)
        return fluent(prompt)

    return {"function": fluent, "coroutine": coroutine, "server": f"{server.openai_url}#m"}


@pytest.mark.parametrize("kind", ["function", "coroutine", "server"])
def test_the_blocking_call_works_everywhere_and_again(
    kind: str, server: JudgeServer, expected: BatchEvalResult
) -> None:
    judge = judges(server)[kind]

    def judged() -> BatchEvalResult:
        return evaluate_batch(samples(3), mode="llm", judge=judge)

    async def inside_of_a_loop() -> tuple[BatchEvalResult, BatchEvalResult]:
        return judged(), judged()

    check(judged(), expected)
    check(judged(), expected)
    for found in asyncio.run(inside_of_a_loop()):
        check(found, expected)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda _: judged(), range(3)):
            check(found, expected)


@pytest.mark.parametrize("kind", ["function", "coroutine", "server"])
def test_the_awaited_call_works_in_each_of_several_loops(
    kind: str, server: JudgeServer, expected: BatchEvalResult
) -> None:
    judge = judges(server)[kind]

    async def judged() -> list[BatchEvalResult]:
        calls = (aevaluate_batch(samples(3), mode="llm", judge=judge) for _ in range(2))
        one = await aevaluate(samples(1)[0], mode="llm", judge=judge)
        assert one.metrics.faithfulness.score == expected.scores[0, 0]
        return list(await asyncio.gather(*calls))

    for _ in range(2):
        for found in asyncio.run(judged()):
            check(found, expected)
    alone = evaluate(samples(1)[0], mode="llm", judge=judge)
    assert alone.metrics.faithfulness.score == expected.scores[0, 0]


def test_other_tasks_of_the_loop_go_on_while_it_is_judged(expected: BatchEvalResult) -> None:
    fluent = FluentJudge()

    async def main() -> BatchEvalResult:
        ticks = asyncio.Condition()

        async def tick() -> None:
            while True:
                async with ticks:
                    ticks.notify_all()
                await asyncio.sleep(0)

        async def judge(prompt: str) -> str:
            # There is no reply unless the other task gets its turn.
            async with ticks:
                await ticks.wait()
            return fluent(prompt)

        ticking = asyncio.create_task(tick())
        try:
            return await aevaluate_batch(samples(20), mode="llm", judge=judge)
        finally:
            ticking.cancel()

    check(asyncio.run(asyncio.wait_for(main(), 60)), expected)


def test_to_cancel_the_awaited_call_is_to_end_its_calls() -> None:
    begun, ended = [], []
    all_begun = asyncio.Event()

    async def judge(prompt: str) -> str:
        begun.append(prompt)
        if len(begun) == 4:
            all_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(prompt)
        raise AssertionError

    async def main() -> None:
        running = asyncio.create_task(aevaluate_batch(samples(50), mode="llm", judge=judge))
        await all_begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (len(begun), len(ended)) == (4, 4)
        for _ in range(100):  # turns of whatever is left in the loop
            await asyncio.sleep(0)
        assert len(begun) == 4
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


# ------------------------------------------------------------------------------ ends that are early


@pytest.fixture
def interrupting() -> Iterator[Callable[[str], str]]:
    """A judge in whose hands Ctrl-C comes; that call has no reply while the test lasts."""
    # As in a program of its own, whatever the shell did that started the tests.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    fluent = FluentJudge()
    once = iter([True])
    over = threading.Event()

    def judge(prompt: str) -> str:
        if fluent.n_calls >= 100 and next(once, False):
            os.kill(os.getpid(), signal.SIGINT)
            over.wait()
        return fluent(prompt)

    yield judge
    over.set()
    signal.signal(signal.SIGINT, usual)


def test_ctrl_c_gives_what_was_judged(
    expected: BatchEvalResult, interrupting: Callable[[str], str]
) -> None:
    with pytest.raises(Interrupted, match="interrupted after") as caught:
        evaluate_batch(samples(400), mode="llm", judge=interrupting, concurrency=2)
    partial = caught.value.partial
    assert 5 <= partial.n_rows < 20
    np.testing.assert_array_equal(partial.scores, expected.scores[: partial.n_rows])
    assert [row.sample["id"] for row in partial.results] == [
        f"q-{n}" for n in range(partial.n_rows)
    ]
    assert partial.judging.stopped == "interrupted"
    assert f"{partial.n_rows} samples" in str(caught.value)
    # The next run is as any other.
    check(evaluate_batch(samples(20), mode="llm", judge=FluentJudge()), expected)


def test_ctrl_c_in_a_loop_of_the_caller_ends_the_awaited_call(
    interrupting: Callable[[str], str],
) -> None:
    async def main() -> None:
        await aevaluate_batch(samples(400), mode="llm", judge=interrupting, concurrency=2)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


def failing(n_good: int) -> Callable[[str], str]:
    fluent = FluentJudge()

    def judge(prompt: str) -> str:
        if fluent.n_calls >= n_good:
            raise JudgeCallError("the key has run out", fatal=True)
        return fluent(prompt)

    return judge


def judged_batch(awaited: bool, rows: list[dict[str, Any]], **options: Any) -> BatchEvalResult:
    if awaited:
        return asyncio.run(aevaluate_batch(rows, **options))
    return evaluate_batch(rows, **options)


@pytest.mark.parametrize("repeat", [1, 3])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_judge_that_is_lost_leaves_the_rows_that_it_finished_and_no_other(
    expected: BatchEvalResult, awaited: bool, repeat: int
) -> None:
    options: dict[str, Any] = {
        "mode": "llm",
        "judge": failing(100 * repeat),
        "judge_repeat": repeat,
        "concurrency": 6,
    }
    with pytest.raises(JudgeUnavailableError, match="the key has run out") as caught:
        judged_batch(awaited, samples(40), **options)
    partial = caught.value.partial
    assert isinstance(partial, BatchEvalResult)
    assert 5 <= partial.n_rows < 20
    np.testing.assert_array_equal(partial.scores, expected.scores[: partial.n_rows])
    assert partial.judging is not None
    assert "the key has run out" in partial.judging.stopped
    for row in partial.results:
        # A mean of some repeats would be another score than that of a whole run.
        judged = [metric.judged for metric in row.metrics.values()]
        assert all(one is not None and None not in one.by_judge[0] for one in judged)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_judge_that_never_was_there_leaves_nothing(awaited: bool) -> None:
    def judge(prompt: str) -> str:
        raise JudgeCallError("nobody is there", retryable=True)

    options: dict[str, Any] = {"mode": "llm", "judge": judge, "retries": 0}
    with pytest.raises(JudgeUnavailableError, match="did not answer in 20 judgements") as caught:
        judged_batch(awaited, samples(100), **options)
    assert isinstance(caught.value.partial, BatchEvalResult)
    assert caught.value.partial.n_rows == 0


def test_a_time_limit_leaves_every_row_judged_or_null() -> None:
    fluent = FluentJudge()
    over = threading.Event()

    def judge(prompt: str) -> str:
        if fluent.n_calls >= 8:
            over.wait()
        return fluent(prompt)

    batch = evaluate_batch(samples(100), FAITH, mode="llm", judge=judge, run_timeout_s=1.0)
    over.set()
    assert batch.n_rows == 100
    reasons = {NullReason(int(reason)) for reason in batch.null_reasons.ravel()}
    assert reasons == {NullReason.MEASURED, NullReason.JUDGE_TIMED_OUT}


# ------------------------------------------------------------------------------- other processes


PRELUDE = f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from rag_eval import aevaluate, aevaluate_batch, evaluate_batch
from tests.fluent_judge import FluentJudge
"""
ROWS = f"rows = {samples(1)!r}\n"


def ran(
    script: str, *arguments: str, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", PRELUDE + ROWS + textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def ran_warm(script: str) -> subprocess.CompletedProcess[str]:
    code = PRELUDE + ROWS + textwrap.dedent(script)
    return run_warm(code=code, text=True, imported=("openai", "tests.one_trust_store"))


SCRIPT = """
from rag_eval.adapters.addresses import judge_from_address
from rag_eval.adapters.anthropic import create_anthropic_judge

OPENAI, ANTHROPIC, CACHE = sys.argv[1:]

async def judge(prompt):
    return FluentJudge()(prompt)

async def main():
    for one in (judge, FluentJudge(), OPENAI, create_anthropic_judge("m", base_url=ANTHROPIC)):
        await aevaluate_batch(rows, mode="llm", judge=one)
        evaluate_batch(rows, mode="llm", judge=one)

asyncio.run(main())
for one in (FluentJudge(), OPENAI, OPENAI):
    kept = evaluate_batch(rows, mode="llm", judge=one, judge_cache=CACHE)
for held in (judge_from_address(OPENAI), create_anthropic_judge("m", base_url=ANTHROPIC)):
    evaluate_batch(rows, mode="llm", judge=held)
print(kept.total_cost.llm_calls, kept.judging.n_failed)
"""


def test_no_warning_is_given_where_all_are_errors(tmp_path: Path, server: JudgeServer) -> None:
    addresses = (f"{server.openai_url}#m", server.anthropic_url, str(tmp_path / "c.sqlite"))
    done = ran(SCRIPT, *addresses, flags=("-W", "error", "-X", "dev"))
    # On a busy machine a debugged loop says that something in it took long.
    said = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, said) == (0, []), done.stderr
    assert done.stdout == "0 0\n"


def test_a_forked_process_judges_for_itself_after_its_parent_did(server: JudgeServer) -> None:
    done = ran_warm(
        f"""
        import multiprocessing
        def judged(judge):
            found = evaluate_batch(rows, mode="llm", judge=judge)
            assert found.judging.n_failed == 0
            return found.scores.tolist()
        def child(judge, queue):
            queue.put(judged(judge))
        for judge in (FluentJudge(), {server.openai_url + "#m"!r}):
            before = judged(judge)
            context = multiprocessing.get_context("fork")
            queue = context.Queue()
            process = context.Process(target=child, args=(judge, queue))
            process.start()
            assert queue.get(timeout=60) == before
            process.join(60)
            assert process.exitcode == 0
            assert judged(judge) == before
        print("all the same")
        """
    )
    assert (done.returncode, done.stdout) == (0, "all the same\n"), done.stderr


def test_the_process_ends_while_judges_of_all_kinds_still_hang() -> None:
    script = """
        import threading
        asked = threading.Semaphore(0)
        def function(prompt):
            asked.release()
            threading.Event().wait()
        async def coroutine(prompt):
            asked.release()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.Event().wait()
        def run(judge):
            evaluate_batch(rows, ["answer_relevance"], mode="llm", judge=judge, retries=0)
        for judge in (function, coroutine, sys.argv[1]):
            threading.Thread(target=run, args=(judge,), daemon=True).start()
        asked.acquire()
        asked.acquire()
        sys.stdin.readline()  # the server was asked as well
        print("the end")
    """
    asked = threading.Event()

    def never(prompt: str) -> Act:
        asked.set()
        return Waits(1000, "too late")

    with JudgeServer(never) as server:
        code = PRELUDE + ROWS + textwrap.dedent(script)
        started = {"code": code, "stdin": PIPE, "text": True, "imported": ("openai",)}
        with WarmProcess(f"{server.openai_url}#m", **started) as child:
            asked.wait(60)
            out, err = child.communicate("\n")
    assert (child.returncode, out) == (0, "the end\n"), err


def test_a_function_that_hangs_is_left_behind_and_does_not_hold_up_the_end() -> None:
    done = ran(
        """
        import threading
        def judge(prompt):
            threading.Event().wait(1000)
        found = evaluate_batch(
            rows, ["answer_relevance"], mode="llm", judge=judge, call_timeout_s=0.2, retries=0
        )
        print(found.judging.metrics["answer_relevance"].failures)
        """,
        flags=("-W", "error"),
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == "{'judge_timed_out': 1}\n"


# --------------------------------------------------------------------------------------- notebooks


CELLS = [
    "first = evaluate_batch(rows, mode='llm', judge=JUDGE)\nfirst.judging.n_failed",
    "second = evaluate_batch(rows, mode='llm', judge=JUDGE)\n"
    "bool((first.scores == second.scores).all())",
    "one = await aevaluate(rows[0], mode='llm', judge=JUDGE)\n"
    "bool(one.metrics.faithfulness.score == first.scores[0, 0])",
    "third = await aevaluate_batch(rows, mode='llm', judge=JUDGE)\n"
    "bool((third.scores == second.scores).all())",
]


def test_a_notebook_can_block_and_await_in_one_cell_after_another(
    tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "always:::rag_eval")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    notebook = nbformat.v4.new_notebook()
    for judge in ("FluentJudge()", repr(f"{server.openai_url}#m")):
        cells = [f"{PRELUDE}{ROWS}JUDGE = {judge}", *CELLS]
        notebook.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert all(out.output_type == "execute_result" for found in outputs for out in found), outputs
    shown = [[out.data["text/plain"] for out in found] for found in outputs]
    assert shown == [[], ["0"], ["True"], ["True"], ["True"]] * 2
    assert server.n_requests == (3 * 1 + 1) * 8
