"""What went wrong with a call.  In: an SDK's exception.  Out: a JudgeCallError without the key."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any, Final

from rag_eval.judge.failures import JudgeCallError, late_reply
from rag_eval.judge.server_urls import NO_KEY

_MOST_LETTERS: Final = 300
_KEY_SHAPE: Final = re.compile(r"\b(?:sk|rk|pk)-[A-Za-z0-9_*.…-]{3,}|(?<=Bearer )[^\s\"',]+")
_RETRYABLE: Final = frozenset({408, 409, 425, 429})
_FATAL: Final = frozenset({401, 402, 403, 404})
_LIMITED: Final = frozenset({429, 529})
# No later call can do better: nothing is left to pay with, or the model is not there.
_FATAL_CODES: Final = frozenset({"insufficient_quota", "model_not_found", "invalid_api_key"})
_FILTERED_CODES: Final = frozenset({"content_filter", "content_policy_violation"})


@dataclass(frozen=True, slots=True)
class ServerError:
    """An answer that is an error, as both vendors word it.

    Attributes
    ----------
    status : int
    message : str
        Of the server, or an empty text.
    code, param : str
        What kind of error and which parameter, or empty texts.
    headers : mapping of str
    """

    status: int
    message: str = ""
    code: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_filtered(self) -> bool:
        """The prompt was refused for what it says."""
        return self.code in _FILTERED_CODES


def server_error(error: BaseException) -> ServerError | None:
    """The answer that an SDK's exception is about; None where there was none."""
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if response is None or not isinstance(status, int):
        return None
    return error_in(getattr(error, "body", None), status, response.headers)


def error_in(body: object, status: int, headers: Mapping[str, str]) -> ServerError:
    """The error that a decoded body tells of."""
    found = body
    if isinstance(found, dict) and isinstance(found.get("error"), (dict, str)):
        found = found["error"]
    if isinstance(found, str):
        return ServerError(status, found, headers=headers)
    if not isinstance(found, dict):
        return ServerError(status, headers=headers)
    return ServerError(
        status,
        _text(found, "message") or _text(found, "detail"),
        _text(found, "code") or _text(found, "type"),
        _text(found, "param"),
        headers,
    )


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return "" if value is None else str(value)


def answered_error(error: ServerError, key: str) -> JudgeCallError:
    """A server's answer as the error that callers act on."""
    status = error.status
    said = f": {error.message}" if error.message else ""
    if 300 <= status < 400:
        said = " (a redirect), which is not followed"
    fatal = status in _FATAL or status < 400 or error.code in _FATAL_CODES
    return JudgeCallError(
        redacted(f"the judge's server answered {status}{said}", key),
        retryable=not fatal and (status in _RETRYABLE or status >= 500),
        fatal=fatal,
        retry_after_s=retry_after_s(error.headers),
        timed_out=status in (408, 504),
        rate_limited=status in _LIMITED and not fatal,
    )


def unanswered_error(
    error: BaseException, sdk: ModuleType, key: str, timeout_s: float
) -> JudgeCallError:
    """An exception that is about no answer: no time, no connection, or a defect."""
    if isinstance(error, (TimeoutError, sdk.APITimeoutError)):
        return late_reply(timeout_s)
    if isinstance(error, sdk.APIConnectionError):
        cause = error.__cause__
        why = f": {type(cause).__name__}: {cause}" if cause is not None else ""
        return JudgeCallError(
            redacted(f"the connection to the judge's server failed{why}", key), retryable=True
        )
    return JudgeCallError(
        redacted(f"the call of the judge raised {type(error).__name__}: {error}", key)
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long a server asks to wait: in milliseconds, in seconds, or until a date."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def redacted(text: str, key: str) -> str:
    """A text on one line, cut to a readable length, without the key or what looks like one."""
    if key != NO_KEY:
        text = text.replace(key, "[key]")
    text = " ".join(_KEY_SHAPE.sub("[key]", text).split())
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"
