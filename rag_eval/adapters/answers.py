"""Answers of servers.  In: a body, or an SDK's exception.  Out: values, or errors without a key."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final, TypeVar

import msgspec

from rag_eval.judge.failures import JudgeCallError, late_reply, redacted
from rag_eval.judge.replies import MAX_REPLY_BYTES
from rag_eval.judge.retrying import is_lasting_tls_fault, retry_after_s

Shape = TypeVar("Shape", bound=msgspec.Struct)

_BAD_GATEWAY: Final = 502
# Of a line that is too long: enough to see which request it is about.
_HEAD_OF_LINE: Final = 2_000
_PIECE: Final = 1_000_000
_GZIP: Final = zlib.MAX_WBITS | 16
_RETRYABLE: Final = frozenset({408, 409, 425, 429})
_FATAL: Final = frozenset({401, 402, 403, 404})
_LIMITED: Final = frozenset({429, 529})
# No later call can succeed: the credit is used up, or the model does not exist.
_FATAL_CODES: Final = frozenset({"insufficient_quota", "model_not_found", "invalid_api_key"})
_TOO_LONG: Final = re.compile(
    r"context.?(?:length|size|window)|exceeds? (?:the )?(?:available )?context|prompt is too long",
    re.IGNORECASE,
)
# A message is long when it repeats the prompt, whose words say nothing about the fault.
_HEAD: Final = 300
_FILTERED_CODES: Final = frozenset({"content_filter", "content_policy_violation"})


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
    unpacker = _unpacker(packing)
    # One buffer: a list of chunks takes many times their bytes where each holds a few.
    body = bytearray()
    async for chunk in chunks:
        body += chunk if unpacker is None else _unpacked(unpacker, chunk, len(body))
        if len(body) > MAX_REPLY_BYTES:
            raise JudgeCallError(
                "the judge's server sent a reply of more than 4 MB, which was not read; check "
                "that the judge's address belongs to a model server"
            )
    return bytes(body)


def _unpacker(packing: str) -> zlib._Decompress | None:
    name = packing.strip().lower()
    if name not in ("", "identity", "gzip", "x-gzip"):
        raise JudgeCallError(
            f"the judge's server compressed its reply as {name!r}, which was not requested"
        )
    return zlib.decompressobj(_GZIP) if "gzip" in name else None


def _unpacked(unpacker: zlib._Decompress, chunk: bytes, n_before: int) -> bytes:
    """What a chunk holds, up to one byte more than there is room for."""
    try:
        return unpacker.decompress(chunk, MAX_REPLY_BYTES + 1 - n_before)
    except zlib.error:
        raise JudgeCallError(
            "the reply of the judge's server is not compressed as its header says", retryable=True
        ) from None


async def bounded_lines(
    chunks: AsyncIterable[bytes], packing: str
) -> AsyncGenerator[tuple[bytes, bool], None]:
    """The lines of an answer of any length, one by one, each no longer than a reply may be.

    Of a longer line only the beginning comes, and False with it.

    Raises
    ------
    JudgeCallError
        For an answer that is packed in another way than gzip, or broken.
    """
    line, is_whole = bytearray(), True
    async for piece in _pieces(chunks, packing):
        for place, part in enumerate(piece.split(b"\n")):
            if place:
                if line.strip():
                    yield bytes(line), is_whole
                line, is_whole = bytearray(), True
            line += part
            if len(line) > MAX_REPLY_BYTES:
                is_whole = False
                del line[_HEAD_OF_LINE:]
    if line.strip():
        yield bytes(line), is_whole


async def _pieces(chunks: AsyncIterable[bytes], packing: str) -> AsyncIterator[bytes]:
    """An answer unpacked, in pieces that each take little memory."""
    unpacker = _unpacker(packing)
    async for chunk in chunks:
        rest = chunk
        while rest:
            if unpacker is None:
                piece, rest = rest[:_PIECE], rest[_PIECE:]
            else:
                piece = _unpacked(unpacker, rest, MAX_REPLY_BYTES + 1 - _PIECE)
                rest = unpacker.unconsumed_tail
            yield piece
    if unpacker is not None:
        yield unpacker.flush()


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
            f"the reply of the judge's server has an unexpected structure: {error}"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise JudgeCallError(
            "the reply of the judge's server is incomplete or not JSON", retryable=True
        ) from None


def _error_inside(answer: bytes) -> JudgeCallError | None:
    """Gateways report the errors of servers behind them with status 200."""
    body = msgspec.json.decode(answer)
    if not isinstance(body, dict) or not isinstance(body.get("error"), dict):
        return None
    code = body["error"].get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else _BAD_GATEWAY
    return answered_error(error_in(body, status, {}))


def token_count(usage: object, name: str) -> int | None:
    """A count in a server's usage report; None if it is missing or implausible."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and value >= 0 else None


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
        """Whether the prompt was refused because of its content."""
        return self.code in _FILTERED_CODES

    @property
    def is_too_long(self) -> bool:
        """The prompt does not fit into the model's context; some servers answer 500 then."""
        return bool(_TOO_LONG.search(f"{self.code} {self.message[:_HEAD]}"))


def server_error(error: BaseException) -> ServerError | None:
    """The answer that an SDK's exception is about; None if there was none."""
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
        found = {"message": found}
    if not isinstance(found, dict):
        found = {}
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


def answered_error(error: ServerError, *secrets: str) -> JudgeCallError:
    """A server's answer as the error that callers act on, without the secrets."""
    status = error.status
    said = f": {error.message}" if error.message else ""
    if 300 <= status < 400:
        said = " (a redirect), which is not followed"
    fatal = status in _FATAL or status < 400 or error.code in _FATAL_CODES
    return JudgeCallError(
        redacted(f"the judge's server answered {status}{said}", *secrets),
        retryable=not fatal and not error.is_too_long and (status in _RETRYABLE or status >= 500),
        fatal=fatal,
        retry_after_s=retry_after_s(error.headers),
        timed_out=status in (408, 504),
        rate_limited=status in _LIMITED and not fatal,
    )


def unanswered_error(
    error: BaseException, sdk: ModuleType, timeout_s: float, *secrets: str
) -> JudgeCallError:
    """An exception that is about no answer: no time, no connection, or a defect."""
    if isinstance(error, (TimeoutError, sdk.APITimeoutError)):
        return late_reply(timeout_s)
    if isinstance(error, sdk.APIConnectionError):
        cause = error.__cause__
        why = f": {type(cause).__name__}: {cause}" if cause is not None else ""
        is_lasting = is_lasting_tls_fault(error)
        server = "the judge's server"
        if (request := getattr(error, "request", None)) is not None:
            server += f" {request.url.scheme}://{request.url.netloc.decode()}"
        what_next = "" if is_lasting else ". Check that the server runs and its address is right"
        return JudgeCallError(
            redacted(f"the connection to {server} failed{why}{what_next}", *secrets),
            retryable=not is_lasting,
            fatal=is_lasting,
            unconnected=type(cause).__name__ == "ConnectError",
        )
    return JudgeCallError(
        redacted(f"the call of the judge raised {type(error).__name__}: {error}", *secrets)
    )
