"""A run's judges: every question answered or failed for one reason, within the limits."""

from __future__ import annotations

import asyncio
import contextvars
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import stamina
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.judge.asking import Asked
from rag_eval.judge.cache import JudgeCache
from rag_eval.judge.failures import JudgeCallError, JudgeFailure, JudgeUnavailableError
from rag_eval.judge.rendering import PromptStyle
from rag_eval.judge.replies import JudgeFn, JudgeIdentity, JudgeLimits, JudgeReply, Tally, Usage
from rag_eval.judge.session import JudgeSession
from rag_eval.judge.steps import Step, Template
from tests.judging import reply_with
from tests.tables import every_row
from tests.virtual_time import VirtualTime


class Verdict(msgspec.Struct):
    verdict: int


STEP = Step("probe", Verdict, lambda fields: Verdict(1))
STYLE = PromptStyle(overrides={"probe": Template("probe", "Judge $text", '{"verdict": 0 or 1}')})
_TEXT = re.compile(r"^text ([0-9]+)$", re.MULTILINE)


def text_of(prompt: str) -> int:
    """The number of the text that a prompt asks about."""
    found = _TEXT.search(prompt)
    assert found is not None
    return int(found[1])


@contextmanager
def session_of(
    *judges: JudgeFn,
    cache: Any = None,
    prices: Any = None,
    names: Any = None,
    clock: VirtualTime | None = None,
    **limits: Any,
) -> Iterator[JudgeSession]:
    with JudgeSession(
        judges,
        JudgeLimits(**limits),
        style=STYLE,
        cache=cache,
        prices=prices,
        names=names,
        clock=clock or VirtualTime(),
    ) as session:
        yield session


@pytest.fixture
def no_waits() -> Iterator[None]:
    """Tries follow one another at once."""
    with stamina.set_testing(True, attempts=99, cap=True):
        yield


async def asked(
    session: JudgeSession, number: int = 0, judge: int = 0, tally: Tally | None = None, **more: Any
) -> Asked[Verdict]:
    fields = {"text": f"text {number}"}
    return await session.asker(judge).ask(
        STEP, fields, Tally() if tally is None else tally, more.get("check")
    )


async def outcome(session: JudgeSession, number: int = 0, judge: int = 0) -> Any:
    """The verdict, the kind of the failure, or the error that ends the run."""
    try:
        return (await asked(session, number, judge)).value.verdict
    except JudgeFailure as failure:
        return failure.kind
    except JudgeUnavailableError as error:
        return error


async def outcomes(session: JudgeSession, numbers: Sequence[int]) -> list[Any]:
    return await asyncio.gather(*(outcome(session, number) for number in numbers))


def in_time(main: Awaitable[Any]) -> Any:
    """Its result; a question that is never answered fails its test instead of holding it up."""
    return asyncio.run(asyncio.wait_for(main, 60))


def answering(prompt: str) -> str:
    return reply_with(prompt, verdict=1)


async def answering_async(prompt: str) -> str:
    return reply_with(prompt, verdict=1)


def failing(error: Exception, times: int = 10**9) -> Callable[[str], str]:
    """A judge that raises so often and answers then."""
    calls: list[str] = []

    def judge(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) <= times:
            raise error
        return answering(prompt)

    judge.calls = calls  # type: ignore[attr-defined]
    return judge


# --------------------------------------------------------------------------------------- replies


@every_row("judge", [answering, answering_async])
def test_a_reply_is_read_and_counted(judge: JudgeFn) -> None:
    tally = Tally()
    with session_of(judge) as session:
        found = in_time(asked(session, tally=tally))
    assert found.value == Verdict(1)
    assert "text 0" in found.prompt
    assert (tally.llm_calls, tally.parse_failures, tally.estimated) == (1, 0, True)
    assert tally.input_tokens > tally.output_tokens > 0
    assert (session.tally, session.late_replies) == (tally, 0)


