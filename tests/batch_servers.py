"""A loopback server with the batch APIs of OpenAI and Anthropic, as their vendors document them.

::

    with BatchServer(FluentJudge()) as server:   # also a JudgeServer: it answers calls
        server.batches                           # each: id, name, status, requests, answers
        server.end("completed")                  # all that are in progress, in the vendor's word
        server.faults["POST /v1/batches"] = [HangsUp()]     # acts before, or in place of, its own

A batch is in progress until the test ends it, or ``is_quick`` is set. Its requests are answered by
the script of the server. Beside its acts, a script may give ``EXPIRES`` and ``CANCELS``, which are
of batches alone. ``Loses(act)`` is a fault after the server has done what it was asked for.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any, Final

from tests.judge_servers import Act, CutsBody, Fails, HangsUp, JudgeServer, Request, Sends

EXPIRES: Final = "(expires)"
CANCELS: Final = "(cancels)"


@dataclass(frozen=True)
class Loses:
    """The answer is lost, though the server has done what it was asked for."""

    act: Act = field(default_factory=HangsUp)


@dataclass
class Batch:
    """A batch of the server; the ids of requests and their bodies, and their answers."""

    id: str
    metadata: dict[str, str] | None
    requests: dict[str, dict[str, Any]]
    status: str = "in_progress"
    refusal: tuple[str, str] | None = None
    answers: dict[str, Sends | str] = field(default_factory=dict)
    created: float = field(default_factory=time.time)

    @property
    def n_failed(self) -> int:
        return sum(isinstance(one, str) or one.status != 200 for one in self.answers.values())


class BatchServer(JudgeServer):
    """A server of calls and of batches."""

    def __init__(self, script: Any, *, is_quick: bool = False, **options: Any) -> None:
        super().__init__(script, **options)
        self.is_quick = is_quick
        self.batches: list[Batch] = []
        self.faults: dict[str, list[Act | Loses]] = defaultdict(list)
        self.tail: bytes = b""  # after the lines of results
        self.change_line: Callable[[bytes], bytes] = bytes
        self._files: dict[str, bytes] = {}

    @property
    def n_calls(self) -> int:
        """Requests that were no batches, and that cost the whole price."""
        return sum("batch" not in one.path and "file" not in one.path for one in self.requests)

    @property
    def n_batched(self) -> int:
        return sum(len(batch.requests) for batch in self.batches)

    def end(self, status: str = "completed", refusal: tuple[str, str] | None = None) -> None:
        for batch in self.batches:
            if batch.status == "in_progress":
                batch.status, batch.refusal = status, refusal
                if refusal is None:
                    batch.answers = {
                        name: self._answer(body) for name, body in batch.requests.items()
                    }

    def _answer(self, body: dict[str, Any]) -> Sends | str:
        path = "/v1/messages" if self._is_anthropic else "/v1/chat/completions"
        request = Request(path, {}, json.dumps(body).encode(), 0.0)
        step = self._next_step()
        act = step(request.prompt) if callable(step) else step
        if act in (EXPIRES, CANCELS):
            return str(act)
        found = self._carried_out(act, request)
        assert isinstance(found, Sends)
        return found

    _is_anthropic = False

    def other(self, method: str, request: Request) -> Sends | CutsBody | HangsUp | None:
        """The answer to a request of a batch API; None for a call."""
        path = request.path.partition("?")[0]
        if "/batches" not in path and "/files" not in path:
            return None
        self.requests.append(request)
        self._is_anthropic = "/messages/" in path
        pattern = re.sub(r"(batch|file)-\d+", "*", path)
        faults = self.faults[f"{method} {pattern}"]
        fault = faults.pop(0) if faults else None
        if fault is not None and not isinstance(fault, Loses):
            return self._faulty(fault, request)
        found = self._done(method, path, request)
        if isinstance(fault, Loses):
            return self._faulty(fault.act, request)
        return found

    def _faulty(self, act: Act, request: Request) -> Sends | CutsBody | HangsUp:
        if isinstance(act, Fails):
            error = {"message": act.message, "type": act.code, "code": act.code}
            return Sends(json.dumps({"error": error}).encode(), act.status)
        assert isinstance(act, (Sends, CutsBody, HangsUp))
        return act

    def _done(self, method: str, path: str, request: Request) -> Sends:
        made = re.search(r"/(?:batches|files)/((?:batch|file)-\d+)", path)
        if method == "POST" and path == "/v1/files":
            name = f"file-{len(self._files)}"
            self._files[name] = _uploaded(request)
            return _json({"id": name, "object": "file", "purpose": "batch"})
        if method == "POST":
            return self._begun(request)
        if made is None:
            return self._listed(request)
        if path.endswith(("/content", "/results")):
            return self._results(made[1])
        [batch] = [one for one in self.batches if one.id == made[1]]
        return _json(self._shown(batch))

    def _begun(self, request: Request) -> Sends:
        value = request.json
        metadata = value.get("metadata")
        if self._is_anthropic:
            requests = {one["custom_id"]: one["params"] for one in value["requests"]}
            assert len(requests) == len(value["requests"])
        else:
            assert value["completion_window"] == "24h"
            lines = list(map(json.loads, self._files[value["input_file_id"]].splitlines()))
            assert {one["url"] for one in lines} == {value["endpoint"]} == {"/v1/chat/completions"}
            assert {one["method"] for one in lines} == {"POST"}
            requests = {one["custom_id"]: one["body"] for one in lines}
            assert len(requests) == len(lines)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in requests)
        self.batches.append(Batch(f"batch-{len(self.batches)}", metadata, requests))
        if self.is_quick:
            self.end()
        return _json(self._shown(self.batches[-1]))

    def _listed(self, request: Request) -> Sends:
        newest = self.batches[::-1]
        after = re.search(r"after(?:_id)?=(batch-\d+)", request.path)
        if after is not None:
            newest = newest[[one.id for one in newest].index(after[1]) + 1 :]
        page, limit = newest, re.search(r"limit=(\d+)", request.path)
        if limit is not None:
            page = newest[: int(limit[1])]
        last = page[-1].id if page else None
        value = {"data": list(map(self._shown, page)), "has_more": len(page) < len(newest)}
        return _json({**value, "last_id": last})

    def _shown(self, batch: Batch) -> dict[str, Any]:
        n, n_failed = len(batch.requests), batch.n_failed
        ended = bool(batch.answers)
        if self._is_anthropic:
            counts = {"processing": 0 if ended else n, "succeeded": n - n_failed if ended else 0}
            counts |= {"errored": n_failed, "canceled": 0, "expired": 0}
            status = "in_progress" if batch.status == "in_progress" else "ended"
            created = datetime.fromtimestamp(batch.created, UTC).isoformat()
            # As a server that wants the key elsewhere would.
            url = "http://203.0.113.7/results" if ended else None
            return {
                **{"id": batch.id, "type": "message_batch", "processing_status": status},
                **{"request_counts": counts, "created_at": created, "results_url": url},
                "expires_at": created,
            }
        whole = {"id": batch.id, "object": "batch", "status": batch.status}
        whole["created_at"] = int(batch.created)
        whole |= {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
        whole["input_file_id"] = "file-0"
        n_good = n - n_failed if ended else 0
        whole["request_counts"] = {"total": n, "completed": n_good, "failed": n_failed}
        whole["metadata"] = batch.metadata
        number = batch.id.partition("-")[2]
        whole["output_file_id"] = f"file-{number}00" if n_good else None
        whole["error_file_id"] = f"file-{number}01" if n_failed else None
        if batch.refusal is not None:
            code, message = batch.refusal
            whole["errors"] = {"object": "list", "data": [{"code": code, "message": message}]}
        return whole

    def _results(self, name: str) -> Sends:
        if self._is_anthropic:
            [batch] = [one for one in self.batches if one.id == name]
            lines = {one: _anthropic_line(answer) for one, answer in batch.answers.items()}
        else:
            number, wants_failed = name[5:-2], name.endswith("1")
            [batch] = [one for one in self.batches if one.id == f"batch-{number}"]
            lines = {
                one: _openai_line(answer)
                for one, answer in batch.answers.items()
                if (isinstance(answer, str) or answer.status != 200) == wants_failed
            }
        # In any order.
        found = [{"custom_id": one, **line} for one, line in reversed(lines.items())]
        body = b"".join(self.change_line(json.dumps(line).encode()) + b"\n" for line in found)
        return Sends(body + self.tail, 200, {"Content-Type": "application/jsonl"})


def _openai_line(answer: Sends | str) -> dict[str, Any]:
    if isinstance(answer, str):
        code = "batch_expired" if answer == EXPIRES else "batch_cancelled"
        error = {"code": code, "message": f"This request was not executed: {code}"}
        return {"id": "r1", "response": None, "error": error}
    response = {"status_code": answer.status, "request_id": "q1", "body": json.loads(answer.body)}
    return {"id": "r1", "response": response, "error": None}


def _anthropic_line(answer: Sends | str) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"result": {"type": "expired" if answer == EXPIRES else "canceled"}}
    value = json.loads(answer.body)
    if answer.status == 200:
        return {"result": {"type": "succeeded", "message": value}}
    kind = {429: "rate_limit_error", 500: "api_error"}.get(answer.status, "invalid_request_error")
    value["error"]["type"] = kind
    return {"result": {"type": "errored", "error": value}}


def _uploaded(request: Request) -> bytes:
    """The file in a form that has ``purpose=batch``."""
    head = b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
    parts = {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in message_from_bytes(head + request.body).walk()
        if not part.is_multipart()
    }
    assert parts["purpose"] == b"batch"
    file = parts["file"]
    assert isinstance(file, bytes)
    return file


def _json(value: Any) -> Sends:
    return Sends(json.dumps(value).encode())
