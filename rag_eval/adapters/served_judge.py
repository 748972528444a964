"""A judge behind a server.  In: settings, prompts, schemas.  Out: replies, or errors to act on."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any, Final

import msgspec

from rag_eval.adapters.answers import (
    ServerError,
    answered_error,
    decoded_answer,
    server_error,
    token_count,
    unanswered_error,
)
from rag_eval.adapters.batch_connection import BatchConnection
from rag_eval.adapters.call_settings import CallSettings
from rag_eval.adapters.clients import LoopClients, http_client
from rag_eval.adapters.messages import NO_SYSTEM
from rag_eval.errors import InputError
from rag_eval.judge.batches import BatchServer
from rag_eval.judge.exact_schemas import exact_schema
from rag_eval.judge.failures import JudgeCallError, redacted
from rag_eval.judge.replies import JudgeIdentity, JudgePrompt, JudgeReply, Usage
from rag_eval.judge.server_urls import (
    NO_KEY,
    VENDOR_URLS,
    checked_http_places,
    checked_server_url,
    key_for,
    vendor_at,
)
from rag_eval.plumbing.extras import package

_INVALID: Final = frozenset({400, 422})
# What servers say of a parameter that they do not take at all. One that they take, with a value
# out of its range, must stay an error: leaving it out would change what was asked for.
_NOT_TAKEN: Final = re.compile(
    r"unsupported|deprecated|unrecogni[sz]ed|unknown|unexpected|extra inputs?|forbidden|only the "
    r"default|(?:not|n't|no longer) (?:be )?(?:support|allow|permit|accept|available|implement)",
    re.IGNORECASE,
)
# Each parameter once, the limit under both of its names, and the call that goes through.
_MOST_TRIES: Final = 7
_MOST_SUSPICIONS: Final = 3
_SHORTEST_SECRET: Final = 4
_SYSTEM: Final = "system"
_EXACT: Final = "exact schema"
_OF_EVERY_CALL: Final = ("model", "messages", "stream")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """The protocol of a vendor's servers.

    Attributes
    ----------
    provider, vendor : str
        The vendor as its SDK and our extra are called, and as it calls itself.
    client : str
        The SDK's class.
    client_options : mapping
        What its clients are made with beside what all are.
    path : str
        Where calls go.
    limits : tuple of str
        The limit of a reply's tokens: its name at the vendor, then the one that others know.
    structure : str
        The parameter that holds the schema.
    form : callable
        From a schema to the value of that parameter.
    effort : callable
        From an effort to the parameters that ask for it.
    optional : tuple of str
        Parameters that a call can do without, or under another name.
    reserved : tuple of str
        Parameters that no caller can set, beside those that every call has.
    messages : callable
        From a prompt, and whether the server takes system messages, to the parameters that hold it.
    shape : type of msgspec.Struct
        An answer, with ``usage`` and ``model``, which are checked apart.
    said : callable
        From an answer to its text and why that ended.
    thought : callable
        From an answer to whether the model thought before it.
    cached, written : tuple of str
        Where in the usage the tokens are counted that came from the server's cache, or went there.
    usage : tuple of str
        Counts of tokens: inward, outward, and any that come on top of those inward.
    batches : callable
        From a connection to the vendor's batch API.
    """

    provider: str
    vendor: str
    client: str
    client_options: Mapping[str, Any] = field(default_factory=dict)
    path: str
    limits: tuple[str, ...]
    structure: str
    form: Callable[[Mapping[str, Any]], dict[str, Any]]
    effort: Callable[[str], dict[str, Any]]
    optional: tuple[str, ...]
    reserved: tuple[str, ...] = ()
    messages: Callable[..., dict[str, Any]]
    shape: type[msgspec.Struct]
    said: Callable[[Any], tuple[str, str | None]]
    thought: Callable[[Any], bool]
    tokens: Callable[[Any], tuple[tuple[str, dict[str, float]], ...]] = lambda answer: ()
    usage: tuple[str, ...]
    cached: tuple[str, ...]
    written: tuple[str, ...] = ()
    batches: Callable[[BatchConnection], BatchServer]


def served_judge(
    wire: Wire,
    settings: CallSettings,
    base_url: str | None,
    api_key: str | None,
    allow_http: Sequence[str] = (),
) -> ServedJudge:
    """A judge on a vendor's SDK.

    Raises
    ------
    InputError
        A setting cannot be, the URL could give the key away, or the key is not set. Never with
        the key in it.
    MissingExtraError
        If the SDK is not installed.
    """
    sdk = package(wire.provider, f"a judge on {wire.vendor}'s protocol", wire.provider, "its SDK")
    settings.check({*_OF_EVERY_CALL, *wire.limits, wire.structure, *wire.reserved})
    url = VENDOR_URLS[wire.provider]
    if base_url is not None:
        url = checked_server_url(base_url, checked_http_places(allow_http, "allow_http"))
    key = key_for(url, os.environ) if api_key is None else api_key
    key = key.strip() if isinstance(key, str) else ""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError("the judge's key is empty or contains an invalid character")
    return ServedJudge(wire, settings, sdk, url, key)


class ServedJudge:
    """A model behind a server, as a judge; what the server refuses it is not asked again.

    Attributes
    ----------
    identity : JudgeIdentity
        Which judge this is; holds no key.
    keeps_beginnings : bool
        Servers reuse their work on a prompt for one that begins like it, once they have it.
    refused : frozenset of str
        What the server has refused.
    """

    keeps_beginnings: Final = True

    def __init__(
        self, wire: Wire, settings: CallSettings, sdk: ModuleType, url: str, key: str
    ) -> None:
        shown = None if url == VENDOR_URLS[wire.provider] else url
        self.identity = JudgeIdentity(wire.provider, settings.model, shown, settings.parameters())
        self._wire = wire
        self._settings = settings
        self._sdk = sdk
        # Shorter values of headers protect nothing, and words of messages would go with them.
        kept = [value for value in settings.headers.values() if len(value) >= _SHORTEST_SECRET]
        self._secrets = (*([] if key == NO_KEY else [key]), *kept)
        # Other servers know the older name, and one that they do not know they may pass over.
        self._limits = wire.limits if vendor_at(url) == wire.provider else wire.limits[::-1]
        self._make_client = partial(_client, wire, sdk, url, key, settings)
        self._clients = LoopClients(self._make_client)
        # Vendors compile a schema on its first call, which takes seconds, and so may what is
        # behind https; servers nearby make a grammar for each call.
        self._takes_exact = url.startswith("http:")
        self.refused: frozenset[str] = frozenset()
        # Once the server has taken a schema, or has refused some calls without one as well, a
        # refusal is about something else: asking twice each time would cost twice.
        self._suspicions_left = _MOST_SUSPICIONS

    def __repr__(self) -> str:
        where = f" at {self.identity.base_url}" if self.identity.base_url else ""
        return f"<judge {self.identity}{where}>"

    async def __call__(self, prompt: str) -> JudgeReply:
        """The model's reply to a prompt.

        Raises
        ------
        JudgeCallError
            Saying whether another try may help.
        """
        return await self._asked(prompt, None)

    async def ask(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        """The model's reply, held to a JSON schema where the server can do so."""
        return await self._asked(prompt, schema if self._settings.structured else None)

    async def ask_longer(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        """As :meth:`ask`, with twice the limit on the reply's tokens."""
        return await self._asked(prompt, schema if self._settings.structured else None, 2)

    def request(
        self, prompt: str, schema: dict[str, Any], *, longer: bool = False
    ) -> dict[str, Any]:
        """The body of :meth:`ask` or :meth:`ask_longer`, without what the server has refused."""
        asked = schema if self._settings.structured else None
        sent = self._schema_for(prompt, asked, self.refused)
        return self._body(prompt, sent, self.refused, 2 if longer else 1)

    def batches(self) -> BatchServer:
        """The batch API of the server."""
        wire = self._wire
        connection = BatchConnection(
            self._make_client, self._sdk, partial(_reply, wire), self._secrets, str(self.identity)
        )
        return wire.batches(connection)

    async def _asked(
        self, prompt: str, schema: dict[str, Any] | None, times: int = 1
    ) -> JudgeReply:
        suspected: frozenset[str] = frozenset()
        first: JudgeCallError | None = None
        failure = None
        for n_requests in range(1, _MOST_TRIES + 1):
            refused = self.refused | suspected
            sent = self._schema_for(prompt, schema, refused)
            structure = self._wire.structure if sent is schema else _EXACT
            body = self._body(prompt, sent, refused, times)
            outcome = await self._sent(body)
            if isinstance(outcome, JudgeReply):
                self.refused |= suspected
                if self._wire.structure in body:
                    self._suspicions_left = 0
                return replace(outcome, n_requests=n_requests)
            if isinstance(outcome, JudgeCallError):
                outcome.n_requests = n_requests
                raise outcome
            if outcome.is_filtered:
                return JudgeReply("", finish_reason="content_filter", n_requests=n_requests)
            failure = answered_error(outcome, *self._secrets)
            name = _refused_parameter(outcome, body, self._wire)
            if name is not None:
                self.refused |= {structure if name == self._wire.structure else name}
            elif self._may_be_the_schema(outcome, body):
                # The server may not say so. If the call goes through without, it was that.
                suspected, first = suspected | {structure}, first or failure
            else:
                self._suspicions_left -= bool(suspected)
                break
        error = _telling(first, failure)
        error.n_requests = n_requests
        raise error

    def _schema_for(
        self, prompt: str, schema: dict[str, Any] | None, refused: frozenset[str]
    ) -> dict[str, Any] | None:
        """The schema as a server is given it: of this reply alone, or of all replies to a step."""
        if schema is None or not self._takes_exact or _EXACT in refused:
            return schema
        return exact_schema(schema, prompt) if isinstance(prompt, JudgePrompt) else schema

    def _body(
        self,
        prompt: str,
        schema: Mapping[str, Any] | None,
        refused: frozenset[str],
        times: int = 1,
    ) -> dict[str, Any]:
        """The request, without the parameters that were refused."""
        settings, wire = self._settings, self._wire
        limit = next((name for name in self._limits if name not in refused), self._limits[0])
        body: dict[str, Any] = {
            **settings.extra,
            **_beside(settings.extra, wire.messages(prompt, has_system=_SYSTEM not in refused)),
            "model": settings.model,
            limit: times * settings.max_output_tokens,
        }
        if settings.temperature is not None and "temperature" not in refused:
            body["temperature"] = settings.temperature
        if schema is not None and wire.structure not in refused:
            body[wire.structure] = wire.form(schema)
        if settings.effort is not None:
            for name, value in wire.effort(settings.effort).items():
                both = isinstance(value, dict) and name in body
                body[name] = {**body[name], **value} if both else value
        return body

    def _may_be_the_schema(self, error: ServerError, body: Mapping[str, Any]) -> bool:
        return (
            self._wire.structure in body
            and self._suspicions_left > 0
            and error.status in _INVALID
            and not error.is_too_long
        )

    async def _sent(self, body: Mapping[str, Any]) -> JudgeReply | ServerError | JudgeCallError:
        # Errors are returned, so that none contains the SDK's, whose request holds the key.
        import httpx2

        try:
            async with asyncio.timeout(self._settings.timeout_s):
                client = await self._clients.current()
                answer = await client.post(self._wire.path, cast_to=httpx2.Response, body=body)
            return _reply(self._wire, bytes(answer.content))
        except JudgeCallError as error:
            return _copy(error, *self._secrets)
        except Exception as error:
            answered = server_error(error)
            if answered is not None:
                return answered
            # What our own client finds fault with comes wrapped as an error of the connection.
            if isinstance(error.__cause__, JudgeCallError):
                return _copy(error.__cause__, *self._secrets)
            return unanswered_error(error, self._sdk, self._settings.timeout_s, *self._secrets)


def _beside(extra: Mapping[str, Any], messages: dict[str, Any]) -> dict[str, Any]:
    """The messages of a prompt below a system message that the caller gave."""
    theirs, ours = extra.get(_SYSTEM), messages.get(_SYSTEM)
    if theirs is None or ours is None:
        return messages
    if isinstance(theirs, str):
        return {**messages, _SYSTEM: f"{theirs}\n\n{ours}"}
    return {**messages, _SYSTEM: [*theirs, {"type": "text", "text": ours}]}


def _refused_parameter(error: ServerError, body: Mapping[str, Any], wire: Wire) -> str | None:
    """The parameter of a request that the server does not take, where it says so."""
    has_system = _SYSTEM in body or body["messages"][0]["role"] == _SYSTEM
    if has_system and NO_SYSTEM.search(error.message[:200]):
        return _SYSTEM
    if error.status not in _INVALID or not _NOT_TAKEN.search(f"{error.code} {error.message}"):
        return None
    sent = [name for name in wire.optional if name in body]
    named = re.split(r"[.\[]", error.param)[0]
    if named in sent:
        return named
    # A message is long when it repeats the prompt, whose words say nothing about parameters.
    head = error.message[:200]
    return next((name for name in sent if re.search(rf"\b{name}\b", head)), None)


def _telling(first: JudgeCallError | None, last: JudgeCallError | None) -> JudgeCallError:
    """Of two errors the one to tell: the first, unless the last one says more."""
    assert last is not None
    return last if first is None or last.retryable or last.fatal else first


def _copy(error: JudgeCallError, *secrets: str) -> JudgeCallError:
    """The same error without the key, and without what it was raised from."""
    found = copy(error)
    found.args = (redacted(str(error), *secrets),)
    return found


def _reply(wire: Wire, answer: bytes) -> JudgeReply:
    """The reply in an answer; JudgeCallError where it has another form."""
    found: Any = decoded_answer(answer, wire.shape)
    text, finish_reason = wire.said(found)
    model = found.model if isinstance(found.model, str) else None
    usage = _usage(found.usage, wire)
    return JudgeReply(
        text,
        finish_reason,
        usage,
        model,
        has_thoughts=wire.thought(found),
        tokens=wire.tokens(found),
    )


def _usage(found: object, wire: Wire) -> Usage | None:
    inward, outward, *beside = wire.usage
    n_in, n_out = token_count(found, inward), token_count(found, outward)
    if n_in is None or n_out is None:
        return None
    n_in += sum(token_count(found, name) or 0 for name in beside)
    cached = min(_count_at(found, wire.cached), n_in)
    written = min(_count_at(found, wire.written), n_in - cached)
    return Usage(n_in, n_out, cached_tokens=cached, written_tokens=written)


def _count_at(usage: object, path: Sequence[str]) -> int:
    for name in path[:-1]:
        usage = usage.get(name) if isinstance(usage, dict) else None
    return (token_count(usage, path[-1]) if path else None) or 0


def _client(
    wire: Wire,
    sdk: ModuleType,
    url: str,
    key: str,
    settings: CallSettings,
    *,
    timeout_s: float = 0.0,
    streams: bool = False,
) -> Any:
    timeout_s = timeout_s or settings.timeout_s
    return getattr(sdk, wire.client)(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=timeout_s,
        http_client=http_client(url, key, timeout_s, settings.headers, streams=streams),
        **wire.client_options,
    )
