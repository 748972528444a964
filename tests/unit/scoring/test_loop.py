"""The loop over scored blocks: its sinks, and how it ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rag_eval.errors import Interrupted
from rag_eval.inputs.row_blocks import sample_blocks
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.options.plan import Plan, make_plan
from rag_eval.scoring.engine import ScoredBlock, block_scorer, score_blocks
from rag_eval.scoring.loop import ScoringLoop
from rag_eval.scoring.progress import Progress
from tests.fluent_judge import FluentJudge
from tests.tables import every_row

SAMPLE = {"answer": "The fox is red.", "contexts": ["The fox is red and small."]}
N_ROWS = 600  # several blocks: the first has 16 rows
PLAN = make_plan(["faithfulness"], {})


class Rows:
    """A sink that notes which rows it got."""

    def __init__(self, then: Callable[[int], object] | None = None) -> None:
        self.got: list[range] = []
        self._then = then

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        self.got.append(range(first_row, first_row + len(scored.scores)))
        if self._then is not None:
            self._then(first_row)

    @property
    def n_rows(self) -> int:
        return sum(map(len, self.got))


def native(
    plan: Plan = PLAN, rows: list[dict[str, Any]] | None = None
) -> Generator[ScoredBlock, None, None]:
    needs = FieldNeeds.of(plan.native_columns, plan.settings.profile)
    blocks = sample_blocks(rows or [SAMPLE] * N_ROWS, needs)
    return score_blocks(blocks, block_scorer(plan, needs), 1)


def interrupt(first_row: int) -> None:
    """Ctrl-C in the second block."""
    if first_row:
        os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def no_judge(plan: Plan) -> Iterator[Any]:
    class Lost:
        def blocks(
            self, scored: Generator[ScoredBlock, None, None], on_rows: object
        ) -> Iterator[ScoredBlock]:
            yield next(scored)
            raise JudgeUnavailableError("the key has run out")

        def report(self) -> str:
            return "asked"

    yield Lost()


def test_sinks_get_every_block_in_order() -> None:
    prepared: list[int] = []
    one, other = Rows(), Rows()
    loop = ScoringLoop(PLAN, native())
    loop.score(one, other, prepare=lambda scored, first_row: prepared.append(first_row))
    assert len(one.got) > 1
    assert one.got == other.got
    assert [row for rows in one.got for row in rows] == list(range(N_ROWS))
    assert prepared == [rows.start for rows in one.got]
    assert (loop.n_rows, loop.stopped, loop.judge_report()) == (N_ROWS, None, None)
    loop.raise_stopped()


def test_rows_of_an_earlier_run_are_counted_before() -> None:
    seen: list[tuple[int, int | None]] = []
    rows = Rows()
    loop = ScoringLoop(
        PLAN,
        native(),
        Progress(lambda done, total: seen.append((done, total)), 1000),
        n_rows=400,
        share_done=lambda n_rows: n_rows / 1000,
    )
    loop.score(rows)
    assert rows.got[0].start == 400
    assert loop.n_rows == 1000
    assert seen[0] == (400, 1000)
    assert seen[-1] == (1000, 1000)


@every_row("is_whole", [True, False])
def test_ctrl_c_waits_until_a_block_is_in_the_last_sink(is_whole: bool) -> None:
    one, other = Rows(interrupt), Rows()
    loop = ScoringLoop(PLAN, native(), is_whole=is_whole)
    loop.score(one, other)
    assert isinstance(loop.stopped, KeyboardInterrupt)
    assert len(one.got) == 2
    assert other.got == (one.got if is_whole else one.got[:1])
    assert loop.n_rows == other.n_rows


def judged_loop(
    judge: Callable[[int], Awaitable[None]],
    sink: Rows,
    prepare: Callable[[ScoredBlock, int], object] | None = None,
) -> ScoringLoop:
    """A loop through 300 rows; ``judge`` is awaited with the number of a row before its reply."""
    fluent = FluentJudge()

    async def reply(prompt: str) -> str:
        await judge(int(re.findall(r"room ([0-9]+)", prompt)[0]))
        return fluent(prompt)

    rows = [{"answer": f"In room {n}.", "contexts": [f"In room {n}."]} for n in range(300)]
    plan = make_plan(["faithfulness"], {"mode": "llm", "judge": reply, "concurrency": 4})
    loop = ScoringLoop(plan, native(plan, rows), is_whole=True)
    loop.score(sink, prepare=prepare)
    return loop


@every_row("place", ["prepared", "written"])
def test_ctrl_c_while_a_block_is_written_keeps_the_rows_that_were_judged_after_it(
    place: str,
) -> None:
    """They were lost, with what they cost, unless the signal came while it waited for the judge."""
    whole = Rows()
    judged_loop(lambda number: asyncio.sleep(0), whole)
    first, second = whole.got
    held, has_begun = threading.Semaphore(0), asyncio.Event()

    async def judge(number: int) -> None:
        if number == first[-1]:  # so that the second block is judged before the first is written
            await has_begun.wait()
        elif number in second:
            has_begun.set()
            if number in second[-4:]:
                held.release()
                await asyncio.Event().wait()

    def interrupt_in_the_first(first_row: int) -> None:
        if first_row == first.start:
            for _ in range(4):
                held.acquire()
            os.kill(os.getpid(), signal.SIGINT)

    if place == "written":
        sink = Rows(interrupt_in_the_first)
        loop = judged_loop(judge, sink)
    else:
        sink = Rows()
        loop = judged_loop(judge, sink, lambda _, first_row: interrupt_in_the_first(first_row))
    assert isinstance(loop.stopped, KeyboardInterrupt)
    assert [row for part in sink.got for row in part] == list(range(second[-4]))
    assert loop.n_rows == second[-4]


def test_ctrl_c_ends_what_is_prepared_at_once() -> None:
    rows = Rows()
    loop = ScoringLoop(PLAN, native(), is_whole=True)
    loop.score(rows, prepare=lambda scored, first_row: interrupt(first_row))
    assert isinstance(loop.stopped, KeyboardInterrupt)
    assert len(rows.got) == 1


def test_what_ended_it_is_raised_with_what_there_is() -> None:
    loop = ScoringLoop(PLAN, native())
    loop.score(Rows(interrupt))
    with pytest.raises(KeyboardInterrupt) as plain:
        loop.raise_stopped()
    assert plain.value is loop.stopped
    with pytest.raises(Interrupted, match=r"^interrupted after 16 samples$") as caught:
        loop.raise_stopped("partial")
    assert caught.value.partial == "partial"


def test_the_loss_of_the_judge_ends_it_as_well() -> None:
    plan = make_plan(["faithfulness"], {"mode": "llm", "judge": lambda prompt: "{}"})
    rows = Rows()
    loop = ScoringLoop(plan, native(plan))
    loop.score(rows, open_judge=no_judge)
    assert isinstance(loop.stopped, JudgeUnavailableError)
    assert loop.n_rows == rows.n_rows == 16
    assert str(loop.judge_report()) == "asked"
    with pytest.raises(JudgeUnavailableError) as caught:
        loop.raise_stopped("partial")
    assert caught.value.partial == "partial"


def test_other_failures_are_the_callers() -> None:
    def fail(first_row: int) -> None:
        raise OSError("the disk is full")

    loop = ScoringLoop(PLAN, native())
    with pytest.raises(OSError, match="the disk is full"):
        loop.score(Rows(fail))
    assert loop.stopped is None
    assert loop.n_rows == 0


def test_the_way_through_an_event_loop_is_the_same() -> None:
    plan = make_plan(["faithfulness"], {"mode": "llm", "judge": lambda prompt: "{}"})
    rows, blocks = Rows(), native(plan)

    async def score() -> ScoringLoop:
        loop = ScoringLoop(plan, blocks)
        await loop.ascore(rows)
        return loop

    loop = asyncio.run(score())
    assert loop.n_rows == rows.n_rows == N_ROWS
    assert loop.judge_report() is not None
