"""When calls may begin: rates, halvings, pauses, and the queue before them."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.judge.limiter import Bucket, Limiter, Pace, Slots
from rag_eval.judge.replies import JudgeLimits
from rag_eval.options.judging import limits_of
from tests.tables import every_row
from tests.virtual_time import VirtualTime


class Clock:
    """Time that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


# -------------------------------------------------------------------------------------- limits


def test_limits_of_nothing_are_the_defaults() -> None:
    assert limits_of({}) == JudgeLimits()
    assert limits_of({"concurrency": None, "profile": "grounded"}) == JudgeLimits()


def test_limits_are_read_from_options() -> None:
    limits = limits_of({"concurrency": 9, "budget_usd": 2, "call_timeout_s": 1.5})
    assert limits == JudgeLimits(concurrency=9, budget_usd=2.0, call_timeout_s=1.5)


@every_row(
    ("name", "value", "message"),
    [
        ("concurrency", 0, "concurrency must be a whole number of at least 1, got 0"),
        ("concurrency", True, "concurrency must be a whole number of at least 1, got True"),
        ("concurrency", 10_001, "concurrency must be at most 10,000, got 10001"),
        (
            "concurrency",
            10**400,
            "concurrency must be at most 10,000, got <int of 1329 bits>",
        ),
        ("retries", -1, "retries must be a whole number of at least 0, got -1"),
        ("max_calls", 1.5, "max_calls must be a whole number of at least 0, got 1.5"),
        ("call_timeout_s", 0, "call_timeout_s must be above 0, got 0"),
        ("call_timeout_s", math.inf, "call_timeout_s must be finite, got inf"),
        ("run_timeout_s", "60", "run_timeout_s must be a number, got str"),
        ("requests_per_minute", 0.0, "requests_per_minute must be above 0, got 0.0"),
        ("tokens_per_minute", math.nan, "tokens_per_minute must be finite, got nan"),
        ("budget_usd", -0.01, "budget_usd must be at least 0, got -0.01"),
        (
            "max_parse_failures",
            "3",
            "max_parse_failures must be a whole number of at least 0, got '3'",
        ),
    ],
)
def test_a_limit_that_cannot_be_is_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        limits_of({name: value})
    assert str(raised.value) == message


# --------------------------------------------------------------------------------------- rates


def test_a_bucket_holds_one_second_of_its_rate() -> None:
    clock = Clock()
    bucket = Bucket(600.0, clock)
    for _ in range(10):
        assert bucket.wait_s(1.0) == 0.0
        bucket.take(1.0)
    assert bucket.wait_s(1.0) == pytest.approx(0.1)
    clock.now += 3600.0
    assert bucket.wait_s(10.0) == 0.0
    assert bucket.wait_s(11.0) == pytest.approx(0.1)


def test_a_slow_bucket_lets_one_through_at_a_time() -> None:
    clock = Clock()
    bucket = Bucket(3.0, clock)
    bucket.take(1.0)
    assert bucket.wait_s(1.0) == pytest.approx(20.0)
    clock.now += 15.0
    assert bucket.wait_s(1.0) == pytest.approx(5.0)


def test_an_overdrawn_bucket_is_waited_for() -> None:
    clock = Clock()
    bucket = Bucket(6_000.0, clock)
    bucket.take(600.0)
    assert bucket.wait_s(1.0) == pytest.approx(5.01)
    bucket.take(-300.0)
    assert bucket.wait_s(1.0) == pytest.approx(2.01)


@given(
    per_minute=st.floats(0.5, 5_000.0),
    idle=st.lists(st.floats(0.0, 30.0), min_size=1, max_size=300),
)
def test_no_minute_has_more_requests_than_its_rate_and_a_second_of_it(
    per_minute: float, idle: list[float]
) -> None:
    clock = Clock()
    bucket = Bucket(per_minute, clock)
    begun: list[float] = []
    for seconds in idle:
        clock.now += seconds
        clock.now += bucket.wait_s(1.0)
        bucket.take(1.0)
        begun.append(clock.now)
    most = per_minute + max(1.0, per_minute / 60.0)
    for place, begin in enumerate(begun):
        within = [one for one in begun[place:] if one < begin + 60.0]
        assert len(within) <= most + 1e-6


# ---------------------------------------------------------------------------------------- pace


def test_a_limited_server_is_sent_half_as_many() -> None:
    pace = Pace(16, Clock())
    for expected in (8.0, 4.0, 2.0, 1.0, 1.0):
        pace.limited(pace.begin(), retry_after_s=0.0)
        pace.end()
        assert pace.allowed == expected


def test_a_success_adds_one_per_round_of_calls() -> None:
    pace = Pace(16, Clock())
    pace.limited(pace.begin(), 0.0)
    pace.limited(pace.begin(), 0.0)
    assert pace.allowed == 4.0
    pace.succeeded(pace.begin())
    assert pace.allowed == 4.25
    pace.succeeded(pace.begin())
    assert pace.allowed == 4.25 + 1.0 / 4.25


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 9))
def test_the_pace_stays_between_one_and_the_concurrency(outcomes: list[bool], most: int) -> None:
    pace = Pace(most, Clock())
    for is_success in outcomes:
        epoch = pace.begin()
        pace.end()
        if is_success:
            pace.succeeded(epoch)
        else:
            pace.limited(epoch, None)
        assert 1.0 <= pace.allowed <= most


def test_calls_that_were_in_flight_together_halve_once() -> None:
    pace = Pace(8, Clock())
    epochs = [pace.begin() for _ in range(8)]
    for epoch in epochs[:5]:
        pace.limited(epoch, None)
    for epoch in epochs[5:]:
        pace.succeeded(epoch)
    assert pace.allowed == 4.0


