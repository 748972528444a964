"""One call of a judge: every kind of judge, its time limit, and what its exceptions mean."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from rag_eval.judge.calls import Caller
from rag_eval.judge.failures import JudgeCallError, JudgeFailure, JudgeUnavailableError
from rag_eval.judge.foreign_calls import LoopCalls, ThreadCalls
from rag_eval.judge.replies import (
    MAX_REPLY_BYTES,
    JudgeIdentity,
    JudgeReply,
    Usage,
    n_bytes,
)
from rag_eval.judge.retrying import fault_of, given_up, retry_after_s
from rag_eval.judge.steps import Step
from tests.tables import every_row
from tests.virtual_time import VirtualTime


class Verdict(msgspec.Struct):
    verdict: int


STEP = Step("probe", Verdict, lambda fields: Verdict(1))


def called(
    judge: Any,
    timeout_s: float = 10.0,
    prompt: str = "prompt",
    run: Callable[[Coroutine[Any, Any, JudgeReply]], JudgeReply] = asyncio.run,
) -> JudgeReply:
    """The reply of a judge that is called once."""

    async def main() -> JudgeReply:
        return await Caller(judge, threads, LoopCalls(), timeout_s).call(prompt, STEP)

    threads = ThreadCalls()
    try:
        return run(main())
    finally:
        threads.close()


# -------------------------------------------------------------------------------- kinds of judge


async def coroutine_judge(prompt: str) -> str:
    await asyncio.sleep(0)
    return prompt.upper()


class AsyncObject:
    async def __call__(self, prompt: str) -> str:
        return prompt.upper()


async def judge_with_setting(letters: str, prompt: str) -> str:
    return prompt.upper() + letters


@every_row(
    "judge",
    [
        coroutine_judge,
        AsyncObject(),
        functools.partial(judge_with_setting, ""),
        lambda prompt: prompt.upper(),
        lambda prompt: JudgeReply(prompt.upper()),
        lambda prompt: coroutine_judge(prompt),
        str.upper,
    ],
    ids=["coroutine", "object", "partial", "function", "reply", "gives-coroutine", "builtin"],
)
def test_every_kind_of_judge_is_called(judge: Any) -> None:
    reply = called(judge)
    assert reply.text == "PROMPT"
    assert reply.usage == Usage(2, 2, estimated=True)


def test_a_coroutine_function_runs_in_the_loop_and_a_function_beside_it() -> None:
    ran_in: list[threading.Thread] = []

    async def in_loop(prompt: str) -> str:
        ran_in.append(threading.current_thread())
        return prompt

    def beside(prompt: str) -> str:
        ran_in.append(threading.current_thread())
        return prompt

    called(in_loop)
    called(beside)
    assert ran_in[0] is threading.current_thread()
    assert ran_in[1].daemon
    assert ran_in[1] is not threading.current_thread()


class HeldJudge:
    """A judge that can be held to a schema."""

    identity = JudgeIdentity("openai", "gpt-5")

    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []

    async def __call__(self, prompt: str) -> JudgeReply:
        raise AssertionError("it takes a schema")

    async def ask(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        self.schemas.append(schema)
        return JudgeReply(prompt, usage=Usage(7, 3), model="gpt-5-2025")


def test_a_judge_that_takes_a_schema_is_given_that_of_the_step() -> None:
    judge = HeldJudge()
    assert called(judge) == JudgeReply("prompt", usage=Usage(7, 3), model="gpt-5-2025")
    assert judge.schemas == [STEP.schema]


@every_row(
    ("returned", "message"),
    [
        (7, "the judge must return str or JudgeReply, got int"),
        (None, "the judge must return str or JudgeReply, got NoneType"),
        (JudgeReply(None), "text of the judge's reply is NoneType"),  # type: ignore[arg-type]
        (JudgeReply("", ["stop"]), "finish_reason of the judge's reply is list"),  # type: ignore[arg-type]
        (JudgeReply("", usage={}), "usage of the judge's reply is dict"),  # type: ignore[arg-type]
        (JudgeReply("", model=5), "model of the judge's reply is int"),  # type: ignore[arg-type]
        (
            JudgeReply("", usage=Usage(None, 1)),
            "the judge's reply has an invalid token count: None",
        ),  # type: ignore[arg-type]
        (JudgeReply("", usage=Usage(1, -1)), "the judge's reply has an invalid token count: -1"),
    ],
)
def test_what_is_no_reply_is_a_failed_judgement(returned: Any, message: str) -> None:
    with pytest.raises(JudgeFailure) as raised:
        called(lambda prompt: returned)
    assert (raised.value.kind, str(raised.value)) == ("failed", message)


# ------------------------------------------------------------------------------------ time limits


@every_row("letter", ["a", "ü", "\ud800"])
def test_a_reply_that_is_too_long_is_a_failed_judgement(letter: str) -> None:
    most = letter * (MAX_REPLY_BYTES // n_bytes(letter))
    assert called(lambda prompt: most).text == most
    for returned in (
        most + letter,
        JudgeReply(most + letter),
        JudgeReply("", finish_reason=most + letter),
        JudgeReply("", model=most + letter),
    ):
        with pytest.raises(JudgeFailure, match="longer than 4 MB and was not read") as raised:
            called(lambda prompt, returned=returned: returned)
        assert raised.value.kind == "failed"


def test_an_async_call_is_cancelled_at_its_limit() -> None:
    ends: list[str] = []

    async def slow(prompt: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise
        return prompt

    with pytest.raises(JudgeCallError) as raised:
        called(slow, timeout_s=0.01, run=VirtualTime().run)
    assert str(raised.value) == "the judge did not reply within 0.01 s"
    assert raised.value.timed_out
    assert raised.value.retryable
    assert ends == ["cancelled"]


def test_a_judge_that_hides_its_cancellation_has_timed_out_all_the_same() -> None:
    async def hiding(prompt: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("closed") from None
        return prompt

    with pytest.raises(JudgeCallError) as raised:
        called(hiding, run=VirtualTime().run)
    assert raised.value.timed_out


def test_a_coroutine_that_ignores_its_cancellation_is_left_behind() -> None:
    clock = VirtualTime()
    coroutines = LoopCalls()

    async def main() -> None:
        release = asyncio.Event()

        async def stubborn(prompt: str) -> str:
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            raise ValueError("too late to matter")

        with pytest.raises(JudgeCallError) as raised:
            await Caller(stubborn, ThreadCalls(), coroutines, 10).call("prompt", STEP)
        assert raised.value.timed_out
        assert 10 < clock() < 12
        assert coroutines.late_replies == 0
        release.set()
        await asyncio.sleep(1)

    clock.run(main())
    assert coroutines.late_replies == 1


def test_a_thread_that_is_late_is_replaced_and_its_reply_dropped() -> None:
    clock = VirtualTime()
    release = threading.Event()
    threads = ThreadCalls()

    def stuck_first(prompt: str) -> str:
        if prompt == "first":
            release.wait(60)
        return prompt

    async def main() -> None:
        caller = Caller(stuck_first, threads, LoopCalls(), 5)
        with pytest.raises(JudgeCallError) as raised:
            await caller.call("first", STEP)
        assert raised.value.timed_out
        # The stuck thread takes no job away from others.
        with clock.standing_still():
            assert (await caller.call("second", STEP)).text == "second"
        assert threads.late_replies == 0
        release.set()
        while not threads.late_replies:
            await asyncio.sleep(0)
        assert threads.late_replies == 1

    clock.run(main())
    threads.close()


def test_a_late_coroutine_is_closed() -> None:
    """It would be reported as never awaited."""
    release = threading.Event()
    threads = ThreadCalls()

    def late(prompt: str) -> Any:
        release.wait(60)
        return coroutine_judge(prompt)

    async def main() -> None:
        with pytest.raises(JudgeCallError):
            await Caller(late, threads, LoopCalls(), 5).call("prompt", STEP)
        release.set()
        while not threads.late_replies:
            await asyncio.sleep(0)

    VirtualTime().run(main())
    threads.close()
    gc.collect()


def test_threads_are_used_again_and_let_go() -> None:
    seen: set[threading.Thread] = set()

    def judge(prompt: str) -> str:
        seen.add(threading.current_thread())
        return prompt

    threads = ThreadCalls()

    async def main() -> None:
        caller = Caller(judge, threads, LoopCalls(), 30)
        for _ in range(50):
            await caller.call("prompt", STEP)

    asyncio.run(main())
    # Once more in another loop.
    asyncio.run(main())
    assert len(seen) == 1
    threads.close()
    for thread in seen:
        thread.join(30)
        assert not thread.is_alive()


def test_a_thread_that_is_back_takes_one_call() -> None:
    together = threading.Barrier(2)

    def judge(prompt: str) -> str:
        if prompt != "first":
            together.wait(60)
        return prompt

    threads = ThreadCalls()

    async def main() -> None:
        caller = Caller(judge, threads, LoopCalls(), 30)
        await caller.call("first", STEP)
        await asyncio.gather(caller.call("second", STEP), caller.call("third", STEP))

    asyncio.run(main())
    threads.close()


def test_threads_of_a_pool_that_is_dropped_end() -> None:
    seen: list[threading.Thread] = []
    called(lambda prompt: seen.append(threading.current_thread()) or prompt)
    gc.collect()
    seen[0].join(30)
    assert not seen[0].is_alive()


# ------------------------------------------------------------------------------------- exceptions


class ApiError(Exception):
    """As clients of HTTP APIs raise them."""

    def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code
        self.response = type("Response", (), {"headers": headers or {}})()


@every_row("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_status_that_may_pass_is_tried_again(status: int) -> None:
    fault = fault_of(ApiError(status))
    assert isinstance(fault, JudgeCallError)
    assert fault.retryable
    assert not fault.fatal
    assert fault.rate_limited == (status == 429)
    assert fault.retry_after_s is None


@every_row("status", [401, 403, 404])
def test_a_status_that_no_call_can_change_is_fatal(status: int) -> None:
    fault = fault_of(ApiError(status))
    assert isinstance(fault, JudgeCallError)
    assert fault.fatal
    assert isinstance(given_up(fault), JudgeUnavailableError)


@every_row("status", [200, 400, 413, 422])
def test_any_other_status_fails_the_judgement(status: int) -> None:
    fault = fault_of(ApiError(status))
    assert isinstance(fault, JudgeFailure)
    assert fault.kind == "failed"
    assert str(fault) == f"the judge raised ApiError: status {status}"


def test_the_wait_that_a_server_asks_for_is_read() -> None:
    fault = fault_of(ApiError(429, {"retry-after": "7.5"}))
    assert isinstance(fault, JudgeCallError)
    assert fault.retry_after_s == 7.5


@every_row(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "3", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers) == expected


def test_retry_after_a_date_to_come_is_the_seconds_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000.0)
    assert retry_after_s({"retry-after": "Thu, 01 Jan 1970 00:18:20 GMT"}) == 100


@every_row("error", [ConnectionResetError("cut"), OSError("no route"), BrokenPipeError()])
def test_a_cut_connection_is_tried_again(error: Exception) -> None:
    fault = fault_of(error)
    assert isinstance(fault, JudgeCallError)
    assert fault.retryable
    assert not fault.timed_out


def test_a_time_out_of_the_judge_is_one() -> None:
    fault = fault_of(TimeoutError())
    assert isinstance(fault, JudgeCallError)
    assert fault.retryable
    assert fault.timed_out


def test_a_clients_own_exception_is_known_by_what_it_was_raised_from() -> None:
    error = RuntimeError("connection error")
    error.__cause__ = ConnectionRefusedError("refused")
    fault = fault_of(error)
    assert isinstance(fault, JudgeCallError)
    assert fault.retryable


@every_row("error", [FileNotFoundError("key.txt"), PermissionError("key.txt")])
def test_a_file_that_the_judge_cannot_open_is_no_server_out_of_reach(error: OSError) -> None:
    assert isinstance(fault_of(error), JudgeFailure)


def raising(error: BaseException) -> Callable[[str], str]:
    def judge(prompt: str) -> str:
        raise error

    return judge


def raising_async(error: BaseException) -> Callable[[str], Any]:
    async def judge(prompt: str) -> str:
        raise error

    return judge


@every_row("make", [raising, raising_async])
@every_row(
    "error",
    [
        ValueError("of its own"),
        KeyError("x"),
        StopIteration("x"),
        SystemExit(3),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_judge_raises_ends_its_call_alone(
    make: Callable[[BaseException], Any], error: BaseException
) -> None:
    with pytest.raises(JudgeFailure) as raised:
        called(make(error))
    assert raised.value.kind == "failed"
    assert str(raised.value).startswith("the judge raised ")


def test_an_exception_whose_message_cannot_be_made_is_named() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert str(fault_of(Mute())) == "the judge raised Mute"


def test_a_cancelled_call_is_cancelled() -> None:
    async def slow(prompt: str) -> str:
        await asyncio.Event().wait()
        return prompt

    async def main() -> None:
        threads = ThreadCalls()
        call = asyncio.create_task(Caller(slow, threads, LoopCalls(), 30).call("prompt", STEP))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()

    asyncio.run(main())


def test_the_words_of_an_exception_hold_no_key_and_fit_on_a_line() -> None:
    fault = fault_of(RuntimeError("refused\nsk-abcdef0123456789 Bearer abc.def " + "x" * 9000))
    assert str(fault).startswith("the judge raised RuntimeError: refused [key] Bearer [key] xxx")
    assert len(str(fault)) < 400
