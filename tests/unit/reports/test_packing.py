"""Data of the page is packed while more of it is written, and comes back in order."""

from __future__ import annotations

import base64
import signal
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from rag_eval.reports.page import packing
from rag_eval.reports.page.packing import packed_in_order
from tests.tables import every_row


def unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def own_threads() -> list[str]:
    names = (thread.name for thread in threading.enumerate())
    return [name for name in names if name.startswith("rag_eval_page")]


def test_items_keep_their_order_and_their_data() -> None:
    # The first takes longest to pack.
    items = [(number, bytes([number]) * (1_000_000 // (number + 1))) for number in range(30)]
    found = [(item, unpacked(text)) for item, text in packed_in_order(items)]
    assert found == items
    assert list(packed_in_order([])) == []
    assert own_threads() == []


def test_more_items_are_asked_for_while_the_first_is_packed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing would come if the first had to be there before the next one is asked for."""
    is_asked = threading.Event()

    def packed(data: bytes) -> str:
        assert is_asked.wait(10)
        return data.decode()

    def items() -> Iterator[tuple[int, bytes]]:
        yield 0, b"first"
        is_asked.set()
        yield 1, b"second"

    monkeypatch.setattr(packing, "packed", packed)
    assert list(packed_in_order(items())) == [(0, "first"), (1, "second")]


def test_who_waits_for_the_thread_packs_what_it_has_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread is held until somebody else has packed an item."""
    is_packed = threading.Event()

    def packed(data: bytes) -> str:
        if threading.current_thread().name.startswith("rag_eval_page"):
            assert is_packed.wait(10)
        else:
            is_packed.set()
        return data.decode()

    monkeypatch.setattr(packing, "packed", packed)
    found = list(packed_in_order((number, str(number).encode()) for number in range(30)))
    assert found == [(number, str(number)) for number in range(30)]


def test_few_items_wait_in_memory() -> None:
    n_asked = 0

    def items() -> Iterator[tuple[int, bytes]]:
        nonlocal n_asked
        for number in range(100):
            n_asked += 1
            yield number, b"data"

    n_ahead = [n_asked - number for number, _ in packed_in_order(items())]
    assert max(n_ahead) < 20


def test_no_thread_outlives_the_end_or_a_failure() -> None:
    parts = packed_in_order((number, b"data") for number in range(100))
    next(parts)
    assert own_threads()
    parts.close()
    assert own_threads() == []

    def failing() -> Iterator[tuple[int, bytes]]:
        yield 0, b"data"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(packed_in_order(failing()))
    assert own_threads() == []


@every_row("name", ["done", "cancel"])
def test_ctrl_c_waits_until_a_future_has_unlocked_its_lock(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Otherwise the thread that packs would wait for that lock, and the end for the thread."""
    real = getattr(Future, name)
    went_on: list[bool] = []

    def interrupted(future: Future[str]) -> bool:
        if not went_on:
            signal.raise_signal(signal.SIGINT)
            went_on.append(True)
        found: bool = real(future)
        return found

    monkeypatch.setattr(Future, "done", lambda future: False)  # so that there is one to cancel
    monkeypatch.setattr(Future, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(packed_in_order((number, b"data") for number in range(30)))
    assert went_on
    assert own_threads() == []