def test_no_question_is_lost_or_asked_twice() -> None:
    seen: list[int] = []
    in_flight = most = 0

    async def judge(prompt: str) -> str:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        number = text_of(prompt)
        seen.append(number)
        await asyncio.sleep(number % 7)
        in_flight -= 1
        return reply_with(prompt, verdict=number)

    with session_of(judge, concurrency=5) as session:
        found = VirtualTime().run(outcomes(session, range(1_000)))
    assert found == list(range(1_000))
    assert sorted(seen) == list(range(1_000))
    assert most == 5
    assert session.tally.llm_calls == 1_000


def test_threads_are_bounded_by_the_concurrency() -> None:
    clock = VirtualTime()
    before = set(threading.enumerate())
    release = threading.Event()

    def judge(prompt: str) -> str:
        release.wait(60)
        return answering(prompt)

    async def main() -> None:
        with session_of(judge, concurrency=3, clock=clock) as session:
            asks = asyncio.gather(*(outcome(session, number) for number in range(20)))
            await asyncio.sleep(1)
            assert len(set(threading.enumerate()) - before) == 3
            release.set()
            with clock.standing_still():
                assert await asks == [1] * 20
            assert len(set(threading.enumerate()) - before) == 3

    clock.run(main())


def test_a_prompt_is_made_when_its_slot_opens() -> None:
    read: list[int] = []

    class Fields(Mapping[str, str]):
        def __init__(self, number: int) -> None:
            self.number = number

        def __getitem__(self, name: str) -> str:
            read.append(self.number)
            return f"text {self.number}"

        def __iter__(self) -> Iterator[str]:
            return iter(["text"])

        def __len__(self) -> int:
            return 1

    async def main() -> None:
        go = asyncio.Event()

        async def judge(prompt: str) -> str:
            await go.wait()
            return answering(prompt)

        with session_of(judge, concurrency=2) as session:
            asks = [
                asyncio.create_task(session.asker().ask(STEP, Fields(number), Tally()))
                for number in range(5)
            ]
            await asyncio.sleep(1)
            assert set(read) == {0, 1}
            go.set()
            await asyncio.gather(*asks)
        assert set(read) == {0, 1, 2, 3, 4}

    VirtualTime().run(main())


def test_a_plain_function_sees_the_context_of_who_asks() -> None:
    trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace")
    seen: list[str] = []

    def judge(prompt: str) -> str:
        seen.append(trace.get())
        return answering(prompt)

    async def main() -> None:
        trace.set("run 7")
        with session_of(judge) as session:
            await asked(session)

    in_time(main())
    assert seen == ["run 7"]


# --------------------------------------------------------------------------- replies that are bad


def test_an_unreadable_reply_is_asked_for_once_more_with_what_was_wrong() -> None:
    prompts: list[str] = []

    async def judge(prompt: str) -> str:
        prompts.append(prompt)
        return "I think so." if len(prompts) == 1 else answering(prompt)

    tally = Tally()
    with session_of(judge) as session:
        assert in_time(asked(session, tally=tally)).prompt == prompts[1]
    assert (tally.llm_calls, tally.parse_failures) == (2, 1)
    assert "Your last reply could not be used: the reply holds no JSON object" in prompts[1]
    assert prompts[1].startswith(prompts[0])  # a server need read no more than the complaint


def test_a_reply_that_lacks_something_is_asked_for_once_more() -> None:
    async def judge(prompt: str) -> str:
        return reply_with(prompt, verdict=1 if "is missing" in prompt else 0)

    def check(value: Verdict) -> str | None:
        return None if value.verdict else "the verdict on 0 is missing"

    with session_of(judge) as session:
        assert in_time(asked(session, check=check)).value == Verdict(1)


@every_row(
    ("reply", "kind", "calls", "unreadable"),
    [
        (JudgeReply("no"), "unparsed", 2, 2),
        (JudgeReply('{"mark": "00", "verdict": 1}'), "unparsed", 2, 2),
        (JudgeReply('{"mark": "', finish_reason="length"), "truncated", 1, 1),
        (JudgeReply("", finish_reason="refusal"), "refused", 1, 0),
    ],
)
def test_two_calls_are_the_most_for_a_reply(
    reply: JudgeReply, kind: str, calls: int, unreadable: int
) -> None:
    with session_of(lambda prompt: reply) as session:
        assert in_time(outcome(session)) == kind
    assert (session.tally.llm_calls, session.tally.parse_failures) == (calls, unreadable)


