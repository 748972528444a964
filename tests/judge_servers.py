"""Loopback servers that speak as OpenAI and as Anthropic, and do what a test tells them.

::

    with JudgeServer(lambda prompt: reply_with(prompt, score=3)) as server:
        server.openai_url            # http://127.0.0.1:PORT/v1, takes chat completions
        server.anthropic_url         # http://127.0.0.1:PORT, takes messages
        server.requests              # each request that came: path, headers, body, prompt
        server.n_requests            # how many; server.seen() is all of their bytes, to grep
        server.most_at_once          # requests in hand at one time, at most
        server.wait_for_held(4)      # until it holds so many
        server.wait_for_goodbyes()   # until all clients have gone, and all they sent was counted

The script is a callable from the prompt to an act, or a list of acts of which the last repeats
(each may be such a callable too). It is called by one thread per connection. An act is a text,
which is ``Says`` of it, or one of these:

=============================  ===================================================================
``Says(text, ...)``            a reply; ``finish_reason``, ``refusal``, ``usage``, ``model``
``Fails(status, message)``     an error in the vendor's form; ``headers``, ``param``, ``code``
``limited(retry_after)``       429, with the header when it is given
``Waits(seconds, then)``       a slow server; ends at once when the server is closed
``Holds(gate, then)``          a server that waits for an event of the test, or its own end
``Refuses(names, then)``       400 naming the first of these parameters in the body, else ``then``
``Sends(body, ...)``           these bytes; ``status``, ``headers``
``Endless(chunk, ...)``        that again and again, until the client goes; ``status``, ``headers``
``CutsBody()``                 half of a reply, then the connection is closed
``HangsUp()``                  the connection is closed without a word
``no_choices()``               a reply in form, with nothing in it
``redirect(url)``              307 to there
=============================  ===================================================================
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeAlias

import tests.one_trust_store  # noqa: F401

# Of a short prompt; of a longer one, its words.
_USUAL = (11, 7)


@dataclass(frozen=True)
class Says:
    """A reply. A finish reason of None is the vendor's word for a natural end."""

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    usage: tuple[int, int] | None = _USUAL
    model: str | None = "served-model"


@dataclass(frozen=True)
class Fails:
    status: int
    message: str = "it failed"
    headers: Mapping[str, str] = field(default_factory=dict)
    param: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class Sends:
    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclass(frozen=True)
class Endless:
    chunk: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclass(frozen=True)
class Waits:
    seconds: float
    then: Act


@dataclass(frozen=True)
class Holds:
    gate: threading.Event
    then: Act


@dataclass(frozen=True)
class Refuses:
    names: tuple[str, ...]
    then: Act
    status: int = 400


@dataclass(frozen=True)
class CutsBody:
    pass


@dataclass(frozen=True)
class HangsUp:
    pass


@dataclass(frozen=True)
class NoChoices:
    pass


Act: TypeAlias = (
    "str | Says | Fails | Sends | Endless | Waits | Holds | Refuses | CutsBody | HangsUp"
    " | NoChoices"
)
Script: TypeAlias = "Act | Callable[[str], Act] | Sequence[Act | Callable[[str], Act]]"


def limited(retry_after: str | None = None, header: str = "Retry-After") -> Fails:
    """A limit of the rate, with what the server says of how long to wait."""
    return Fails(429, "too many requests", {} if retry_after is None else {header: retry_after})


def no_choices() -> NoChoices:
    return NoChoices()


def redirect(url: str) -> Sends:
    return Sends(b"", 307, {"Location": url})


@dataclass(frozen=True)
class Request:
    """A request that came."""

    path: str
    headers: dict[str, str]  # names in small letters
    body: bytes
    at: float  # time.monotonic()

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    @property
    def prompt(self) -> str:
        """The texts of the system message, if there is one, and of the last message."""
        messages = self.json["messages"]
        first = [message["content"] for message in messages[:-1] if message["role"] == "system"]
        found = [*first, self.json.get("system"), messages[-1]["content"]]
        return "\n\n".join(_text_of(content) for content in found if content is not None)


