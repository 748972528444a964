"""What holds for all tests: no deadlines, Ctrl-C, and an environment that asks for nothing."""

from __future__ import annotations

import atexit
import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no failure, and neither are slow or long examples. On top of the profile that
# Hypothesis chose, another one in CI. No test sets ``max_examples``: the profile does.
settings.register_profile(
    "few",
    settings(),
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "many", settings.get_profile("few"), max_examples=500, derandomize=False, print_blob=True
)
settings.load_profile("few")

# Jobs in the background of a shell ignore it, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What is collected stays until the end. Each full collection of garbage, automatic or asked for by
# a test, would walk through ten thousand tests and the modules that they are in. Libraries look at
# the end of the process whether their objects went.
gc.disable()
atexit.register(gc.unfreeze)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _environment_that_asks_nothing() -> Iterator[None]:
    """Colours, a width and a summary that are asked for are those of this session alone."""
    asked = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "COLUMNS", "GITHUB_STEP_SUMMARY")
    with pytest.MonkeyPatch.context() as patch:
        for name in asked:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """``make coverage`` leaves out processes that may not write: its own data would not fit."""
    monkeypatch.delenv("COVERAGE_PROCESS_START", raising=False)