def test_too_many_unreadable_replies_end_the_run() -> None:
    with session_of(lambda prompt: "no", max_parse_failures=5, concurrency=1) as session:

        async def one_by_one() -> list[Any]:
            return [await outcome(session, number) for number in range(10)]

        found = in_time(one_by_one())
    assert found[:2] == ["unparsed", "unparsed"]
    assert "6 replies could not be read (max_parse_failures=5)" in str(found[2])
    assert all(isinstance(one, JudgeUnavailableError) for one in found[2:])
    assert session.tally.llm_calls == 6


# ----------------------------------------------------------------------------------------- retries


@pytest.mark.usefixtures("no_waits")
def test_a_failure_that_may_pass_is_tried_again() -> None:
    tally = Tally()
    with session_of(failing(ConnectionResetError("cut"), times=3)) as session:
        assert in_time(asked(session, tally=tally)).value == Verdict(1)
    assert tally.llm_calls == 4


@pytest.mark.usefixtures("no_waits")
@every_row("retries", [0, 1, 5])
def test_a_server_that_stays_away_is_unreachable(retries: int) -> None:
    judge = failing(JudgeCallError("status 503", retryable=True))
    with session_of(judge, retries=retries) as session:
        assert in_time(outcome(session)) == "unreachable"
    assert session.tally.llm_calls == retries + 1


@pytest.mark.usefixtures("no_waits")
def test_a_call_that_timed_out_is_tried_once_more_only() -> None:
    async def slow(prompt: str) -> str:
        await asyncio.Event().wait()
        return prompt

    tally = Tally()
    with session_of(slow, call_timeout_s=50) as session, pytest.raises(JudgeFailure) as raised:
        VirtualTime().run(asked(session, tally=tally))
    assert raised.value.kind == "timed_out"
    assert tally.llm_calls == 2
    # What the server read is paid for, most likely.
    assert tally.input_tokens > 0
    assert tally.output_tokens == 0


def test_an_exception_of_the_callable_is_not_tried_again() -> None:
    message = "the judge raised ValueError: of its own"
    with (
        session_of(failing(ValueError("of its own"))) as session,
        pytest.raises(JudgeFailure, match=message) as raised,
    ):
        in_time(asked(session))
    assert raised.value.kind == "failed"
    assert session.tally.llm_calls == 1


@every_row("rate_limited", [True, False])
def test_the_wait_that_a_server_asks_for_holds_for_all_calls(rate_limited: bool) -> None:
    clock = VirtualTime()
    begun: list[float] = []

    async def judge(prompt: str) -> str:
        begun.append(clock())
        if len(begun) == 1:
            raise JudgeCallError(
                "busy", retryable=True, retry_after_s=30.0, rate_limited=rate_limited
            )
        return answering(prompt)

    with session_of(judge, concurrency=1, clock=clock) as session:
        assert clock.run(outcomes(session, range(3))) == [1, 1, 1]
    assert len(begun) == 4
    assert all(30 <= one < 31 for one in begun[1:])


@pytest.mark.usefixtures("no_waits")
def test_a_server_that_takes_fewer_calls_gets_fewer_at_a_time() -> None:
    """It refuses beyond three: all are judged in the end, and no call fails for good."""
    clock = VirtualTime()
    in_flight = 0
    refused = 0

    async def judge(prompt: str) -> str:
        nonlocal in_flight, refused
        if in_flight >= 3:
            refused += 1
            raise JudgeCallError("429", retryable=True, rate_limited=True, retry_after_s=0.001)
        in_flight += 1
        await asyncio.sleep(0.0005)
        in_flight -= 1
        return answering(prompt)

    with session_of(judge, concurrency=16, retries=9, clock=clock) as session:
        assert clock.run(outcomes(session, range(300))) == [1] * 300
    assert session.tally.llm_calls == 300 + refused
    # Without slowing down, thirteen of every sixteen would be refused.
    assert 0 < refused < 300


