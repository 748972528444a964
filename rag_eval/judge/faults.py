"""What a judge raised -> whether to try again, to give up this judgement, or to end the run."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rag_eval.errors import RagEvalError
from rag_eval.judge.failures import JudgeCallError, JudgeFailure, JudgeUnavailableError

_PASSING_STATUS: Final = frozenset({408, 409, 429})
_FATAL_STATUS: Final = frozenset({401, 403, 404})
_TOO_MANY: Final = 429
# Raised by the computer under the judge, not by a server it could not reach.
_OF_FILES: Final = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
_MOST_CHARACTERS: Final = 500
_MOST_CAUSES: Final = 8


def fault_of(error: BaseException) -> RagEvalError:
    """A JudgeCallError for what may pass or ends all; else a JudgeFailure of kind ``failed``.

    What this package raised is given back as it is. Of others' exceptions the attribute
    ``status_code`` is read, as the clients of HTTP APIs set it, and ``response.headers``; then
    whether it, or what it was raised from, is a time-out or an error of the operating system.
    """
    if isinstance(error, (JudgeCallError, JudgeFailure, JudgeUnavailableError)):
        return error
    said = _said(error)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and not isinstance(status, bool):
        found = _by_status(status, error, said)
        if found is not None:
            return found
    for cause in _causes(error):
        if isinstance(cause, TimeoutError):
            return JudgeCallError(f"the judge raised {said}", retryable=True, timed_out=True)
        if isinstance(cause, OSError) and not isinstance(cause, _OF_FILES):
            return JudgeCallError(f"the judge raised {said}", retryable=True)
    return JudgeFailure("failed", f"the judge raised {said}")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long a server asks to wait, from its reply's headers; None where it does not say."""
    in_ms = _number(headers.get("retry-after-ms"))
    if in_ms is not None:
        return in_ms / 1000.0
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or not isinstance(text, str):
        return seconds
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, at.timestamp() - time.time())


def _by_status(status: int, error: BaseException, said: str) -> JudgeCallError | None:
    if status in _FATAL_STATUS:
        return JudgeCallError(f"the judge raised {said}", fatal=True)
    if status not in _PASSING_STATUS and not 500 <= status < 600:
        return None
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return JudgeCallError(
        f"the judge raised {said}",
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
    except Exception:  # an exception whose message cannot be made is an exception all the same
        text = ""
    text = text[:_MOST_CHARACTERS]
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
