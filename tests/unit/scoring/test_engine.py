"""Blocks over threads: in order, none waits for another, and not too many are held."""

from __future__ import annotations

import gc
import platform
import resource
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from rag_eval import evaluate_batch
from rag_eval.errors import InputError
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.inputs.samples import FieldNeeds, SampleError
from rag_eval.options.plan import make_plan
from rag_eval.plumbing.checked_values import thread_count
from rag_eval.plumbing.interrupts import StopFlag
from rag_eval.scoring import engine
from rag_eval.scoring.engine import score_blocks, scored_block
from tests.tables import every_row

PLAN = make_plan(["faithfulness"], {})
NEEDS = FieldNeeds.of(PLAN.columns)
TIMEOUT = 60.0


class Rows:
    """Hands out blocks of one row and counts them; packing one waits where a test wants it to."""

    def __init__(self, n_blocks: int, n_bytes: int = 100) -> None:
        self.n_blocks = n_blocks
        self.n_bytes = n_bytes
        self.n_pulled = self.n_packed = 0
        self.begun: set[int] = set()
        self.gates: dict[int, threading.Event] = {}
        self.faults: dict[int, Exception] = {}
        self.fails_at: int | None = None
        self._counted = threading.Condition()

    def blocks(self) -> Iterator[RowBlock]:
        for number in range(self.n_blocks):
            if number == self.fails_at:
                raise InputError(f"cannot read block {number}")
            self.n_pulled += 1
            row = {"question": "q", "answer": f"a {number}.", "contexts": [f"a {number}"]}
            yield RowBlock(number, [row], text_bytes=self.n_bytes)

    def score(self, block: Any) -> Any:
        number = block.first_row
        with self._counted:
            self.begun.add(number)
            self._counted.notify_all()
        if number in self.gates:
            assert self.gates[number].wait(TIMEOUT)
        if number in self.faults:
            raise self.faults[number]
        batch = block.pack(NEEDS)
        with self._counted:
            self.n_packed += 1
            self._counted.notify_all()
        return scored_block(block, batch, PLAN)

    def scored(self, threads: int, **options: Any) -> Any:
        return score_blocks(self.blocks(), self.score, threads, **options)

    def until(self, is_so: Callable[[], bool]) -> None:
        with self._counted:
            assert self._counted.wait_for(is_so, TIMEOUT), "it never came"


def in_caller() -> bool:
    return threading.current_thread() is threading.main_thread()


def at_a_wait(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], n_blocks: int | None = None
) -> None:
    """Do something once, when the reader waits for so many blocks, one of which has to end."""
    wait = engine._Pending._wait

    def waiting(pending: Any, seconds: float) -> None:
        if n_blocks in (None, pending._n_unfinished()) and pending._n_unfinished():
            monkeypatch.setattr(engine._Pending, "_wait", wait)
            act()
        wait(pending, seconds)

    monkeypatch.setattr(engine._Pending, "_wait", waiting)


@every_row("threads", [1, 2, 3, 4])
@every_row("reads_apart", [False, True])
def test_blocks_come_in_order(threads: int, reads_apart: bool) -> None:
    rows = Rows(200)
    found = list(rows.scored(threads, reads_apart=reads_apart))
    assert [block.rows.first_row for block in found] == list(range(200))
    assert all(block.scores.shape == (1, 1) and block.scores[0, 0] == 1 for block in found)