def test_a_wait_before_a_retry_holds_no_slot() -> None:
    order: list[int] = []

    async def judge(prompt: str) -> str:
        order.append(text_of(prompt))
        if order == [0]:
            raise ConnectionResetError("cut")
        return answering(prompt)

    with session_of(judge, concurrency=1) as session:
        assert VirtualTime().run(outcomes(session, range(3))) == [1, 1, 1]
    assert order == [0, 1, 2, 0]


@pytest.mark.usefixtures("no_waits")
@given(data=st.data())
def test_every_question_ends_once_whatever_its_calls_do(data: st.DataObject) -> None:
    acts = data.draw(st.lists(st.sampled_from(["ok", "cut", "bad", "raise"]), max_size=60))
    concurrency = data.draw(st.integers(1, 6))
    n_calls = in_flight = most = 0

    async def judge(prompt: str) -> str:
        nonlocal n_calls, in_flight, most
        act = acts[n_calls] if n_calls < len(acts) else "ok"
        n_calls += 1
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        if act == "cut":
            raise ConnectionResetError("cut")
        if act == "raise":
            raise ValueError("of its own")
        return "no" if act == "bad" else answering(prompt)

    with session_of(judge, concurrency=concurrency, retries=2) as session:
        found = in_time(outcomes(session, range(15)))
    assert len(found) == 15
    assert most <= concurrency
    assert session.tally.llm_calls == n_calls
    assert session.tally.parse_failures == acts[:n_calls].count("bad")


# ----------------------------------------------------------------------------- a judge that is none


def test_a_fatal_error_ends_the_run() -> None:
    async def judge(prompt: str) -> str:
        calls.append(prompt)
        await asyncio.sleep(1)
        raise JudgeCallError("wrong key", fatal=True)

    calls: list[str] = []
    judge.judge_name = "mine"  # type: ignore[attr-defined]
    with session_of(judge, concurrency=2) as session:
        found = VirtualTime().run(outcomes(session, range(50)))
    assert {str(one) for one in found} == {"callable:mine cannot be used: wrong key"}
    assert all(isinstance(one, JudgeUnavailableError) for one in found)
    assert len(calls) == 2


def test_a_fatal_error_of_the_last_call_of_a_budget_is_what_is_told() -> None:
    with session_of(failing(JudgeCallError("wrong key", fatal=True)), max_calls=1) as session:
        assert isinstance(in_time(outcome(session)), JudgeUnavailableError)


def test_a_server_that_asks_for_hours_is_not_waited_for() -> None:
    error = JudgeCallError("quota", retryable=True, rate_limited=True, retry_after_s=3_600.0)
    with session_of(failing(error)) as session:
        found = in_time(outcomes(session, range(9)))
    assert all(isinstance(one, JudgeUnavailableError) for one in found)
    assert "quota; the server asks to wait for 3600 s" in str(found[0])


@pytest.mark.usefixtures("no_waits")
@every_row(
    ("error", "kind"), [(ValueError("broken"), "failed"), (ConnectionResetError(), "unreachable")]
)
def test_a_judge_that_never_answers_ends_the_run(error: Exception, kind: str) -> None:
    with session_of(failing(error), concurrency=1, retries=1) as session:
        found = in_time(outcomes(session, range(40)))
    assert found[:19] == [kind] * 19
    assert all(isinstance(one, JudgeUnavailableError) for one in found[19:])
    assert "did not answer in 20 judgements; the last error: " in str(found[19])
    assert type(error).__name__ in str(found[19])


@pytest.mark.usefixtures("no_waits")
@every_row(
    ("error", "n_calls"),
    [
        (ConnectionRefusedError(), 3),
        (socket.gaierror(), 3),
        (JudgeCallError("nobody is there", retryable=True, unconnected=True), 3),
        (ConnectionResetError(), 6),
    ],
)
def test_a_server_that_nobody_can_connect_to_ends_the_run_at_once(
    error: Exception, n_calls: int
) -> None:
    with session_of(failing(error), concurrency=1) as session:
        found = in_time(outcome(session))
    assert isinstance(found, JudgeUnavailableError) == (n_calls == 3)
    assert session.tally.llm_calls == n_calls


