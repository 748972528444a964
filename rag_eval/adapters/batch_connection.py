"""Requests to a batch API.  In: paths and bodies.  Out: decoded answers, lines of files, errors."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from types import ModuleType
from typing import Any, Final, TypeVar

import msgspec

from rag_eval.adapters.answers import (
    ServerError,
    answered_error,
    bounded_lines,
    decoded_answer,
    error_in,
    server_error,
    unanswered_error,
)
from rag_eval.adapters.clients import LoopClients
from rag_eval.errors import InputError
from rag_eval.judge.batches import BatchState, Outcome, UnsureSubmission
from rag_eval.judge.failures import JudgeCallError, redacted
from rag_eval.judge.replies import JudgeReply

Shape = TypeVar("Shape", bound=msgspec.Struct)

# A batch of 16 MB takes a while on a slow line.
_TIMEOUT_S: Final = 600.0
_NO_SUCH_API: Final = frozenset({404, 405, 501})
_SERVER_FAULT: Final = 500
_FOUND: Final = 200
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_REQUEST: Final = re.compile(rb'"custom_id"\s*:\s*"([A-Za-z0-9_-]{1,64})"')
_TOO_LONG: Final = "the judge's reply is longer than 4 MB and was not read"


class BatchConnection:
    """The server of a judge, for what is not a call.

    Parameters
    ----------
    make_client : callable
        Makes a client of the vendor's SDK; takes ``timeout_s`` and ``streams``.
    sdk : module
    read : callable
        From the body of an answer to a call to the reply in it.
    secrets : tuple of str
        What no message may hold.
    judge : str
        The judge's name for messages.
    """

    def __init__(
        self,
        make_client: Callable[..., Any],
        sdk: ModuleType,
        read: Callable[[bytes], JudgeReply],
        secrets: tuple[str, ...],
        judge: str,
    ) -> None:
        self._sdk = sdk
        self._read = read
        self._secrets = secrets
        self._judge = judge
        self._clients = LoopClients(lambda: make_client(timeout_s=_TIMEOUT_S))
        self._streams = LoopClients(lambda: make_client(timeout_s=_TIMEOUT_S, streams=True))

    async def check(self, path: str) -> None:
        """Raise an InputError if the server does not know this path of its batch API."""
        found = await self._answer("get", path)
        if isinstance(found, bytes):
            return
        if isinstance(found, ServerError) and found.status in _NO_SUCH_API:
            raise InputError(
                f"the server of {self._judge} has no batch API (it answered {found.status}). "
                "Leave out judge_batch (--judge-batch) to call the judge at once"
            )
        raise self._error(found)

    async def get(self, path: str, shape: type[Shape]) -> Shape:
        """The answer under a path."""
        return self._decoded(await self._answer("get", path), shape)

    async def post(
        self, path: str, shape: type[Shape], *, may_be_done: bool = False, **sent: Any
    ) -> Shape:
        """The answer to what is sent, as the SDK takes it: ``body``, ``files`` or ``content``.

        Raises
        ------
        UnsureSubmission
            With ``may_be_done``, if the server may have acted and not said so.
        """
        found = await self._answer("post", path, **sent)
        try:
            return self._decoded(found, shape)
        except JudgeCallError as error:
            refused = isinstance(found, ServerError) and found.status < _SERVER_FAULT
            if may_be_done and not refused and not error.fatal:
                raise UnsureSubmission(str(error), retryable=True) from None
            raise

    async def lines(self, path: str) -> AsyncGenerator[tuple[bytes, bool], None]:
        """The lines of a file, each no longer than a reply may be; see ``bounded_lines``."""
        import httpx2

        client = await self._streams.current()
        try:
            answer = await client.get(
                path, cast_to=httpx2.Response, stream=True, stream_cls=self._sdk.AsyncStream
            )
            packing = answer.headers.get("content-encoding", "")
            try:
                async with aclosing(bounded_lines(answer.aiter_raw(), packing)) as lines:
                    async for line in lines:
                        yield line
            finally:
                await answer.aclose()
        except httpx2.HTTPError as error:
            # The SDK is out of it once the body comes.
            text = f"the connection to the judge's server was lost: {type(error).__name__}"
            raise JudgeCallError(text, retryable=True) from None
        except Exception as error:
            raise self._error(self._of(error)) from None

    async def outcomes(
        self,
        batch: BatchState,
        paths: Sequence[str],
        read: Callable[[bytes], tuple[str, Outcome] | None],
    ) -> AsyncGenerator[tuple[str, Outcome], None]:
        """The requests that the lines of result files name, each with its outcome.

        ``read`` decodes one line; it returns None for a line that names no request.

        Raises
        ------
        JudgeCallError
            If the files have fewer lines than the vendor counted.
        """
        n_lines = 0
        for path in paths:
            async with aclosing(self.lines(path)) as lines:
                async for line, is_whole in lines:
                    n_lines += 1
                    found = read(line) if is_whole else self.too_long(line)
                    if found is not None:
                        yield found
        if n_lines < batch.n_done:
            raise JudgeCallError(
                f"the results of the batch {batch.id} have {n_lines:,} of {batch.n_done:,} lines",
                retryable=True,
            )

    def outcome(self, status: int, body: bytes) -> Outcome:
        """A reply or an error by its status and body, as that of a call."""
        try:
            if status == _FOUND:
                return self._read(body)
            decoded = msgspec.json.decode(body) if body else None
        except JudgeCallError as error:
            # To ask for it again would cost again.
            return JudgeCallError(redacted(str(error), *self._secrets))
        except (msgspec.DecodeError, UnicodeDecodeError):
            decoded = None
        said = error_in(decoded, status, {})
        if said.is_filtered:
            return JudgeReply("", finish_reason="content_filter")
        return answered_error(said, *self._secrets)

    def too_long(self, line: bytes) -> tuple[str, Outcome] | None:
        """The request of a line that was too long to be read, by its beginning."""
        found = _REQUEST.search(line)
        return None if found is None else (found[1].decode(), JudgeCallError(_TOO_LONG))

    def said(self, text: str) -> str:
        """A text of the server, fit for a message."""
        return redacted(text, *self._secrets)

    def _decoded(self, found: bytes | ServerError | JudgeCallError, shape: type[Shape]) -> Shape:
        if isinstance(found, bytes):
            return decoded_answer(found, shape)
        raise self._error(found)

    def _error(self, found: ServerError | JudgeCallError | bytes) -> JudgeCallError:
        if isinstance(found, JudgeCallError):
            return found
        assert isinstance(found, ServerError)
        return answered_error(found, *self._secrets)

    async def _answer(
        self, method: str, path: str, **sent: Any
    ) -> bytes | ServerError | JudgeCallError:
        # Errors are returned, so that none contains the SDK's, whose request holds the key.
        import httpx2

        try:
            client = await self._clients.current()
            answer = await getattr(client, method)(path, cast_to=httpx2.Response, **sent)
            return bytes(answer.content)
        except Exception as error:
            return self._of(error)

    def _of(self, error: Exception) -> ServerError | JudgeCallError:
        answered = server_error(error)
        if answered is not None:
            return answered
        for found in (error, error.__cause__):
            if isinstance(found, JudgeCallError):
                return JudgeCallError(
                    redacted(str(found), *self._secrets), retryable=found.retryable
                )
        return unanswered_error(error, self._sdk, _TIMEOUT_S, *self._secrets)


def checked_id(found: str) -> str:
    """An id of a server that can be part of a path."""
    if not _ID.fullmatch(found):
        raise JudgeCallError(f"the judge's server named a batch or a file {found!r:.60}")
    return found
