"""Ctrl-C and SIGTERM that come while something must not be cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import rich_click as click

from rag_eval.cli.program import Program
from rag_eval.plumbing.interrupts import (
    StopFlag,
    Termination,
    check_stopped,
    deferred_interrupts,
    interruptible,
)


class TerminatedError(Exception):
    """What a caller's own handler raises."""


@pytest.fixture
def own_handler() -> Iterator[None]:
    """As a server has one."""

    def end(number: int, frame: object) -> None:
        raise TerminatedError

    usual = signal.signal(signal.SIGTERM, end)
    yield
    signal.signal(signal.SIGTERM, usual)


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, TerminatedError)]
)
@pytest.mark.usefixtures("own_handler")
def test_the_block_ends_before_the_signal_takes_effect(
    number: signal.Signals, error: type[BaseException]
) -> None:
    usual = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    done: list[str] = []

    def interrupted() -> None:
        with deferred_interrupts():
            signal.raise_signal(number)
            done.append("the rest of the block")
        done.append("what comes after it")  # pragma: no cover

    with pytest.raises(error):
        interrupted()
    assert done == ["the rest of the block"]
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == usual


@pytest.mark.usefixtures("own_handler")
def test_when_both_come_both_handlers_are_put_back() -> None:
    usual = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    def interrupted() -> None:
        with deferred_interrupts(), deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted()
    assert isinstance(caught.value.__context__, TerminatedError)
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == usual


def test_without_a_signal_nothing_happens() -> None:
    usual = signal.getsignal(signal.SIGINT)
    with deferred_interrupts():
        assert signal.getsignal(signal.SIGINT) is not usual
    assert signal.getsignal(signal.SIGINT) is usual


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_ignored_signal_stays_ignored(number: signal.Signals) -> None:
    usual = signal.signal(number, signal.SIG_IGN)
    try:
        with Termination().heard(), deferred_interrupts():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, usual)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_ends_the_process_still_does(number: signal.Signals) -> None:
    """It was held back, and nothing came of it afterwards."""
    usual = signal.signal(number, signal.SIG_DFL)
    try:
        with deferred_interrupts():
            assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, usual)


def test_other_threads_are_left_alone() -> None:
    reached: list[bool] = []

    def work() -> None:
        with Termination().heard(), deferred_interrupts():
            reached.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert reached == [True]


# -------------------------------------------------------------------------- the command line


def ended(*signals: signal.Signals, deferred: bool = False) -> object:
    """The exit code of a command that gets signals, each while the one before is dealt with."""

    @click.group("some", cls=Program)
    def some() -> None:
        pass

    @some.command("work")
    def work() -> None:
        if deferred:
            with deferred_interrupts():
                signal.raise_signal(signals[0])
        raising(list(signals))

    def raising(left: list[signal.Signals]) -> None:
        try:
            signal.raise_signal(left[0])
        finally:
            if left[1:]:
                raising(left[1:])

    with pytest.raises(SystemExit) as caught:
        some.main(["work"], "some")
    return caught.value.code


@pytest.mark.parametrize("deferred", [False, True])
def test_a_command_that_sigterm_ended_says_so_by_its_code(
    capfd: pytest.CaptureFixture[str], deferred: bool
) -> None:
    assert ended(signal.SIGTERM, deferred=deferred) == 143
    assert ended(signal.SIGINT, deferred=deferred) == 130
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert capfd.readouterr().err.split("\n") == ["", "interrupted; nothing was written"] * 2 + [""]


def test_a_second_signal_changes_nothing_but_the_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(signal.SIGTERM, signal.SIGTERM) == 143
    assert ended(signal.SIGINT, signal.SIGTERM) == 143
    assert ended(signal.SIGINT, signal.SIGINT) == 130
    assert capfd.readouterr().err.split("\n") == ["", "interrupted; nothing was written"] * 3 + [""]


@pytest.mark.usefixtures("own_handler")
def test_a_handler_of_the_callers_hears_sigterm_itself(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(signal.SIGTERM) == 70
    assert "TerminatedError" in capfd.readouterr().err


def test_a_kernel_gets_the_flag_of_its_run_and_hears_whether_it_is_in_the_main_thread() -> None:
    flag = StopFlag()

    def given(*arguments: object) -> object:
        return arguments

    assert interruptible(given, 3) == (3, bytearray(1), True)
    _, memory, _ = flag.obeyed(interruptible, given, 3)  # type: ignore[misc]
    assert memory is flag.memory
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(interruptible, given).result() == (bytearray(1), False)
    flag.set()
    check_stopped()  # this thread has no flag
    with pytest.raises(InterruptedError):
        flag.obeyed(check_stopped)