@pytest.mark.usefixtures("no_waits")
def test_a_server_that_has_answered_and_is_gone_is_tried_as_often_as_another() -> None:
    n_calls = 0

    def judge(prompt: str) -> str:
        nonlocal n_calls
        n_calls += 1
        if n_calls > 1:
            raise ConnectionRefusedError
        return answering(prompt)

    with session_of(judge, concurrency=1) as session:
        found = in_time(outcomes(session, range(3)))
    assert found[1:] == ["unreachable"] * 2
    assert n_calls == 1 + 2 * 6


def test_a_judge_that_answered_once_may_fail_as_often_as_it_likes() -> None:
    async def judge(prompt: str) -> str:
        if text_of(prompt):
            raise ValueError("broken")
        return answering(prompt)

    with session_of(judge, concurrency=1) as session:
        assert in_time(outcomes(session, range(60))) == [1] + ["failed"] * 59


# ----------------------------------------------------------------------------------------- budgets


@given(concurrency=st.integers(1, 9), max_calls=st.integers(0, 60), data=st.data())
def test_no_call_begins_beyond_the_most(
    concurrency: int, max_calls: int, data: st.DataObject
) -> None:
    bad = set(data.draw(st.lists(st.integers(0, 60), max_size=20)))
    n_calls = 0

    async def judge(prompt: str) -> str:
        nonlocal n_calls
        n_calls += 1
        is_bad = n_calls in bad
        await asyncio.sleep(0)
        return "no" if is_bad else answering(prompt)

    with session_of(judge, concurrency=concurrency, max_calls=max_calls) as session:
        found = in_time(outcomes(session, range(80)))
    assert n_calls == max_calls == session.tally.llm_calls
    assert set(found) <= {1, "unparsed", "budget"}
    assert found.count("budget") >= 80 - max_calls


def test_a_budget_is_exceeded_by_no_more_than_what_is_in_flight() -> None:
    n_begun = 0

    async def judge(prompt: str) -> JudgeReply:
        nonlocal n_begun
        n_begun += 1
        await asyncio.sleep(n_begun % 5)
        return JudgeReply(answering(prompt), usage=Usage(1_000, 100))

    # A call costs 0.001 + 0.0002 USD, and what is spent is 0.1 after 84 calls.
    prices = {"mine": {"input": 1.0, "output": 2.0}}
    with session_of(judge, names=["mine"], prices=prices, budget_usd=0.1, concurrency=7) as session:
        found = VirtualTime().run(outcomes(session, range(1_000)))
    assert 84 <= n_begun <= 84 + 6
    assert found.count(1) == n_begun
    assert found.count("budget") == 1_000 - n_begun
    assert session.cost_usd == pytest.approx(n_begun * 0.0012)


def test_who_waits_for_a_retry_hears_that_the_budget_was_reached() -> None:
    async def judge(prompt: str) -> str:
        if text_of(prompt) == 0:
            raise JudgeCallError("busy", retryable=True, retry_after_s=500.0)
        return answering(prompt)

    clock = VirtualTime()

    async def main() -> list[Any]:
        with session_of(judge, judge, max_calls=2, clock=clock) as session:
            first = asyncio.create_task(outcome(session, 0, judge=0))
            await asyncio.sleep(1)
            # The last one comes when it is too late to wait for the first judge's server.
            return [
                await outcome(session, 1, judge=1),
                await first,
                await outcome(session, 2, judge=0),
            ]

    assert clock.run(main()) == [1, "budget", "budget"]


def test_a_budget_needs_a_price_of_every_judge() -> None:
    prices = {"mine": {"input": 1.0, "output": 2.0}}
    with pytest.raises(InputError, match="one has no name: set its attribute judge_name"):
        JudgeSession([answering], JudgeLimits(budget_usd=1.0), style=STYLE, prices=prices)
    with pytest.raises(InputError, match="budget_usd needs a price for 'other'"):
        JudgeSession(
            [answering, answering],
            JudgeLimits(budget_usd=1.0),
            style=STYLE,
            prices=prices,
            names=["mine", "other"],
        )


