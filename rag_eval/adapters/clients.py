"""Clients of judges' servers: one for each event loop, sending what is listed here alone."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rag_eval.adapters.answers import bounded_body
from rag_eval.judge.server_urls import is_loopback

if TYPE_CHECKING:
    import httpx2

# SDKs add more by themselves: what machine this is, and headers that environment variables hold.
_SENT: Final = frozenset(
    {
        b"accept",
        b"accept-encoding",
        b"anthropic-version",
        b"connection",
        b"content-length",
        b"content-type",
        b"transfer-encoding",
        b"user-agent",
    }
)
_CREDENTIALS: Final = frozenset({b"authorization", b"x-api-key"})
_FOUND: Final = 200
# A loop that ends within this time closes the client as it ends, and does not cancel the closing.
_KEPT_S: Final = 5.0
_CLOSING: Final[set[asyncio.Task[Any]]] = set()

_Holder: TypeAlias = "AsyncGenerator[Any, None]"


def http_client(
    base_url: str,
    key: str,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    *,
    streams: bool = False,
) -> httpx2.AsyncClient:
    """A client that follows no redirect, and sends no header and reads no body beyond what it must.

    Proxies of the environment are used for https alone, which they cannot read, and never for a
    server on this machine. ``headers`` are sent with each call. With ``streams`` a body that is no
    error is left to the caller, who reads it line by line.
    """
    import httpx2

    async def clean(request: httpx2.Request) -> None:
        request.headers = httpx2.Headers(_sent_headers(request.headers.raw, key))
        request.headers["host"] = request.url.netloc.decode("ascii")
        request.headers["accept-encoding"] = "gzip"
        request.headers.update(headers or {})

    async def bound(response: httpx2.Response) -> None:
        if streams and response.status_code == _FOUND:
            return
        # The client would unpack a body of any length into memory, also the body of an error.
        stream: Any = response.stream
        try:
            async with aclosing(aiter(stream)) as chunks:
                body = await bounded_body(chunks, response.headers.get("content-encoding", ""))
        finally:
            await stream.aclose()
        response.headers.pop("content-encoding", None)
        response.stream = httpx2.ByteStream(body)

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout_s),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
        follow_redirects=False,
        trust_env=base_url.startswith("https:") and not is_loopback(base_url),
        event_hooks={"request": [clean], "response": [bound]},
    )


def _sent_headers(found: list[tuple[bytes, bytes]], key: str) -> list[tuple[bytes, bytes]]:
    """The headers of a request that are sent; one of them holds the key."""
    bearer = f"Bearer {key}".encode()
    ours = {key.encode(), bearer}
    keys = [one for one in found if one[0].lower() in _CREDENTIALS and one[1] in ours]
    return [
        *(one for one in found if one[0].lower() in _SENT),
        *(keys or [(b"authorization", bearer)]),
    ]


class LoopClients:
    """Clients by event loop: a connection belongs to the loop that opened it.

    A client is closed with its loop, by way of the loop's async generators, which ``asyncio.run``
    finishes before it closes the loop; nothing else tells of a loop's end. In a loop that goes on
    it is closed when nobody has the clients any more.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._open: dict[asyncio.AbstractEventLoop, tuple[Any, _Holder]] = {}
        # Left to the garbage collector, the sockets would complain that nobody closed them.
        weakref.finalize(self, _close_all, self._open).atexit = False

    async def current(self) -> Any:
        """The client of the running loop, made on first use."""
        loop = asyncio.get_running_loop()
        found = self._open.get(loop)
        if found is not None:
            return found[0]
        holder = _held_open(self._make)
        client = await anext(holder)
        with self._lock:
            for other in [other for other in self._open if other.is_closed()]:
                del self._open[other]
            self._open[loop] = (client, holder)
        return client


def _close_all(opened: dict[asyncio.AbstractEventLoop, tuple[Any, _Holder]]) -> None:
    """Let each loop close its client; from any thread, also from one of these loops."""
    for loop, (_, holder) in opened.items():
        with suppress(RuntimeError):  # the loop is closed, and the client with it
            loop.call_soon_threadsafe(loop.call_later, _KEPT_S, _close_in, loop, holder)


def _close_in(loop: asyncio.AbstractEventLoop, holder: _Holder) -> None:
    closing = loop.create_task(holder.aclose())
    # The loop itself keeps no task from being collected.
    _CLOSING.add(closing)
    closing.add_done_callback(_CLOSING.discard)


async def _held_open(make: Callable[[], Any]) -> _Holder:
    client = make()
    try:
        yield client
    finally:
        await client.close()