@every_row("threads", [2, 3, 4])
@every_row("slow", [0, 7])
def test_the_others_go_on_while_one_is_slow(
    threads: int, slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stalled as soon as a few waited for it."""
    rows = Rows(150)
    gate = rows.gates[slow] = threading.Event()
    found: list[int] = []

    def let_go() -> None:
        rows.until(lambda: rows.n_packed == 149)
        assert found == list(range(slow))
        gate.set()

    at_a_wait(monkeypatch, let_go, n_blocks=1)
    scored = rows.scored(threads, reads_apart=True)
    found.extend(block.rows.first_row for block in scored)
    assert found == list(range(150))


def test_not_more_blocks_are_begun_than_threads_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(150)
    gate = threading.Event()
    rows.gates = dict.fromkeys(range(150), gate)
    n_pulled: list[int] = []

    def let_go() -> None:
        n_pulled.append(rows.n_pulled)
        gate.set()

    at_a_wait(monkeypatch, let_go)
    scored = rows.scored(2, reads_apart=True)
    assert [block.rows.first_row for block in scored] == list(range(150))
    assert n_pulled == [2 + engine._AHEAD]


@every_row("threads", [2, 4])
def test_texts_that_wait_are_bounded(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_WAITING_BYTES", 10_000)
    rows = Rows(300, n_bytes=100)
    gate = rows.gates[0] = threading.Event()
    n_pulled: list[int] = []

    def let_go() -> None:
        n_pulled.append(rows.n_pulled)
        gate.set()

    at_a_wait(monkeypatch, let_go, n_blocks=1)
    scored = rows.scored(threads, reads_apart=True)
    assert [block.rows.first_row for block in scored] == list(range(300))
    # The bound, twice the largest, and the block that went past it.
    assert n_pulled == [(10_000 + 2 * 100) // 100 + 1]


@every_row("reads_apart", [True, False])
def test_a_giant_does_not_stop_the_rows_behind_it(
    reads_apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block that is past the bound by itself still lets as much wait as it is large."""
    monkeypatch.setattr(engine, "_WAITING_BYTES", 1000)
    rows = Rows(300, n_bytes=100)
    gate = rows.gates[0] = threading.Event()
    n_pulled: list[int] = []

    def blocks() -> Iterator[RowBlock]:
        for block in rows.blocks():
            if block.first_row == 0:
                block.text_bytes = 5000
            yield block

    def let_go() -> None:
        n_pulled.append(rows.n_pulled)
        gate.set()

    at_a_wait(monkeypatch, let_go, n_blocks=1)

    def score(block: RowBlock) -> Any:
        if block.first_row:
            # By another thread than the one that reads on.
            rows.until(lambda: 0 in rows.begun)
        return rows.score(block)

    scored = score_blocks(blocks(), score, 2, reads_apart=reads_apart)
    assert [block.rows.first_row for block in scored] == list(range(300))
    # The giant, 1,000 + 2 * 5,000 bytes less its own, and one more.
    assert n_pulled == [1 + 60 + 1]


@every_row("threads", [1, 2, 4])
def test_the_caller_is_one_of_the_threads(threads: int) -> None:
    """It woke up for every block, to wait again, on a core that a thread was scoring on."""
    rows = Rows(200)
    seen: set[str] = set()
    caller_has_scored = threading.Event()

    def score(block: RowBlock) -> Any:
        seen.add(threading.current_thread().name)
        if in_caller():
            caller_has_scored.set()
        else:
            assert caller_has_scored.wait(TIMEOUT)
        return rows.score(block)

    found = [block.rows.first_row for block in score_blocks(rows.blocks(), score, threads)]
    assert found == list(range(200))
    assert len(seen) <= threads


def test_the_caller_leaves_giants_to_others() -> None:
    """While it scores one it reads no rows, and the others would have to wait for some."""
    rows = Rows(100)
    giants = {0, 9, 10, 50}
    scored_here: list[int] = []
    caller_has_begun = threading.Event()

    def blocks() -> Iterator[RowBlock]:
        for block in rows.blocks():
            if block.first_row in giants:
                block.text_bytes = 5000
            yield block

    def score(block: RowBlock) -> Any:
        if in_caller():
            scored_here.append(block.first_row)
            caller_has_begun.set()
            # So that the other thread does not lag behind until there are giants alone.
            before = {number for number in giants if number < block.first_row}
            rows.until(lambda: before <= rows.begun)
        else:
            assert caller_has_begun.wait(TIMEOUT)
        return rows.score(block)

    found = [block.rows.first_row for block in score_blocks(blocks(), score, 2)]
    assert found == list(range(100))
    assert scored_here
    assert giants.isdisjoint(scored_here)


@every_row("threads", [2, 3, 4])
def test_ctrl_c_while_the_caller_scores_keeps_what_was_read(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done, and the block that it interrupted, were lost."""
    monkeypatch.setattr(engine, "_GRACE_S", TIMEOUT)
    rows = Rows(1000)
    before = set(threading.enumerate())
    found: list[int] = []
    interrupted: list[int] = []
    caller_has_begun = threading.Event()

    def score(block: RowBlock) -> Any:
        if in_caller():
            interrupted.append(block.first_row)
            caller_has_begun.set()
            raise KeyboardInterrupt
        assert caller_has_begun.wait(TIMEOUT)
        return rows.score(block)

    def take() -> None:
        scored = score_blocks(rows.blocks(), score, threads)
        found.extend(block.rows.first_row for block in scored)

    with pytest.raises(KeyboardInterrupt):
        take()
    assert found == list(range(rows.n_pulled))
    assert rows.n_pulled < 50
    # Another Ctrl-C would have to wait for the caller's block.
    assert len(interrupted) == 1
    assert not set(threading.enumerate()) - before


def test_a_handler_s_exception_does_not_wait_for_earlier_blocks() -> None:
    """It was taken for a fault of the block that the caller's thread was scoring."""
    rows = Rows(1000, n_bytes=100)
    gate = rows.gates[0] = threading.Event()

    def blocks() -> Iterator[RowBlock]:
        for block in rows.blocks():
            if block.first_row == 0:
                block.text_bytes = 5000
            yield block

    def score(block: RowBlock) -> Any:
        if in_caller():
            rows.until(lambda: 0 in rows.begun)
            raise TimeoutError
        return rows.score(block)

    class Flag(StopFlag):
        def set(self) -> None:
            super().set()
            gate.set()

    with pytest.raises(TimeoutError):
        list(score_blocks(blocks(), score, 2, stop=Flag()))
    assert rows.n_pulled < 50


@every_row("threads", [1, 2])
def test_rows_that_may_be_waited_for_are_read_apart(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While their iterator waits, as many threads score as were asked for."""
    seen: set[bool] = set()

    def recorded(*args: Any, **options: Any) -> Any:
        seen.add(in_caller())
        return scored_block(*args, **options)

    monkeypatch.setattr(engine, "scored_block", recorded)
    rows = [{"question": "q", "answer": "a", "contexts": ["a" * 10_000]}] * 2000
    evaluate_batch(iter(rows), ["faithfulness"], threads=threads)
    assert seen == {threads == 1}


@every_row(("threads", "is_caller"), [(1, True), (2, False), (3, False)])
def test_functions_of_the_user_have_one_context(threads: int, is_caller: bool) -> None:
    """On several threads some rows were scored in the caller's thread, and others not."""
    seen: set[bool] = set()

    def score(block: RowBlock) -> Any:
        seen.add(in_caller())
        return rows.score(block)

    rows = Rows(200)
    assert len(list(score_blocks(rows.blocks(), score, threads, has_scorers=True))) == 200
    assert seen == {is_caller}


@every_row("threads", [1, 2, 4])
def test_the_first_fault_in_order_is_the_error(threads: int) -> None:
    """Not the one that was found first."""
    rows = Rows(50)
    rows.gates[10] = threading.Event()
    rows.faults = {10: SampleError("row 10", "bad"), 12: SampleError("row 12", "bad")}
    found: list[int] = []

    def score(block: RowBlock) -> Any:
        if block.first_row == 13 or threads == 1:
            rows.gates[10].set()
        return rows.score(block)

    def take() -> None:
        scored = score_blocks(rows.blocks(), score, threads)
        found.extend(block.rows.first_row for block in scored)

    with pytest.raises(SampleError, match="row 10: bad"):
        take()
    assert found == list(range(10))


@every_row("threads", [1, 2, 4])
def test_rows_before_what_cannot_be_read_come_first(threads: int) -> None:
    rows = Rows(50)
    rows.fails_at = 20
    found: list[int] = []

    def take() -> None:
        found.extend(block.rows.first_row for block in rows.scored(threads))

    with pytest.raises(InputError, match="cannot read block 20"):
        take()
    assert found == list(range(20))
    rows = Rows(50)
    rows.fails_at, rows.faults = 20, {19: SampleError("row 19", "bad")}
    with pytest.raises(SampleError, match="row 19: bad"):
        take()


@every_row("threads", [1, 2, 4])
def test_rows_before_ctrl_c_come_first(threads: int) -> None:
    """Those that were read were lost where the reader waited for more."""
    rows = Rows(20)

    def blocks() -> Iterator[RowBlock]:
        yield from rows.blocks()
        raise KeyboardInterrupt

    found: list[int] = []

    def take() -> None:
        scored = score_blocks(blocks(), rows.score, threads, reads_apart=True)
        found.extend(block.rows.first_row for block in scored)

    with pytest.raises(KeyboardInterrupt):
        take()
    assert found == list(range(20))


def test_ctrl_c_does_not_wait_for_a_giant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were read before it are kept, up to the first that is not scored in time."""
    monkeypatch.setattr(engine, "_GRACE_S", 0.0)
    rows = Rows(20)
    gate = rows.gates[7] = threading.Event()

    def blocks() -> Iterator[RowBlock]:
        for block in rows.blocks():
            if block.first_row == 8:
                rows.until(lambda: len(rows.begun) == 8)
                raise KeyboardInterrupt
            yield block

    class Flag(StopFlag):
        def set(self) -> None:
            super().set()
            # The thread that is at it can only be let go by hand.
            gate.set()

    found: list[int] = []

    def take() -> None:
        scored = score_blocks(blocks(), rows.score, 1, reads_apart=True, stop=Flag())
        found.extend(block.rows.first_row for block in scored)

    with pytest.raises(KeyboardInterrupt):
        take()
    assert found == list(range(7))


def test_a_flag_from_outside_ends_the_run() -> None:
    flag = StopFlag()
    for threads in (1, 2):
        rows = Rows(50)
        with closing(rows.scored(threads, stop=flag)) as scored:
            if threads == 1:
                assert next(scored).rows.first_row == 0
                flag.set()
            with pytest.raises(InterruptedError):
                next(scored)


@every_row("threads", [2, 4])
def test_closing_early_ends_the_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Others go on while one thread waits for its turn; this bounds how far.
    monkeypatch.setattr(engine, "_WAITING_BYTES", 1000)
    rows = Rows(10_000)
    before = set(threading.enumerate())
    with closing(rows.scored(threads)) as scored:
        for block in scored:
            if block.rows.first_row == 3:
                break
        assert set(threading.enumerate()) - before
    assert not set(threading.enumerate()) - before
    # Four were given back, and what may wait: the bound, twice the largest, and one past it.
    assert rows.n_pulled <= 4 + (1000 + 2 * 100) // 100 + 1


# As a signal's exception just before the loop is closed leaves it.
UNCLOSED = """
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.scoring.engine import score_blocks

blocks = [RowBlock(number, [{}]) for number in range(2)]
scored = score_blocks(blocks, lambda block: block, 2, reads_apart=True)
print(next(scored).first_row)
"""


def test_python_ends_though_the_loop_was_not_closed() -> None:
    """It waited for the threads, and they for blocks."""
    ran = subprocess.run(
        [sys.executable, "-c", UNCLOSED], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("0\n", "", 0)


def test_thread_counts() -> None:
    assert thread_count(3) == 3
    assert thread_count(None) >= 1
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(InputError, match="threads"):
            thread_count(wrong)  # type: ignore[arg-type]


def test_an_error_of_a_block_is_freed_with_its_last_use() -> None:
    """It held itself, and the texts of its block, until a collection."""

    class Marker:
        pass

    markers: list[weakref.ref[Marker]] = []

    def fail(_: Any) -> Any:
        marker = Marker()
        markers.append(weakref.ref(marker))
        raise InputError("no")

    gc.disable()
    try:
        with pytest.raises(InputError, match="no") as raised:
            list(score_blocks([RowBlock(0, [{}]), RowBlock(1, [{}])], fail, 2))
        del raised
        assert [marker() for marker in markers] == [None] * len(markers)
        assert markers
    finally:
        gc.enable()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's malloc")
def test_memory_of_blocks_is_kept_between_them() -> None:
    """It was given back after each block, and every page mapped again for the next."""
    row = {"question": "q", "answer": "a b.", "contexts": ["a b ç " * 100_000]}

    def blocks(n: int) -> Iterator[RowBlock]:
        for number in range(n):
            yield RowBlock(number, [row], text_bytes=100)

    def pack(block: Any) -> Any:
        return block.pack(NEEDS)

    def faults(n: int) -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in score_blocks(blocks(n), pack, 2):
            pass
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults(20)
    # Each has 180 pages; they were all mapped again.
    assert faults(200) < 200 * 180 / 2


@every_row("threads", [1, 2])
def test_faults_of_rows_come_before_what_their_source_raises(threads: int) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for n in range(3000):
            yield {"answer": "a", "contexts": [5 if n == 60 else "a"]}
        raise ZeroDivisionError

    with pytest.raises(InputError, match=r"^sample 60: contexts\[0\] must be a string"):
        evaluate_batch(rows(), ["faithfulness"], threads=threads)