def test_the_cost_is_unknown_where_a_call_has_no_price() -> None:
    with session_of(answering) as session:
        # Without prices nothing is known, not even that nothing was spent.
        assert session.cost_usd is None
    prices = {"mine": {"input": 1.0, "output": 1.0}}
    with session_of(answering, prices=prices) as session:
        assert session.cost_usd == 0.0
        in_time(asked(session))
        assert session.cost_usd is None


def test_a_model_that_only_the_reply_names_is_priced() -> None:
    def judge(prompt: str) -> JudgeReply:
        return JudgeReply(answering(prompt), usage=Usage(1_000_000, 0), model="gpt-5-2025")

    with session_of(judge, prices={"gpt-5": {"input": 3.0, "output": 1.0}}) as session:
        in_time(asked(session))
    assert session.cost_usd == 3.0


# ------------------------------------------------------------------------------- the end of the run


def test_at_the_time_limit_of_the_run_all_questions_end() -> None:
    async def judge(prompt: str) -> str:
        if text_of(prompt) < 2:
            return answering(prompt)
        await asyncio.Event().wait()
        return prompt

    clock = VirtualTime()
    with session_of(judge, concurrency=4, run_timeout_s=0.2, clock=clock) as session:
        found = clock.run(outcomes(session, range(10)))
        assert found == [1, 1] + ["timed_out"] * 8

        async def later() -> None:
            with pytest.raises(JudgeFailure, match=r"the run's time limit of 0\.2 s was reached"):
                await asked(session)

        clock.run(later())
    assert session.tally.llm_calls == 6


def test_a_wait_for_a_retry_ends_with_the_run() -> None:
    clock = VirtualTime()

    async def judge(prompt: str) -> str:
        raise JudgeCallError("busy", retryable=True, retry_after_s=500.0)

    with session_of(judge, run_timeout_s=100, clock=clock) as session:
        assert clock.run(outcomes(session, range(3))) == ["timed_out"] * 3
    assert clock() == 100


@every_row("is_async", [True, False])
def test_stopped_from_another_thread_it_ends_calls_in_flight(is_async: bool) -> None:
    begun = threading.Semaphore(0)
    release = threading.Event()
    ends: list[str] = []

    async def slow(prompt: str) -> str:
        begun.release()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise
        return prompt

    def slow_function(prompt: str) -> str:
        begun.release()
        release.wait(60)
        return prompt

    judge: JudgeFn = slow if is_async else slow_function
    with session_of(judge, concurrency=2) as session:

        def stop() -> None:
            begun.acquire()
            begun.acquire()
            session.stop()

        stopper = threading.Thread(target=stop)
        stopper.start()

        async def main() -> list[Any]:
            found = await outcomes(session, range(20))
            return [*found, await outcome(session)]

        assert in_time(main()) == ["interrupted"] * 21
        stopper.join()
    release.set()
    assert ends == ["cancelled"] * 2 * is_async
    assert session.tally.llm_calls == 2


def test_a_session_that_was_stopped_asks_nothing() -> None:
    with session_of(answering) as session:
        session.stop()
        assert in_time(outcome(session)) == "interrupted"
    assert session.tally.llm_calls == 0


def test_a_cancelled_question_is_cancelled_and_gives_its_slot_back() -> None:
    async def main() -> None:
        async def judge(prompt: str) -> str:
            if text_of(prompt) == 0:
                await asyncio.Event().wait()
            return answering(prompt)

        with session_of(judge, concurrency=1) as session:
            first = asyncio.create_task(outcome(session, 0))
            waiting = asyncio.create_task(outcome(session, 1))
            last = asyncio.create_task(outcome(session, 2))
            await asyncio.sleep(1)
            waiting.cancel()
            first.cancel()
            assert await last == 1
            assert first.cancelled()
            assert waiting.cancelled()

    VirtualTime().run(main())


