"""A server on this machine that answers at once.  In: chat completions and messages.  Out: replies.

It runs in a process of its own, so that who calls it has its own interpreter to itself, and reads
of a request what it needs: how long it is, and the mark that the reply has to repeat.

    with instant_server() as server:
        server.url("openai")
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from benchmarks.judge_question import reply_text

Provider: TypeAlias = Literal["openai", "anthropic"]

MODEL: Final = "instant"
KEY: Final = "no-key"

_ROOT: Final = Path(__file__).resolve().parents[1]
_LENGTH: Final = b"content-length:"
# As the prompt stands inside of a JSON string.
_MARK: Final = rb"\"mark\" with the value \""
_PATHS: Final[dict[Provider, str]] = {"openai": "/v1", "anthropic": ""}
_TOKENS_IN, _TOKENS_OUT = 400, 20


@dataclass(frozen=True, slots=True)
class InstantServer:
    """Where it is and which process it is."""

    port: int
    pid: int

    def url(self, provider: Provider) -> str:
        """The base URL as a vendor's SDK wants it."""
        return f"http://127.0.0.1:{self.port}{_PATHS[provider]}"

    def processor_seconds(self) -> float:
        """What the server has taken so far, by ticks of the kernel."""
        stat = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def instant_server() -> Iterator[InstantServer]:
    """Start one, and end it with the block."""
    command = [sys.executable, "-m", "benchmarks.instant_server"]
    with subprocess.Popen(
        command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield InstantServer(int(process.stdout.readline()), process.pid)
        finally:
            # The end of its input is the end of the server, also when this process is killed.
            process.stdin.close()


def answers() -> dict[bytes, tuple[bytes, bytes]]:
    """By the path of a request the body of its answer, cut where the mark goes."""
    verdict = reply_text("MARK")
    completion = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL,
        "choices": [{
            "index": 0, "finish_reason": "stop", "logprobs": None,
            "message": {"role": "assistant", "content": verdict, "refusal": None},
        }],
        "usage": {
            "prompt_tokens": _TOKENS_IN, "completion_tokens": _TOKENS_OUT,
            "total_tokens": _TOKENS_IN + _TOKENS_OUT,
        },
    }  # fmt: skip
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{"type": "text", "text": verdict}],
        "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": _TOKENS_IN, "output_tokens": _TOKENS_OUT},
    }  # fmt: skip
    return {b"/v1/chat/completions": _cut(completion), b"/v1/messages": _cut(message)}


def _cut(answer: Mapping[str, object]) -> tuple[bytes, bytes]:
    before, _, after = json.dumps(answer).encode().partition(b"MARK")
    return before, after


class _Connection(asyncio.Protocol):
    """Requests of one connection, one after another."""

    def __init__(self, known: dict[bytes, tuple[bytes, bytes]]) -> None:
        self._known = known
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end])
            begin = head.lower().index(_LENGTH) + len(_LENGTH)
            whole = end + 4 + int(head[begin:].split(b"\r\n", 1)[0])
            if len(self._received) < whole:
                return
            self._answer(head.split(b" ", 2)[1], bytes(self._received[end + 4 : whole]))
            del self._received[:whole]

    def _answer(self, path: bytes, body: bytes) -> None:
        before, after = self._known[path]
        begin = body.rindex(_MARK) + len(_MARK)
        mark = body[begin : body.index(b"\\", begin)]
        length = len(before) + len(mark) + len(after)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % length + before + mark + after)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    known = answers()
    server = await loop.create_server(lambda: _Connection(known), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
