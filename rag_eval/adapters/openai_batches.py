"""OpenAI's batch API: a file of requests is uploaded, and files of replies are read.

As described at developers.openai.com/api/docs/guides/batch (November 2026).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Container, Sequence
from typing import Any, Final

import msgspec

from rag_eval.adapters.batch_connection import BatchConnection, checked_id
from rag_eval.judge.batches import BatchState, Outcome
from rag_eval.judge.failures import JudgeCallError

_CALLS: Final = "/v1/chat/completions"
_PER_PAGE: Final = 100
_OUR_KEY: Final = "rag_eval_batch"
_ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_QUEUE_FULL: Final = frozenset({"token_limit_exceeded"})
_EXPIRED: Final = "batch_expired"
_DAY_S: Final = 86_400


class _File(msgspec.Struct):
    id: str


class _Counts(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _Fault(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Faults(msgspec.Struct):
    data: list[_Fault] = []


class _Batch(msgspec.Struct):
    id: str
    status: str
    created_at: float = 0
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _Counts | None = None
    errors: _Faults | None = None
    metadata: dict[str, Any] | None = None


class _Page(msgspec.Struct):
    data: list[_Batch]
    has_more: bool = False


class _Answer(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct):
    custom_id: str
    response: _Answer | None = None
    error: _Fault | None = None


class OpenAIBatches:
    """See :class:`rag_eval.judge.batches.BatchServer`."""

    def __init__(self, connection: BatchConnection) -> None:
        self._connection = connection

    async def check(self) -> None:
        """Raise an InputError if the server has no batch API."""
        await self._connection.check("/batches?limit=1")

    async def submit(self, name: str, requests: Sequence[tuple[str, bytes]]) -> str:
        """Upload the requests, and make a batch of them that bears the name."""
        head = f'","method":"POST","url":"{_CALLS}","body":'.encode()
        lines = b"".join(
            b'{"custom_id":"%b%b%b}\n' % (request.encode(), head, body)
            for request, body in requests
        )
        file = await self._connection.post(
            "/files",
            _File,
            body={"purpose": "batch"},
            files=[("file", (f"{name}.jsonl", lines, "application/jsonl"))],
            options={"headers": {"Content-Type": "multipart/form-data"}},
        )
        batch = await self._connection.post(
            "/batches",
            _Batch,
            may_be_done=True,
            body={
                "input_file_id": checked_id(file.id),
                "endpoint": _CALLS,
                "completion_window": "24h",
                "metadata": {_OUR_KEY: name},
            },
        )
        return checked_id(batch.id)

    async def lookup(
        self, name: str, n_requests: int, since: float, known: Container[str]
    ) -> str | None:
        """The batch whose metadata have the name."""
        after = ""
        while True:
            path = f"/batches?limit={_PER_PAGE}{after}"
            page = await self._connection.get(path, _Page)
            for batch in page.data:
                if (batch.metadata or {}).get(_OUR_KEY) == name:
                    return checked_id(batch.id)
            # The newest come first. Clocks may differ.
            if not page.has_more or not page.data or page.data[-1].created_at < since - _DAY_S:
                return None
            after = f"&after={checked_id(page.data[-1].id)}"

    async def state(self, batch_id: str) -> BatchState:
        """What has become of a batch."""
        found = await self._connection.get(f"/batches/{checked_id(batch_id)}", _Batch)
        counts = found.request_counts or _Counts()
        faults = found.errors.data if found.errors is not None else []
        refusal = ""
        if found.status == "failed":
            said = "; ".join(fault.message or fault.code or "" for fault in faults[:3])
            refusal = self._connection.said(said or "the server gave no reason")
        files = (found.output_file_id, found.error_file_id)
        return BatchState(
            found.id,
            self._connection.said(found.status),
            found.status in _ENDED,
            counts.total,
            counts.completed + counts.failed,
            refusal,
            any(fault.code in _QUEUE_FULL for fault in faults),
            tuple(checked_id(file) for file in files if file),
        )

    def outcomes(self, batch: BatchState) -> AsyncGenerator[tuple[str, Outcome], None]:
        """The lines of both files: replies, and errors."""
        paths = [f"/files/{file}/content" for file in batch.files]
        return self._connection.outcomes(batch, paths, self._outcome)

    def _outcome(self, line: bytes) -> tuple[str, Outcome] | None:
        try:
            found = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if found.response is not None:
            answer = found.response
            return found.custom_id, self._connection.outcome(answer.status_code, bytes(answer.body))
        fault = found.error or _Fault()
        if fault.code == _EXPIRED:
            text = "the batch expired before this request was answered"
            return found.custom_id, JudgeCallError(text, retryable=True)
        said = fault.message or fault.code or "no reason"
        return found.custom_id, JudgeCallError(
            self._connection.said(f"the judge's server failed the request: {said}")
        )
