"""Ctrl-C while the main thread takes a lock of an event, a future or a thread: nothing hangs.

``threading.Condition`` is written in Python, so that a signal may raise just after its lock was
taken; then it stays locked, and the next thread that needs it waits forever.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest

import rag_eval
from rag_eval.inputs.parquet_files import read_ahead
from rag_eval.judge import loop_thread
from rag_eval.stats.resampling import resampled_sums
from tests.fluent_judge import FluentJudge
from tests.tables import every_row

ROWS = [
    {"question": "Who?", "answer": f"Row {n} was here.", "contexts": [f"Row {n}."]}
    for n in range(150)
]
JUDGED = ROWS[:5]


async def soon() -> int:
    await asyncio.sleep(0)
    return 1


ACTS: dict[str, Callable[[], object]] = {
    "rows on threads": lambda: rag_eval.evaluate_batch(ROWS, ["faithfulness"], threads=2),
    "a judge": lambda: rag_eval.evaluate_batch(
        JUDGED, ["faithfulness"], mode="llm", judge=FluentJudge()
    ),
    "a coroutine": lambda: loop_thread.run(soon()),
    "reading ahead": lambda: list(read_ahead(iter(range(3)))),
    "resampling": lambda: resampled_sums(np.zeros((1 << 12, 1)), 1 << 11, 0, 2),
}


class Interrupts:
    """Sends SIGINT when the main thread takes the lock of a condition for the n-th time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        enter = threading.Condition.__enter__

        def entered(condition: threading.Condition) -> bool:
            taken = enter(condition)
            if threading.get_ident() == threading.main_thread().ident and self.left:
                self.left -= 1
                if not self.left:
                    os.kill(os.getpid(), signal.SIGINT)
            return taken

        monkeypatch.setattr(threading.Condition, "__enter__", entered)


@pytest.mark.timeout(120)
@every_row("what", ACTS)
def test_an_interrupt_at_any_lock_ends_what_is_under_way(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupts = Interrupts(monkeypatch)
    threads = set(threading.enumerate())
    for n in range(1, 1000):
        interrupts.left = n
        try:
            ACTS[what]()
        except KeyboardInterrupt:
            assert not interrupts.left
        if interrupts.left:
            break  # it has fewer locks
        for thread in set(threading.enumerate()) - threads:
            if not thread.daemon:
                thread.join()
    assert n > 1, "the main thread took no lock"
