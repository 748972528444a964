"""Anthropic's message batches: requests are sent as one body, and replies read as lines.

As described at platform.claude.com/docs/en/build-with-claude/batch-processing (November 2026).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Container, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Final

import msgspec

from rag_eval.adapters.batch_connection import BatchConnection, checked_id
from rag_eval.judge.batches import BatchState, Outcome, UnsureSubmission
from rag_eval.judge.failures import JudgeCallError

_PATH: Final = "/v1/messages/batches"
_PER_PAGE: Final = 100
_DAY_S: Final = 86_400
# Lines name the kind of an error, calls its status.
_STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_UNKNOWN_ERROR: Final = 400
_NOT_ANSWERED: Final = {
    "expired": ("the batch expired before this request was answered", True),
    "canceled": ("the batch was cancelled before this request was answered", False),
}


class _Counts(msgspec.Struct):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def total(self) -> int:
        return self.processing + self.done

    @property
    def done(self) -> int:
        return self.succeeded + self.errored + self.canceled + self.expired


class _Batch(msgspec.Struct):
    id: str
    processing_status: str
    request_counts: _Counts
    created_at: datetime | None = None


class _Page(msgspec.Struct):
    data: list[_Batch]
    has_more: bool = False
    last_id: str | None = None


class _Fault(msgspec.Struct, frozen=True):
    type: str = ""


class _Error(msgspec.Struct):
    error: _Fault = _Fault()


class _Result(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct):
    custom_id: str
    result: _Result


class AnthropicBatches:
    """See :class:`rag_eval.judge.batches.BatchServer`."""

    def __init__(self, connection: BatchConnection) -> None:
        self._connection = connection

    async def check(self) -> None:
        """Raise an InputError if the server has no batch API."""
        await self._connection.check(f"{_PATH}?limit=1")

    async def submit(self, name: str, requests: Sequence[tuple[str, bytes]]) -> str:
        """Send the requests."""
        each = (
            b'{"custom_id":"%b","params":%b}' % (request.encode(), body)
            for request, body in requests
        )
        batch = await self._connection.post(
            _PATH,
            _Batch,
            may_be_done=True,
            content=b'{"requests":[%b]}' % b",".join(each),
            options={"headers": {"Content-Type": "application/json"}},
        )
        return checked_id(batch.id)

    async def lookup(
        self, name: str, n_requests: int, since: float, known: Container[str]
    ) -> str | None:
        """The batch whose requests begin with the name, which only its results tell."""
        after, may_be = "", 0
        while True:
            page = await self._connection.get(f"{_PATH}?limit={_PER_PAGE}{after}", _Page)
            for batch in page.data:
                if batch.id in known or batch.request_counts.total != n_requests:
                    continue
                if _is_older(batch, since):
                    continue
                if batch.processing_status != "ended":
                    may_be += 1
                elif await self._bears(batch, name):
                    return checked_id(batch.id)
            # The newest come first.
            if not page.has_more or not page.data or _is_older(page.data[-1], since):
                break
            after = f"&after_id={checked_id(page.data[-1].id)}"
        if may_be:
            raise UnsureSubmission(
                f"{may_be} unfinished batches at the vendor have {n_requests:,} requests; whether "
                "one of them is this one can be seen when they have ended",
                retryable=True,
            )
        return None

    async def _bears(self, batch: _Batch, name: str) -> bool:
        async with aclosing(self.outcomes(_state(batch, ""))) as outcomes:
            async for request, _ in outcomes:
                return request.startswith(f"{name}-")
        return False

    async def state(self, batch_id: str) -> BatchState:
        """What has become of a batch."""
        found = await self._connection.get(f"{_PATH}/{checked_id(batch_id)}", _Batch)
        return _state(found, self._connection.said(found.processing_status))

    def outcomes(self, batch: BatchState) -> AsyncGenerator[tuple[str, Outcome], None]:
        """The lines of the results.

        They are read from their documented path: a batch also names an address, which might be
        that of another server.
        """
        path = f"{_PATH}/{checked_id(batch.id)}/results"
        return self._connection.outcomes(batch, [path], self._outcome)

    def _outcome(self, line: bytes) -> tuple[str, Outcome] | None:
        try:
            found = msgspec.json.decode(line, type=_Line)
            result = found.result
            if result.type == "succeeded":
                return found.custom_id, self._connection.outcome(200, bytes(result.message))
            if result.type == "errored":
                kind = msgspec.json.decode(result.error, type=_Error).error.type
                status = _STATUS.get(kind, _UNKNOWN_ERROR)
                return found.custom_id, self._connection.outcome(status, bytes(result.error))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        said = self._connection.said(f"the judge's server says {result.type} of the request")
        text, is_retryable = _NOT_ANSWERED.get(result.type, (said, False))
        return found.custom_id, JudgeCallError(text, retryable=is_retryable)


def _state(batch: _Batch, status: str) -> BatchState:
    counts = batch.request_counts
    is_ended = batch.processing_status == "ended"
    return BatchState(batch.id, status, is_ended, counts.total, counts.done)


def _is_older(batch: _Batch, since: float) -> bool:
    """Whether a batch was made a day before, or earlier; clocks may differ."""
    made = batch.created_at
    return made is not None and made.timestamp() < since - _DAY_S