def test_no_more_are_in_flight_than_allowed() -> None:
    clock = Clock()
    pace = Pace(4, clock)
    pace.limited(pace.begin(), 0.0)
    assert pace.wait_s() == 0.0
    pace.begin()
    assert pace.wait_s() == math.inf
    pace.end()
    assert pace.wait_s() == 0.0


def test_a_wait_that_the_server_asks_for_holds_for_all() -> None:
    clock = Clock()
    pace = Pace(4, clock)
    first, second = pace.begin(), pace.begin()
    pace.limited(first, retry_after_s=7.0)
    pace.limited(second, retry_after_s=3.0)
    pace.end()
    pace.end()
    assert pace.wait_s() == 7.0
    clock.now += 6.5
    assert pace.wait_s() == 0.5
    clock.now += 0.5
    assert pace.wait_s() == 0.0


def test_a_server_that_names_no_wait_is_left_alone_twice_as_long_each_time() -> None:
    clock = Clock()
    pace = Pace(4, clock)
    found = []
    for _ in range(9):
        epoch = pace.begin()
        pace.end()
        pace.limited(epoch, None)
        found.append(pace.wait_s())
        clock.now += 60.0
    assert found == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    pace.succeeded(pace.begin())
    pace.end()
    pace.limited(pace.begin(), None)
    pace.end()
    assert pace.wait_s() == 0.25


# ------------------------------------------------------------------------------------- limiter


def test_all_judges_together_stay_below_the_concurrency() -> None:
    limiter = Limiter(2, JudgeLimits(concurrency=3), Clock())
    for judge in (0, 1, 0):
        assert limiter.wait_s(judge) == 0.0
        limiter.begin(judge)
    assert limiter.wait_s(0) == limiter.wait_s(1) == math.inf
    limiter.end(1)
    assert limiter.wait_s(0) == limiter.wait_s(1) == 0.0


def test_a_judge_that_is_paused_does_not_hold_up_another() -> None:
    limiter = Limiter(2, JudgeLimits(), Clock())
    limiter.paces[0].limited(limiter.begin(0), retry_after_s=9.0)
    limiter.end(0)
    assert limiter.wait_s(0) == 9.0
    assert limiter.wait_s(1) == 0.0


def test_requests_and_tokens_are_both_waited_for() -> None:
    clock = Clock()
    limits = JudgeLimits(concurrency=99, requests_per_minute=60.0, tokens_per_minute=6_000.0)
    limiter = Limiter(1, limits, clock)
    limiter.begin(0)
    assert limiter.wait_s(0) == pytest.approx(1.0)
    limiter.take_tokens(500.0)
    assert limiter.wait_s(0) == pytest.approx(4.01)
    clock.now += 4.01
    assert limiter.wait_s(0) == pytest.approx(0.0)


# --------------------------------------------------------------------------------------- slots


def slots(concurrency: int, n_judges: int = 1, **limits: Any) -> tuple[Slots, Limiter]:
    clock = limits.pop("clock", Clock())
    limiter = Limiter(n_judges, JudgeLimits(concurrency=concurrency, **limits), clock)
    return Slots(limiter), limiter


def test_slots_are_given_in_order() -> None:
    async def main() -> list[int]:
        queue, _ = slots(1)
        order: list[int] = []

        async def call(number: int) -> None:
            await queue.enter(0)
            order.append(number)
            await asyncio.sleep(0)
            queue.leave(0)

        await asyncio.gather(*(call(number) for number in range(20)))
        return order

    assert asyncio.run(main()) == list(range(20))


def test_a_cancelled_wait_leaves_the_queue() -> None:
    async def main() -> None:
        queue, limiter = slots(1)
        await queue.enter(0)
        first = asyncio.create_task(queue.enter(0))
        second = asyncio.create_task(queue.enter(0))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        queue.leave(0)
        await second
        assert first.cancelled()
        assert limiter.wait_s(0) == math.inf
        queue.leave(0)
        assert limiter.wait_s(0) == 0.0

    asyncio.run(main())


@every_row("leaves_first", [True, False])
def test_a_slot_given_to_a_wait_that_is_cancelled_goes_on(leaves_first: bool) -> None:
    async def main() -> None:
        queue, limiter = slots(1)
        await queue.enter(0)
        first = asyncio.create_task(queue.enter(0))
        second = asyncio.create_task(queue.enter(0))
        await asyncio.sleep(0)
        if leaves_first:
            queue.leave(0)
            first.cancel()
        else:
            first.cancel()
            queue.leave(0)
        await asyncio.wait_for(second, 10)
        queue.leave(0)
        assert limiter.wait_s(0) == 0.0

    asyncio.run(main())


def test_a_request_that_is_not_made_is_given_back() -> None:
    async def main() -> None:
        queue, limiter = slots(1, requests_per_minute=120.0)
        await queue.enter(0)
        waiting = asyncio.create_task(queue.enter(0))
        await asyncio.sleep(0)
        queue.leave(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert limiter.wait_s(0) == 0.0

    asyncio.run(main())


def test_a_paused_judge_is_woken_by_the_clock() -> None:
    clock = VirtualTime()

    async def main() -> None:
        queue, limiter = slots(2, n_judges=2, clock=clock)
        limiter.paces[0].pause(50)
        paused = asyncio.create_task(queue.enter(0))
        await asyncio.sleep(0)
        # The other judge has no pause to wait out.
        await queue.enter(1)
        assert not paused.done()
        await paused

    clock.run(main())
    assert 50 <= clock() < 51