def test_late_replies_are_counted() -> None:
    release = threading.Event()

    def judge(prompt: str) -> str:
        if text_of(prompt) == 0:
            release.wait(60)
        return answering(prompt)

    clock = VirtualTime()

    async def main() -> None:
        with session_of(judge, call_timeout_s=5, retries=0, clock=clock) as session:
            assert await outcome(session, 0) == "timed_out"
            with clock.standing_still():
                assert await outcome(session, 1) == 1
            release.set()
            while not session.late_replies:
                await asyncio.sleep(0)
            assert session.late_replies == 1

    clock.run(main())


# --------------------------------------------------------------------------------- several judges


def test_each_judge_is_asked_its_own_questions() -> None:
    def second(prompt: str) -> str:
        return reply_with(prompt, verdict=0)

    async def main(session: JudgeSession) -> list[Any]:
        return [await outcome(session, n, judge=n % 2) for n in range(5)]

    with session_of(answering, second) as session:
        assert in_time(main(session)) == [1, 0, 1, 0, 1]
    assert session.tally.llm_calls == 5


def test_a_limited_judge_does_not_hold_up_another() -> None:
    clock = VirtualTime()

    async def limited(prompt: str) -> str:
        raise JudgeCallError("busy", retryable=True, rate_limited=True, retry_after_s=500.0)

    async def main() -> None:
        with session_of(limited, answering_async, concurrency=2, clock=clock) as session:
            waiting = [asyncio.create_task(outcome(session, n)) for n in range(5)]
            await asyncio.sleep(1)
            assert (
                await asyncio.gather(*(outcome(session, n, judge=1) for n in range(9))) == [1] * 9
            )
            session.stop()
            assert await asyncio.gather(*waiting) == ["interrupted"] * 5

    clock.run(main())
    assert clock() == 1


def test_requests_per_minute_are_spread() -> None:
    clock = VirtualTime()
    begun: list[float] = []

    async def judge(prompt: str) -> str:
        begun.append(clock())
        return answering(prompt)

    with session_of(judge, requests_per_minute=3_000.0, concurrency=99, clock=clock) as session:
        assert clock.run(outcomes(session, range(60))) == [1] * 60
    # Those of a second at once, and then one each 20 ms.
    assert begun[:50] == [0.0] * 50
    due = [0.02 * number for number in range(1, 11)]
    assert all(0 <= at - wanted < 0.02 for at, wanted in zip(begun[50:], due, strict=True))


def test_tokens_that_a_reply_took_are_waited_for() -> None:
    clock = VirtualTime()
    begun: list[float] = []

    async def judge(prompt: str) -> JudgeReply:
        begun.append(clock())
        return JudgeReply(answering(prompt), usage=Usage(1_000, 250))

    # A thousand a second: the first call leaves a debt of 250.
    with session_of(judge, tokens_per_minute=60_000.0, clock=clock) as session:
        assert [clock.run(outcome(session, number)) for number in range(2)] == [1, 1]
    assert begun[0] == 0
    assert 0.25 <= begun[1] < 0.26


def test_judges_are_named_by_attribute_or_by_the_session() -> None:
    def named(prompt: str) -> str:
        return prompt

    named.judge_name = "house"  # type: ignore[attr-defined]
    with session_of(named, answering, answering, names=[None, "mine", None]) as session:
        assert session.identities[:2] == (
            JudgeIdentity("callable", "house"),
            JudgeIdentity("callable", "mine"),
        )


def test_what_cannot_be_called_is_no_judge() -> None:
    with pytest.raises(InputError, match="a judge must be callable, got str"):
        JudgeSession(["gpt-5"], JudgeLimits(), style=STYLE)  # type: ignore[list-item]
    with pytest.raises(InputError, match="a session needs at least one judge"):
        JudgeSession([], JudgeLimits(), style=STYLE)


def test_without_stamina_a_session_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stamina", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-eval-native\[judge\]'"):
        JudgeSession([answering], JudgeLimits(), style=STYLE)


