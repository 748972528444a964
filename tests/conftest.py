"""What holds for all tests: examples have no deadline, and Ctrl-C interrupts."""

from __future__ import annotations

import signal

from hypothesis import settings

# A busy machine is no failure. On top of the profile that Hypothesis chose, another one in CI.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

# Jobs in the background of a shell ignore it, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
