"""What a judge is, what it gives back, and what that took."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from rag_eval.errors import InputError

CALL_TIMEOUT_S: Final = 60.0
MAX_REPLY_BYTES: Final = 4_000_000
"""A reply that is longer is not read; verdicts take some thousands."""

UNNAMED = "unnamed"
# Bytes of UTF-8 in a token, about, over English prose and JSON.
_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a call took.

    Attributes
    ----------
    input_tokens, output_tokens : int
    estimated : bool
        Counted from the length of the texts, because the judge did not say.
    """

    input_tokens: int
    output_tokens: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's reply, and what its server said about it.

    Attributes
    ----------
    text : str
    finish_reason : str or None
        Why it ended: ``stop``, ``length``, ``refusal`` and such, in the server's words.
    usage : Usage or None
        None makes an estimate from the texts.
    model : str or None
        The model that answered, as the server names it.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None


@dataclass(slots=True)
class Tally:
    """What some judgement took; several metrics of a row have one each.

    Attributes
    ----------
    llm_calls : int
        Calls made, tries after a failure among them.
    cached_calls : int
        Replies that were there from an earlier run.
    input_tokens, output_tokens : int
    estimated : bool
        Some of the tokens were counted from the length of the texts.
    parse_failures : int
        Replies that could not be read.
    """

    llm_calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    parse_failures: int = 0

    def add(self, other: Tally) -> None:
        """Count what another tally has, too."""
        self.llm_calls += other.llm_calls
        self.cached_calls += other.cached_calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.estimated |= other.estimated
        self.parse_failures += other.parse_failures


JudgeFn: TypeAlias = Callable[[str], str | JudgeReply | Awaitable[str | JudgeReply]]
"""Takes a prompt, gives the judge's reply."""


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Which judge gave a verdict: all of it that can change the verdict.

    Attributes
    ----------
    provider : str
        ``openai``, ``anthropic``, or ``callable``.
    model : str
        The model asked for; of a callable, its given name.
    base_url : str or None
        The server; None for the vendor's own.
    parameters : dict
        Temperature and the like.
    """

    provider: str
    model: str
    base_url: str | None = None
    parameters: tuple[tuple[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        found: dict[str, Any] = {"provider": self.provider, "model": self.model}
        if self.base_url is not None:
            found["baseUrl"] = self.base_url
        if self.parameters:
            found["parameters"] = dict(self.parameters)
        return found

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


@runtime_checkable
class SchemaJudge(Protocol):
    """A judge that can be held to a JSON schema; the adapters make such."""

    @property
    def identity(self) -> JudgeIdentity: ...

    def __call__(self, prompt: str) -> Awaitable[JudgeReply]: ...

    async def ask(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        """As calling it, with the JSON schema that the reply is to follow."""
        ...


def n_bytes(text: str) -> int:
    """The length of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def estimated_tokens(text: str) -> int:
    """Tokens of a text, about: its bytes in UTF-8 by four, rounded up."""
    return -(-n_bytes(text) // _BYTES_PER_TOKEN)


def estimated_usage(prompt: str, reply: str) -> Usage:
    """What a call took, when the judge does not say."""
    return Usage(estimated_tokens(prompt), estimated_tokens(reply), estimated=True)


def identity_of(
    judge: JudgeFn | SchemaJudge, place: int = 0, name: str | None = None
) -> JudgeIdentity:
    """The identity of a judge.

    An adapter's judge knows its own. A function is called by ``name``, or by its attribute
    ``judge_name``; one without is unnamed, its replies are not cached, and of several the ``place``
    tells them apart.

    Raises
    ------
    InputError
        When it cannot be called.
    """
    if not callable(judge):
        raise InputError(f"a judge must be callable, got {type(judge).__name__}")
    if isinstance(judge, SchemaJudge):
        return judge.identity
    if name is None:
        name = getattr(judge, "judge_name", None)
    if isinstance(name, str) and name:
        return JudgeIdentity("callable", name)
    return JudgeIdentity("callable", UNNAMED if place == 0 else f"{UNNAMED}-{place + 1}")


def is_named(identity: JudgeIdentity) -> bool:
    """Whether replies of the judge can be told from those of another, and so be cached."""
    return identity.provider != "callable" or not identity.model.startswith(UNNAMED)


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """What the calls of a run may take; None is no limit.

    Attributes
    ----------
    concurrency : int, default 4
        Calls in flight, all judges together.
    call_timeout_s : float, default 60
        One call ends there; it is tried once more.
    run_timeout_s : float, optional
        From the first question on; what is not judged by then is not judged.
    retries : int, default 5
        Tries after the first of a call that failed in a way that may pass.
    requests_per_minute, tokens_per_minute : float, optional
        Spread evenly: a second's worth may come at once.
    max_calls : int, optional
        Calls of the run, tries among them; replies from a cache are free.
    budget_usd : float, optional
        No call begins once this is spent; calls in flight then may go beyond it.
    max_parse_failures : int, optional
        With one more reply that cannot be read, the judge counts as unavailable.
    """

    concurrency: int = 4
    call_timeout_s: float = CALL_TIMEOUT_S
    run_timeout_s: float | None = None
    retries: int = 5
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_calls: int | None = None
    budget_usd: float | None = None
    max_parse_failures: int | None = None
