"""Ctrl-C that comes while something must not be cut in two."""

from __future__ import annotations

import signal
import threading

import pytest

from rag_eval.interrupts import deferred_interrupts


def test_the_block_ends_before_the_interrupt_takes_effect() -> None:
    usual = signal.getsignal(signal.SIGINT)
    done: list[str] = []

    def interrupted() -> None:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")
        done.append("what comes after it")  # pragma: no cover

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is usual


def test_without_a_signal_nothing_happens() -> None:
    usual = signal.getsignal(signal.SIGINT)
    with deferred_interrupts():
        assert signal.getsignal(signal.SIGINT) is not usual
    assert signal.getsignal(signal.SIGINT) is usual


def test_an_ignored_signal_stays_ignored() -> None:
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, usual)


def test_other_threads_are_left_alone() -> None:
    reached: list[bool] = []

    def work() -> None:
        with deferred_interrupts():
            reached.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert reached == [True]
