"""Decides by the exception of a call whether to retry, give up, or end the run."""

from __future__ import annotations

import email.utils
import logging
import random
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rag_eval.errors import RagEvalError
from rag_eval.judge.ending import Ending
from rag_eval.judge.failures import (
    JudgeCallError,
    JudgeFailure,
    JudgeUnavailableError,
    redacted,
)
from rag_eval.plumbing.extras import package

_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0
_JITTER_S: Final = 1.0
# A server that asks for a longer wait is out of quota, not busy.
_LONGEST_RETRY_AFTER_S: Final = 600.0
_MOST_TIME_OUTS: Final = 2
# Connections to a server that has answered nothing yet: time to start, but not to wait for a
# mistyped address.
_MOST_UNCONNECTED: Final = 3
_PASSING_STATUS: Final = frozenset({408, 409, 429})
_FATAL_STATUS: Final = frozenset({401, 403, 404})
_TOO_MANY: Final = 429
# Raised by the local machine, not by an unreachable server.
_OF_FILES: Final = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
_UNCONNECTED: Final = (ConnectionRefusedError, socket.gaierror)
_MOST_CAUSES: Final = 8
# As OpenSSL names them.
_LASTING_TLS_FAULTS: Final = frozenset(
    {
        "HTTP_REQUEST",
        "HTTPS_PROXY_REQUEST",
        "NO_PROTOCOLS_AVAILABLE",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "UNSUPPORTED_PROTOCOL",
        "WRONG_VERSION_NUMBER",
    }
)


def stamina_package() -> Any:
    """The stamina package; raises MissingExtraError if it is not installed."""
    stamina = package("stamina", "calling a judge", "judge")
    # It warns on every retry, which would reach the terminal if logging is not configured.
    logger = logging.getLogger("stamina")
    if not logger.hasHandlers():
        logger.addHandler(logging.NullHandler())
    return stamina


def tries(stamina: Any, retries: int, ending: Ending, has_answered: Callable[[], bool]) -> Any:
    """The attempts of one call: an async iterator of context managers."""
    n_timed_out = n_unconnected = 0

    def again(error: Exception) -> bool | float:
        """Whether to retry; a number is the wait before it."""
        nonlocal n_timed_out, n_unconnected
        if not isinstance(error, JudgeCallError) or error.fatal or not error.retryable:
            return False
        if ending.has_come or asks_too_long(error):
            return False
        n_timed_out += error.timed_out
        n_unconnected += error.unconnected
        if n_timed_out >= _MOST_TIME_OUTS or (
            n_unconnected >= _MOST_UNCONNECTED and not has_answered()
        ):
            return False
        if error.retry_after_s is None:
            return True
        return error.retry_after_s + random.uniform(0.0, _JITTER_S)

    return stamina.retry_context(
        on=again,
        attempts=retries + 1,
        timeout=None,
        wait_initial=_FIRST_WAIT_S,
        wait_max=_LONGEST_WAIT_S,
        wait_jitter=_JITTER_S,
    )


def asks_too_long(error: JudgeCallError) -> bool:
    """Whether the server asks for a wait that is too long for a run."""
    return error.retry_after_s is not None and error.retry_after_s > _LONGEST_RETRY_AFTER_S


def given_up(
    error: JudgeCallError, *, has_answered: bool = True
) -> JudgeFailure | JudgeUnavailableError:
    """The final error of a call whose last attempt failed like this.

    A server that has answered nothing yet and cannot be connected to is not there.
    """
    if error.fatal or (error.unconnected and not has_answered):
        return JudgeUnavailableError(str(error))
    if asks_too_long(error):
        return JudgeUnavailableError(
            f"{error}; the server asks to wait for {error.retry_after_s:.0f} s"
        )
    if error.timed_out:
        return JudgeFailure("timed_out", str(error))
    return JudgeFailure("unreachable" if error.retryable else "failed", str(error))


def fault_of(error: BaseException, who: str = "the judge") -> RagEvalError:
    """A JudgeCallError for a temporary or fatal error, otherwise a JudgeFailure of kind ``failed``.

    Exceptions of this package are returned unchanged. For others, the attributes ``status_code``
    and ``response.headers`` are read, which HTTP clients set; then whether the exception, or one
    that it was raised from, is a timeout or an operating-system error.
    """
    if isinstance(error, (JudgeCallError, JudgeFailure, JudgeUnavailableError)):
        return error
    said = f"{who} raised {_said(error)}"
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and not isinstance(status, bool):
        found = _by_status(status, error, said)
        if found is not None:
            return found
    if is_lasting_tls_fault(error):
        return JudgeCallError(said, fatal=True)
    for cause in _causes(error):
        if isinstance(cause, TimeoutError):
            return JudgeCallError(said, retryable=True, timed_out=True)
        if isinstance(cause, OSError) and not isinstance(cause, _OF_FILES):
            unconnected = isinstance(cause, _UNCONNECTED)
            return JudgeCallError(said, retryable=True, unconnected=unconnected)
    return JudgeFailure("failed", said)


def is_lasting_tls_fault(error: BaseException) -> bool:
    """Whether a connection failed for a reason that another try cannot change.

    Such as a certificate that is not trusted, or https to a server that speaks plain http.
    """
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if isinstance(cause, ssl.SSLError):
            is_untrusted = isinstance(cause, ssl.SSLCertVerificationError)
            return is_untrusted or cause.reason in _LASTING_TLS_FAULTS
        if cause is None:
            break
        # HTTP clients hide what they raise their own errors for.
        cause = cause.__cause__ or cause.__context__
    return False


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that a server asks for in its headers, if any."""
    in_ms = _number(headers.get("retry-after-ms"))
    if in_ms is not None:
        return in_ms / 1000.0
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or not isinstance(text, str):
        return seconds
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, at.timestamp() - time.time())


def _by_status(status: int, error: BaseException, said: str) -> JudgeCallError | None:
    if status in _FATAL_STATUS:
        return JudgeCallError(said, fatal=True)
    if status not in _PASSING_STATUS and not 500 <= status < 600:
        return None
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return JudgeCallError(
        said,
        retryable=True,
        retry_after_s=retry_after_s(headers) if hasattr(headers, "get") else None,
        rate_limited=status == _TOO_MANY,
    )


def _number(text: object) -> float | None:
    try:
        number = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if 0.0 <= number < float("inf") else None


def _said(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # even formatting the message of an exception may fail
        text = ""
    text = redacted(text)
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception, what it was raised from, and so on."""
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__
