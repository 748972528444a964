"""Answers of servers.  In: the bytes of a body.  Out: its values, checked, or what is wrong."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable
from typing import Final, TypeVar

import msgspec

from rag_eval.adapters.errors import answered_error, error_in
from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.replies import MAX_REPLY_BYTES
from rag_eval.judge.server_urls import NO_KEY

Shape = TypeVar("Shape", bound=msgspec.Struct)

_BAD_GATEWAY: Final = 502
_GZIP: Final = zlib.MAX_WBITS | 16


async def bounded_body(chunks: AsyncIterable[bytes], packing: str) -> bytes:
    """The body of an answer, unpacked, read no further than a reply may be long.

    Parameters
    ----------
    chunks : asynchronous iterable of bytes
        As the server sends them.
    packing : str
        What ``Content-Encoding`` says; gzip is the only one that servers are asked for.

    Raises
    ------
    JudgeCallError
        For a body that is too long, or packed in another way; retryable where it is broken.
    """
    name = packing.strip().lower()
    if name not in ("", "identity", "gzip", "x-gzip"):
        raise JudgeCallError(
            f"the judge's server packed its answer as {name!r}, which it was not asked for"
        )
    unpacker = zlib.decompressobj(_GZIP) if "gzip" in name else None
    # One buffer: a list of chunks takes many times their bytes where each holds a few.
    body = bytearray()
    async for chunk in chunks:
        body += chunk if unpacker is None else _unpacked(unpacker, chunk, len(body))
        if len(body) > MAX_REPLY_BYTES:
            raise JudgeCallError(
                "the judge's server sent more than 4 MB in answer to one call, and the answer was "
                "not read; check that the judge's address is that of a model's server"
            )
    return bytes(body)


def _unpacked(unpacker: zlib._Decompress, chunk: bytes, n_before: int) -> bytes:
    """What a chunk holds, up to one byte more than there is room for."""
    try:
        return unpacker.decompress(chunk, MAX_REPLY_BYTES + 1 - n_before)
    except zlib.error:
        raise JudgeCallError(
            "the answer of the judge's server is not packed as it says", retryable=True
        ) from None


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
