"""Tries of one call: which failures are tried again, how often, and how long is waited before."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any, Final

from rag_eval.judge.failures import JudgeCallError, JudgeFailure, JudgeUnavailableError
from rag_eval.plumbing.extras import package

_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0
_JITTER_S: Final = 1.0
# A server that asks for more is out of quota for the day, not busy.
_LONGEST_RETRY_AFTER_S: Final = 600.0
_MOST_TIME_OUTS: Final = 2


def stamina_package() -> Any:
    """The package that retries; a MissingExtraError names the extra that brings it."""
    stamina = package("stamina", "calling a judge", "judge")
    # It warns of every retry; where nobody set logging up, that would go to the terminal.
    logger = logging.getLogger("stamina")
    if not logger.hasHandlers():
        logger.addHandler(logging.NullHandler())
    return stamina


class Retrying:
    """The tries of one call.

    Parameters
    ----------
    has_ended : callable
        Whether the run wants no more calls.
    """

    def __init__(self, stamina: Any, retries: int, has_ended: Callable[[], bool]) -> None:
        self._stamina = stamina
        self._retries = retries
        self._has_ended = has_ended
        self._n_timed_out = 0

    def tries(self) -> Any:
        """An async iterator over context managers, one per try."""
        return self._stamina.retry_context(
            on=self._again,
            attempts=self._retries + 1,
            timeout=None,
            wait_initial=_FIRST_WAIT_S,
            wait_max=_LONGEST_WAIT_S,
            wait_jitter=_JITTER_S,
        )

    def _again(self, error: Exception) -> bool | float:
        """Whether to try again; a number is how long to wait before."""
        if not isinstance(error, JudgeCallError) or error.fatal or not error.retryable:
            return False
        if self._has_ended() or asks_too_long(error):
            return False
        if error.timed_out:
            self._n_timed_out += 1
            if self._n_timed_out >= _MOST_TIME_OUTS:
                return False
        if error.retry_after_s is None:
            return True
        return error.retry_after_s + random.uniform(0.0, _JITTER_S)


def asks_too_long(error: JudgeCallError) -> bool:
    """Whether the server asks for a wait that no run should wait out."""
    return error.retry_after_s is not None and error.retry_after_s > _LONGEST_RETRY_AFTER_S


def given_up(error: JudgeCallError) -> JudgeFailure | JudgeUnavailableError:
    """What a call ends with whose last try failed like this."""
    if error.fatal:
        return JudgeUnavailableError(str(error))
    if asks_too_long(error):
        return JudgeUnavailableError(
            f"{error}; the server asks to wait for {error.retry_after_s:.0f} s"
        )
    if error.timed_out:
        return JudgeFailure("timed_out", str(error))
    return JudgeFailure("unreachable" if error.retryable else "failed", str(error))
