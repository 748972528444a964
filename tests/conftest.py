"""What holds for all tests: no deadlines, Ctrl-C, and an environment that asks for nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A busy machine is no failure. On top of the profile that Hypothesis chose, another one in CI.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

# Jobs in the background of a shell ignore it, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _environment_that_asks_nothing() -> Iterator[None]:
    """Colours, a width and a summary that are asked for are those of this session alone."""
    asked = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "COLUMNS", "GITHUB_STEP_SUMMARY")
    with pytest.MonkeyPatch.context() as patch:
        for name in asked:
            patch.delenv(name, raising=False)
        yield
