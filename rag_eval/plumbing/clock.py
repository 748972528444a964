"""When a run took place and how long it took, as result files say it."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """Starts when it is made."""

    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def elapsed_ms(self) -> int:
        """Whole milliseconds since the start."""
        return int((time.perf_counter() - self._began) * 1000)

    @staticmethod
    def now() -> str:
        """The time of day: ISO 8601, UTC, milliseconds, ``Z``."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
