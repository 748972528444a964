"""A judge behind a server.  In: prompts and schemas.  Out: replies, or errors to act on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final, Protocol

from rag_eval.adapters.call_settings import CallSettings
from rag_eval.adapters.clients import LoopClients
from rag_eval.adapters.errors import (
    ServerError,
    answered_error,
    redacted,
    server_error,
    unanswered_error,
)
from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.replies import JudgeIdentity, JudgeReply

_INVALID: Final = frozenset({400, 422})
# What servers say of a parameter that they do not take at all. One that they take, with a value
# out of its range, must stay an error: leaving it out would change what was asked for.
_NOT_TAKEN: Final = re.compile(
    r"unsupported|deprecated|unrecogni[sz]ed|unknown|unexpected|extra inputs?|forbidden|only the "
    r"default|(?:not|n't|no longer) (?:be )?(?:support|allow|permit|accept|available|implement)",
    re.IGNORECASE,
)
_TOO_LONG: Final = re.compile(r"context.?length|prompt is too long|context window", re.IGNORECASE)
# Each parameter once, the limit under both of its names, and the call that goes through.
_MOST_TRIES: Final = 5
_MOST_SUSPICIONS: Final = 3


class Wire(Protocol):
    """How a vendor's servers are spoken to."""

    sdk: ModuleType
    structure: str
    """The parameter that holds the schema."""
    optional: tuple[str, ...]
    """Parameters that a call can do without, or under another name."""

    async def send(self, client: Any, body: Mapping[str, Any]) -> bytes:
        """The body of the server's answer."""
        ...

    def body(
        self, prompt: str, schema: Mapping[str, Any] | None, refused: frozenset[str]
    ) -> dict[str, Any]:
        """The request, without the parameters that were refused."""
        ...

    def reply(self, answer: bytes) -> JudgeReply:
        """The reply in an answer; JudgeCallError where it has another form."""
        ...


class ServedJudge:
    """A model behind a server, as a judge; what the server refuses it is not asked again."""

    def __init__(
        self,
        identity: JudgeIdentity,
        wire: Wire,
        clients: LoopClients[Any],
        settings: CallSettings,
        key: str,
    ) -> None:
        self._identity = identity
        self._wire = wire
        self._clients = clients
        self._settings = settings
        self._key = key
        self._refused: frozenset[str] = frozenset()
        # Once the server has taken a schema, or has refused some calls without one as well, a
        # refusal is about something else: asking twice each time would cost twice.
        self._suspicions_left = _MOST_SUSPICIONS

    @property
    def identity(self) -> JudgeIdentity:
        """Which judge this is; holds no key."""
        return self._identity

    def __repr__(self) -> str:
        where = f" at {self._identity.base_url}" if self._identity.base_url else ""
        return f"<judge {self._identity}{where}>"

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

    async def _asked(self, prompt: str, schema: dict[str, Any] | None) -> JudgeReply:
        suspected: frozenset[str] = frozenset()
        first: JudgeCallError | None = None
        failure = None
        for _ in range(_MOST_TRIES):
            body = self._wire.body(prompt, schema, self._refused | suspected)
            outcome = await self._sent(body)
            if isinstance(outcome, JudgeReply):
                self._refused |= suspected
                if self._wire.structure in body:
                    self._suspicions_left = 0
                return outcome
            if isinstance(outcome, JudgeCallError):
                raise outcome
            if outcome.is_filtered:
                return JudgeReply("", finish_reason="content_filter")
            failure = answered_error(outcome, self._key)
            name = _refused_parameter(outcome, body, self._wire)
            if name is not None:
                self._refused |= {name}
            elif self._may_be_the_schema(outcome, body):
                # The server may not say so. If the call goes through without, it was that.
                suspected, first = frozenset({self._wire.structure}), failure
            else:
                self._suspicions_left -= bool(suspected)
                break
        raise _telling(first, failure)

    def _may_be_the_schema(self, error: ServerError, body: Mapping[str, Any]) -> bool:
        return (
            self._wire.structure in body
            and self._suspicions_left > 0
            and error.status in _INVALID
            and not _TOO_LONG.search(f"{error.code} {error.message}")
        )

    async def _sent(self, body: Mapping[str, Any]) -> JudgeReply | ServerError | JudgeCallError:
        # Errors are returned, so that none carries the SDK's, whose request holds the key.
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                client = await self._clients.current()
                answer = await self._wire.send(client, body)
            return self._wire.reply(answer)
        except JudgeCallError as error:
            return _copy(error, self._key)
        except Exception as error:
            answered = server_error(error)
            if answered is not None:
                return answered
            # What our own client finds fault with comes wrapped as an error of the connection.
            if isinstance(error.__cause__, JudgeCallError):
                return _copy(error.__cause__, self._key)
            return unanswered_error(error, self._wire.sdk, self._key, self._settings.timeout_s)


def _refused_parameter(error: ServerError, body: Mapping[str, Any], wire: Wire) -> str | None:
    """The parameter of a request that the server does not take, where it says so."""
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


def _copy(error: JudgeCallError, key: str) -> JudgeCallError:
    return JudgeCallError(
        redacted(str(error), key),
        retryable=error.retryable,
        fatal=error.fatal,
        retry_after_s=error.retry_after_s,
        timed_out=error.timed_out,
        rate_limited=error.rate_limited,
    )