SILENT_RETRIES = """
import stamina
import rag_eval
from rag_eval.judge.failures import JudgeCallError

calls = []
def busy(prompt):
    calls.append(prompt)
    raise JudgeCallError("busy", retryable=True)

stamina.set_testing(True, attempts=2)
sample = {"question": "q", "answer": "A fox.", "contexts": ["A fox."]}
rag_eval.evaluate(sample, ["faithfulness"], mode="llm", judge=busy)
print(len(calls))
"""


def test_retries_are_not_logged_to_a_terminal_where_nobody_set_logging_up() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SILENT_RETRIES], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("2\n", "")


# ------------------------------------------------------------------------------------- the cache


def test_a_cached_reply_is_not_asked_for(tmp_path: Path) -> None:
    for is_first in (True, False):
        tally = Tally()
        with (
            JudgeCache(tmp_path / "cache.sqlite") as cache,
            session_of(answering, cache=cache, names=["mine"]) as session,
        ):
            found = in_time(asked(session, tally=tally))
        assert found.value == Verdict(1)
        assert (found.prompt is None) == (not is_first)
        assert (tally.llm_calls, tally.cached_calls) == ((1, 0) if is_first else (0, 1))
    assert session.tally == tally
    assert (tally.input_tokens, tally.output_tokens) == (0, 0)


def test_what_has_no_name_is_not_cached(tmp_path: Path) -> None:
    with JudgeCache(tmp_path / "cache.sqlite") as cache:
        for _ in range(2):
            with session_of(answering, cache=cache) as session:
                in_time(asked(session))
            assert session.tally.llm_calls == 1


def test_failures_are_not_cached(tmp_path: Path) -> None:
    replies = iter(["no", "no", JudgeReply("", finish_reason="refusal")])

    def judge(prompt: str) -> Any:
        return next(replies, None) or answering(prompt)

    with (
        JudgeCache(tmp_path / "cache.sqlite") as cache,
        session_of(judge, cache=cache, names=["mine"]) as session,
    ):
        found = [in_time(outcome(session)) for _ in range(4)]
    assert found == ["unparsed", "refused", 1, 1]
    assert (session.tally.llm_calls, session.tally.cached_calls) == (4, 1)


def test_repeats_and_judges_are_cached_apart(tmp_path: Path) -> None:
    async def ask_all(session: JudgeSession) -> None:
        for judge in (0, 1):
            for repeat in (0, 1):
                await session.asker(judge, repeat).ask(STEP, {"text": "text 0"}, Tally())

    with JudgeCache(tmp_path / "cache.sqlite") as cache:
        for llm_calls, cached_calls in ((4, 0), (0, 4)):
            with session_of(answering, answering, cache=cache, names=["one", "two"]) as session:
                in_time(ask_all(session))
            tally = session.tally
            assert (tally.llm_calls, tally.cached_calls) == (llm_calls, cached_calls)


def test_a_cached_reply_that_lacks_something_now_is_asked_for_again(tmp_path: Path) -> None:
    verdicts = iter([0, 1])

    def judge(prompt: str) -> str:
        return reply_with(prompt, verdict=next(verdicts))

    def check(value: Verdict) -> str | None:
        return None if value.verdict else "the verdict is missing"

    with (
        JudgeCache(tmp_path / "cache.sqlite") as cache,
        session_of(judge, cache=cache, names=["mine"]) as session,
    ):
        assert in_time(asked(session)).value == Verdict(0)
        assert in_time(asked(session, check=check)).value == Verdict(1)
        assert in_time(asked(session, check=check)).prompt is None
    assert session.tally.llm_calls == 2


def test_cached_replies_cost_no_budget_and_need_no_time(tmp_path: Path) -> None:
    with (
        JudgeCache(tmp_path / "cache.sqlite") as cache,
        session_of(answering, cache=cache, names=["mine"], max_calls=2) as session,
    ):
        found = [in_time(outcome(session, number)) for number in (0, 1, 2, 0, 1)]
        assert found == [1, 1, "budget", 1, 1]
        session.stop()
        assert in_time(outcome(session, 0)) == "interrupted"