def _text_of(content: str | list[dict[str, str]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def tls_context(file: Path) -> ssl.SSLContext:
    """Of a server with this key and certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


class JudgeServer:
    """A server of both protocols; a context manager."""

    def __init__(
        self, script: Script, *, tls: Path | None = None, proxied: Path | None = None
    ) -> None:
        self.tunnel = None if proxied is None else tls_context(proxied)
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._script = script
        self._n_acts = 0
        self._at_once = 0
        self._lock = threading.Condition()
        self._closing = threading.Event()
        self._held: list[threading.Event] = []
        self._connections: set[socket.socket] = set()
        self._server = _Server(self)
        if tls is not None:
            context = tls_context(tls)
            # Hands are shaken by the thread of a connection, which may fail alone.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def n_requests(self) -> int:
        return len(self.requests)

    def seen(self) -> bytes:
        """Everything that came in: paths, headers, bodies."""
        return b"\n".join(
            repr((request.path, request.headers)).encode() + request.body
            for request in list(self.requests)
        )

    def wait_for_held(self, n_requests: int) -> None:
        """Until it holds so many requests; these are all there are when no more are in flight."""
        self._wait_until(lambda: len(self._held) >= n_requests)

    def wait_for_goodbyes(self) -> None:
        """Until its clients have gone, and all requests that they made have come."""
        # Connections are opened in the order they were made: after this one no other is.
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.shutdown(socket.SHUT_WR)
            assert last.recv(1) == b""
        self._wait_until(lambda: not self._connections)

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        with self._lock:
            assert self._lock.wait_for(is_so, 60), "it did not come to that"

    def __enter__(self) -> JudgeServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        with self._lock:
            for gate in self._held:
                gate.set()
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the client has gone
        self._server.server_close()  # waits for the threads of connections
        self._thread.join()

    # What threads of connections call.

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)
            if self._closing.is_set():
                connection.shutdown(socket.SHUT_RDWR)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._lock.notify_all()

    def other(self, method: str, request: Request) -> Sends | CutsBody | HangsUp | None:
        """What to send for a request that is no call; None for a call."""
        return None

    def answer(self, request: Request) -> Sends | Endless | CutsBody | HangsUp:
        """What to send for a request, after any wait."""
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            step = self._next_step()
        try:
            act = step(request.prompt) if callable(step) else step
            return self._carried_out(act, request)
        finally:
            with self._lock:
                self._at_once -= 1

    def _next_step(self) -> Act | Callable[[str], Act]:
        script = self._script
        if isinstance(script, (list, tuple)):
            step: Act | Callable[[str], Act] = script[min(self._n_acts, len(script) - 1)]
            self._n_acts += 1
            return step
        return script  # type: ignore[return-value]  # a str is a sequence, too

    def _carried_out(self, act: Act, request: Request) -> Sends | Endless | CutsBody | HangsUp:
        while isinstance(act, (Waits, Holds, Refuses)):
            if isinstance(act, Holds):
                self._hold(act.gate)
                act = act.then
            elif isinstance(act, Waits):
                self._closing.wait(act.seconds)
                act = act.then
            else:
                name = next((name for name in act.names if name in request.json), None)
                act = act.then if name is None else _refusal(name, act.status)
        if isinstance(act, (Sends, Endless, CutsBody, HangsUp)):
            return act
        said = Says(act) if isinstance(act, str) else act
        if isinstance(said, Says) and said.usage == _USUAL:
            # No tokeniser makes fewer tokens than words.
            n_words = len(request.prompt.split())
            said = replace(said, usage=(max(_USUAL[0], n_words), _USUAL[1]))
        speak = _as_openai if request.path.endswith("/chat/completions") else _as_anthropic
        return speak(said, str(request.json.get("model")))

    def _hold(self, gate: threading.Event) -> None:
        with self._lock:
            self._held.append(gate)
            self._lock.notify_all()
            if self._closing.is_set():
                gate.set()
        gate.wait()
        with self._lock:
            self._held.remove(gate)


def _refusal(name: str, status: int) -> Fails:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return Fails(status, message, param=name, code="unsupported_parameter")


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Sends:
    return Sends(
        json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})}
    )


def _as_openai(act: Says | Fails | NoChoices, model: str) -> Sends:
    if isinstance(act, Fails):
        error = {"message": act.message, "type": "error", "param": act.param, "code": act.code}
        return _json({"error": error}, act.status, act.headers)
    whole: dict[str, Any] = {"id": "c1", "object": "chat.completion", "created": 1, "choices": []}
    if isinstance(act, NoChoices):
        return _json({**whole, "model": model})
    message = {"role": "assistant", "content": act.text, "refusal": act.refusal}
    reason = act.finish_reason or "stop"
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": reason}]
    if act.model is not None:
        whole["model"] = act.model
    if act.usage is not None:
        inward, outward = act.usage
        whole["usage"] = {
            "prompt_tokens": inward,
            "completion_tokens": outward,
            "total_tokens": inward + outward,
        }
    return _json(whole)


def _as_anthropic(act: Says | Fails | NoChoices, model: str) -> Sends:
    if isinstance(act, Fails):
        # This vendor names no parameter beside the message.
        error = {"type": act.code or "error", "message": act.message}
        return _json({"type": "error", "error": error}, act.status, act.headers)
    whole: dict[str, Any] = {"id": "m1", "type": "message", "role": "assistant", "content": []}
    if isinstance(act, NoChoices):
        return _json({**whole, "model": model, "stop_reason": "end_turn"})
    if act.text is not None:
        whole["content"] = [{"type": "text", "text": act.text}]
    whole["stop_reason"] = act.finish_reason or ("refusal" if act.refusal else "end_turn")
    if act.model is not None:
        whole["model"] = act.model
    if act.usage is not None:
        whole["usage"] = {"input_tokens": act.usage[0], "output_tokens": act.usage[1]}
    return _json(whole)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing it waits for them
    request_queue_size = 256

    def __init__(self, owner: JudgeServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner.opened(request)
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave together
    _reasons: ClassVar[dict[int, str]] = {529: "Overloaded"}

    def setup(self) -> None:
        super().setup()
        # Of a tunnel the socket is another one than that which was accepted.
        self._accepted = vars(self).setdefault("_accepted", self.connection)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.server.owner.closed(self._accepted)
            if self.connection is not self._accepted:
                self.server.owner.closed(self.connection)
                self.connection.close()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, body, time.monotonic())
        self._do(self.server.owner.other("POST", request) or self.server.owner.answer(request))

    def _do(self, act: Sends | Endless | CutsBody | HangsUp) -> None:
        if isinstance(act, HangsUp):
            self.close_connection = True
        elif isinstance(act, Endless):
            self._send_on_and_on(act)
        elif isinstance(act, CutsBody):
            self._send(Sends(b'{"id": "c1", "choices": [{"index": 0, "mess'), missing=1000)
            self.close_connection = True
        else:
            self._send(act)

    def do_CONNECT(self) -> None:
        """As a proxy of https behind which this server is, whatever its name."""
        if self.server.owner.tunnel is None:
            self._send(Sends(b"", 405))
            return
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.wfile.flush()
        self.connection = self.request = self.server.owner.tunnel.wrap_socket(
            self.connection, server_side=True
        )
        self.setup()
        # The accepted socket is empty now: it is this one that is closed at the end.
        self.server.owner.opened(self.connection)
        self.close_connection = False

    def do_GET(self) -> None:
        """Nothing asks a judge so, unless a redirect is followed."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, b"{}", time.monotonic())
        act = self.server.owner.other("GET", request)
        if act is None:
            self.server.owner.requests.append(request)
        self._do(act or Sends(b"{}", 404))

    def _send(self, act: Sends, missing: int = 0) -> None:
        self.send_response(act.status, self._reasons.get(act.status))
        for name, value in act.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(act.body) + missing))
        self.end_headers()
        self.wfile.write(act.body)
        self.wfile.flush()

    def _send_on_and_on(self, act: Endless) -> None:
        self.close_connection = True
        self.send_response(act.status)
        for name, value in {**act.headers, "Transfer-Encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        while True:  # ends with an OSError when the client has gone
            self.wfile.write(b"%x\r\n%b\r\n" % (len(act.chunk), act.chunk))

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read the requests instead."""
