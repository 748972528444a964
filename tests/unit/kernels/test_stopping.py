"""How kernels end early, and that they handle signals while they work."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels import scoring
from rag_eval.kernels.columns import KeptRows, SampleBatch
from rag_eval.kernels.settings import GroundedSettings, OverlapSettings, Settings
from rag_eval.kernels.similarity import levenshtein
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.plumbing.interrupts import interruptible
from rag_eval.samples import Profile

SETTINGS: dict[Profile, Settings] = {"overlap": OverlapSettings(), "grounded": GroundedSettings()}
METRICS = np.arange(len(METRIC_IDS))


def packed(profile: Profile, rows: list[Any]) -> SampleBatch:
    return read_rows(rows, 0, FieldNeeds.of(METRIC_IDS, profile)).pack()


def shared(n: int) -> dict[str, Any]:
    """Each sentence shares its words with each context: nothing can be passed over."""
    return {"question": "a?", "answer": "A. " * n, "contexts": ["a"] * n}


def many_truths(n: int) -> dict[str, Any]:
    """Each ground truth is held against each context."""
    return {
        "question": " ".join(f"q{i} a" for i in range(n)),
        "answer": "a",
        "contexts": ["a"] * n,
        "ground_truth": [f"w{i} a" for i in range(n)],
    }


def odd_calls(n: int) -> list[Callable[[], object]]:
    """Calls of kernels whose time grows by the square of ``n``."""
    calls: list[Callable[[], object]] = [lambda: levenshtein("ab" * n, "c" * 2 * n)]
    for profile, row in {
        "overlap": shared(n),
        "grounded": many_truths(n),
    }.items():
        batch, settings = packed(profile, [row]), SETTINGS[profile]  # type: ignore[arg-type, index]
        calls += [
            lambda batch=batch, settings=settings, score=score: score(batch, settings, METRICS)
            for score in (scoring.score_batch, scoring.explained_batch)
        ]
    return calls


@pytest.mark.parametrize("explains", [False, True])
def test_rows_without_contexts_are_ended_too(
    monkeypatch: pytest.MonkeyPatch, explains: bool
) -> None:
    """A block may have any number of them."""
    score = scoring.explained_batch if explains else scoring.score_batch
    monkeypatch.setattr(
        scoring, "interruptible", lambda kernel, *given: kernel(*given, bytearray(b"!"), False)
    )
    for profile, settings in SETTINGS.items():
        batch = packed(profile, [{**shared(1), "contexts": []}] * 30)
        with pytest.raises(InterruptedError):
            score(batch, settings, METRICS)


class AlarmError(Exception):
    """Of no class that is swallowed: ``signal.signal`` itself excepts ValueErrors."""


@pytest.fixture
def _alarms() -> Any:
    """Signals come until the test is over, so that none depends on when the first comes."""
    usual = signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, usual)


def content(found: Any) -> object:
    """What a call returned, in a form that can be compared."""
    if isinstance(found, KeptRows):
        return found.numbers, found.values, found.texts, found.places.tobytes()
    if isinstance(found, tuple):
        return [content(part) for part in found]
    return np.asarray(found).tobytes()


def within(frame: FrameType | None, function: Callable[..., object]) -> bool:
    """Whether a frame is of a function, or of one that it calls."""
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


@pytest.mark.usefixtures("_alarms")
def test_what_a_handler_raises_ends_a_kernel() -> None:
    """Each call takes minutes, but for the alignment, which takes seconds at most."""

    def interrupted(call: Callable[[], object]) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        call()

    def handler(number: int, frame: FrameType | None) -> None:
        if within(frame, interrupted):
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise AlarmError

    signal.signal(signal.SIGALRM, handler)
    for call in odd_calls(180_000):
        with pytest.raises(AlarmError):
            interrupted(call)


@pytest.mark.usefixtures("_alarms")
def test_a_handler_that_returns_changes_nothing() -> None:
    heard: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if within(frame, interruptible):
            heard.append(number)

    signal.signal(signal.SIGALRM, handler)
    for call in odd_calls(4_000):
        quiet = content(call())
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        heard.clear()
        while not heard:
            assert content(call()) == quiet
        signal.setitimer(signal.ITIMER_REAL, 0)
