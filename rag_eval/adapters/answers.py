"""Answers of servers.  In: the bytes of a body.  Out: its values, checked, or what is wrong."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from rag_eval.adapters.errors import answered_error, error_in
from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.server_urls import NO_KEY

Shape = TypeVar("Shape", bound=msgspec.Struct)

_BAD_GATEWAY: Final = 502


def decoded_answer(answer: bytes, shape: type[Shape]) -> Shape:
    """An answer as a value of ``shape``.

    Raises
    ------
    JudgeCallError
        Retryable for a body that is cut or no JSON, not for JSON of another form.
    """
    try:
        return msgspec.json.decode(answer, type=shape)
    except msgspec.ValidationError as error:
        raise _error_inside(answer) or JudgeCallError(
            f"the answer of the judge's server has another form: {error}"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise JudgeCallError(
            "the answer of the judge's server is cut, or not JSON", retryable=True
        ) from None


def _error_inside(answer: bytes) -> JudgeCallError | None:
    """Gateways report the errors of servers behind them with status 200."""
    body = msgspec.json.decode(answer)
    if not isinstance(body, dict) or not isinstance(body.get("error"), dict):
        return None
    code = body["error"].get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else _BAD_GATEWAY
    return answered_error(error_in(body, status, {}), NO_KEY)


def token_count(usage: object, name: str) -> int | None:
    """A count in what a server says of usage; None where there is none to be believed."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and value >= 0 else None
